"""Engines: how a store connects to SQLite or PostgreSQL, and how its transactions begin.

An engine begins three kinds of transactions, see `Ways`. SQLAlchemy's pool keeps the connections.
"""

from __future__ import annotations

import os
import sqlite3
import time
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from sqlalchemy import Connection, Engine, Pool, create_engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import StaticPool

from evenhand.extras import optional
from evenhand.studies.store.schema import VERSIONS

if TYPE_CHECKING:
    from sqlalchemy import URL

__all__ = ["MEMORY", "PATIENCE", "Ways", "engine_at"]

MEMORY = (None, "", ":memory:")
PATIENCE = 60
"""Seconds for which a transaction waits for a lock that another one holds."""
NAP = 0.001
"""Seconds between two looks at whether a file is free."""
ENGINES: WeakSet[Engine] = WeakSet()
INHERITED: list[Pool] = []
"""The pools that a forked process has from its parent; nothing may close their connections."""
NAMES = count(1)


class Ways(NamedTuple):
    """An engine, three times: for transactions that read or write, and for statements outside of transactions.

    All use the same connections.
    """

    reading: Engine
    writing: Engine
    outside: Engine


def engine_at(url: URL) -> Ways:
    """Return the engine for a URL; it connects when it is used."""
    if url.get_backend_name() == "postgresql":
        return _of_server(url)
    return _of_memory() if url.database in MEMORY else _of_file(url)


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
    ENGINES.add(engine)
    return Ways(
        engine.execution_options(isolation_level="REPEATABLE READ"),  # one state, whatever is committed meanwhile
        engine,
        engine.execution_options(isolation_level="AUTOCOMMIT"),
    )


def _of_file(url: URL) -> Ways:
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": PATIENCE})
    ENGINES.add(engine)
    return _sqlite(engine)


def _of_memory() -> Ways:
    """Return an engine for a new database in memory, with one connection.

    The pool drops a connection when Ctrl-C interrupts a statement, and a plain `:memory:` would be gone with it. So a
    second connection, which nobody uses, keeps the database until the engine is disposed of.
    """
    name = f"file:/evenhand-{next(NAMES)}?vfs=memdb"
    keeper: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        if not keeper:
            keeper.append(sqlite3.connect(name, uri=True, check_same_thread=False))
        return sqlite3.connect(name, uri=True, check_same_thread=False)

    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)

    @event.listens_for(engine, "engine_disposed")
    def _disposed(engine: Engine) -> None:
        while keeper:
            keeper.pop().close()

    return _sqlite(engine)


def _sqlite(engine: Engine) -> Ways:
    @event.listens_for(engine, "connect")
    def _connected(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # the module begins no transaction by itself; `_begin` does
        for pragma in ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}")
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (VERSIONS.name,)).fetchone():
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA busy_timeout = 0")  # all waiting is in `_begin`

    event.listen(engine, "begin", _begin)
    return Ways(
        # With its first read a deferred transaction has its state: nothing in it can meet a lock afterwards.
        engine.execution_options(begin=("BEGIN", "SELECT 1 FROM sqlite_master LIMIT 1")),
        # IMMEDIATE takes the lock before the log is read. A deferred transaction takes it at its first INSERT: if
        # another process has written since its first SELECT, SQLite refuses with "database is locked" at once, however
        # long one is ready to wait, and two that read first could never both write.
        engine.execution_options(begin=("BEGIN IMMEDIATE",)),
        engine,
    )


def _begin(connection: Connection) -> None:
    """Begin a transaction of SQLite; wait for a lock as long as it takes, at most PATIENCE.

    SQLite's own waiting sleeps up to 0.1 s between two tries, and is passed by whoever writes without a pause: of four
    busy processes on one file, some waited for 8 s. Short naps of equal length bring that down to half a second.
    """
    statements = connection.get_execution_options().get("begin", ())
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            for statement in statements:
                connection.exec_driver_sql(statement)
            return
        except OperationalError as error:  # SQLAlchemy has rolled back what was begun
            busy = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() >= deadline:
                raise
            time.sleep(NAP)


def _forked() -> None:
    """Have a forked process connect anew.

    Two processes on one connection to a server read each other's answers, and SQLite's locks on a file do not pass to
    a child. The parent still uses the connections, so the child neither uses nor closes them.
    """
    for engine in ENGINES:
        INHERITED.append(engine.pool)
        engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
