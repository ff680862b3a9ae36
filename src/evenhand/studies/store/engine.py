"""Engines: how a store connects to SQLite or PostgreSQL, and how its transactions begin.

SQLAlchemy's pool keeps the connections.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sqlalchemy import Connection, Engine, Pool, create_engine, event
from sqlalchemy.pool import StaticPool

from evenhand.errors import StoreError
from evenhand.extras import optional
from evenhand.processes import forking_for, renew_in_child
from evenhand.studies.store.schema import VERSIONS

if TYPE_CHECKING:
    from sqlalchemy import URL

MEMORY = (None, "", ":memory:")
PATIENCE = 60
"""Seconds for which a transaction waits for a lock that another one holds."""
NAP = 0.001
"""Seconds between two looks at whether a file is free."""
FORKING = 10.0
"""Seconds for which a fork waits for the transactions of other threads."""
NAMES = count(1)


class Way(NamedTuple):
    """How transactions of one kind begin: the engine, and the statements to execute first."""

    engine: Engine
    first: tuple[str, ...] = ()


class Ways(NamedTuple):
    """How transactions that read begin, those that write, and statements that are outside of transactions; `close` ends
    the connections, which all three share, and `passing` is the context of each transaction."""

    reading: Way
    writing: Way
    outside: Way
    close: Callable[[], None]
    passing: Callable[[], AbstractContextManager[Any]] = nullcontext


class Gate:
    """Lets the transactions on a file through, any number at once, but none while this process forks.

    SQLite notes, once for a process, which locks it has on a file. A child would take the notes of its parent for its
    own, and have none of the locks: when the parent closed the file, what the child had committed would be lost. So no
    connection is open at a fork; where a transaction does not end in time, the file is refused in the child.
    """

    left: ClassVar[set[str]] = set()
    """The files that were in use when this process was forked."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._file = engine, os.path.realpath(str(engine.url.database))
        self._begin()
        renew_in_child(self, Gate._renew, rest=Gate._rest, resume=Gate._resume)

    def _begin(self) -> None:
        self._state, self._inside, self._resting = threading.Condition(), Counter[int](), False

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Provide the time of a transaction."""
        if self._file in Gate.left:
            said = "this process was forked in the middle of a transaction on it; fork where no study is in use"
            raise StoreError(f"{self._file}: {said}")
        me = threading.get_ident()
        with self._state:
            self._state.wait_for(lambda: not self._resting or self._inside[me] > 0)
            self._inside[me] += 1
        try:
            yield
        finally:
            with self._state:
                self._inside[me] -= 1
                self._state.notify_all()

    def _rest(self) -> None:
        """Wait until no other thread is in a transaction, and close the connections."""
        me, left = threading.get_ident(), FORKING - forking_for()
        with self._state:
            self._resting = True
            self._state.wait_for(lambda: self._inside.total() == self._inside[me], max(0.0, left))
        self._engine.dispose()

    def _resume(self) -> None:
        with self._state:
            self._resting = False
            self._state.notify_all()

    def _renew(self) -> Pool:
        if self._inside.total():
            Gate.left.add(self._file)
        self._begin()
        return _reconnect(self._engine)


def ways_of(url: URL) -> Ways:
    """Return the ways to use the database at a URL; it connects when it is used."""
    if url.get_backend_name() == "postgresql":
        return _of_server(url)
    in_memory = url.database in MEMORY
    engine, close = _of_memory() if in_memory else _of_file(url)
    event.listen(engine, "connect", _connected)
    return Ways(
        # With its first read a deferred transaction has its state, and meets no lock afterwards.
        Way(engine, ("BEGIN", "SELECT 1 FROM sqlite_master LIMIT 1")),
        # IMMEDIATE takes the lock before the log is read. A deferred transaction takes it at its first INSERT: if
        # another process has written since its first SELECT, SQLite refuses with "database is locked" at once, however
        # long one is ready to wait.
        Way(engine, ("BEGIN IMMEDIATE",)),
        Way(engine),
        close,
        nullcontext if in_memory else Gate(engine).passing,
    )


def begin(connection: Connection, first: tuple[str, ...]) -> None:
    """Execute the first statements of a transaction; wait for the lock of a file, at most PATIENCE.

    SQLite's own waiting sleeps up to 0.1 s between two tries, and is passed by whoever writes without a pause: of four
    busy processes on one file, some waited for 8 s. Short naps of equal length bring that down to half a second.
    """
    _execute_once_free(sqlite_of(connection), *first)


def _execute_once_free(connection: sqlite3.Connection, *statements: str) -> None:
    deadline: float | None = None
    for statement in statements:
        while True:
            try:
                connection.execute(statement)
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                deadline = deadline or time.monotonic() + PATIENCE
                if time.monotonic() >= deadline:
                    raise
                time.sleep(NAP)


def sqlite_of(connection: Connection) -> Any:
    """Return the connection of `sqlite3` itself, for the statements of every decision: it executes one in 3 us, and
    SQLAlchemy takes 10 to 40 us more for each, as long as all the rest of a decision."""
    return connection.connection.dbapi_connection


def _of_server(url: URL) -> Ways:
    optional("psycopg", "a store in PostgreSQL")
    # Without a limit a server waits for ever for the lock of a writer that hangs. An option of the connection costs no
    # round trip; those of the URL come last, and count.
    options = f"-c lock_timeout={PATIENCE}s", *url.normalized_query.get("options", ())
    engine = create_engine(
        url,
        connect_args={"options": " ".join(options)},
        # A writer locks the study's row and then reads the log. READ COMMITTED shows it what was committed while it
        # waited for the lock; with a snapshot from before the wait it would decide on a log that is out of date.
        isolation_level="READ COMMITTED",
        # A server that restarted has ended the connections in the pool: without a test, the first call on each of them
        # would fail after every restart.
        pool_pre_ping=True,
    )
    renew_in_child(engine, _reconnect)
    return Ways(
        Way(engine.execution_options(isolation_level="REPEATABLE READ")),  # one state, whatever is committed meanwhile
        Way(engine),
        Way(engine.execution_options(isolation_level="AUTOCOMMIT")),
        engine.dispose,
    )


def _of_file(url: URL) -> tuple[Engine, Callable[[], None]]:
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": PATIENCE})
    return engine, engine.dispose


def _of_memory() -> tuple[Engine, Callable[[], None]]:
    """Return an engine for a new database in memory, with one connection, and what closes both.

    The pool drops a connection when Ctrl-C interrupts a statement, and a plain `:memory:` would be gone with it. So a
    second connection, which nobody uses, keeps the database until the engine is disposed of.
    """
    name = f"file:/evenhand-{next(NAMES)}?vfs=memdb"
    keeper: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        if not keeper:
            keeper.append(sqlite3.connect(name, uri=True, check_same_thread=False))
        return sqlite3.connect(name, uri=True, check_same_thread=False)

    def close() -> None:
        engine.dispose()
        while keeper:
            keeper.pop().close()

    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)
    return engine, close


def _connected(connection: sqlite3.Connection, record: object) -> None:
    """Set up a new connection to SQLite."""
    connection.isolation_level = None  # the module begins no transaction by itself
    for pragma in ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
        connection.execute(f"PRAGMA {pragma}")
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (VERSIONS.name,)).fetchone():
        # Of two processes that both read a new file and then both want it alone, SQLite refuses one at once, however
        # long its own timeout is: tests/studies/test_processes.py has several make one store.
        _execute_once_free(connection, "PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA busy_timeout = 0")  # all waiting is in `_execute_once_free`


def _reconnect(engine: Engine) -> Pool:
    """Have a forked process connect anew, and return its parent's pool."""
    inherited = engine.pool
    engine.dispose(close=False)
    return inherited
