"""Sessions: the studies that a service holds open, each with its writer and what its readers share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

from evenhand.errors import UnknownStudyError
from evenhand.policy import KernelPolicy
from evenhand.service.index import Index
from evenhand.service.leases import Leasing
from evenhand.service.writer import Writer
from evenhand.studies import SharedStudy, Store, Study
from evenhand.studies.creation import NAME
from evenhand.studies.statistics import Statistics
from evenhand.traits import traits_of

__all__ = ["Session", "Sessions", "warm_up"]


class Session:
    """One open study: operations go through `writer`, views through `reading`.

    Readers have a study of their own, `reader`, so that a long read delays no decision.
    """

    def __init__(self, study: Study) -> None:
        self.leasing = Leasing(study) if isinstance(study, SharedStudy) else None
        self.study, self.writer = study, Writer(self.leasing or study, first=self._begin)
        self.reader = Study.open(study.store, study.name)
        self._index = Index()
        self._statistics: Statistics | None = None
        self._turn, self._audit = threading.Lock(), threading.Lock()
        self._audited: tuple[int, Any] | None = None

    def _begin(self) -> None:
        """Take a worker where the study has several, so that its own policy is warmed up."""
        if self.leasing is not None:
            self.leasing.begin()
        warm_up(self.study)

    @contextmanager
    def reading(self) -> Iterator[tuple[Any, Index]]:
        """Provide the study's statistics and index as of now, to one reader at a time."""
        with self._turn:
            statistics = Statistics(self.reader.first_policy) if self._statistics is None else self._statistics.copy()
            statistics.advance(self._index.follow(self.reader.entries(statistics.sequence)))
            self._statistics = statistics
            yield statistics, self._index

    @cached_property
    def plays(self) -> int:
        """How many arms the policy plays in a round."""
        return traits_of(self.reader.first_policy).plays

    def audit(self) -> Any:
        """Verify the study, once as long as its log does not grow."""
        with self._audit:
            sequence = self.reader.sequence
            if self._audited is None or self._audited[0] != sequence:
                self._audited = (sequence, self.reader.verify())
            return self._audited[1]


def warm_up(study: Study) -> None:
    """Decide and report once on a copy of the policy, so that it is compiled before the first request.

    A policy that needs contexts is left out; a study that cannot be read refuses the requests themselves.
    """
    with suppress(Exception):
        policy = study.bare_policy
        if isinstance(policy, KernelPolicy):
            policy.compile()
        policy.tell(policy.ask(), 1.0)
        study.compile()


class Sessions:
    """The sessions of a store, opened when first needed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._sessions: dict[str, Session] = {}
        self._turn = threading.Lock()

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
            study = Study.open(self.store, name)
        except UnknownStudyError as error:
            raise UnknownStudyError(f"no study is named {name[:100]!r}; GET /studies lists all") from error
        with self._turn:
            session = self._sessions.get(name)
            if session is None:
                session = self._sessions[name] = Session(study)
            return session

    def opened(self, name: str) -> Session | None:
        """Return the session of a study that is open, None of any other."""
        return self._sessions.get(name)

    async def reach(self, name: str) -> Session:
        """Return the session of a study; open it on a thread if needed."""
        session = self._sessions.get(name)
        return await asyncio.to_thread(self.open, name) if session is None else session

    def all(self) -> list[Session]:
        """Return the sessions of all studies of the store."""
        return [self.open(name) for name in self.store.names()]

    def stop(self) -> None:
        """Accept no more operations, perform those accepted, and store the states that have changed."""
        for session in self._sessions.values():
            session.writer.stop()
        for session in self._sessions.values():
            session.study.rest()
            if session.leasing is not None:
                session.leasing.stop()
