"""The world in which a study is simulated: a clock, disks, messages and secrets that come from a seed.

Every transaction has edges at which its process can be killed, its disk can be full, or it can wait so long that others
go on meanwhile; every reading transaction can wait or fail. With files, each worker has a store of its own. Stores are
in memory, and most begin as copies of a study that was created before, which takes far less time.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

from evenhand.errors import StoreError
from evenhand.studies import Store, Study
from evenhand.studies.log.log import Log
from evenhand.studies.log.replay import Replay
from evenhand.studies.store.store import _engine, _url
from evenhand.studies.workers.shared_study import SharedStudy

__all__ = ["Killed", "World"]

CLOCKS = (
    "log.transaction",
    "workers.worker_logs",
    "exchange",
    "workers.membership",
    "study",
    "workers.shared_creation",
    "workers.exchanging",
)
"""The modules that read the clock."""
FAULTY = 0.03
"""How often a process is killed or a disk is full, at each edge of each transaction."""
UNREADABLE = 0.004
SLOW = 0.03
"""How often others go on while a transaction waits for its disk."""
DAY = 86_400_000_000


class Killed(BaseException):
    """The end of a process, in the middle of what it did."""


class World:
    """What a study meets in one run, drawn from `chance`; `log` says what happened."""

    def __init__(self, chance: random.Random, log: list[str], *, files: bool) -> None:
        self.chance, self.log, self.files = chance, log, files
        self.clock, self.faults = 1_600_000_000_000_000, False
        self.others: Callable[[], None] = lambda: None
        """Lets another process do something while one waits."""
        self.places: dict[str, Store] = {}
        """The stores of the workers that have one of their own."""
        self._inside = 0
        self._used: list[Store] = []
        self._history: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def now(self) -> int:
        """Return the time, which mostly goes on."""
        jump = self.chance.random()
        if jump < 0.01:
            self.clock += self.chance.randrange(-DAY, DAY)
        elif jump < 0.2:
            self.clock += self.chance.randrange(-500_000, 2_000_000)
        else:
            self.clock += 1_000
        return self.clock

    def fault(self, where: str) -> None:
        """Kill the process, or fill the disk."""
        if self.faults and self.chance.random() < FAULTY:
            kind = self.chance.choice(["killed", "killed", "full disk"])
            self.log.append(f"  {kind} {where}")
            if kind == "full disk":
                raise StoreError("database or disk is full")
            raise Killed

    def wait(self) -> None:
        """Be slow at times, so that others go on."""
        if self.faults and not self._inside and self.chance.random() < SLOW:
            self.clock += self.chance.randrange(3_600_000_000)
            self.log.append("  slow disk (")
            self.others()
            self.log.append("  )")

    @contextmanager
    def around(self) -> Iterator[None]:
        """Have the program live in this world."""
        append, writing, reading, reports = Log.append, Store.writing, Store.reading, SharedStudy._reports
        world = self

        def appended(log, connection, entries, *, commit=False):
            world.fault("before an entry is written")
            append(log, connection, entries, commit=commit)

        @contextmanager
        def written(store, *, begin=True):
            world.wait()
            world.fault("before a transaction")
            world._inside += 1
            try:
                with writing(store, begin=begin) as connection:
                    yield connection
                    world.fault("before a transaction ends")
            finally:
                world._inside -= 1
            world.fault("after a transaction ended")

        @contextmanager
        def read(store):
            world.wait()
            if world.faults and world.chance.random() < UNREADABLE:
                world.log.append("  unreadable disk")
                raise StoreError("disk I/O error")
            world._inside += 1
            try:
                with reading(store) as connection:
                    yield connection
            finally:
                world._inside -= 1

        def delivered(study):
            found, unheard = reports(study)
            arrived = {name: report for name, report in found.items() if world.chance.random() < 0.8}
            return {name: world._message(name, report) for name, report in arrived.items()}, unheard

        with ExitStack() as stack:
            for change in (
                patch.object(Log, "append", appended),
                patch.object(Store, "writing", written),
                patch.object(Store, "reading", read),
                patch.object(Store, "at", self._at(Store.at)),
                patch.object(Store, "close", lambda store: None),  # the process ends, its store stays
                patch.object(SharedStudy, "_reports", delivered),
                patch.object(Study, "_rehearse", lambda *_: None),  # it only compiles
                patch.object(Replay, "wants_snapshot", property(lambda replay: replay._entries >= 9)),
                patch("evenhand.studies.workers.shared_creation.new_secret", lambda: "00" * 32),
                patch("evenhand.studies.workers.members.place_of", self._place_of),
                *(patch(f"evenhand.studies.{module}.now", self.now) for module in CLOCKS),
            ):
                stack.enter_context(change)
            yield

    def end(self) -> None:
        """Leave the stores to other worlds."""
        FREE.extend(self._used)
        self._used.clear()

    def _message(self, name: str, report: dict[str, Any]) -> dict[str, Any]:
        """Return a report, or an older one again."""
        self._history[name].append(report)
        return self.chance.choice(self._history[name]) if self.chance.random() < 0.5 else report

    def _place_of(self, store: Store, study: str, worker: str) -> str | None:
        return f"worlds/{study}.{worker}" if self.files and worker else None

    def _at(self, honest: Callable[..., Store]) -> Callable[..., Store]:
        def at(where: Any, *, create: bool = False) -> Store:
            if not isinstance(where, str) or not where.startswith("worlds/"):
                return honest(where, create=create)
            if where not in self.places:
                if not create:
                    raise StoreError(f"{where}: no store is there yet")
                self.places[where] = copy_of(empty(), self._used)
            return self.places[where]

        return at

    # ------------------------------------------------------------------ copies

    def saved(self, home: Store) -> dict[str, bytes]:
        """Return all stores of this world as bytes, by place; "" is the study's own."""
        return {place: as_bytes(store) for place, store in {"": home, **self.places}.items()}

    def begin_with(self, saved: dict[str, bytes]) -> Store:
        """Put stores as they were saved into this world, and return the study's own."""
        stores = {place: copy_of(data, self._used) for place, data in saved.items()}
        home = stores.pop("")
        self.places.update(stores)
        return home


def as_bytes(store: Store) -> bytes:
    with store.reading() as connection:
        found: bytes = connection.connection.driver_connection.serialize()  # type: ignore[union-attr]
    return found


def copy_of(data: bytes, used: list[Store]) -> Store:
    """Return a store in memory with these contents, and note it; one of an earlier world is taken again."""
    store = FREE.pop() if FREE else Store(_engine(_url(":memory:")))
    used.append(store)
    connection = store._engine.raw_connection()
    connection.driver_connection.deserialize(data)  # type: ignore[union-attr]
    connection.close()
    return store


FREE: list[Store] = []
"""Stores in memory that no world uses: a new one would prepare each of its statements anew."""


@cache
def empty() -> bytes:
    """Return a store without studies."""
    return as_bytes(Store.at(":memory:", create=True))
