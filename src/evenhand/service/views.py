"""What readers see of a study: its state, its course, its decisions one by one."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np

from evenhand.service.metrics import Standing
from evenhand.service.sessions import Session, Sessions
from evenhand.studies import Study, monitors
from evenhand.studies.standing import outline, standing

__all__ = [
    "alert_mark",
    "audit_of",
    "decisions_of",
    "owed_of",
    "record_of",
    "series_of",
    "standings",
    "state_of",
    "studies_of",
]


SERIES = 50_000
"""Shares in one course, by labels and rounds: with many labels there are fewer rounds."""


def studies_of(sessions: Sessions) -> dict[str, Any]:
    """Return all studies with their outlines."""
    rows = []
    for session in sessions.all():
        with session.looking() as (trail, _):
            rows.append({**outline(session.study, trail), "alerts": len(monitors.alerts(session.study, standing=True))})
    return {"studies": rows}


def alert_mark(session: Session) -> str:
    """Return what changes when an alert is raised or cleared, or a monitor set or removed."""
    known = [_alerts(session.study), _monitors(session.study)]
    return f"{zlib.crc32(repr(known).encode()):08x}"


def standings(sessions: Sessions) -> list[Standing]:
    """Return how all studies stand, for the metrics."""
    found = []
    for session in sessions.all():
        with session.looking() as (trail, _):
            worst = trail.worst
            found.append(Standing(session.study.name, len(trail.open), worst[0] if worst else None, trail.kept))
    return found


def state_of(session: Session) -> dict[str, Any]:
    """Return a study as it stands."""
    study = session.study
    with session.looking() as (trail, _):
        return {**standing(study, trail), "alerts": _alerts(study), "monitors": _monitors(study)}


def _alerts(study: Study) -> list[dict[str, Any]]:
    rows = [alert.row() for alert in monitors.alerts(study)]
    return [{"since": row.pop("raised"), **row} for row in rows]


def _monitors(study: Study) -> list[dict[str, Any]]:
    """Return what is watched, without the addresses that are told of it."""
    return [
        {"id": one.id, "metric": one.metric, "subject": one.subject, "threshold": one.threshold, "window": one.window}
        for one in monitors.listed(study)
    ]


def series_of(session: Session, points: int) -> dict[str, Any]:
    """Return a study's course at about `points` rounds, at fewer where there are many labels; the last point is the
    present, with all reports so far."""
    with session.looking() as (trail, _):
        labels, promise, moments, reward = list(trail.labels), trail.promise, trail.moments, trail.reward
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
    """Return decisions that fit, newest first, and where the next page begins."""
    with session.looking() as (_, index):
        tickets = list(islice(index.find(before=before, arm=arm, reason=reason, open=open), limit + 1))
    rows = [_row(session.seen.record(ticket)) for ticket in tickets[:limit]]
    return {"decisions": rows, "next": tickets[limit - 1] if len(tickets) > limit else None}


def record_of(session: Session, ticket: int) -> dict[str, Any]:
    """Return all that is known of a decision."""
    record = session.seen.record(ticket)
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
    """Return the last decisions that were owed to somebody."""
    with session.looking() as (_, index):
        tickets = list(islice(index.owed(), limit))
    rows = []
    for ticket in tickets:
        record = session.seen.record(ticket)
        decision = record.decision
        rows.append({"id": ticket, "round": decision["round"], "at": record.at, "arm": decision["arm"]})
    return {"owed": rows}


def audit_of(session: Session) -> dict[str, Any]:
    """Return what verifying the whole log found."""
    return dict(session.audit().as_dict())
