"""An event loop in simulated time that takes any of the callbacks that are ready, as the seed says."""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Callable
from typing import Any

from tests.service.simulated_threads import Killed, Scheduler, SimulatedThread

__all__ = ["Loop"]


class Loop(asyncio.BaseEventLoop):
    """The loop of one process. Between two callbacks, which is at every await, others may go on."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._threads = scheduler
        self.set_exception_handler(self._noticed)

    def time(self) -> float:
        return self._threads.time

    def run_until(self, over: Callable[[], bool]) -> None:
        """Run callbacks; returns once it is over."""
        asyncio._set_running_loop(self)
        while not over():
            due = self._scheduled[0].when() if self._scheduled else math.inf
            self._threads.pause(lambda: bool(self._ready) or over(), due)
            while self._scheduled and self._scheduled[0].when() <= self._threads.time:
                timer = heapq.heappop(self._scheduled)
                timer._scheduled = False
                self._ready.append(timer)
            if self._ready and not over():
                chosen = self._threads.chance.randrange(len(self._ready))
                handle = self._ready[chosen]
                del self._ready[chosen]
                if not handle._cancelled:
                    handle._run()

    def end(self) -> None:
        """Drop what was not finished when the process died."""
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            task.get_coro().close()  # type: ignore[union-attr]
        self.close()

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """Call a function on a thread of its own."""
        future = self.create_future()

        def finish(outcome: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(outcome)
            else:
                future.set_exception(error)

        def run() -> None:
            try:
                done = func(*args), None
            except Killed:
                raise
            except BaseException as error:
                done = None, error
            self.call_soon_threadsafe(finish, *done)

        SimulatedThread(self._threads, self._threads.current.process, run, "executor").start()
        return future

    def _write_to_self(self) -> None:
        """The scheduler sees by itself that something is ready."""

    def _noticed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not {"task", "future"} & set(context) and not self._threads.current.killed:
            self._threads.failures.append(f"{context['message']}: {context.get('exception')!r}")
