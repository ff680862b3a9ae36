"""Names under which one process at a time may work, such as the keys of requests that reach several workers at once."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from evenhand.studies.store.server import BEGIN_WRITING, PATIENCE, driver_of, execute
from evenhand.studies.store.storage import Storage
from evenhand.studies.store.store import begin_file

__all__ = ["excluding"]

NUMBERS = 256
"""How many locks a server has for names, so that a large batch needs no more; two names may share one."""
FIRST = 7_310_000_000
"""The number of the first of them among the server's advisory locks."""


@contextmanager
def excluding(store: Storage, names: Iterable[str]) -> Iterator[None]:
    """Keep out all others who exclude one of these names in a store, until the block ends.

    On a server each name is locked by itself; beside a file, all names together, by a lock on another file; it holds
    nothing.

    Raises
    ------
    StoreError
        If the lock cannot be had.
    """
    with store.named_turn, store.reached():
        if store.in_memory:
            yield
        elif store.file is not None:
            place = Path(f"{store.file}-keys")
            if not place.exists():
                begin_file(place)
            with closing(sqlite3.connect(place, timeout=PATIENCE, isolation_level=None)) as lock:
                lock.execute("BEGIN IMMEDIATE")
                yield
        else:
            locks = "".join(f"; SELECT pg_advisory_xact_lock({number})" for number in sorted(set(map(_number, names))))
            with store.writing(begin=False) as connection:
                execute(driver_of(connection), BEGIN_WRITING + locks)
                yield


def _number(name: str) -> int:
    return FIRST + int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]) % NUMBERS
