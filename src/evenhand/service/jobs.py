"""Long jobs on threads of their own, so that neither other requests nor the end of the process wait for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from evenhand.service.errors import Refusal

__all__ = ["Limiter", "run_detached", "spawn"]

T = TypeVar("T")


def spawn(job: Callable[[], T], *, name: str = "evenhand job") -> Future[T]:
    """Start a job on a daemon thread and return its future."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = job()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


async def run_detached(job: Callable[[], T]) -> T:
    """Return what a job returns; it runs on a daemon thread."""
    return await asyncio.wrap_future(spawn(job))


class Limiter:
    """Runs jobs of one kind, at most `most` at once, and refuses further ones.

    Parameters
    ----------
    what : the plural name of the jobs, for refusals.
    """

    def __init__(self, what: str, most: int = 2) -> None:
        self._what, self._most, self._free = what, most, threading.Semaphore(most)

    async def run(self, job: Callable[[], T]) -> T:
        """Return what a job returns.

        Raises
        ------
        Refusal
            503 if `most` jobs are running.
        """
        if not self._free.acquire(blocking=False):
            later = {"Retry-After": "5"}
            raise Refusal(503, f"{self._most} {self._what} are running already; try again later", headers=later)
        future = spawn(job)
        future.add_done_callback(lambda _: self._free.release())
        return await asyncio.wrap_future(future)
