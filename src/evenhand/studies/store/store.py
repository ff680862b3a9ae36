"""Stores: one database with many studies, in a file, in memory, or on a PostgreSQL server.

Writing is serialised: on SQLite by `BEGIN IMMEDIATE`, on PostgreSQL by a lock on the study's row. A commit is on disk
when it returns (SQLite: write-ahead log with `synchronous = FULL`).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NoReturn, cast

from sqlalchemy import Connection, Table, delete, insert, inspect, select, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from evenhand.errors import StoreError, UnreachableError, Wording
from evenhand.processes import refuse_copy
from evenhand.studies.store.address import read_address, shown_address
from evenhand.studies.store.engine import MEMORY, PATIENCE, Way, Ways, begin, ways_of
from evenhand.studies.store.schema import KEYS, METADATA, STUDIES, VERSION, VERSIONS
from evenhand.studies.store.storage import Storage

BRIEF = 2_000
"""Milliseconds for which clearing deleted rows waits for those who read."""
LOCKED = "55P03"
"""The state in which PostgreSQL says that a lock was not to be had in time."""
ROOM = 2**14
"""Bytes that must fit into a file for it to count as writable."""
OF_FILES = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    )
)
"""SQLite's primary codes of what a file, its disk or its locks refuse; a damaged file has SQLITE_CORRUPT and others."""
OF_SERVERS = ("08", "25", "40", "53", "55", "57")
"""The classes of PostgreSQL's states of lost connections, conflicts, missing resources and operators who intervene."""


class Store:
    """A database that holds studies.

    Made by `Store.at`; every method may be called from any thread. A store is created with its first study.
    """

    def __init__(self, ways: Ways) -> None:
        self._ways, self._engine = ways, ways.writing.engine
        url = self._engine.url
        self.url, self.serial = shown_address(url), url.get_backend_name() == "sqlite"
        self.in_memory = self.serial and url.database in MEMORY
        self._lock: AbstractContextManager[Any] = threading.RLock() if self.in_memory else nullcontext()
        self._process = os.getpid()

    @classmethod
    def at(cls, where: Storage | str | os.PathLike[str], *, create: bool = False) -> Store:
        """Return the store at a path or URL; a store, also one of your own, is returned as it is.

        Parameters
        ----------
        where : a path such as `ads.evenhand` (an SQLite file), `sqlite:///ads.evenhand`, `sqlite://` or `:memory:` (in
            memory, gone with the process), or `postgresql://user@host/database`.
        create : create the tables if missing; otherwise a place without a store is refused.

        Raises
        ------
        ArgumentError
            If `where` is neither a path nor a URL of a known kind.
        StoreError
            If it does not exist, cannot be reached, is not a store, or was written by another version.
        MissingExtraError
            If the driver for PostgreSQL is not installed.
        """
        if isinstance(where, Storage):
            return cast(Store, where)  # studies use no more of it than `Storage` lists: test_storage.py plays on one
        url = read_address(where)
        if url.get_backend_name() == "sqlite":
            _check_file(url.database, create)
        store = cls(ways_of(url))
        try:
            store._settle(create)
        except BaseException:
            store.close()
            raise
        return store

    def reading(self) -> AbstractContextManager[Connection]:
        """Provide a connection that sees one state of the store."""
        return self._block(self._ways.reading)

    def writing(self) -> AbstractContextManager[Connection]:
        """Provide a connection; its changes are saved when the block ends, and undone if it raises.

        An error at the end, such as a connection that is lost during the commit, leaves open whether they were saved.
        So a study then reads its log anew; whoever asks again should use the same key.
        """
        return self._block(self._ways.writing)

    def names(self) -> list[str]:
        """Return the names of the studies, oldest first."""
        with self.reading() as connection:
            return list(connection.scalars(select(STUDIES.c.name).order_by(STUDIES.c.id)))

    def check_writable(self) -> None:
        """Write to the store and undo it at once.

        Raises
        ------
        StoreError
            If that cannot be done, such as on a full disk or a read-only server.
        """
        note = "x" * (ROOM if self.serial else 1)
        row = {"id": "writable?", "role": "none", "digest": "", "note": note, "created_at": 0, "revoked_at": 0}
        with self.writing() as connection:
            connection.execute(insert(KEYS), row)
            connection.execute(delete(KEYS).where(KEYS.c.id == row["id"]))

    def purge(self, *tables: Table) -> bool:
        """Clear deleted rows of these tables from the files of the database; return whether that could be done.

        An SQLite file overwrites what is deleted with zeros, and its write-ahead log is emptied here. A PostgreSQL
        server writes the tables anew. Neither waits long for those who read: others would wait behind it.
        """
        with self._block(self._ways.outside) as connection:
            run = connection.exec_driver_sql
            if self.serial:
                run(f"PRAGMA busy_timeout = {BRIEF}")
                busy = run("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
                run("PRAGMA busy_timeout = 0")
                return not busy
            run(f"SET lock_timeout = {BRIEF}")
            try:
                for table in tables:
                    run(f"VACUUM FULL {table.name}")
            except OperationalError as error:
                if state_of(error.orig) != LOCKED:
                    raise
                return False
            finally:
                run("RESET lock_timeout")
        return True

    def close(self) -> None:
        """Close all connections."""
        self._ways.close()

    def __repr__(self) -> str:
        return f"Store({self.url!r})"

    # ------------------------------------------------------------------ inside

    def __reduce__(self) -> NoReturn:
        hint = "make the study anew" if self.in_memory else f"open the study with Study.open({self.url!r}, name)"
        refuse_copy(f"the store {self.url}, and with it a study,", f"{hint} in each process")

    @contextmanager
    def _block(self, way: Way) -> Iterator[Connection]:
        """Provide a transaction; raise errors of the database as a StoreError."""
        raised: BaseException | None = None
        if self.in_memory and self._process != os.getpid():  # the child would decide by itself, and its log be lost
            raise StoreError(f"{self.url}: a store in memory belongs to the process that made it; name a file")
        try:
            with self._lock, self._ways.passing(), way.engine.begin() as connection:
                begin(connection, way.first)
                try:
                    yield connection
                except BaseException as error:
                    raised = error
                    raise
        except Exception as error:
            # Where the server is gone, the rollback fails as well, and would hide what the block raised.
            first = raised or error
            said = said_by(first)
            if said is None:
                raise first  # noqa: B904  it has its own cause
            kind = UnreachableError if is_outage(first) else StoreError
            raise kind(f"{self.url}: {said}") from first

    def _settle(self, create: bool) -> None:
        with self.reading() as connection:
            version = _version(connection)
            foreign = version is None and bool(inspect(connection).get_table_names())
        if foreign:
            raise StoreError(f"{self.url}: is a database, but not a store of evenhand; choose another")
        if version is None and not create:
            raise _none_yet(self.url)
        if version is None:
            version = self._create()
        if version != VERSION:
            what = f"its tables are of version {version}, but this evenhand reads only version {VERSION}"
            raise StoreError(f"{self.url}: {what}; open it with the evenhand that wrote it; nothing has changed")

    def _create(self) -> Any:
        """Make the tables, all or none, unless another process has made them meanwhile; return their version."""
        with self.writing() as connection:
            if self.serial:  # a file has no write-ahead log yet: the commit waits for readers too
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {1_000 * PATIENCE}")
            else:
                connection.execute(text("SELECT pg_advisory_xact_lock(20211121)"))
            version = _version(connection)
            if version is None:
                METADATA.create_all(connection, checkfirst=False)
                connection.execute(insert(VERSIONS), {"version": VERSION})
                version = VERSION
        if self.serial and not self.in_memory:
            self._engine.dispose()  # connections set the file's journal when they begin, if it has tables
        return version


def _none_yet(place: object) -> StoreError:
    made = f"{place}: there is no store yet; `evenhand new`, `serve --create` and"
    return StoreError(Wording(f"{made} Study.create make one", shell=f"{made} a program in Python make one"))


def _check_file(database: str | None, create: bool) -> None:
    if database in MEMORY:
        return
    path = Path(str(database))
    try:
        if "\0" in str(path):
            raise ValueError("embedded null byte")
        if path.is_dir():
            raise StoreError(f"{path}: a folder; expected a file for the store")
        if not path.exists() and not create:
            raise _none_yet(path)
        if not path.parent.is_dir():
            raise StoreError(f"{path}: its folder does not exist; create it first")
        if path.exists() and not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, "Permission denied")
        # One that exists is opened by SQLite alone: closing a file ends all locks that this process has on it, and
        # another process would delete the write-ahead log, with what was committed, as the last to use it.
        if not path.exists():
            with suppress(OSError):  # SQLite says what is wrong, and gives the files beside it the same mode
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UnreachableError(f"{str(path)[:200]!r}: cannot be reached: {why}") from error


