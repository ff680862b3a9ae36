"""Long jobs on threads of their own, so that neither other requests nor the end of the process wait for them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from evenhand.service.errors import busy

T = TypeVar("T")


def spawn(job: Callable[[], T]) -> Future[T]:
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

    threading.Thread(target=run, name="evenhand job", daemon=True).start()
    return future


async def run_detached(job: Callable[[], T]) -> T:
    """Return what a job returns; it runs on a daemon thread."""
    return await asyncio.wrap_future(spawn(job))


class Recent(Generic[T]):
    """What a job returned or raised at most `age` seconds ago; calls made while it runs wait for the same run."""

    def __init__(self, job: Callable[[], T], *, age: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._job, self._age, self._clock = job, age, clock
        self._running: asyncio.Task[T] | None = None
        self._began = 0.0

    async def result(self) -> T:
        """Return what the job returned, or raise what it raised."""
        if self._running is None or (self._running.done() and self._clock() - self._began > self._age):
            self._running, self._began = asyncio.create_task(run_detached(self._job)), self._clock()
        # Without the shield, a client that hangs up would cancel the run for all who wait for it.
        return await asyncio.shield(self._running)


class Lane:
    """Runs jobs of one kind, at most `most` at once, and answers each within its time.

    A thread cannot be ended from outside: a job that takes too long goes on, and keeps its place until it is over. So
    each study has a lane of its own, and one whose reads hang takes no place from another.

    Parameters
    ----------
    what : the name of the jobs, for refusals, such as "audits".
    seconds : the time after which a job is answered with 503.
    queues : whether further jobs wait for a place; otherwise they are refused.
    """

    def __init__(self, what: str, most: int, seconds: float, *, queues: bool = True) -> None:
        self._what, self._most, self.seconds, self._queues = what, most, seconds, queues
        self._places = asyncio.Semaphore(most)

    async def run(self, job: Callable[[], T]) -> T:
        """Return what a job returns.

        Raises
        ------
        HttpRefusal
            503 if it takes too long, or if there is no place and none is waited for.
        """
        if self._places.locked() and not self._queues:
            raise busy(f"{self._most} {self._what} are running already; try again later", 5)
        try:
            async with asyncio.timeout(self.seconds) as limit:
                await self._places.acquire()
                result = asyncio.wrap_future(spawn(job))
                # Freed when the job ends, not when its request was refused: hung jobs would otherwise pile up beyond
                # `most`. See test_a_job_that_fails_or_is_left_gives_its_place_back_when_it_ends.
                result.add_done_callback(lambda _: self._places.release())
                return await asyncio.shield(result)
        except TimeoutError as error:
            if not limit.expired():
                raise
            late = f"{self._what}: no answer within {self.seconds:g} seconds; other requests are answered meanwhile"
            raise busy(late, 5) from error
