"""A process of the service as a worker of a study: it takes one that no live process holds, and keeps it in use."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from evenhand.errors import EvenhandError, FencedError
from evenhand.studies import Operation, SharedStudy

__all__ = ["Leasing"]

LEASE = 15.0
"""Seconds for which a worker is a process's own without being renewed."""


class Leasing:
    """Performs the operations of a study with several workers as one of them.

    The worker is taken at the first decision. Where another process has claimed it since, as after a pause longer than
    the lease, another worker is taken, and the decisions are taken as that one.
    """

    def __init__(self, study: SharedStudy) -> None:
        self._study = study
        self._turn = threading.Lock()
        """Held by the thread that decides, and by the one that renews: either may let go of the worker."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="evenhand lease", daemon=True)

    def perform(self, operations: Sequence[Operation]) -> list[Any]:
        """Perform all operations, and return the outcome or the refusal of each."""
        with self._turn:
            return self._perform(operations)

    def _perform(self, operations: Sequence[Operation]) -> list[Any]:
        asks = [i for i, operation in enumerate(operations) if operation.kind == "ask"]
        if asks and self._study.worker is None:
            self._lease()
        try:
            outcomes = self._study.perform(operations)
        except FencedError as fenced:
            outcomes = [fenced] * len(operations)
        again = [i for i in asks if isinstance(outcomes[i], FencedError)]
        if again:
            self._study.release()
            self._lease()
            for i, outcome in zip(again, self._study.perform([operations[i] for i in again]), strict=True):
                outcomes[i] = outcome
        return outcomes

    def begin(self) -> None:
        """Take a worker if one is free."""
        with self._turn, suppress(EvenhandError):
            self._lease()

    def _lease(self) -> None:
        self._study.lease(LEASE)
        if self._thread.ident is None:
            self._thread.start()

    def _renew(self) -> None:
        while not self._stopped.wait(LEASE / 3):
            with self._turn, suppress(EvenhandError):
                self._study.renew()

    def stop(self) -> None:
        """Give the worker back."""
        self._stopped.set()
        with self._turn, suppress(EvenhandError):
            self._study.release()
