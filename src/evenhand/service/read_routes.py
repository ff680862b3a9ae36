"""The routes that read: state, course, decisions, history and audit of studies, for keys with the role read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evenhand.service import history, views
from evenhand.service.request_schemas import DecisionPath, DecisionsQuery, HistoryQuery, OwedQuery, SeriesQuery
from evenhand.service.response_schemas import (
    AuditOut,
    DecisionsOut,
    OwedOut,
    RecordOut,
    SeriesOut,
    StateOut,
    StudiesOut,
)
from evenhand.service.responses import as_json
from evenhand.service.routing import Endpoint
from evenhand.service.sessions import Session

__all__ = ["READ_ENDPOINTS"]

NO_CACHE = {"Cache-Control": "no-cache"}


def studies(request: Request) -> Response:
    """Return the outline of every study of the store."""
    return as_json(views.studies_of(request.app.state.sessions), NO_CACHE)


def study(request: Request, session: Session) -> Response:
    """Return a study as it stands: shares against promises, rewards, learned bias, alerts."""
    return _unless_seen(request, session, views.alert_mark(session), lambda: views.state_of(session))


def series(request: Request, query: SeriesQuery, session: Session) -> Response:
    """Return shares, shortfalls and rewards over time."""
    return _unless_seen(request, session, str(query.points), lambda: views.series_of(session, query.points))


def decisions(request: Request, query: DecisionsQuery, session: Session) -> Response:
    """Return decisions with their reasons and outcomes, page by page."""
    return as_json(views.decisions_of(session, **dict(query)), NO_CACHE)


def decision(request: Request, path: DecisionPath, session: Session) -> Response:
    """Return the contexts, the decision and its reason, its version and random state, and its outcome."""
    return as_json(views.record_of(session, path.id), NO_CACHE)


def owed(request: Request, query: OwedQuery, session: Session) -> Response:
    """Return the last decisions that gave an arm the share that it was owed."""
    return as_json(views.owed_of(session, query.limit), NO_CACHE)


async def table(request: Request, query: HistoryQuery, session: Session) -> Response:
    """Return all decisions as a table to download."""
    body, kind = await request.app.state.tables.run(
        lambda: history.export_log(session.reader, query.format, query.form)
    )
    saved = f'attachment; filename="{session.study.name}-{query.form}.{query.format}"'
    return Response(body, media_type=kind, headers={"Content-Disposition": saved, "Cache-Control": "no-store"})


async def audit(request: Request, session: Session) -> Response:
    """Replay the whole log from its start and check every promise at every round.

    A long log takes a while. At most two audits run at once; `Retry-After` says when to try again.
    """
    return as_json(await request.app.state.audits.run(lambda: views.audit_of(session)), NO_CACHE)


def _unless_seen(request: Request, session: Session, mark: str, body: Callable[[], Any]) -> Response:
    """Return 304 if the client's `If-None-Match` names the log as it is now."""
    tag = f'"{session.reader.sequence}-{mark}"'
    headers = {"ETag": tag, **NO_CACHE}
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
    Endpoint("GET", "/studies/{name}/owed", owed, "read", (OwedOut,)),
    Endpoint("GET", "/studies/{name}/history", table, "read", content=history.CONTENT),
    Endpoint("GET", "/studies/{name}/audit", audit, "read", (AuditOut,)),
)
