"""The outermost layer: every request gets an id, is counted and logged, and every error becomes a refusal."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.errors import StoreError
from evenhand.service.bodies import header
from evenhand.service.errors import HttpRefusal, refusal_of
from evenhand.service.metrics import Metrics

SECURITY = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
"""What every response forbids."""
HEAD = 2**16
"""The largest request line with its headers, in bytes."""
_RUN, _COUNT = secrets.token_hex(4), itertools.count(1)
"""Requests without an id of their own are numbered, behind a text that is unique to this process."""
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_HOST = re.compile(rb"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]*")


class Middleware:
    """Wraps the router.

    Parameters
    ----------
    log : where each request is noted; None for nowhere.
    """

    def __init__(self, inside: ASGIApp, metrics: Metrics, log: Any) -> None:
        self._inside, self._metrics, self._log = inside, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return
        start, status, id = time.perf_counter(), 0, _id_of(scope)

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id), *SECURITY]
            await send(message)

        try:
            _check_size(scope)
            _check_host(scope)
            await self._inside(scope, receive, marked)
        except Exception as error:
            refusal = self._refusal(scope, error, id)
            self._metrics.count_refusal(refusal.name)
            if status:
                raise
            await refusal.response()(scope, receive, marked)
        finally:
            self._note(scope, id, status, time.perf_counter() - start)

    def _note(self, scope: Scope, id: bytes, status: int, seconds: float) -> None:
        """Count and log a request that was answered."""
        route = scope["endpoint"].template if "endpoint" in scope else "other"
        method = scope["method"]
        known = method if method in ("GET", "HEAD", "POST", "DELETE") else "other"
        self._metrics.count_request(known, route, status, seconds)
        if self._log is not None:
            self._log.info(
                "request",
                id=id.decode(),
                method=method,
                route=route,
                status=status,
                duration_ms=round(seconds * 1e3, 3),
                key=scope.get("key"),
                study=scope.get("path_params", {}).get("name", "")[:100] or None,
            )

    def _refusal(self, scope: Scope, error: Exception, id: bytes) -> HttpRefusal:
        """Return the refusal that answers an error; log those that an operator should see."""
        refusal = _unrouted(scope, error) if isinstance(error, HTTPException) else refusal_of(error)
        if self._log is not None:
            route = scope["endpoint"].template if "endpoint" in scope else "other"
            if refusal.status == 500:
                self._log.error("defect", id=id.decode(), route=route, exc_info=error)
            elif refusal.status == 503 and isinstance(error, StoreError):
                self._log.error("store", id=id.decode(), route=route, why=str(error))
        return refusal


def _check_size(scope: Scope) -> None:
    """Refuse a large head; the server bounds only what it waits for, not what came at once.

    Raises
    ------
    HttpRefusal
        400 if the request line and the headers are larger than `HEAD`.
    """
    line = len(scope["method"]) + len(scope["raw_path"]) + len(scope["query_string"]) + len(" ? HTTP/1.1\r\n\r\n")
    if line + sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"]) > HEAD:
        raise HttpRefusal(400, f"expected a request line and headers of up to {HEAD:,} bytes, got more")


def _check_host(scope: Scope) -> None:
    """Refuse a request without one host, as RFC 9112 (3.2) demands: servers on its way may read it differently.

    Raises
    ------
    HttpRefusal
        400 if the header is missing, comes twice or is no host.
    """
    host = header(scope, b"host")
    if host is None and scope["http_version"] == "1.1":
        raise HttpRefusal(400, "expected the header Host once, got none")
    if host is not None and _HOST.fullmatch(host) is None:
        raise HttpRefusal(400, f"expected a host in the header Host, got {host.decode('latin-1')[:100]!r}")


def _id_of(scope: Scope) -> bytes:
    """Return the id that a request sends, or a new one."""
    given: bytes
    for name, given in scope["headers"]:
        if name == b"x-request-id" and _ID.fullmatch(given):
            return given
    return f"{_RUN}{next(_COUNT):08x}".encode()


def _unrouted(scope: Scope, error: HTTPException) -> HttpRefusal:
    """Return the refusal of a path that is no route's, or of a method that its routes do not take."""
    if error.status_code != 405:
        return HttpRefusal(404, f"there is no route {scope['path'][:200]}; GET /docs lists all routes")
    template = scope["endpoint"].template
    methods = [one.method for one in scope["app"].state.endpoints if one.template == template]
    takes = ", ".join([*(["HEAD"] if "GET" in methods else []), *methods])
    return HttpRefusal(405, f"{template} takes {takes}", headers={"Allow": takes})
