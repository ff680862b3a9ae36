"""Bodies and headers: requests, limited in size and time, and responses in JSON, compressed if they are large."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Receive, Scope

from evenhand.data.json_files import to_json
from evenhand.service.errors import HttpRefusal
from evenhand.service.jobs import run_detached

JSON = "application/json"
LARGE = 2**16
"""Bytes beyond which a body is read, and a response compressed, on a thread, not in the event loop."""
NO_STORE = {"Cache-Control": "no-store"}
BODY_SECONDS = 60.0
"""The time in which the whole body of a request must arrive."""


def header(scope: Scope, name: bytes) -> bytes | None:
    """Return a header's value, None if it is missing.

    Raises
    ------
    HttpRefusal
        400 if a header that must be unique comes twice.
    """
    found: list[bytes] = [value for known, value in scope["headers"] if known == name]
    if len(found) > 1:
        raise HttpRefusal(400, f"expected the header {name.decode().title()} once, got it {len(found)} times")
    return found[0] if found else None


async def read_body(receive: Receive, declared: bytes | None, most: int, seconds: float = BODY_SECONDS) -> bytes:
    """Return a request's body; one that is too large or too slow is refused as soon as that is known.

    Raises
    ------
    HttpRefusal
        413 if it has more than `most` bytes, whatever length it declares; 408 if it takes longer than `seconds`; 400 if
        it ends early.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _received(receive, declared, most)
    except TimeoutError as error:
        words = f"the body of the request did not arrive within {seconds:g} seconds"
        raise HttpRefusal(408, words, headers={"Connection": "close"}) from error


async def _received(receive: Receive, declared: bytes | None, most: int) -> bytes:
    if declared is not None and declared.isdigit() and int(declared[:20]) > most:
        raise _too_large(most)
    parts, size = [], 0
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body"):
            return b"".join(parts)
    raise HttpRefusal(400, "the request broke off before its body was complete")


def _too_large(most: int) -> HttpRefusal:
    return HttpRefusal(
        413, f"the body is larger than {most} bytes; send smaller batches", headers={"Connection": "close"}
    )


def as_json(body: Any, headers: Mapping[str, str] | None = None, *, status: int = 200) -> Response:
    """Return a response in JSON, see `to_json`."""
    return Response(to_json(body), status, headers, JSON)


async def compress(response: Response, request: Request) -> ASGIApp:
    """Return a response that is compressed if it is not small and the client accepts it."""
    body = b"" if isinstance(response, FileResponse) else response.body
    if len(body) >= LARGE and "gzip" in request.headers.get("accept-encoding", ""):
        response.body = await run_detached(partial(gzip.compress, bytes(body), 5, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
        response.headers.add_vary_header("Accept-Encoding")
    return GZipMiddleware(response, minimum_size=1000, compresslevel=5)
