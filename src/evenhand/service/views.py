"""Views of a study as JSON: its state, its series, its decisions one by one."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np

from evenhand.service.metrics import StudyGauges
from evenhand.service.sessions import Session, Sessions
from evenhand.studies import Study, monitors
from evenhand.studies.summary import outline, summarize

__all__ = [
    "alert_mark",
    "audit_of",
    "decisions_of",
    "gauges_of",
    "owed_of",
    "record_of",
    "series_of",
    "state_of",
    "studies_of",
]


SERIES = 50_000
"""The most labels times rounds of one series: with many labels there are fewer rounds."""


def studies_of(sessions: Sessions) -> dict[str, Any]:
    """Return the outline of every study."""
    rows = []
    for session in sessions.all():
        with session.reading() as (statistics, _):
            rows.append(
                {**outline(session.study, statistics), "alerts": len(monitors.alerts(session.study, standing=True))}
            )
    return {"studies": rows}


def alert_mark(session: Session) -> str:
    """Return a checksum that changes when an alert is raised or cleared, or a monitor added or removed."""
    known = [_alerts(session.study), _monitors(session.study)]
    return f"{zlib.crc32(repr(known).encode()):08x}"


def gauges_of(sessions: Sessions) -> list[StudyGauges]:
    """Return the state of every study for the metrics."""
    found = []
    for session in sessions.all():
        with session.reading() as (statistics, _):
            worst = statistics.worst
            found.append(
                StudyGauges(session.study.name, len(statistics.open), worst[0] if worst else None, statistics.kept)
            )
    return found


def state_of(session: Session) -> dict[str, Any]:
    """Return the present state of a study."""
    study = session.study
    with session.reading() as (statistics, _):
        return {**summarize(study, statistics), "alerts": _alerts(study), "monitors": _monitors(study)}


def _alerts(study: Study) -> list[dict[str, Any]]:
    rows = [alert.row() for alert in monitors.alerts(study)]
    return [{"since": row.pop("raised"), **row} for row in rows]


def _monitors(study: Study) -> list[dict[str, Any]]:
    """Return the monitors, without their webhooks."""
    return [
        {"id": one.id, "metric": one.metric, "subject": one.subject, "threshold": one.threshold, "window": one.window}
        for one in monitors.listed(study)
    ]


def series_of(session: Session, points: int) -> dict[str, Any]:
    """Return a study's series at about `points` rounds, fewer if there are many labels.

    The last point is the present, with all reports so far.
    """
    with session.reading() as (statistics, _):
        labels, promise, moments, reward = (
            list(statistics.labels),
            statistics.promise,
            statistics.moments,
            statistics.reward,
        )
    if moments and reward is not None:
        moments[-1] = moments[-1]._replace(reward_mean=reward[0], reward_recent=reward[1])
    points = max(2, min(points, SERIES // max(1, len(labels))))
    if len(moments) > points:
        kept = np.unique(np.linspace(0, len(moments) - 1, points).round().astype(int))
        moments = [moments[i] for i in kept]
    k = len(labels)
    counts = np.array([moment.counts for moment in moments]).reshape(-1, k)
    rounds = np.array([moment.round for moment in moments], dtype=np.int64)
    owed = np.array([moment.owed for moment in moments]).reshape(-1, k)
    return {
        "round": rounds.tolist(),
        "labels": labels,
        "shares": (counts / np.maximum(rounds, 1)[:, None]).T.tolist(),
        "promised": None if promise is None else promise.floats().tolist(),
        "shortfall": None if promise is None else owed.T.tolist(),
        "reward_mean": [moment.reward_mean for moment in moments],
        "reward_recent": [moment.reward_recent for moment in moments],
        "forced": [moment.forced for moment in moments],
    }


def decisions_of(
    session: Session, *, before: int | None, limit: int, arm: str | None, reason: str | None, open: bool | None
) -> dict[str, Any]:
    """Return the decisions that match, newest first, and where the next page begins."""
    with session.reading() as (_, index):
        tickets = list(islice(index.find(before=before, arm=arm, reason=reason, open=open), limit + 1))
    rows = [_row(session.reader.record(ticket)) for ticket in tickets[:limit]]
    return {"decisions": rows, "next": tickets[limit - 1] if len(tickets) > limit else None}


def record_of(session: Session, ticket: int) -> dict[str, Any]:
    """Return everything on record about a decision."""
    record = session.reader.record(ticket)
    shown = {
        name: getattr(record, name) for name in ("decision", "given", "told", "version", "random_state", "key", "actor")
    }
    return {**_row(record), **shown}


def _row(record: Any) -> dict[str, Any]:
    decision = record.decision
    closed = record.told_at or record.forgotten_at or record.expired_at
    return {
        "id": record.ticket,
        "at": record.at,
        "arm": decision.get("arm", decision.get("group")),
        "index": decision.get("index"),
        "reason": decision.get("reason"),
        "probabilities": decision.get("probabilities"),
        "status": record.status,
        "reward": (record.told or {}).get("reward"),
        "told_at": record.told_at,
        "age_seconds": max(0.0, ((closed or datetime.now(UTC)) - record.at).total_seconds()),
    }


def owed_of(session: Session, limit: int) -> dict[str, Any]:
    """Return the last decisions that the promise forced."""
    with session.reading() as (_, index):
        tickets = list(islice(index.owed(), limit))
    rows = []
    for ticket in tickets:
        record = session.reader.record(ticket)
        decision = record.decision
        rows.append({"id": ticket, "round": decision["round"], "at": record.at, "arm": decision["arm"]})
    return {"owed": rows}


def audit_of(session: Session) -> dict[str, Any]:
    """Verify the whole log and return the findings."""
    return dict(session.audit().as_dict())
