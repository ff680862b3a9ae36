"""Connections: answers in one piece, requests that must end, and no more callers at once than there is room for.

The server writes the head and the body of an answer one after the other, a system call each; for answers as short as
ours that is a good part of the work.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from evenhand.service.refusals import Refusal

__all__ = ["Gathering"]


class Gathering(HttpToolsProtocol):
    """The server's protocol, over a transport that gathers; who sends half a request is not waited for."""

    head, body = 20.0, 60.0
    """Seconds in which the head of a request must be here, and then its body."""
    most = 1000
    """Connections; who comes beyond that is told to come later."""

    def connection_made(self, transport: Any) -> None:
        """Begin with a connection."""
        super().connection_made(_Gathered(transport, self.loop))  # type: ignore[arg-type]
        self._message, self._awaits = 0, self.head
        self._timed: tuple[int, float] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._time()

    def connection_lost(self, exc: Exception | None) -> None:
        """End with a connection."""
        self._awaits = 0.0
        self._time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request."""
        super().data_received(data)
        self._time()

    def on_message_begin(self) -> None:
        """Wait for a head."""
        self._message += 1
        self._awaits = self.head
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Wait for a body."""
        self._awaits = self.body
        self.app = _crowded if len(self.connections) > self.most else self.config.loaded_app
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for nothing more."""
        self._awaits = 0.0
        super().on_message_complete()

    def _time(self) -> None:
        """Close the connection where what it awaits does not come; a request in one piece costs no timer."""
        awaited = (self._message, self._awaits) if self._awaits else None
        if awaited == self._timed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timed = awaited
        self._timer = None if awaited is None else self.loop.call_later(self._awaits, self.transport.close)


async def _crowded(scope: Any, receive: Any, send: Any) -> None:
    refusal = Refusal(503, "too many connections at once; nothing was done")
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"1"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body()})


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
