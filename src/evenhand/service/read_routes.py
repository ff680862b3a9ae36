"""The routes that read: state, course, decisions, history and audit of studies, for keys with the role read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evenhand.service import history, views
from evenhand.service.request_schemas import (
    DecisionPath,
    DecisionsQuery,
    HistoryQuery,
    OwedQuery,
    SeriesQuery,
    StudyPath,
)
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
from evenhand.service.routing import Endpoints, Returns
from evenhand.service.sessions import Session

__all__ = ["read"]

read = Endpoints("read", role="read")
NO_CACHE = {"Cache-Control": "no-cache"}


@read.get("/studies", summary="All studies", returns=Returns("The studies.", (StudiesOut,)))
def studies(request: Request) -> Response:
    """Return the outline of every study of the store."""
    return as_json(views.studies_of(request.app.state.sessions), NO_CACHE)


@read.get("/studies/{name}", summary="A study's state", returns=Returns("The study.", (StateOut,), tagged=True))
def study(request: Request, path: StudyPath) -> Response:
    """Return a study as it stands: shares against promises, rewards, learned bias, alerts."""
    session = request.app.state.sessions.open(path.name)
    return _unless_seen(request, session, views.alert_mark(session), lambda: views.state_of(session))


@read.get(
    "/studies/{name}/series", summary="A study's course", returns=Returns("The course.", (SeriesOut,), tagged=True)
)
def series(request: Request, path: StudyPath, query: SeriesQuery) -> Response:
    """Return shares, shortfalls and rewards over time."""
    session = request.app.state.sessions.open(path.name)
    return _unless_seen(request, session, str(query.points), lambda: views.series_of(session, query.points))


@read.get(
    "/studies/{name}/decisions",
    summary="Decisions, newest first",
    returns=Returns("One page of decisions.", (DecisionsOut,)),
)
def decisions(request: Request, path: StudyPath, query: DecisionsQuery) -> Response:
    """Return decisions with their reasons and outcomes, page by page."""
    session = request.app.state.sessions.open(path.name)
    return as_json(views.decisions_of(session, **dict(query)), NO_CACHE)


@read.get(
    "/studies/{name}/decisions/{id}", summary="All of one decision", returns=Returns("The decision.", (RecordOut,))
)
def decision(request: Request, path: DecisionPath) -> Response:
    """Return the contexts, the decision and its reason, its version and random state, and its outcome."""
    return as_json(views.record_of(request.app.state.sessions.open(path.name), path.id), NO_CACHE)


@read.get("/studies/{name}/owed", summary="Forced decisions", returns=Returns("The decisions.", (OwedOut,)))
def owed(request: Request, path: StudyPath, query: OwedQuery) -> Response:
    """Return the last decisions that gave an arm the share that it was owed."""
    return as_json(views.owed_of(request.app.state.sessions.open(path.name), query.limit), NO_CACHE)


@read.get(
    "/studies/{name}/history",
    summary="The log as a table",
    returns=Returns("One row per decision.", content=history.CONTENT),
)
async def table(request: Request, path: StudyPath, query: HistoryQuery) -> Response:
    """Return all decisions as a table to download."""
    state = request.app.state
    body, kind = await state.tables.run(
        lambda: history.export_log(state.sessions.open(path.name).reader, query.format, query.form)
    )
    saved = f'attachment; filename="{path.name}-{query.form}.{query.format}"'
    return Response(body, media_type=kind, headers={"Content-Disposition": saved, "Cache-Control": "no-store"})


@read.get("/studies/{name}/audit", summary="Replay and verify", returns=Returns("The findings.", (AuditOut,)))
async def audit(request: Request, path: StudyPath) -> Response:
    """Replay the whole log from its start and check every promise at every round.

    A long log takes a while. At most two audits run at once; `Retry-After` says when to try again.
    """
    state = request.app.state
    return as_json(await state.audits.run(lambda: views.audit_of(state.sessions.open(path.name))), NO_CACHE)


def _unless_seen(request: Request, session: Session, mark: str, body: Callable[[], Any]) -> Response:
    """Return 304 if the client's `If-None-Match` names the log as it is now."""
    tag = f'"{session.reader.sequence}-{mark}"'
    headers = {"ETag": tag, **NO_CACHE}
    seen = request.headers.get("if-none-match", "")
    if tag in (part.strip().removeprefix("W/").replace("-gzip", "") for part in seen.split(",")):
        return Response(status_code=304, headers=headers)
    return as_json(body(), headers)
