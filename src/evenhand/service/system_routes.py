"""The routes of the service itself: health, metrics, the API document, and the page with its files."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

from evenhand.service import openapi, views
from evenhand.service.request_schemas import FilePath
from evenhand.service.response_schemas import HealthOut, LiveOut
from evenhand.service.responses import as_json
from evenhand.service.routing import Endpoints, Returns
from evenhand.version import __version__

__all__ = ["FOLDER", "system"]

system = Endpoints("service")
FOLDER = Path(__file__).parent / "page"
FILES = StaticFiles(directory=FOLDER)
NO_CACHE = {"Cache-Control": "no-cache"}


@system.get("/livez", summary="Is the process alive?", returns=Returns("It is.", (LiveOut,)), limited=False)
async def live(request: Request) -> Response:
    """Respond, whatever the store does: restart a process that does not."""
    return as_json({"status": "ok", "version": __version__}, NO_CACHE)


@system.get("/readyz", summary="Does the store take writes?", returns=Returns("It does.", (HealthOut,)), limited=False)
async def ready(request: Request) -> Response:
    """Try a write, at most once a second however often this is called: send no requests while it fails."""
    studies = await request.app.state.readiness.studies()
    return as_json({"status": "ok", "version": __version__, "studies": studies}, NO_CACHE)


@system.get("/healthz", summary="The same as /readyz", returns=Returns("It does.", (HealthOut,)), limited=False)
async def health(request: Request) -> Response:
    """Do what `/readyz` does, under an older name."""
    return await ready(request)


@system.get(
    "/metrics",
    summary="Metrics for Prometheus",
    returns=Returns("Text in Prometheus's format.", content={"text/plain": {}}),
    role="read",
)
def metrics(request: Request) -> Response:
    """Return counters, times, and how each study keeps its promise."""
    state = request.app.state
    text = state.metrics.exposition(lambda: views.standings(state.sessions))
    return Response(text, media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


@system.get("/openapi.json", described=False)
async def document(request: Request) -> Response:
    return as_json(openapi.document(request.app.state.endpoints), NO_CACHE)


@system.get("/docs", described=False)
async def docs(request: Request) -> Response:
    return FileResponse(FOLDER / "docs.html", headers=NO_CACHE)


@system.get("/", described=False)
async def page(request: Request) -> Response:
    return FileResponse(FOLDER / "index.html", headers=NO_CACHE)


@system.get("/page/{file:path}", described=False)
async def file(request: Request, path: FilePath) -> Response:
    response = await FILES.get_response(path.file, request.scope)
    response.headers.update(NO_CACHE)
    return response
