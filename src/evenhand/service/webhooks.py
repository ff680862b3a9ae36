"""Post JSON to an address, within one deadline for everything: name lookup, connection, answer."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

from evenhand.service.jobs import spawn
from evenhand.studies.addresses import check_machine

__all__ = ["post"]


@cache
def _certificates() -> ssl.SSLContext:
    """Return the trusted certificates, read once: reading takes longer than posting."""
    return httpx.create_ssl_context()


class _Abandoned(ThreadPoolExecutor):
    """Runs each job on a daemon thread: a name lookup cannot be interrupted, only abandoned."""

    def submit(self, job: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        return spawn(partial(job, *given, **named), name="evenhand lookup")


class _Loop(asyncio.SelectorEventLoop):
    """Looks names up, and refuses those that lead where `check_machine` allows nobody.

    What is looked up here is what is connected to: a name that leads elsewhere a moment later gains nothing.
    """

    async def getaddrinfo(self, *given: Any, **named: Any) -> list[Any]:
        """Return the addresses of a name."""
        found = await super().getaddrinfo(*given, **named)
        for *_, address in found:
            check_machine(str(address[0]))
        return found


def post(
    address: str, message: Any, *, patience: float, signed: Callable[[bytes], Mapping[str, str]] | None = None
) -> None:
    """Post a message and wait for the head of the response, at most `patience` seconds.

    The body of the response is not read, and redirects are not followed.

    Parameters
    ----------
    signed : returns the headers that sign a body; without it the message is not signed.

    Raises
    ------
    ArgumentError
        If the address is, or leads to, a machine that may not be asked; see `check_machine`.
    TimeoutError
        If the receiver does not answer in time.
    httpx.HTTPError, httpx.InvalidURL
        If it cannot be reached, or answers with anything but 2xx.
    """

    check_machine(urlsplit(address).hostname or "")
    body = orjson.dumps(message)
    headers = {"Content-Type": "application/json", **(signed(body) if signed is not None else {})}

    async def posted() -> None:
        async with (
            asyncio.timeout(patience),
            httpx.AsyncClient(timeout=None, follow_redirects=False, verify=_certificates()) as http,
            http.stream("POST", address, content=body, headers=headers) as answer,
        ):
            answer.raise_for_status()

    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.get_loop().set_default_executor(_Abandoned())
        runner.run(posted())
