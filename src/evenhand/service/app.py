"""The application: every route of the service over one store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route

from evenhand.service.auth import Guard
from evenhand.service.jobs import Lane, Recent, run_detached
from evenhand.service.metrics import Metrics
from evenhand.service.middleware import Middleware
from evenhand.service.routes.decisions import DECISION_ENDPOINTS
from evenhand.service.routes.promises import PROMISE_ENDPOINTS
from evenhand.service.routes.studies import STUDY_ENDPOINTS
from evenhand.service.routes.system import SYSTEM_ENDPOINTS, written
from evenhand.service.routes.views import VIEW_ENDPOINTS
from evenhand.service.sessions import Sessions
from evenhand.studies import Store

READING, CHANGING = 30.0, 600.0
"""Seconds in which a read of the store is answered, and what may take long: a change, an audit, a table."""

ENDPOINTS = (*DECISION_ENDPOINTS, *PROMISE_ENDPOINTS, *STUDY_ENDPOINTS, *VIEW_ENDPOINTS, *SYSTEM_ENDPOINTS)
"""Every route of studies and of the service itself; those used most come first."""


def create_app(
    store: Store,
    *,
    page_key: str | None = None,
    max_body: int = 8 * 2**20,
    max_batch: int = 10_000,
    open_metrics: bool = False,
    log: Any = None,
) -> Starlette:
    """Return the service over a store, as an ASGI application.

    Parameters
    ----------
    store : holds the studies and the keys.
    page_key : the text of a key with the role read; it is valid as long as the application lives, and never stored.
    max_body : the largest request, in bytes.
    max_batch : the rows of the largest batch.
    open_metrics : let `/metrics` be read without a key.
    log : the logger of requests (`evenhand.service.logs.json_log()`), or None.
    """
    sessions, metrics = Sessions(store), Metrics()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await run_detached(sessions.stop)

    endpoints = [
        replace(endpoint, role=None) if open_metrics and endpoint.path == "/metrics" else endpoint
        for endpoint in ENDPOINTS
    ]
    routes = [Route(one.path, one, methods=[one.method]) for one in endpoints]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.router.redirect_slashes = False
    app.middleware_stack = Middleware(app.router, metrics, log)
    app.state.sessions, app.state.metrics, app.state.guard = sessions, metrics, Guard(store, page_key)
    app.state.endpoints, app.state.readiness = endpoints, Recent(lambda: written(store))
    app.state.reads = Lane("reading the store", 16, READING)
    app.state.changes = Lane("changing the store", 16, CHANGING)
    app.state.audits = Lane("audits", 2, CHANGING, queues=False)
    app.state.tables = Lane("tables", 2, CHANGING, queues=False)
    app.state.closeups = Lane("series of some rounds", 4, CHANGING, queues=False)
    app.state.max_body, app.state.max_batch = max_body, max_batch
    return app
