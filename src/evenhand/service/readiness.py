"""Readiness: whether the store takes a write."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from evenhand.errors import StoreError
from evenhand.service.jobs import run_detached
from evenhand.studies import Store


class Readiness:
    """Tries a write to the store, at most once in `age` seconds however often it is called.

    Parameters
    ----------
    patience : the seconds within which the store must take the write.
    """

    def __init__(
        self, store: Store, *, patience: float = 5.0, age: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._patience, self._age, self._clock = store, patience, age, clock
        self._trying: asyncio.Task[int] | None = None
        self._began = 0.0

    async def studies(self) -> int:
        """Return the number of studies of a store that takes writes.

        Raises
        ------
        StoreError
            If the store cannot be reached, does not take a write, or does not answer in time.
        """
        if self._trying is None or (self._trying.done() and self._clock() - self._began > self._age):
            self._trying, self._began = asyncio.create_task(run_detached(self._tried)), self._clock()
        await asyncio.wait([self._trying], timeout=self._patience)
        if not self._trying.done():
            raise StoreError(f"{self._store.url}: the store accepted no write within {self._patience:g} seconds")
        return self._trying.result()

    def _tried(self) -> int:
        self._store.check_writable()
        return len(self._store.names())
