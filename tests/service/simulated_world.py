"""The world of a simulated service: one store, the clock, and the faults that processes meet.

A process may be passed by others, or be killed, at every edge of a transaction, where it waits for a lock, and at every
await. The store lies in memory; one process at a time is inside it, which is what a file's lock and a server's
lock on the study's row come to. In some worlds it fails as a file does, in others as a server.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import anyio.to_thread

from evenhand.errors import UnreachableError
from evenhand.service.jobs import Recent
from evenhand.service.writer import Writer
from evenhand.studies import Store
from evenhand.studies.log.log import Log
from evenhand.studies.log.replay import Replay
from evenhand.studies.store.address import read_address
from evenhand.studies.store.engine import PATIENCE, ways_of
from tests.service.simulated_threads import Killed, Lock, Process, Scheduler, Threading

__all__ = ["DAY", "World", "process"]

THREADED = ("service.writer", "service.jobs", "service.sessions", "studies.log.live_policy")
"""The modules that start threads or lock."""
CLOCKS = ("studies.log.transaction", "studies.log.live_policy", "studies.creation")
"""The modules that read the clock."""
FAULTY = 0.006
"""How often a process is killed or its store fails, at each edge of each transaction."""
UNREADABLE = 0.004
SLOW = 0.04
PASSED = 0.3
"""How often others go on at an edge of a transaction."""
DAY = 86_400_000_000
NAP = 0.2
"""Simulated seconds between two tries."""
FREE: list[Store] = []
"""Stores that no world uses: a new one would prepare each of its statements anew."""


class World:
    """What a service meets in one run, drawn from `chance`; `log` says what happened.

    Parameters
    ----------
    server : whether the store fails as a server does, or as a file.
    small : whether queues and transactions have room for a few operations.
    """

    def __init__(self, chance: random.Random, log: list[str], *, server: bool, small: bool) -> None:
        self.chance, self.log, self.server, self.small = chance, log, server, small
        self.clock, self.faults, self.out_until = 1_600_000_000_000_000, False, 0.0
        self.scheduler = Scheduler(chance, self._passed)
        WORLDS.append(self)
        self._lock = Lock(self.scheduler, reentrant=True, patience=PATIENCE)
        self._store: Store | None = None

    def _passed(self, seconds: float) -> None:
        self.clock += int(seconds * 1e6)

    def now(self) -> int:
        """Return the time, which jumps as long as there are faults: each process has a clock of its own."""
        jump = self.chance.random() if self.faults else 1.0
        if jump < 0.01:
            self.clock += self.chance.randrange(-DAY, DAY)
        elif jump < 0.2:
            self.clock += self.chance.randrange(-500_000, 2_000_000)
        else:
            self.clock += 1_000
        return self.clock

    @property
    def host(self) -> Process | None:
        """The process that is at work; None for a client or the judge."""
        return self.scheduler.current.process

    def kill(self, host: Process, where: str) -> None:
        self.log.append(f"  {host.name} is killed {where}")
        host.dead = True

    # ------------------------------------------------------------------ faults

    def _edge(self, where: str, *, over: bool = False) -> None:
        """Let others go on, kill the process, or have its store fail. Once a transaction is `over`, a file has no more
        to refuse; a server's answer may be lost, so that nobody knows what became of it."""
        host = self.host
        if host is None:
            return
        if host.dead:
            raise Killed
        if self.chance.random() < PASSED:
            self.scheduler.pause()
        if self.faults and self.chance.random() < FAULTY:
            if self.chance.random() < 0.5 and (self.server or not over):
                failure = "server closed the connection unexpectedly" if self.server else "database or disk is full"
                self.log.append(f"  {host.name}: {failure} {where}")
                raise UnreachableError(failure)
            self.kill(host, where)
            raise Killed

    def _reach(self) -> None:
        """Wait for a slow store at times, and fail while the server is down."""
        host = self.host
        if host is None:
            return
        if host.dead:
            raise Killed
        if self.faults and self.chance.random() < SLOW:
            self.scheduler.sleep(self.chance.choice([0.1, 1.0, 20.0]))
        if self.scheduler.time < self.out_until:
            raise UnreachableError("connection refused")

    # ------------------------------------------------------------------ the program in this world

    @contextmanager
    def _writing(self, honest: Callable[..., Any], store: Store) -> Iterator[Any]:
        self._reach()
        self._edge("before a transaction")
        with self._lock, honest(store) as connection:
            yield connection
            self._edge("before a transaction ends")
        self._edge("after a transaction ended", over=True)

    @contextmanager
    def _reading(self, honest: Callable[..., Any], store: Store) -> Iterator[Any]:
        self._reach()
        if self.faults and self.host is not None and self.chance.random() < UNREADABLE:
            self.log.append("  disk I/O error")
            raise UnreachableError("disk I/O error")
        with self._lock, honest(store) as connection:
            yield connection

    @contextmanager
    def around(self) -> Iterator[None]:
        """Have the program live in this world."""
        append, writing, reading = Log.append, Store.writing, Store.reading
        time = SimpleNamespace(
            monotonic=lambda: self.scheduler.time, sleep=lambda seconds: self.scheduler.sleep(max(seconds, NAP))
        )

        def appended(log: Log, connection: Any, entries: Any) -> None:
            if entries:
                self._edge("before an entry is written")
                self._note(entries)
            append(log, connection, entries)

        with ExitStack() as stack:
            for module in THREADED:
                stack.enter_context(patch(f"evenhand.{module}.threading", Threading(self.scheduler)))
            for module in CLOCKS:
                stack.enter_context(patch(f"evenhand.{module}.now", self.now))
            stack.enter_context(patch.dict(Recent.__init__.__kwdefaults__, clock=time.monotonic))
            if self.small:
                stack.enter_context(patch.dict(Writer.__init__.__kwdefaults__, queue=2, most=2))
            for change in (
                patch.object(Log, "append", appended),
                patch.object(Store, "writing", lambda store: self._writing(writing, store)),
                patch.object(Store, "reading", lambda store: self._reading(reading, store)),
                patch.object(Store, "close", lambda store: None),  # the process ends, its store stays
                patch.object(Replay, "wants_snapshot", property(lambda replay: replay._entries >= 9)),
                patch("evenhand.studies.creation.new_secret", lambda: "00" * 32),
                patch("evenhand.service.sessions.warm_up", lambda study: None),  # it only compiles
                patch("evenhand.service.sessions.LEAST", 5),  # so that views are stored
                patch("evenhand.service.sessions.time", time),
                patch("evenhand.studies.store.engine.time", time),
                patch.object(anyio.to_thread, "run_sync", self._on_thread),
            ):
                stack.enter_context(change)
            yield

    async def _on_thread(self, job: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, job, *args)

    def _note(self, entries: Any) -> None:
        if self.host is not None:
            written = [f"{entry.kind} {entry.ticket or ''} {entry.key or ''}".strip() for entry in entries]
            self.log.append(f"    {self.host.name} writes {', '.join(written)}")

    # ------------------------------------------------------------------ stores

    def begin_with(self, saved: bytes) -> Store:
        """Return a store with these contents; one of an earlier world is taken again."""
        self._store = FREE.pop() if FREE else Store(ways_of(read_address(":memory:")))
        connection = self._store._engine.raw_connection()
        connection.driver_connection.deserialize(saved)
        connection.close()
        return self._store

    def end(self) -> None:
        """End all threads, and leave the store to other worlds."""
        self.faults = False
        self.scheduler.end()
        WORLDS.remove(self)
        if self._store is not None:
            FREE.append(self._store)
            self._store = None


def process() -> str:
    """Return the name of the process that is at work in the present world; "" for a client or the judge."""
    host = WORLDS[-1].host
    return "" if host is None else host.name


WORLDS: list[World] = []
"""The worlds that have not ended, the present one last."""
