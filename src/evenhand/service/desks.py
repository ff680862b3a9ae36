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

__all__ = ["Desk", "Desks", "rehearsed"]


class Desk:
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


class Desks:
    """All desks of a store, opened when first needed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._desks: dict[str, Desk] = {}
        self._turn = threading.Lock()

    def get(self, name: str) -> Desk | None:
        """Return the desk of a study that is open already."""
        return self._desks.get(name)

    def open(self, name: str) -> Desk:
        """Return the desk of a study; blocks while the study is opened.

        Raises
        ------
        UnknownStudyError
            If there is none of that name.
        """
        desk = self._desks.get(name)
        if desk is not None:
            return desk
        try:
            study = Study.open(self.store, name)
        except UnknownStudyError as error:
            raise UnknownStudyError(f"no study is named {name!r}; GET /studies lists all") from error
        with self._turn:
            desk = self._desks.get(name)
            if desk is None:
                desk = self._desks[name] = Desk(study)
            return desk

    async def reached(self, name: str) -> Desk:
        """Return the desk of a study that may have to be opened, without holding up others."""
        return await asyncio.to_thread(self.open, name)

    def all(self) -> list[Desk]:
        """Return the desks of all studies of the store."""
        return [self.open(name) for name in self.store.names()]

    def stop(self) -> None:
        """Answer what was accepted, accept nothing more, and keep the states that have changed."""
        for desk in self._desks.values():
            desk.writer.stop()
        for desk in self._desks.values():
            desk.study.rest()
