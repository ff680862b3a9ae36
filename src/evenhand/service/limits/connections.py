"""Limits of connections: how many may be open, how large a request may be, and how slowly it may arrive.

Neither uvicorn nor granian limits the seconds of a request's body, the connections of an address or the requests that
one connection sends ahead, so these limits stand here, on top of uvicorn's own protocol.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from ipaddress import IPv6Address, ip_network
from itertools import chain
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from evenhand.service.errors import Refusal
from evenhand.service.limits.limits import Limits

__all__ = ["Connection", "ConnectionCounts"]

PROGRESS = 2**16
"""Bytes of its response that a client must read in `Limits.answer_seconds`."""
PART = 2**10
"""Bytes of heads that are parsed at once, which bounds how many requests can be parsed ahead of a response."""


class ConnectionCounts:
    """The open connections of one process.

    Parameters
    ----------
    refused : called with the name of each refusal, for the metrics.
    """

    def __init__(self, limits: Limits, refused: Callable[[str], None]) -> None:
        self.limits, self.refused = limits, refused
        self.by_address: Counter[str] = Counter()


class Flow(FlowControl):
    """Does not read from the network while bytes that were read before wait to be parsed.

    uvicorn reads again after each response, also while further requests of the same connection wait, so that these
    would grow without bound.
    """

    full = False

    def resume_reading(self) -> None:
        """Read again, unless bytes still wait."""
        if not self.full:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """One connection; the application's lifespan state holds the counts of all, as "connections"."""

    flow: Flow

    def connection_made(self, transport: Any) -> None:
        """Count a new connection, or refuse it if too many are open."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)
        self.flow, self._unparsed, self._body_left = Flow(transport), bytearray(), 0
        self._counts: ConnectionCounts = self.app_state["connections"]
        self._limits = self._counts.limits
        self._framing, self._in_body, self._seconds = 0, False, self._limits.head_seconds
        self._messages, self._awaited = 0, (0, 0.0)
        self._timer: asyncio.TimerHandle | None = None
        self._reader: asyncio.TimerHandle | None = None
        self._error: Refusal | None = None
        self._address = _network(self.client[0] if self.client else "")
        self._counts.by_address[self._address] += 1
        if self._counts.by_address[self._address] > self._limits.connections_per_address:
            what = f"{self._limits.connections_per_address} connections are open from this address"
            self._refuse(Refusal(503, f"{what}; nothing was done", headers={"Retry-After": "1"}))
        elif len(self.connections) > self._limits.connections:
            self._refuse(Refusal(503, "too many connections are open; nothing was done", headers={"Retry-After": "1"}))
        else:
            self._set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting a closed connection."""
        self._counts.by_address[self._address] -= 1
        if not self._counts.by_address[self._address]:
            del self._counts.by_address[self._address]
        for timer in (self._timer, self._reader):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End the connection when its requests are answered; none waits for a read of the store."""
        self.app_state["leave"]()
        super().shutdown()

    # ------------------------------------------------------------------ reading a request

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request, or of several."""
        self._unparsed += data
        self._parse()

    def on_response_complete(self) -> None:
        """Go on with the next request."""
        super().on_response_complete()
        self._parse()

    def _parse(self) -> None:
        """Parse what has arrived, part by part, until a request waits for the response to another."""
        while self._unparsed and not self.pipeline and not self.transport.is_closing():
            part = bytes(self._unparsed[: max(PART, self._body_left)])
            del self._unparsed[: len(part)]
            self._framing += len(part)
            super().data_received(part)
            if self._framing > self._limits.header_bytes:
                self._refuse(self._too_large())
            if self._framing and not self._seconds:
                self._seconds = self._limits.head_seconds
            self._set_timer()
        self.flow.full = bool(self._unparsed)
        if self.flow.full and not self.transport.is_closing():
            self.flow.pause_reading()

    def on_message_begin(self) -> None:
        """Expect a head."""
        self._messages += 1
        self._in_body, self._seconds = False, self._limits.head_seconds
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the head and expect a body."""
        size = len(self.url) + sum(map(len, chain.from_iterable(self.headers)))
        if len(self.headers) > self._limits.headers or size > self._limits.header_bytes:
            self._error = self._too_large()
            raise self._error
        self._in_body, self._seconds = True, self._limits.body_seconds
        self._body_left = next((int(value) for name, value in self.headers if name == b"content-length"), 0)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Receive a part of a body."""
        self._framing = 0
        self._body_left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Expect no more of this request."""
        self._framing, self._in_body, self._seconds, self._body_left = 0, False, 0.0, 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or exceeds a limit."""
        self._refuse(self._error or Refusal(400, "the request cannot be read as HTTP/1.1"))

    def _set_timer(self) -> None:
        """Set a timer for what the connection expects; a request that arrives in one piece needs none."""
        awaited = (self._messages, self._seconds)
        if awaited == self._awaited:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._awaited = awaited
        self._timer = self.loop.call_later(self._seconds, self._on_timeout) if self._seconds else None

    def _on_timeout(self) -> None:
        """Close a connection whose request did not arrive in time; one that waits for its response stays open."""
        if self._unparsed or (not self._in_body and self._answering):
            self._timer = self.loop.call_later(self._seconds, self._on_timeout)
        elif self._framing or self._in_body:
            part = "body" if self._in_body else "head"
            self._refuse(Refusal(408, f"the {part} of the request did not arrive within {self._seconds:g} seconds"))
        else:
            self.transport.close()

    # ------------------------------------------------------------------ writing the response

    def pause_writing(self) -> None:
        """Check from now on that the client reads its response."""
        super().pause_writing()
        self._unsent = self.transport.get_write_buffer_size()
        self._reader = self.loop.call_later(self._limits.answer_seconds, self._check_reader)

    def resume_writing(self) -> None:
        """Stop checking a client that has read everything."""
        super().resume_writing()
        if self._reader is not None:
            self._reader.cancel()

    def _check_reader(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent > self._unsent - PROGRESS:
            self.transport.abort()
            return
        self._unsent = unsent
        self._reader = self.loop.call_later(self._limits.answer_seconds, self._check_reader)

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _too_large(self) -> Refusal:
        most = f"{self._limits.headers} headers and {self._limits.header_bytes} bytes"
        return Refusal(431, f"the head of the request is larger than {most}")

    def _refuse(self, refusal: Refusal) -> None:
        """Close the connection; send the refusal first, unless another response is due or under way."""
        if self.transport.is_closing():
            return
        self._counts.refused(refusal.name)
        own = self._in_body and self._answering and not self.cycle.response_started and not self.pipeline
        if own or not (self._in_body or self._answering):
            body = refusal.body()
            headers = {
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                "Cache-Control": "no-store",
                "Connection": "close",
                **refusal.headers,
            }
            lines = [f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}"]
            lines += [f"{name}: {value}" for name, value in headers.items()]
            self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        if self.cycle is not None:
            self.cycle.disconnected = True
        self.transport.close()


def _network(address: str) -> str:
    """Return the network that a connection counts for: the IPv4 address, or the /64 network of an IPv6 address."""
    if ":" not in address:
        return address
    plain = address.partition("%")[0]
    return str(IPv6Address(plain).ipv4_mapped or ip_network(f"{plain}/64", strict=False))
