"""Answers in one piece: what the server writes while one request is answered goes to the network together.

The server writes the head and the body of an answer one after the other, a system call each; for answers as short as
ours that is a good part of the work.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["Gathering"]


class Gathering(HttpToolsProtocol):
    """The server's protocol, over a transport that gathers."""

    def connection_made(self, transport: Any) -> None:
        """Begin with a connection."""
        super().connection_made(_Gathered(transport, self.loop))  # type: ignore[arg-type]


class _Gathered:
    """A transport that sends what was written when the loop comes round."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
