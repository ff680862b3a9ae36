"""Jobs that may take long, on threads of their own: they hold up neither other requests nor the end of the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from evenhand.service.errors import Refusal

__all__ = ["Lane", "detached"]

T = TypeVar("T")


async def detached(job: Callable[[], T], *, ended: Callable[[], None] = lambda: None) -> T:
    """Return what a job returns; it runs on a thread that nobody waits for when the process ends.

    Parameters
    ----------
    ended : called in the event loop when the job has ended, even if nobody waits for its result any more.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        ended()
        if answer.done():
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = job()
        except BaseException as caught:
            error = caught
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="evenhand job", daemon=True).start()
    return await answer


class Lane:
    """Runs jobs of one kind, at most `most` at once; a client that comes beyond that is told to come again.

    Parameters
    ----------
    what : the jobs' name in refusals, in the plural.
    """

    def __init__(self, what: str, most: int = 2) -> None:
        self._what, self._most, self._running = what, most, 0

    async def run(self, job: Callable[[], T]) -> T:
        """Return what a job returns.

        Raises
        ------
        Refusal
            503 if `most` jobs are running.
        """
        if self._running >= self._most:
            later = {"Retry-After": "5"}
            raise Refusal(503, f"{self._most} {self._what} are running already; try again later", headers=later)
        self._running += 1
        return await detached(job, ended=self._left)

    def _left(self) -> None:
        self._running -= 1
