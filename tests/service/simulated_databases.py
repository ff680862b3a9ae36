"""Where the study of a simulated service lies: in memory, in a file, or in PostgreSQL.

A file and a server have their own locks, and threads of a simulation must not wait for these: only one of them runs at
a time, and the one that would let go could not. So a statement that meets a lock is undone, others go on, and it is
tried again; a file's transactions begin in this way by themselves.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import create_engine, event, insert, select, text

from evenhand.errors import UnreachableError
from evenhand.studies import Store
from evenhand.studies.store.address import read_address
from evenhand.studies.store.engine import PATIENCE, ways_of
from evenhand.studies.store.schema import METADATA
from tests.service.simulated_threads import Scheduler

__all__ = ["MEMORY", "NAP", "free", "leave", "place_of_process", "taken"]

MEMORY = ":memory:"
LOCKING = re.compile(r"\s*(INSERT|UPDATE|DELETE)|.*FOR UPDATE", re.DOTALL)
NAP = 0.2
"""Simulated seconds between two tries."""
SETTINGS = "options=-c%20lock_timeout=1"
"""A server says within a millisecond that a lock is held: no other thread runs that could let go of it."""
FREE: dict[str, list[Store]] = defaultdict(list)
"""Stores that no world uses, by their place: a new one would prepare each of its statements anew."""


@cache
def place_of_process(home: str) -> str:
    """Return a place of this process's own: in memory, in a folder, or on a server whose database is left open."""
    if home == MEMORY:
        return home
    if "://" not in home:
        return str(Path(home, f"{os.getpid()}.evenhand"))
    url, name = home.replace("postgresql:", "postgresql+psycopg:"), f"simulated{os.getpid()}"
    engine = create_engine(url.format(database="postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return home.format(database=name)


def taken(place: str, saved: bytes, scheduler: Callable[[], Scheduler]) -> Store:
    """Return a store at a place, with the contents of a file; `scheduler` returns the one of the present world."""
    store = FREE[place].pop() if FREE[place] else _made(place, scheduler)
    if store.in_memory:
        _driver(store, lambda connection: connection.deserialize(saved))
        return store
    home = sqlite3.connect(MEMORY)
    home.deserialize(saved)
    if store.serial:
        _driver(store, home.backup)
    else:
        _copy(home, store)
    home.close()
    return store


def free(place: str, store: Store) -> None:
    """Leave a store to other worlds."""
    FREE[place].append(store)


def leave(place: str) -> None:
    """Close the stores at a place."""
    for store in FREE.pop(place, []):
        store.close()


def _made(place: str, scheduler: Callable[[], Scheduler]) -> Store:
    if place == MEMORY:
        return Store(ways_of(read_address(place)))
    with patch("evenhand.studies.store.engine.create_engine", partial(create_engine, max_overflow=-1)):
        if "://" not in place:
            return Store(ways_of(read_address(place)))
        server = Store(ways_of(read_address(f"{place}{'&' if '?' in place else '?'}{SETTINGS}")))
    kind = _patient(scheduler)
    event.listen(server._engine, "connect", lambda connection, record: setattr(connection, "cursor_factory", kind))
    METADATA.create_all(server._engine)
    return server


def _driver(store: Store, act: Callable[[Any], object]) -> None:
    connection = store._engine.raw_connection()
    act(connection.driver_connection)
    connection.close()


def _copy(home: sqlite3.Connection, store: Store) -> None:
    """Have a server hold the rows that a file has."""
    home.row_factory = sqlite3.Row
    with store._engine.begin() as connection:
        for table in reversed(METADATA.sorted_tables):
            connection.execute(table.delete())
        for table in METADATA.sorted_tables:
            rows = [dict(row) for row in home.execute(str(select(table)))]
            if rows:
                connection.execute(insert(table), rows)


def _patient(scheduler: Callable[[], Scheduler]) -> type:
    """Return a cursor of PostgreSQL that waits in simulated time, and to which no two writers may write the same."""
    import psycopg
    from psycopg.errors import IntegrityError, LockNotAvailable

    class Patient(psycopg.Cursor[Any]):
        def execute(self, query: Any, *given: Any, **settings: Any) -> Any:
            return self._patiently(super().execute, query, *given, **settings)

        def executemany(self, query: Any, *given: Any, **settings: Any) -> Any:
            return self._patiently(super().executemany, query, *given, **settings)

        def _patiently(self, act: Callable[..., Any], query: Any, *given: Any, **settings: Any) -> Any:
            if not LOCKING.match(str(query)):
                return act(query, *given, **settings)
            super().execute("SAVEPOINT patience")
            end = scheduler().time + PATIENCE
            while True:
                try:
                    return act(query, *given, **settings)
                except IntegrityError as error:
                    scheduler().failures.append(f"two writers wrote the same: {error}")
                    raise
                except LockNotAvailable as refused:
                    super().execute("ROLLBACK TO SAVEPOINT patience")
                    if scheduler().time > end:
                        raise UnreachableError("canceling statement due to lock timeout") from refused
                scheduler().sleep(NAP)

    return Patient
