"""The routes without a key: the page with its files, the documentation, health and metrics."""

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
from evenhand.service.refusals import Refusal
from evenhand.studies import Store
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


def page_routes(document: Callable[[], dict[str, Any]], exposition: Callable[[], bytes], store: Store) -> APIRouter:
    """Return the routes that need no key.

    Parameters
    ----------
    document : returns the OpenAPI document.
    exposition : returns what Prometheus reads.
    store : whose health is asked for.
    """
    routes = APIRouter(tags=["service"])

    @routes.get("/healthz", response_model=models.HealthOut, summary="Is the service well?")
    def health() -> Response:
        """Ask the store for its studies."""
        return _json({"status": "ok", "version": __version__, "studies": len(store.names())})

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
    def openapi() -> Response:
        return _json(document())

    @routes.get("/docs", include_in_schema=False)
    def documentation(request: Request) -> Response:
        return Response(docs.page(document(), _address(request)), media_type="text/html", headers=REVALIDATED)

    @routes.get("/docs/style.css", include_in_schema=False)
    def style() -> Response:
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
