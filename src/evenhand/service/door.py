"""The door of the service: every request passes here, is named, admitted, counted and logged.

The routes of the conversation are answered straight from here; everything else goes on to the application inside.
"""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from evenhand.errors import StoreError, UnknownStudyError
from evenhand.service.auth import Guard
from evenhand.service.forms import Call
from evenhand.service.limits import Buckets, read_body
from evenhand.service.metrics import Metrics
from evenhand.service.refusals import Refusal, refusal_of
from evenhand.service.routes import Route, found
from evenhand.service.talk import Answer
from evenhand.studies.creation import NAME

__all__ = ["SECURITY", "Door"]

Scope = dict[str, Any]
Send = Callable[[Any], Awaitable[None]]
Direct = Callable[[Call], Awaitable[Answer]]
Headers = list[tuple[bytes, bytes]]

SECURITY: Headers = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
"""What every answer forbids."""
PAGES: Headers = [
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_RUN, _COUNT = secrets.token_hex(4), itertools.count(1)
"""Requests without an id of their own are numbered, behind a text that is this process's own."""
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_ONCE = (b"authorization", b"idempotency-key")
"""Headers of which a second one could mean anything."""
_FREE = {"/livez", "/readyz", "/healthz"}
"""Routes that are never too fast."""


class Visit:
    """One request on its way: what is known of it for the log."""

    __slots__ = ("asked", "headers", "id", "key", "method", "route", "start", "status", "study")

    def __init__(self, scope: Scope) -> None:
        self.start = time.perf_counter()
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.method: str = scope["method"]
        self.asked = "GET" if self.method == "HEAD" else self.method
        given = self.headers.get(b"x-request-id")
        self.id = given if given is not None and _ID.fullmatch(given) else f"{_RUN}{next(_COUNT):08x}".encode()
        self.key: str | None = None
        self.route, self.study, self.status = "other", "", 0


class Door:
    """The outermost layer.

    Parameters
    ----------
    inside : the application that answers what `direct` does not.
    direct : what answers straight away, by (method, route).
    buckets, strangers : rates of requests, a key's, and an address's that shows no good key.
    log : where each request is noted; None for nowhere.
    keyless : routes that need no key here, whatever the table of routes says.
    """

    def __init__(
        self,
        inside: Any,
        direct: Mapping[tuple[str, str], Direct],
        *,
        guard: Guard,
        buckets: Buckets,
        strangers: Buckets,
        metrics: Metrics,
        log: Any,
        max_body: int,
        keyless: Collection[str] = (),
    ) -> None:
        self._inside, self._direct, self._guard, self._metrics = inside, direct, guard, metrics
        self._buckets, self._strangers, self._log, self._max_body = buckets, strangers, log, max_body
        self._keyless = keyless

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return
        visit = Visit(scope)
        try:
            route, visit.study = found(scope["path"])
            visit.route = "other" if route is None else route.template
            await self._admitted(scope, visit, route)
            if len(visit.headers) < len(scope["headers"]):
                _check_once(scope["headers"])
            if visit.study and NAME.fullmatch(visit.study) is None:
                raise UnknownStudyError(f"no study is named {visit.study[:100]!r}")
            answering = self._direct.get((visit.asked, visit.route))
            if answering is None:
                await self._inside({**scope, "method": visit.asked}, receive, self._marked(visit, send))
            else:
                body = await read_body(receive, visit.headers.get(b"content-length"), self._max_body)
                answer = await answering(Call(visit.study, visit.headers, body, visit.key or ""))
                await self._sent(visit, send, answer.status, answer.kind, answer.body, answer.headers)
        except Exception as error:
            await self._refused(visit, send, error)
        finally:
            seconds = time.perf_counter() - visit.start
            self._metrics.request(_known(visit.method), visit.route, visit.status, seconds)
            if self._log is not None:
                self._log.info(
                    "request",
                    id=visit.id.decode(),
                    method=visit.method,
                    route=visit.route,
                    status=visit.status,
                    duration_ms=round(seconds * 1e3, 3),
                    key=visit.key,
                    study=visit.study[:100] or None,
                )

    async def _admitted(self, scope: Scope, visit: Visit, route: Route | None) -> None:
        """Refuse who may not, and who comes too often."""
        if route is None:
            self._slow(scope)
            raise Refusal(404, f"nothing is at {scope['path'][:200]}; GET /docs tells what there is")
        if visit.asked not in route.methods:
            self._slow(scope)
            takes = ", ".join([*(["HEAD"] if "GET" in route.methods else []), *route.methods])
            raise Refusal(405, f"{route.template} takes {takes}", headers={"Allow": takes})
        role = None if route.template in self._keyless else route.methods[visit.asked]
        if role is None:
            if route.template not in _FREE:
                self._slow(scope)
            return
        try:
            key = await self._guard.admit(visit.headers.get(b"authorization"), role)
        except Refusal as refusal:
            if refusal.status in (401, 403):
                self._slow(scope)
            raise
        visit.key = key.id
        self._buckets.take(key.id)

    def _slow(self, scope: Scope) -> None:
        client = scope.get("client")
        self._strangers.take(client[0] if client else "")

    async def _refused(self, visit: Visit, send: Send, error: Exception) -> None:
        refusal = refusal_of(error)
        if self._log is not None:
            if refusal.status == 500:
                self._log.error("defect", id=visit.id.decode(), route=visit.route, exc_info=error)
            elif refusal.status == 503 and isinstance(error, StoreError):
                self._log.error("store", id=visit.id.decode(), route=visit.route, why=str(error))
        self._metrics.refused(refusal.name)
        if visit.status:
            raise error
        headers = tuple((name.lower().encode(), value.encode("latin-1")) for name, value in refusal.headers.items())
        await self._sent(visit, send, refusal.status, "application/json", refusal.body(), headers)

    async def _sent(
        self, visit: Visit, send: Send, status: int, kind: str, body: bytes, headers: tuple[tuple[bytes, bytes], ...]
    ) -> None:
        visit.status = status
        fields = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"x-request-id", visit.id),
            *SECURITY,
            *headers,
        ]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": b"" if visit.method == "HEAD" else body})

    def _marked(self, visit: Visit, send: Send) -> Send:
        """Return a `send` that notes the status and adds the headers that every answer has; a head goes alone."""

        async def marked(message: Any) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", visit.id), *SECURITY, *PAGES]
            elif visit.method == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        return marked


def _check_once(headers: Headers) -> None:
    names = [name for name, _ in headers]
    for name in _ONCE:
        if names.count(name) > 1:
            raise Refusal(400, f"wanted the header {name.decode().title()} once, got it {names.count(name)} times")


def _known(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST") else "other"
