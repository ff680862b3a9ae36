"""Responses in JSON, and their compression; large ones are compressed on a thread, not in the event loop."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Send

from evenhand.service.jobs import run_detached

JSON = "application/json"
OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
LARGE = 2**16
"""Bytes beyond which a body is read, and a response compressed, on a thread."""


def as_json(body: Any, headers: Mapping[str, str] | None = None, *, status: int = 200) -> Response:
    """Return a response in JSON; numbers that are not finite become null."""
    return Response(orjson.dumps(body, option=OPTIONS), status, headers, JSON)


async def send_json(send: Send, body: Any, status: int) -> None:
    """Send a response in JSON that no cache may keep."""
    content = orjson.dumps(body, option=OPTIONS)
    headers = [
        (b"cache-control", b"no-store"),
        (b"content-length", b"%d" % len(content)),
        (b"content-type", b"application/json"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def compress(response: Response, request: Request) -> ASGIApp:
    """Return a response that is compressed if it is not small and the client accepts it."""
    body = getattr(response, "body", b"")
    if len(body) >= LARGE and "gzip" in request.headers.get("accept-encoding", ""):
        response.body = await run_detached(partial(gzip.compress, bytes(body), 5, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
        response.headers.add_vary_header("Accept-Encoding")
    return GZipMiddleware(response, minimum_size=1000, compresslevel=5)
