"""The routes of the service itself: health, metrics, the documentation, and the page with its files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from evenhand.service import docs, models
from evenhand.service.forms import JSON
from evenhand.service.readiness import Readiness
from evenhand.service.refusals import Refusal
from evenhand.version import __version__

__all__ = ["page_routes"]

FOLDER = Path(__file__).parent / "page"
REVALIDATED = {"Cache-Control": "no-cache"}
HOST = re.compile(r"[A-Za-z0-9.-]{1,255}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")


class Files(StaticFiles):
    """The page's files, looked for anew each time but sent only when they changed."""

    def file_response(self, full_path: Any, stat_result: Any, scope: Scope, status_code: int = 200) -> Response:
        """Return a file."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(REVALIDATED)
        return response


def page_routes(
    document: Callable[[], dict[str, Any]], exposition: Callable[[], bytes], readiness: Readiness
) -> APIRouter:
    """Return the routes that are about no study.

    Parameters
    ----------
    document : returns the OpenAPI document.
    exposition : returns what Prometheus reads.
    readiness : says whether the store takes writes.
    """
    routes = APIRouter(tags=["service"])

    @routes.get("/livez", response_model=models.LiveOut, summary="Is the process alive?")
    async def live() -> Response:
        """Answer, whatever the store does: restart a process that does not."""
        return _json({"status": "ok", "version": __version__})

    @routes.get("/readyz", response_model=models.HealthOut, summary="Does the store take writes?")
    async def ready() -> Response:
        """Try a write, at most once a second however often this is called: send no requests where it fails."""
        return _json({"status": "ok", "version": __version__, "studies": await readiness.studies()})

    @routes.get("/healthz", response_model=models.HealthOut, summary="The same as /readyz")
    async def health() -> Response:
        """Do what `/readyz` does, under an older name."""
        return await ready()

    @routes.get(
        "/metrics",
        response_class=Response,
        summary="Metrics for Prometheus",
        responses={200: {"description": "Text that Prometheus reads.", "content": {"text/plain": {}}}},
    )
    def metrics() -> Response:
        """Return counters, times, and how each study keeps its promise."""
        return Response(exposition(), media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})

    @routes.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return _json(document())

    @routes.get("/docs", include_in_schema=False)
    async def documentation(request: Request) -> Response:
        return Response(docs.page(document(), _address(request)), media_type="text/html", headers=REVALIDATED)

    @routes.get("/docs/style.css", include_in_schema=False)
    async def style() -> Response:
        return Response(docs.STYLE, media_type="text/css", headers=REVALIDATED)

    @routes.get("/", include_in_schema=False)
    def page() -> Response:
        file = FOLDER / "index.html"
        if not file.is_file():
            raise Refusal(404, "this evenhand has no page; GET /docs tells what there is")
        return FileResponse(file, headers=REVALIDATED)

    if FOLDER.is_dir():
        routes.mount("/page", Files(directory=FOLDER))
    return routes


def _address(request: Request) -> str:
    """Return where the reader reached the service, as far as their request says it."""
    host = request.headers.get("host", "")
    return f"{request.url.scheme}://{host if HOST.fullmatch(host) else 'HOST'}"


def _json(body: Any) -> Response:
    return Response(orjson.dumps(body), media_type=JSON, headers=REVALIDATED)