def _version(connection: Connection) -> Any:
    """Return the version of the tables, None where there are none of ours."""
    return connection.scalar(select(VERSIONS.c.version)) if inspect(connection).has_table(VERSIONS.name) else None


def is_outage(error: BaseException | None) -> bool:
    """Return whether a database raised this because it was not available, and not because of what it holds."""
    if isinstance(error, PoolTimeout):
        return True
    raised: Any = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(raised, sqlite3.Error):
        code = vars(raised).get("sqlite_errorcode")
        closed = code is None and isinstance(raised, sqlite3.ProgrammingError)
        return closed or (code is not None and code & 0xFF in OF_FILES)
    state = state_of(raised)
    if state is not None:
        return state[:2] in OF_SERVERS
    return type(raised).__name__ in ("OperationalError", "InterfaceError")  # no state: the connection was lost


def state_of(error: BaseException | None) -> str | None:
    """Return the state that PostgreSQL gave an error, None where there is none: the connection was lost."""
    return getattr(error, "sqlstate", None)


def said_by(error: BaseException) -> str | None:
    """Return the first line of what a database said; None of an error that is not one of a database."""
    if isinstance(error, UnicodeDecodeError):  # from a message of SQLite about a damaged name
        return "the database is damaged: it holds text that cannot be read"
    if isinstance(error, PoolTimeout):
        return "the store did not do it: all connections are in use"
    if not isinstance(error, (DBAPIError, sqlite3.Error)):
        return None
    raised = error.orig if isinstance(error, DBAPIError) else error
    said = "the store did not do it: " + str(raised).strip().split("\n", 1)[0]
    if "file is not a database" in said:
        said += "; it is damaged, or not a store of evenhand; choose another file"
    if "readonly database" in said:
        said += "; even reading needs a writable folder: copy all its files to one"
    return said
