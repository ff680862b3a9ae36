"""The alerts and monitors of a study, as its readers see them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select

from evenhand.studies import Store
from evenhand.studies.records import moment
from evenhand.studies.schema import ALERTS, MONITORS, STUDIES

__all__ = ["alerts_of", "monitors_of", "standing_alerts"]


def alerts_of(store: Store, study: str, most: int = 100) -> list[dict[str, Any]]:
    """Return a study's alerts, newest first."""
    chosen = (
        select(ALERTS, MONITORS.c.metric, MONITORS.c.subject, MONITORS.c.threshold)
        .join(MONITORS, MONITORS.c.id == ALERTS.c.monitor)
        .join(STUDIES, STUDIES.c.id == MONITORS.c.study)
        .where(STUDIES.c.name == study)
        .order_by(ALERTS.c.id.desc())
        .limit(most)
    )
    with store.reading() as connection:
        rows = connection.execute(chosen).all()
    return [
        {
            "id": row.id,
            "monitor": row.monitor,
            "metric": row.metric,
            "subject": row.subject,
            "since": moment(row.raised_at),
            "value": row.value,
            "threshold": row.threshold,
            "cleared": None if row.cleared_at is None else moment(row.cleared_at),
        }
        for row in rows
    ]


def monitors_of(store: Store, study: str) -> list[dict[str, Any]]:
    """Return what is watched of a study."""
    chosen = (
        select(MONITORS)
        .join(STUDIES, STUDIES.c.id == MONITORS.c.study)
        .where(STUDIES.c.name == study, MONITORS.c.removed_at.is_(None))
        .order_by(MONITORS.c.id)
    )
    with store.reading() as connection:
        rows = connection.execute(chosen).all()
    return [
        {
            "id": row.id,
            "metric": row.metric,
            "subject": row.subject,
            "threshold": row.threshold,
            "window": row.window,
            "created": moment(row.created_at),
        }
        for row in rows
    ]


def standing_alerts(store: Store) -> dict[str, int]:
    """Return how many alerts of each study are not cleared."""
    chosen = (
        select(STUDIES.c.name, func.count())
        .join(MONITORS, MONITORS.c.study == STUDIES.c.id)
        .join(ALERTS, ALERTS.c.monitor == MONITORS.c.id)
        .where(ALERTS.c.cleared_at.is_(None))
        .group_by(STUDIES.c.name)
    )
    with store.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(chosen)}
