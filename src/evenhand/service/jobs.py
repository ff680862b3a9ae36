"""Long jobs on threads of their own, so that neither other requests nor the end of the process wait for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from evenhand.service.errors import Refusal

__all__ = ["Limiter", "run_detached"]

T = TypeVar("T")


async def run_detached(job: Callable[[], T], *, ended: Callable[[], None] = lambda: None) -> T:
    """Return what a job returns; it runs on a daemon thread.

    Parameters
    ----------
    ended : called in the event loop when the job has ended, even if its result is no longer awaited.
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


class Limiter:
    """Runs jobs of one kind, at most `most` at once, and refuses further ones.

    Parameters
    ----------
    what : the plural name of the jobs, for refusals.
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
        return await run_detached(job, ended=self._release)

    def _release(self) -> None:
        self._running -= 1
