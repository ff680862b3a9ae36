"""The routes that read: state, series, decisions, log and audit of studies, for keys with the role read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import ArgumentError, wanted
from evenhand.service import history
from evenhand.service.metrics import StudyGauges
from evenhand.service.responses import as_json
from evenhand.service.routes.routing import Endpoint
from evenhand.service.schemas.request_schemas import (
    DecisionPath,
    DecisionsQuery,
    ForcedQuery,
    HistoryQuery,
    SeriesQuery,
)
from evenhand.service.schemas.response_schemas import (
    AuditOut,
    DecisionsOut,
    ForcedOut,
    RecordOut,
    SeriesOut,
    StateOut,
    StudiesOut,
)
from evenhand.service.series import close_up, series_of
from evenhand.service.sessions import Session, Sessions
from evenhand.studies.log.codec import now
from evenhand.studies.statistics import gauges
from evenhand.studies.statistics.state import outline, summarize

RECORD = ("decision", "given", "told", "version", "random_state", "key", "actor")
"""What is shown of a single decision beside its row in a list."""


async def studies(request: Request) -> dict[str, Any]:
    """Return the outline of every study that the key works for, and which of them cannot be read."""
    key = request.scope.get("admitted")
    read, failed = await request.app.state.sessions.every(_outlined)
    return {
        "studies": [row for name, row in read.items() if key is None or key.reaches(name)],
        "unreadable": [{"name": name, "why": why} for name, why in failed.items() if key is None or key.reaches(name)],
    }


def _outlined(session: Session) -> dict[str, Any]:
    with session.reading() as (statistics, _):
        return outline(session.reader, statistics)


def study(request: Request, session: Session) -> Response:
    """Return the present state of a study: shares against promises, rewards, learned bias."""
    return _unless_seen(request, session, "state", lambda: state_of(session))


async def series(request: Request, query: SeriesQuery, session: Session) -> Any:
    """Return shares, shortfalls and rewards over time.

    With `first` or `last` the log is read again for the rounds in between, so that the points lie as densely as is
    asked for; this takes a while on a long log. At most four such requests run at once; `Retry-After` says when to try
    again.
    """
    if query.first is None and query.last is None:
        whole = partial(series_of, session, query.points)
        return await session.reads.run(partial(_unless_seen, request, session, str(query.points), whole))
    first, last = query.first or 1, query.last
    if last is not None and last < first:
        raise ArgumentError(wanted("last", f"a round >= first, which is {first}", last))
    return await request.app.state.closeups.run(partial(close_up, session, first, last, query.points))


def decisions(request: Request, query: DecisionsQuery, session: Session) -> dict[str, Any]:
    """Return decisions with their reasons and outcomes, page by page, the newest or the oldest first."""
    chosen, limit = dict(query), query.limit
    del chosen["limit"]
    with session.reading() as (_, index):
        tickets = list(islice(index.find(**chosen), limit + 1))
    rows = [_row(session.reader.log.record(ticket)) for ticket in tickets[:limit]]
    return {"decisions": rows, "next": tickets[limit - 1] if len(tickets) > limit else None}


def decision(request: Request, path: DecisionPath, session: Session) -> dict[str, Any]:
    """Return the contexts, the decision and its reason, its version and random state, and its outcome."""
    record = session.reader.log.record(path.id)
    return {**_row(record), **{name: getattr(record, name) for name in RECORD}}


def forced(request: Request, query: ForcedQuery, session: Session) -> dict[str, Any]:
    """Return the last decisions that the promise forced, newest first."""
    with session.reading() as (_, index):
        tickets = list(islice(index.forced(), query.limit))
    records = [session.reader.log.record(ticket) for ticket in tickets]
    return {
        "forced": [
            {"id": one.ticket, "round": one.decision["round"], "at": one.at, "arm": one.decision["arm"]}
            for one in records
        ]
    }


async def table(request: Request, query: HistoryQuery, session: Session) -> Response:
    """Return all decisions as a table to download.

    With `form=bandit` the header `Left-Out` says how many decisions are not in it, by status: `2 open, 1 forgotten`.
    """
    body, kind, left_out = await request.app.state.tables.run(
        lambda: history.export_log(session.reader, query.format, query.form)
    )
    saved = f'attachment; filename="{session.study.name}-{query.form}.{query.format}"'
    headers = {"Content-Disposition": saved, "Cache-Control": "no-store"} | ({"Left-Out": left_out} if left_out else {})
    return Response(body, media_type=kind, headers=headers)


async def audit(request: Request, session: Session) -> dict[str, Any]:
    """Replay the whole log from its start and check every promise at every round.

    A long log takes a while. At most two audits run at once; `Retry-After` says when to try again.
    """
    finding: dict[str, Any] = await request.app.state.audits.run(lambda: session.audit().as_dict())
    return finding


async def gauges_of(sessions: Sessions) -> list[StudyGauges]:
    """Return the state of every study for the metrics."""
    read, failed = await sessions.every(_gauges)
    return [*read.values(), *(StudyGauges(name, {"readable": 0}, {}) for name in failed)]


def _gauges(session: Session) -> StudyGauges:
    with session.reading() as (statistics, _):
        values = {**gauges.gauges_of(statistics), "readable": 1.0}
        return StudyGauges(session.reader.name, values, gauges.overdue_of(statistics, now()))


def state_of(session: Session) -> dict[str, Any]:
    """Return the present state of a study."""
    with session.reading() as (statistics, _):
        return summarize(session.study, statistics)


def _row(record: Any) -> dict[str, Any]:
    decision = record.decision
    closed = record.told_at or record.forgotten_at or record.expired_at
    return {
        "id": record.ticket,
        "at": record.at,
        "arm": decision.get("arm", decision.get("group")),
        **({"arms": decision["arms"]} if "arms" in decision else {}),
        "index": decision.get("index"),
        "reason": decision.get("reason"),
        "probabilities": decision.get("probabilities"),
        "status": record.status,
        "reward": (record.told or {}).get("reward"),
        "told_at": record.told_at,
        "age_seconds": max(0.0, ((closed or datetime.now(UTC)) - record.at).total_seconds()),
    }


def _unless_seen(request: Request, session: Session, mark: str, body: Callable[[], Any]) -> Response:
    """Return 304 if the client's `If-None-Match` names the log as it is now."""
    tag = f'"{session.reader.log.sequence}-{mark}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    seen = request.headers.get("if-none-match", "")
    if tag in (part.strip().removeprefix("W/").replace("-gzip", "") for part in seen.split(",")):
        return Response(status_code=304, headers=headers)
    return as_json(body(), headers)


READ_ENDPOINTS = (
    Endpoint("GET", "/studies", studies, "read", (StudiesOut,)),
    Endpoint("GET", "/studies/{name}", study, "read", (StateOut,), tagged=True),
    Endpoint("GET", "/studies/{name}/series", series, "read", (SeriesOut,), tagged=True),
    Endpoint("GET", "/studies/{name}/decisions", decisions, "read", (DecisionsOut,)),
    Endpoint("GET", "/studies/{name}/decisions/{id}", decision, "read", (RecordOut,)),
    Endpoint("GET", "/studies/{name}/forced", forced, "read", (ForcedOut,)),
    Endpoint("GET", "/studies/{name}/history", table, "read", content=history.CONTENT),
    Endpoint("GET", "/studies/{name}/audit", audit, "read", (AuditOut,)),
)
