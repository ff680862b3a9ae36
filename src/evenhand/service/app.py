"""The application: every route of the service over one store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from evenhand.errors import EvenhandError, StoreError
from evenhand.service import state
from evenhand.service.auth import Guard
from evenhand.service.connections import Room
from evenhand.service.desks import Desks
from evenhand.service.document import described
from evenhand.service.door import Door
from evenhand.service.limits import LIMITS, Buckets, Limits
from evenhand.service.metrics import Metrics
from evenhand.service.pages import page_routes
from evenhand.service.readiness import Readiness
from evenhand.service.reading import reading_routes
from evenhand.service.refusals import NAMES, Refusal, refusal_of
from evenhand.service.talk import Talk
from evenhand.service.watching import Hook, Watch
from evenhand.studies import Store
from evenhand.version import __version__

__all__ = ["create_app"]


def create_app(
    store: Store,
    *,
    page_key: str | None = None,
    rate: float = 20_000.0,
    burst: float = 40_000.0,
    max_body: int = 8 * 2**20,
    max_batch: int = 10_000,
    limits: Limits = LIMITS,
    open_metrics: bool = False,
    log: Any = None,
    hooks: Sequence[Hook] = (),
    interval: float = 1.0,
) -> FastAPI:
    """Return the service over a store, as an ASGI application.

    Parameters
    ----------
    store : where the studies are, and the keys of those who may use them.
    page_key : the text of a key with the role read that is good as long as the application lives, and never stored.
    rate, burst : requests that a key may send in a second, and at once; an address without a good key has a
        hundredth of it. Each worker counts for itself.
    max_body : bytes of the largest request.
    max_batch : rows of the largest batch.
    limits : what connections are allowed, where `evenhand.service.connections.Connection` serves them.
    open_metrics : let `/metrics` be read without a key.
    log : where each request is noted (`evenhand.service.logs.json_log()`); None for nowhere.
    hooks, interval : what is called with every study, every so many seconds, in the background.
    """
    desks, metrics = Desks(store), Metrics()
    watch, room = Watch(store, hooks, interval, log), Room(limits, metrics.refused)

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        watch.start()
        yield {"room": room}
        await asyncio.to_thread(watch.stop)
        await asyncio.to_thread(desks.stop)

    app = FastAPI(
        title="evenhand",
        version=__version__,
        description="Studies that decide fairly while they learn: asked, told and watched over HTTP.",
        lifespan=living,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    talk = Talk(desks, metrics, most=max_batch, state=state.state_of)
    app.state.desks = desks
    app.include_router(reading_routes(desks))
    app.include_router(
        page_routes(lambda: app.openapi(), lambda: metrics.exposition(lambda: state.standings(desks)), Readiness(store))
    )
    app.openapi = described(app)  # type: ignore[method-assign]
    _refusals(app, metrics, log)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)
    app.add_middleware(
        Door,
        direct={
            ("POST", "/studies"): talk.create,
            ("POST", "/studies/{name}/ask"): talk.ask,
            ("POST", "/studies/{name}/tell"): talk.tell,
            ("POST", "/studies/{name}/forget"): talk.forget,
        },
        guard=Guard(store, page_key),
        buckets=Buckets(rate, burst),
        strangers=Buckets(max(1.0, rate / 100), max(10.0, burst / 100)),
        metrics=metrics,
        log=log,
        max_body=max_body,
        keyless=["/metrics"] if open_metrics else [],
    )
    return app


def _refusals(app: FastAPI, metrics: Metrics, log: Any) -> None:
    """Let everything that is refused inside look like what the door refuses."""

    def answered(refusal: Refusal) -> Response:
        metrics.refused(refusal.name)
        headers = {"Cache-Control": "no-store", **refusal.headers}
        return Response(refusal.body(), refusal.status, headers, "application/json")

    async def of_evenhand(request: Request, error: Exception) -> Response:
        refusal = refusal_of(error)
        if refusal.status == 503 and isinstance(error, StoreError) and log is not None:
            log.error("store", route=request.url.path[:200], why=str(error))
        return answered(refusal)

    async def of_form(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = " ".join(str(part) for part in first["loc"][1:])
        return answered(Refusal(422, f"{where}: {first['msg']}"))

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status = error.status_code if error.status_code in NAMES else 404
        return answered(Refusal(status, f"nothing is at {request.url.path[:200]}"))

    handlers: dict[Any, Callable[..., Any]] = {
        EvenhandError: of_evenhand,
        Refusal: of_evenhand,
        RequestValidationError: of_form,
        HTTPException: of_http,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
