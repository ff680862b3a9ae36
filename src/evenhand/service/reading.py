"""The routes that read: state, course, decisions, history and audit of studies, for keys with the role read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from evenhand.service import history, models, state
from evenhand.service.answers import Large, as_json
from evenhand.service.desks import Desk, Desks
from evenhand.service.jobs import Lane

__all__ = ["reading_routes"]

LARGEST = 2**62
Name = Annotated[str, Path(description="The study's name.", examples=["ads"])]
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed since the ETag that was sent."}}


def reading_routes(desks: Desks) -> APIRouter:
    """Return the routes over the studies of a store."""
    routes = APIRouter(tags=["read"])
    audits, tables = Lane("audits"), Lane("tables")

    def fresh(request: Request, desk: Desk, mark: str, body: Callable[[], Any]) -> Response:
        """Answer 304 where the reader has seen the log as it is."""
        tag = f'"{desk.seen.sequence}-{mark}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        seen = request.headers.get("if-none-match", "")
        if tag in (part.strip().removeprefix("W/").replace("-gzip", "") for part in seen.split(",")):
            return Response(status_code=304, headers=headers)
        return as_json(body(), headers)

    @routes.get("/studies", response_model=models.StudiesOut, summary="All studies")
    def studies() -> Response:
        """Return every study of the store with its outline."""
        return as_json(state.studies_of(desks), {"Cache-Control": "no-cache"})

    @routes.get("/studies/{name}", response_model=models.StateOut, summary="A study's state", responses=UNCHANGED)
    def study(request: Request, name: Name) -> Response:
        """Return a study as it stands: shares against promises, rewards, learned bias, alerts."""
        desk = desks.open(name)
        return fresh(request, desk, state.alert_mark(desk), lambda: state.state_of(desk))

    @routes.get(
        "/studies/{name}/series", response_model=models.SeriesOut, summary="A study's course", responses=UNCHANGED
    )
    def series(
        request: Request,
        name: Name,
        points: Annotated[int, Query(ge=2, le=1000, description="At how many rounds, about.")] = 400,
    ) -> Response:
        """Return shares, shortfalls and rewards over time."""
        desk = desks.open(name)
        return fresh(request, desk, str(points), lambda: state.series_of(desk, points))

    @routes.get("/studies/{name}/decisions", response_model=models.DecisionsOut, summary="Decisions, newest first")
    def decisions(
        name: Name,
        before: Annotated[int | None, Query(ge=1, le=LARGEST, description="Only decisions before this one.")] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        arm: Annotated[str | None, Query(max_length=200, description="Only for this arm or group.")] = None,
        reason: Annotated[str | None, Query(max_length=200, description="Only for this reason.")] = None,
        open: Annotated[bool | None, Query(description="Only open ones, or only closed ones.")] = None,
    ) -> Response:
        """Return decisions with their reasons and what was told of them, page by page."""
        found = state.decisions_of(desks.open(name), before=before, limit=limit, arm=arm, reason=reason, open=open)
        return as_json(found, {"Cache-Control": "no-cache"})

    @routes.get("/studies/{name}/decisions/{id}", response_model=models.RecordOut, summary="All of one decision")
    def decision(
        name: Name, id: Annotated[int, Path(ge=1, le=LARGEST, description="The decision's number.")]
    ) -> Response:
        """Return what was shown, what was decided and why, by which version and random state, and what came of it."""
        return as_json(state.record_of(desks.open(name), id), {"Cache-Control": "no-cache"})

    @routes.get("/studies/{name}/owed", response_model=models.OwedOut, summary="Who was owed when")
    def owed(name: Name, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
        """Return the last decisions that went to somebody because they were owed their share."""
        return as_json(state.owed_of(desks.open(name), limit), {"Cache-Control": "no-cache"})

    @routes.get(
        "/studies/{name}/history",
        response_class=Response,
        summary="The log as a table",
        responses={200: {"description": "A row a decision.", "content": history.CONTENT}},
    )
    async def table(
        name: Name,
        format: Annotated[Literal["csv", "parquet", "arrow", "json"], Query(description="The file's form.")] = "csv",
        form: Annotated[
            Literal["log", "bandit"],
            Query(description="The log as it is, or bandit feedback with propensities for off-policy estimators."),
        ] = "log",
    ) -> Response:
        """Return all decisions as a table to download."""
        body, kind = await tables.run(lambda: history.written(desks.open(name).seen, format, form))
        saved = f'attachment; filename="{name}-{form}.{format}"'
        return Large(body, media_type=kind, headers={"Content-Disposition": saved, "Cache-Control": "no-store"})

    @routes.get("/studies/{name}/audit", response_model=models.AuditOut, summary="Replay and verify")
    async def audit(name: Name) -> Response:
        """Replay the whole log from its start and check every promise at every round.

        A long log takes a while. At most two audits run at once; `Retry-After` says when to come again.
        """
        return as_json(await audits.run(lambda: state.audit_of(desks.open(name))), {"Cache-Control": "no-cache"})

    return routes
