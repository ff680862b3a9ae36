"""Limits of connections: how many may be open, how large a request may be, and how slowly it may arrive.

Neither uvicorn nor granian limits the seconds of a request's body or the connections of an address, so these limits
stand here, on top of uvicorn's own protocol.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from ipaddress import IPv6Address, ip_network
from itertools import chain
from typing import Any, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from evenhand.service.direct import Direct
from evenhand.service.errors import Refusal
from evenhand.service.limits import Limits
from evenhand.service.middleware import header_lines

__all__ = ["Connection", "ConnectionCounts"]

ONE = re.compile(rb"/studies/[\w-]+/\w+")
"""The paths of requests that `Direct` may answer."""
PROGRESS = 2**16
"""Bytes of its response that a client must read in `Limits.answer_seconds`."""


class ConnectionCounts:
    """The open connections of one process.

    Parameters
    ----------
    refused : called with the name of each refusal, for the metrics.
    """

    def __init__(self, limits: Limits, refused: Callable[[str], None]) -> None:
        self.limits, self.refused = limits, refused
        self.by_address: Counter[str] = Counter()


class Exchange:
    """A request that `Direct` answers, and what becomes of it: what uvicorn asks of a cycle."""

    message_event = asyncio.Event()

    def __init__(self, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.disconnected = self.response_started = self.response_complete = False


class Connection(HttpToolsProtocol):
    """One connection; the application's lifespan state holds the counts of all, as "connections"."""

    def connection_made(self, transport: Any) -> None:
        """Count a new connection, or refuse it if too many are open."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)
        self._counts: ConnectionCounts = self.app_state["connections"]
        self._direct: Direct = self.app_state["direct"]
        self._limits = self._counts.limits
        self._framing, self._in_body, self._seconds = 0, False, self._limits.head_seconds
        self._messages, self._awaited = 0, (0, 0.0)
        self._timer: asyncio.TimerHandle | None = None
        self._reader: asyncio.TimerHandle | None = None
        self._error: Refusal | None = None
        self._held: bytes | None = None
        self._idle_since: float | None = None
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
        self._release()
        for timer in (self._timer, self._reader, self.timeout_keep_alive_task):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    # ------------------------------------------------------------------ reading a request

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        self._framing += len(data)
        super().data_received(data)
        if self._held is not None and not self._direct.awaits(cast(Scope, self.scope)):
            self._release()
        if self._framing > self._limits.header_bytes:
            self._refuse(self._too_large())
        if self._framing and not self._seconds:
            self._seconds = self._limits.head_seconds
        self._set_timer()

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
        if not self._hold():
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Receive a part of a body."""
        self._framing = 0
        if self._held is None:
            super().on_body(body)
        else:
            self._held += body

    def on_message_complete(self) -> None:
        """Expect no more of this request."""
        self._framing, self._in_body, self._seconds = 0, False, 0.0
        if self._held is None:
            super().on_message_complete()
            return
        respond = partial(self._respond, cast(Exchange, self.cycle))
        if self._direct.begin(cast(Scope, self.scope), self._held, respond):
            self._held = None
        else:
            self._release()
            super().on_message_complete()

    def _hold(self) -> bool:
        """Hold a request that `Direct` may answer once its body is there; return whether it is one."""
        before = self.cycle
        if (
            self.parser.get_method() != b"POST"
            or ONE.fullmatch(self.url) is None
            or (before is not None and not before.response_complete)
            or self.parser.should_upgrade()
            or self.expect_100_continue
            or self.access_log
            or self.flow.write_paused
        ):
            return False
        keep_alive = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        self.cycle, self._held = cast(Any, Exchange(keep_alive)), b""
        self.scope["method"], self.scope["path"] = "POST", self.url.decode("ascii")
        return True

    def _release(self) -> None:
        """Leave the request that is held to the application."""
        if self._held is not None:
            exchange, body, self._held = self.cycle, self._held, None
            self.cycle = None  # type: ignore[assignment]
            super().on_headers_complete()
            self.cycle.keep_alive, self.cycle.disconnected = exchange.keep_alive, exchange.disconnected
            if body:
                super().on_body(body)

    def _respond(self, cycle: Exchange, status: int, headers: bytes, body: bytes) -> None:
        """Write a response, its head and its body in one piece."""
        cycle.response_started = cycle.response_complete = True
        if not cycle.disconnected and not self.transport.is_closing():
            own = header_lines(self.server_state.default_headers)
            end = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
            self.transport.write(b"".join((STATUS_LINE[status], own, headers, end, body)))
            if not cycle.keep_alive:
                self.transport.close()
        self.on_response_complete()

    def on_response_complete(self) -> None:
        """Begin the next request that waits, or wait for one as long as a connection is kept alive."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
            return
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _unset_keepalive_if_required(self) -> None:
        """Note that the connection is in use; the timer runs on, since setting one anew takes longer than all this."""
        self._idle_since = None

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it has not been used since the timer was set, or set it for the rest of the time."""
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self.timeout_keep_alive_task = self.loop.call_later(left, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

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
        if not self._in_body and self._answering:
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
