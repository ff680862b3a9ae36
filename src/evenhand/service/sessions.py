"""Sessions: the studies that a service holds open, each with its writer and what its readers share."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, TypeVar

from evenhand.errors import EvenhandError, UnknownStudyError
from evenhand.policy.traits import traits_of
from evenhand.service.decision_index import Index
from evenhand.service.errors import HttpRefusal
from evenhand.service.jobs import Lane
from evenhand.service.writer import Writer
from evenhand.studies import Operation, Store, Study
from evenhand.studies.creation import NAME
from evenhand.studies.statistics.statistics import Statistics
from evenhand.studies.statistics.summaries import begin, keep

T = TypeVar("T")

READERS = 4
"""How many read a study at once."""
LEAST = 10_000
"""Entries that are read again in less than a tenth of a second."""
SECONDS = 30.0
"""The time in which a read is answered."""
STOPPING = 70.0
"""Seconds that stopping waits: longer than a writer waits for its turn."""


class Session:
    """One open study: operations go through `writer`, views through `reading`.

    Readers have a study of their own, `reader`, so that a long read delays no decision.
    """

    def __init__(self, study: Study) -> None:
        self.study, self.writer = study, Writer(study, first=lambda: warm_up(study))
        self.reader = Study.open(study.store, study.name)
        self.reads = Lane(f"reading study {study.name!r}", READERS, SECONDS)
        self._index = Index()
        self._statistics: Statistics | None = None
        self._kept = 0
        self._lock, self._audit = threading.Lock(), threading.Lock()
        self._audited: tuple[int, Any] | None = None
        self._began: float | None = None
        self._failed = False

    async def run(self, operation: Operation) -> Any:
        """Run one operation and return its outcome; raise what refuses it."""
        (outcome,) = await self.writer.run([operation])
        if isinstance(outcome, EvenhandError):
            raise outcome
        return outcome

    @contextmanager
    def reading(self) -> Iterator[tuple[Any, Index]]:
        """Provide the study's statistics and index as of now, to one reader at a time."""
        with self._lock:
            self._began = time.monotonic()
            try:
                statistics = self._follow()
                self._failed = False
            except Exception:
                self._failed = True
                raise
            finally:
                self._began = None
            yield statistics, self._index
            self.keep(LEAST)

    def _follow(self) -> Statistics:
        statistics = self._stored() if self._statistics is None else self._statistics.copy()
        for entry in self.reader.log.entries(statistics.sequence):
            decision = statistics.take(entry)
            self._index.take(entry, decision)
        statistics.flush()
        self._statistics = statistics
        return statistics

    def _stored(self) -> Statistics:
        """Return the statistics to continue from, and have an index that goes as far."""
        statistics, parts = begin(self.reader.store, self.reader.log)
        if "index" not in parts:
            return Statistics(self.reader.log.first_policy)
        self._index = Index()
        self._index.restore(parts["index"])
        self._kept = statistics.sequence
        return statistics

    def keep(self, least: int) -> None:
        """Store what the last view showed if `least` entries, and a twentieth of all, are new to the store; one that
        cannot be written stays as it is. Only for whoever holds the lock."""
        statistics = self._statistics
        if statistics is not None and statistics.sequence - self._kept >= max(least, statistics.sequence // 20):
            self._kept = statistics.sequence
            with suppress(EvenhandError):
                keep(self.reader.store, self.reader.log, statistics, {"index": self._index.snapshot()})

    @property
    def in_trouble(self) -> bool:
        """Whether the study's log could not be read the last time, or is being read for too long."""
        began = self._began
        return self._failed or (began is not None and time.monotonic() - began > self.reads.seconds)

    def end(self) -> None:
        """Run the operations that were accepted, and store the state if it has changed."""
        self.writer.stop()
        self.study.state.snapshot_if_small()
        # A reader that hangs keeps the lock; waiting for it would keep the whole service from ending.
        if self._lock.acquire(blocking=False):
            self.keep(1_000)
            self._lock.release()

    @cached_property
    def plays(self) -> int:
        """How many arms the policy plays in a round."""
        return traits_of(self.reader.log.first_policy).plays

    def audit(self) -> Any:
        """Verify the study, once as long as its log does not grow."""
        with self._audit:
            sequence = self.reader.log.sequence
            if self._audited is None or self._audited[0] != sequence:
                self._audited = (sequence, self.reader.verify())
            return self._audited[1]


def warm_up(study: Study) -> None:
    """Compile the policy, and decide and report once on a copy of it, before the first request.

    One that does not know its contexts yet is left out; a study that cannot be read refuses the requests themselves.
    """
    with suppress(Exception):
        study.compile()
        policy = study.state.bare_copy()
        policy.tell(policy.ask(), 1.0)


class Sessions:
    """The sessions of a store, opened when first needed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._sessions: dict[str, Session] = {}
        self._openings: dict[str, Lane] = {}
        self.listing = Lane("listing the studies", READERS, SECONDS)
        self._lock = threading.Lock()

    def open(self, name: str) -> Session:
        """Return the session of a study; open the study if needed, which may take long.

        Raises
        ------
        UnknownStudyError
            If there is no study of that name.
        """
        session = self._sessions.get(name)
        if session is not None:
            return session
        try:
            if NAME.fullmatch(name) is None:
                raise UnknownStudyError
            opened = Session(Study.open(self.store, name))
        except UnknownStudyError as error:
            raise UnknownStudyError(f"no study is named {name[:100]!r}; GET /studies lists all studies") from error
        with self._lock:  # of two that opened it at the same time, the first counts
            return self._sessions.setdefault(name, opened)

    async def reach(self, name: str) -> Session:
        """Return the session of a study; open it on a thread if needed."""
        session = self._sessions.get(name)
        if session is not None:
            return session
        lane = self._openings.get(name)
        if lane is None:
            lane = self._openings[name] = Lane(f"opening study {name[:100]!r}", 1, SECONDS)
        try:
            # One lane for each name: a study whose opening hangs takes no place of another:
            # test_a_read_that_hangs_takes_no_place_of_another_study_and_the_end_does_not_wait_for_it.
            return await lane.run(lambda: self.open(name))
        finally:
            self._openings.pop(name, None)

    async def every(self, read: Callable[[Session], T]) -> tuple[dict[str, T], dict[str, str]]:
        """Read every study of the store in its own lane.

        Returns
        -------
        tuple
            By name, what was read; and of the others, why they could not be.
        """
        names = await self.listing.run(self.store.names)
        found = await asyncio.gather(*(self._read(name, read) for name in names), return_exceptions=True)
        pairs = list(zip(names, found, strict=True))
        failed = {name: why_of(one) for name, one in pairs if isinstance(one, BaseException)}
        return {name: one for name, one in pairs if not isinstance(one, BaseException)}, failed

    async def _read(self, name: str, read: Callable[[Session], T]) -> T:
        session = await self.reach(name)
        return await session.reads.run(lambda: read(session))

    def unreadable(self) -> int:
        """Return how many studies could not be read the last time."""
        return sum(session.in_trouble for session in self._sessions.values())

    def stop(self) -> None:
        """Accept no more operations, run those accepted, and store the states that have changed.

        A study that hangs is left after `STOPPING` seconds: what was answered is on disk.
        """
        sessions = self._sessions.values()
        ends = [threading.Thread(target=one.end, name="evenhand end", daemon=True) for one in sessions]
        for end in ends:
            end.start()
        last = time.monotonic() + STOPPING
        for end in ends:
            end.join(max(0.0, last - time.monotonic()))


def why_of(error: BaseException) -> str:
    """Return in a word why a study could not be read; what its driver says is for the log alone."""
    return error.message if isinstance(error, HttpRefusal) else type(error).__name__
