"""The routes of the service itself: health, metrics, the API document, and the page with its files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

from evenhand.errors import StoreError
from evenhand.service.metrics import StudyGauges
from evenhand.service.routes import openapi
from evenhand.service.routes.routing import Endpoint, unlimited
from evenhand.service.sessions import Session, Sessions
from evenhand.studies import Store
from evenhand.studies.log.codec import now
from evenhand.studies.statistics import gauges
from evenhand.version import __version__

FOLDER = Path(__file__).parent.parent / "page"
FILES = StaticFiles(directory=FOLDER)
NO_CACHE = {"Cache-Control": "no-cache"}
PATIENCE = 5.0
"""Seconds within which a store that is ready takes a write."""


class LiveOut(BaseModel):
    """The process answers."""

    status: Literal["ok"]
    version: str


async def live(request: Request) -> dict[str, Any]:
    """Say that the process is alive, whatever its store does: restart a process that does not answer."""
    return {"status": "ok", "version": __version__}


class HealthOut(LiveOut):
    """The process answers, and its store takes writes."""

    studies: int
    unreadable: int = Field(description="How many studies could not be read the last time; `GET /studies` names them.")


async def ready(request: Request) -> dict[str, Any]:
    """Return whether the store takes writes: send no requests while it does not.

    A write is tried at most once a second, however often this is called. `unreadable` counts the studies whose
    logs could not be read the last time that somebody asked for them; `GET /studies` names them, and all others are
    served.
    """
    state = request.app.state
    try:
        async with asyncio.timeout(PATIENCE):
            studies = await state.readiness.result()
    except TimeoutError as error:
        late = f"the store accepted no write within {PATIENCE:g} seconds"
        raise StoreError(f"{state.sessions.store.url}: {late}") from error
    return {**await live(request), "studies": studies, "unreadable": state.sessions.unreadable()}


def written(store: Store) -> int:
    """Try a write to a store; return the number of its studies.

    Raises
    ------
    StoreError
        If the store cannot be reached, or does not take a write.
    """
    store.check_writable()
    return len(store.names())


async def metrics(request: Request) -> Response:
    """Return metrics for Prometheus: counters, times, and how each study keeps its promise."""
    unlimited(request)
    state = request.app.state
    gauges = await gauges_of(state.sessions)
    text = await state.reads.run(lambda: state.metrics.exposition(gauges))
    return Response(text, media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


async def gauges_of(sessions: Sessions) -> list[StudyGauges]:
    """Return the state of every study for the metrics."""
    read, failed = await sessions.every(_gauges)
    return [*read.values(), *(StudyGauges(name, {"readable": 0}, {}) for name in failed)]


def _gauges(session: Session) -> StudyGauges:
    with session.reading() as (statistics, _):
        values = {**gauges.gauges_of(statistics), "readable": 1.0}
        return StudyGauges(session.reader.name, values, gauges.overdue_of(statistics, now()))


async def document(request: Request) -> dict[str, Any]:
    return openapi.document(request.app.state.endpoints)


def _page(path: str, file: str) -> Endpoint:
    async def page(request: Request) -> Response:
        return FileResponse(FOLDER / file, headers=NO_CACHE)

    return Endpoint("GET", path, page, described=False)


async def file(request: Request) -> Response:
    name = request.path_params["file"]
    if "\0" in name:  # Starlette before 0.47 lets the file system refuse it, as a defect
        raise HTTPException(404)
    response = await FILES.get_response(name, request.scope)
    response.headers.update(NO_CACHE)
    return response


SYSTEM_ENDPOINTS = (
    Endpoint("GET", "/livez", live, returns=(LiveOut,), probed=True),
    Endpoint("GET", "/readyz", ready, returns=(HealthOut,), probed=True),
    Endpoint("GET", "/metrics", metrics, "read", content={"text/plain": {}}),
    Endpoint("GET", "/openapi.json", document, described=False),
    _page("/docs", "docs.html"),
    _page("/", "index.html"),
    _page("/label", "label.html"),
    _page("/audit", "audit.html"),
    Endpoint("GET", "/page/{file:path}", file, described=False),
)
