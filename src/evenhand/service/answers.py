"""Answers in JSON and as files; large ones are compressed on a thread, not in the event loop."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import Response
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from evenhand.service.forms import JSON

__all__ = ["Large", "as_json"]

OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
LARGE = 2**16
"""Bytes that are compressed on a thread; fewer are left to the middleware."""


class Large(Response):
    """An answer of any size."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, compressed where the client can read it."""
        if len(self.body) >= LARGE and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            self.body = await asyncio.to_thread(gzip.compress, bytes(self.body), 5, mtime=0)
            self.headers["Content-Encoding"] = "gzip"
            self.headers["Content-Length"] = str(len(self.body))
            self.headers.add_vary_header("Accept-Encoding")
        await super().__call__(scope, receive, send)


def as_json(body: Any, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer in JSON; numbers that are not finite become null."""
    return Large(orjson.dumps(body, option=OPTIONS), media_type=JSON, headers=headers)
