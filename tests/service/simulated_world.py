"""The world of a simulated service: machines on which processes run, and the faults that they meet.

To the world of studies it adds threads, monotonic time, and the machines and numbers of processes. A thread may be
passed by others, and its process be killed, at every edge of a transaction, where it waits for a lock, and at every
await.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import anyio.to_thread

from evenhand.errors import StoreError
from evenhand.service import auth, readiness
from evenhand.service.writer import Writer
from evenhand.studies import Store
from evenhand.studies.log.log import Log
from evenhand.studies.store.server import PATIENCE
from evenhand.studies.workers.worker_logs import row_of
from tests.service.simulated_threads import Killed, Lock, Process, Scheduler, Threading
from tests.studies.simulated_world import World

__all__ = ["Host", "ServiceWorld"]

THREADED = (
    "service.writer",
    "service.leases",
    "service.jobs",
    "service.sessions",
    "studies.study",
    "studies.workers.shared_study",
)
"""The modules that start threads or lock."""
TIMED = ("studies.workers.exchanging", "studies.workers.shared_study")
CLOCKED = (auth.Guard, readiness.Readiness)
"""What takes a clock as an argument."""
FAULTY = 0.006
"""How often a process is killed or its disk is full, at each edge of each transaction."""
PASSED = 0.3
"""How often others go on at an edge of a transaction."""


class Host(Process):
    """A process with a number on a machine; those on one machine see whether the other is alive."""

    def __init__(self, number: int, machine: str) -> None:
        super().__init__()
        self.number, self.machine = number, machine

    @property
    def holder(self) -> str:
        return f"{self.machine}:{self.number}"


class ServiceWorld(World):
    """What services meet in one run."""

    def __init__(self, chance: random.Random, log: list[str], *, files: bool, small: bool) -> None:
        super().__init__(chance, log, files=files)
        self.scheduler = Scheduler(chance, self._passed)
        self.hosts: list[Host] = []
        self.small = small
        """Whether queues and transactions have room for a few operations."""

    def _passed(self, seconds: float) -> None:
        self.clock += int(seconds * 1e6)

    @property
    def host(self) -> Host | None:
        """The process that is at work; None for a client or the judge."""
        found = self.scheduler.current.process
        return found if isinstance(found, Host) else None

    def kill(self, host: Host, where: str) -> None:
        self.log.append(f"  {host.holder} is killed {where}")
        host.dead = True

    # ------------------------------------------------------------------ faults

    def now(self) -> int:
        """Return the time, which jumps as long as there are faults."""
        if self.faults:
            return super().now()
        self.clock += 1_000
        return self.clock

    def fault(self, where: str) -> None:
        """Let others go on, kill the process, or fill the disk."""
        host = self.host
        if host is None:
            return
        if host.dead:
            raise Killed
        if self.chance.random() < PASSED:
            self.scheduler.pause()
        if self.faults and self.chance.random() < FAULTY:
            if self.chance.random() < 0.5:
                self.log.append(f"  {host.holder} has a full disk {where}")
                raise StoreError("database or disk is full")
            self.kill(host, where)
            raise Killed

    def wait(self) -> None:
        """Wait for a slow disk at times."""
        host = self.host
        if host is not None and host.dead:
            raise Killed
        if host is not None and self.faults and self.chance.random() < 0.02:
            self.scheduler.sleep(self.chance.choice([0.1, 1.0, 20.0]))

    # ------------------------------------------------------------------ the program in this world

    @contextmanager
    def around(self) -> Iterator[None]:
        """Have the program live in this world."""
        threads = Threading(self.scheduler)
        time = SimpleNamespace(monotonic=lambda: self.scheduler.time)
        machine = SimpleNamespace(gethostname=lambda: self._host().machine)
        process = SimpleNamespace(getpid=lambda: self._host().number, kill=self._find)
        with super().around(), ExitStack() as stack:
            appended = Log.append

            def append(log: Log, connection: Any, entries: Any, *, commit: bool = False) -> None:
                self._note(log, connection, entries)
                appended(log, connection, entries, commit=commit)

            for module in THREADED:
                stack.enter_context(patch(f"evenhand.{module}.threading", threads))
            for module in TIMED:
                stack.enter_context(patch(f"evenhand.{module}.time", time))
            for kind in CLOCKED:
                stack.enter_context(patch.dict(kind.__init__.__kwdefaults__, clock=time.monotonic))
            if self.small:
                stack.enter_context(patch.dict(Writer.__init__.__kwdefaults__, queue=4, most=3))
            for change in (
                patch("evenhand.studies.workers.worker_logs.socket", machine),
                patch("evenhand.studies.workers.worker_logs.os", process),
                patch("evenhand.service.sessions.warm_up", lambda study: None),  # it only compiles
                patch.object(anyio.to_thread, "run_sync", self._on_thread),
                patch.object(Log, "append", append),
            ):
                stack.enter_context(change)
            yield

    def begin_with(self, saved: dict[str, bytes]) -> Store:
        """Put stores into this world, whose locks are those of its threads."""
        home = super().begin_with(saved)
        for store in self._used:
            store._connections.turn = store._turn = Lock(self.scheduler, reentrant=True, patience=PATIENCE)
            store.named_turn = Lock(self.scheduler, patience=PATIENCE)  # type: ignore[assignment]
        return home

    def end(self) -> None:
        """End all threads, and leave the stores to other worlds."""
        self.faults = False
        self.scheduler.end()
        for store in self._used:
            store._connections.turn = store._turn = threading.RLock()
            store.named_turn = threading.Lock()
        super().end()

    def _host(self) -> Host:
        return self.host or Host(1, "judge")

    def _find(self, number: int, signal: int) -> None:
        """Raise an error if no process on this machine has a number."""
        here = self._host().machine
        if not any(host.number == number and host.machine == here and not host.dead for host in self.hosts):
            raise ProcessLookupError

    async def _on_thread(self, job: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, job, *args)

    def _note(self, log: Log, connection: Any, entries: Any) -> None:
        """Only the process that holds a worker decides in its log; nobody holds the serial beginning."""
        host = self.host
        if host is None:
            return
        written = [f"{entry.kind} {entry.ticket or ''} {entry.key or ''}".strip() for entry in entries]
        self.log.append(f"    {host.holder} writes {', '.join(written)}")
        if any(entry.kind == "ask" and entry.ticket >= 10**12 for entry in entries):
            holder = row_of(connection, log.study).holder
            if holder != host.holder:
                self.scheduler.failures.append(f"{host.holder} decided as a worker of {holder}")
