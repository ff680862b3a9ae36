"""Limits: of connections, of requests per second (a token bucket per client), and of the size of bodies."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from starlette.types import Receive, Scope

from evenhand.errors import ArgumentError, wanted
from evenhand.service.errors import Refusal

__all__ = ["LIMITS", "Buckets", "Limits", "header", "read_body"]


class Limits(NamedTuple):
    """Limits of connections.

    Attributes
    ----------
    header_bytes, headers : the size of a request's head, and the number of its headers (431 beyond).
    head_seconds, body_seconds : the time for a request's head, and then for its body (408 beyond).
    answer_seconds : the time in which a client must read the next 64 KiB of its response.
    connections, connections_per_address : open at once in one process, in total and from one address; an IPv6 address
        counts for its /64 network (503 beyond).
    """

    header_bytes: int = 2**16
    headers: int = 100
    head_seconds: float = 20.0
    body_seconds: float = 60.0
    answer_seconds: float = 60.0
    connections: int = 1000
    connections_per_address: int = 100


LIMITS = Limits()


class Buckets:
    """One token bucket per client: `rate` tokens are added per second, at most `burst` are kept.

    Only the `most` clients seen last are remembered; a client that has been idle starts with a full bucket.
    """

    def __init__(
        self, rate: float, burst: float, *, most: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not rate > 0:
            raise ArgumentError(wanted("rate", "requests a second, > 0", rate))
        if not burst >= 1:
            raise ArgumentError(wanted("burst", "at least one request", burst))
        self._rate, self._burst, self._most, self._clock = float(rate), float(burst), most, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Take one token from a client's bucket.

        Raises
        ------
        Refusal
            429, with the seconds until the next token in `Retry-After`.
        """
        now = self._clock()
        level, since = self._levels.pop(client, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        enough = level >= 1
        self._levels[client] = (level - 1 if enough else level, now)
        if len(self._levels) > self._most:
            self._levels.popitem(last=False)
        if not enough:
            wait = max(1, math.ceil((1 - level) / self._rate))
            raise Refusal(
                429,
                f"too fast: at most {self._rate:g} requests a second, {self._burst:g} at once; "
                f"try again in {wait} s, or send batches",
                headers={"Retry-After": str(wait)},
            )


def header(scope: Scope, name: bytes) -> bytes | None:
    """Return a header's value, None if it is missing.

    Raises
    ------
    Refusal
        400 if a header that must be unique comes twice.
    """
    found: list[bytes] = [value for known, value in scope["headers"] if known == name]
    if len(found) > 1:
        raise Refusal(400, f"wanted the header {name.decode().title()} once, got it {len(found)} times")
    return found[0] if found else None


async def read_body(receive: Receive, declared: bytes | None, most: int) -> bytes:
    """Return a request's body; one that is too large is refused as soon as that is known.

    Raises
    ------
    Refusal
        413 if it has more than `most` bytes, whatever length it declares; 400 if it ends early.
    """
    if declared is not None and declared.isdigit() and int(declared[:20]) > most:
        raise _too_large(most)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > most:
            raise _too_large(most)
        return body
    parts, size = [], 0
    while message["type"] == "http.request":
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > most:
            raise _too_large(most)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()
    raise Refusal(400, "the request broke off before its body was complete")


def _too_large(most: int) -> Refusal:
    return Refusal(413, f"the body is larger than {most} bytes; send smaller batches", headers={"Connection": "close"})
