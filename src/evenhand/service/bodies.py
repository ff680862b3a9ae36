"""Headers and bodies of requests; the size of a body and the time that it takes are limited."""

from __future__ import annotations

import asyncio

from starlette.types import Receive, Scope

from evenhand.service.errors import Refusal

BODY_SECONDS = 60.0
"""The time in which the whole body of a request must arrive."""


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


async def read_body(receive: Receive, declared: bytes | None, most: int, seconds: float = BODY_SECONDS) -> bytes:
    """Return a request's body; one that is too large or too slow is refused as soon as that is known.

    Raises
    ------
    Refusal
        413 if it has more than `most` bytes, whatever length it declares; 408 if it takes longer than `seconds`; 400 if
        it ends early.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _received(receive, declared, most)
    except TimeoutError as error:
        words = f"the body of the request did not arrive within {seconds:g} seconds"
        raise Refusal(408, words, headers={"Connection": "close"}) from error


async def _received(receive: Receive, declared: bytes | None, most: int) -> bytes:
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
