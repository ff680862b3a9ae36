"""The studies that a service holds open: for each its writer, and what its readers share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from evenhand.errors import UnknownStudyError
from evenhand.online import KernelPolicy
from evenhand.service.index import Index
from evenhand.service.writer import Writer
from evenhand.studies import Store, Study

__all__ = ["Session", "Sessions", "rehearsed"]


class Session:
    """One study: asked and told through `writer`, looked at through `looking`.

    Readers have a study of their own, `seen`, so that a long look holds up no decision.
    """

    def __init__(self, study: Study) -> None:
        self.study, self.writer = study, Writer(study, first=lambda: rehearsed(study))
        self.seen = Study.open(study.store, study.name)
        self._index = Index()
        self._turn, self._audit = threading.Lock(), threading.Lock()
        self._audited: tuple[int, Any] | None = None

    @contextmanager
    def looking(self) -> Iterator[tuple[Any, Index]]:
        """Give the study's trail and index as of now; one reader at a time."""
        with self._turn:
            trail = self.seen.trail()
            self._index.advance(self.seen)
            yield trail, self._index

    def audit(self) -> Any:
        """Return the study's verification; while the log does not grow it is done once."""
        with self._audit:
            sequence = self.seen.sequence
            if self._audited is None or self._audited[0] != sequence:
                self._audited = (sequence, self.seen.verify())
            return self._audited[1]


def rehearsed(study: Study) -> None:
    """Decide and report once on a copy of the policy, so that what must be compiled is before anybody waits for it.

    A policy that must be shown something cannot be rehearsed, and a study that cannot be opened tells those who ask.
    """
    with suppress(Exception):
        policy = study.bare_policy
        if isinstance(policy, KernelPolicy):
            policy.compile()
        policy.tell(policy.ask(), 1.0)


class Sessions:
    """All sessions of a store, opened when first needed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._sessions: dict[str, Session] = {}
        self._turn = threading.Lock()

    def open(self, name: str) -> Session:
        """Return the session of a study; blocks while the study is opened.

        Raises
        ------
        UnknownStudyError
            If there is none of that name.
        """
        session = self._sessions.get(name)
        if session is not None:
            return session
        try:
            study = Study.open(self.store, name)
        except UnknownStudyError as error:
            raise UnknownStudyError(f"no study is named {name!r}; GET /studies lists all") from error
        with self._turn:
            session = self._sessions.get(name)
            if session is None:
                session = self._sessions[name] = Session(study)
            return session

    async def reach(self, name: str) -> Session:
        """Return the session of a study that may have to be opened, without holding up others."""
        session = self._sessions.get(name)
        return await asyncio.to_thread(self.open, name) if session is None else session

    def all(self) -> list[Session]:
        """Return the sessions of all studies of the store."""
        return [self.open(name) for name in self.store.names()]

    def stop(self) -> None:
        """Answer what was accepted, accept nothing more, and keep the states that have changed."""
        for session in self._sessions.values():
            session.writer.stop()
        for session in self._sessions.values():
            session.study.rest()
