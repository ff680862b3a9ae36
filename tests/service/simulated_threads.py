"""Threads of simulated processes: one runs at a time, and who goes on where one waits is drawn from a seed.

Each is a thread of its own that runs only while it holds the baton. It hands the baton on where it waits: for a lock,
an event, or the time, which is simulated too and passes where nobody can go on, and at times where somebody could.
`Threading` has the names of the module `threading` that the program uses.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from evenhand.errors import UnreachableError

__all__ = ["Killed", "Lock", "Process", "Scheduler", "SimulatedThread", "Threading"]

STEP = 0.001
"""Seconds that pass from one thread's turn to the next one's."""
LATE = 0.003
"""How often more time passes than anybody waited for."""
LONGEST = 12.0
YIELDING = 0.3
"""How often a thread that takes a free lock lets others go first."""


class Killed(BaseException):
    """The end of a process, in the middle of what it did."""


def always() -> bool:
    return True


class Process:
    """What dies together; while it is suspended, none of its threads goes on."""

    def __init__(self, name: str = "") -> None:
        self.name, self.dead = name, False
        self.suspended_until = 0.0


class SimulatedThread:
    """A thread; `ready` says whether it can go on, and after `deadline` it goes on anyway."""

    def __init__(
        self, scheduler: Scheduler, process: Process | None, target: Callable[[], Any] | None, name: str = ""
    ) -> None:
        self.scheduler, self.process, self._target, self.name = scheduler, process, target, name
        self.ident: int | None = None
        self.finished = False
        self.ready: Callable[[], bool] = always
        self.deadline = math.inf
        self.baton = threading.Semaphore(0)

    @property
    def killed(self) -> bool:
        return self.process is not None and self.process.dead

    def start(self) -> None:
        self.scheduler.threads.append(self)
        self.ident = len(self.scheduler.started) + 1
        real = threading.Thread(target=self._main, daemon=True)
        self.scheduler.started.append(real)
        real.start()

    def join(self, timeout: float | None = None) -> None:
        self.scheduler.wait(lambda: self.finished, timeout)

    def can_go_on(self) -> bool:
        suspended = self.process is not None and self.process.suspended_until > self.scheduler.time
        return not suspended and (self.scheduler.time >= self.deadline or self.ready())

    def wakes(self) -> float:
        """Return when it goes on if nobody does anything."""
        later = 0.0 if self.process is None else self.process.suspended_until
        return max(self.deadline, later) if not self.ready() else later

    def _main(self) -> None:
        self.baton.acquire()
        try:
            if not self.killed and self._target is not None:
                self._target()
        except Killed:
            pass
        except BaseException as error:
            self.scheduler.failures.append(f"thread {self.name!r} ended by {type(error).__name__}: {error}")
        self.finished = True
        self.scheduler.leave(self)


class Scheduler:
    """Says which thread goes on; the one that made it is the root, which goes on where all others are at an end."""

    def __init__(self, chance: random.Random, passed: Callable[[float], None]) -> None:
        self.chance, self._passed = chance, passed
        self.time, self.steps, self.most = 0.0, 0, math.inf
        self.started: list[threading.Thread] = []
        self.failures: list[str] = []
        """Ends of threads, and of callbacks, that nobody foresaw."""
        self.current = self.root = SimulatedThread(self, None, None, "root")
        self.threads = [self.root]

    def pause(self, ready: Callable[[], bool] = always, deadline: float = math.inf) -> None:
        """Let others go on until `ready`, or until a time.

        Raises
        ------
        Killed
            If the process was killed meanwhile, or before.
        """
        me = self.current
        if me.killed:
            raise Killed
        me.ready, me.deadline = ready, deadline
        following = self._following()
        if following is not me:
            self.current = following
            following.baton.release()
            me.baton.acquire()
        if me.killed:
            raise Killed

    def wait(self, ready: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until `ready`, at most so many seconds; return whether it is."""
        self.pause(ready, math.inf if timeout is None else self.time + timeout)
        return ready()

    def sleep(self, seconds: float) -> None:
        self.wait(lambda: False, seconds)

    def run(self, ready: Callable[[], bool], *, steps: int) -> bool:
        """Let the others go on, and return whether `ready` came within so many turns."""
        self.most = self.steps + steps
        try:
            self.pause(ready)
        finally:
            self.most = math.inf
        return ready()

    def leave(self, thread: SimulatedThread) -> None:
        """Hand the baton on for good."""
        self.threads.remove(thread)
        self.current = self._following()
        self.current.baton.release()

    def end(self) -> None:
        """End all threads."""
        for thread in self.threads[1:]:
            thread.process = thread.process or Process()
            thread.process.dead = True
        self.pause(lambda: len(self.threads) == 1)
        for real in self.started:
            real.join()

    def _following(self) -> SimulatedThread:
        self.steps += 1
        self._pass(STEP)
        for thread in self.threads:
            if thread.killed:
                return thread
        if self.chance.random() < LATE:
            self._pass(self.chance.random() * LONGEST)
        while self.steps <= self.most:
            able = [thread for thread in self.threads if thread.can_go_on()]
            if able:
                return self.chance.choice(able)
            soonest = min(thread.wakes() for thread in self.threads)
            if soonest == math.inf:
                break
            self._pass(soonest - self.time)
        return self.root

    def _pass(self, seconds: float) -> None:
        self.time += seconds
        self._passed(seconds)


class Lock:
    """A lock of simulated threads; `reentrant` as an RLock. One of the disk is waited for with `patience`."""

    def __init__(self, scheduler: Scheduler, *, reentrant: bool = False, patience: float | None = None) -> None:
        self._scheduler, self._reentrant, self._patience = scheduler, reentrant, patience
        self.owner: SimulatedThread | None = None
        self._depth = 0

    def acquire(self, blocking: bool = True) -> bool:
        me = self._scheduler.current
        if self._reentrant and self.owner is me:
            self._depth += 1
            return True
        if self.owner is not None and not blocking:
            return False
        waits = self.owner is not None or (blocking and self._scheduler.chance.random() < YIELDING)
        if waits and not self._scheduler.wait(lambda: self.owner is None, self._patience):
            raise UnreachableError("database is locked")
        self.owner, self._depth = me, 1
        return True

    def release(self) -> None:
        if self.owner is self._scheduler.current:
            self._depth -= 1
        elif not self._scheduler.current.killed:
            raise RuntimeError("a lock is released by a thread that does not hold it")
        if self.owner is self._scheduler.current and not self._depth:
            self.owner = None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *raised: object) -> None:
        self.release()


class Event(threading.Event):
    """An event that simulated threads wait for."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler

    def wait(self, timeout: float | None = None) -> bool:
        return self._scheduler.wait(self.is_set, timeout)


class Threading:
    """What the program knows as the module `threading`."""

    Semaphore = threading.Semaphore  # which nobody waits for

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.Lock, self.Event = partial(Lock, scheduler), partial(Event, scheduler)
        self.RLock = partial(Lock, scheduler, reentrant=True)

    def Thread(self, target: Callable[[], Any], name: str = "", daemon: bool = False) -> SimulatedThread:
        return SimulatedThread(self._scheduler, self._scheduler.current.process, target, name)
