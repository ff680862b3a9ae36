"""What a study needs of the database in which it is kept, so that others can write a storage of their own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from sqlalchemy import Connection, Table


@runtime_checkable
class Storage(Protocol):
    """A database that holds studies: `Store`, or any other class that `Study.create` and `Study.open` are given.

    It gives connections of SQLAlchemy to SQLite, through `sqlite3`, or to PostgreSQL, through psycopg.

    **Threads.** Every method may be called from any thread, and several at once. A connection belongs to the thread
    that entered its block, until the block ends. Blocks of one thread are not nested.

    **Ownership.** `Study.close` closes its storage, also one that was handed to it and that other studies use. So
    `close` only ends connections: it may be called twice, and a later block opens new ones. Data held in memory are
    lost with it.

    **Transactions.** A block is one transaction. `reading` sees one state of the database, whatever is committed
    meanwhile, and makes no writer wait. `writing` is saved as a whole when its block ends, is on disk then, and leaves
    nothing behind where the block raises. Where `serial` holds, at most one writing block is open in all processes;
    elsewhere studies lock the rows that they change.

    **Errors.** An error of the database leaves the block as a `StoreError`, or as an `UnreachableError` where a later
    try may succeed; errors that are not the database's pass unchanged.

    Attributes
    ----------
    url : the address without its password, for messages.
    in_memory : whether its data are lost when the process ends, and only one thread uses it at a time.
    serial : whether a writing block excludes all others, so that rows need no locks.
    """

    url: str
    in_memory: bool

    @property
    def serial(self) -> bool: ...

    def reading(self) -> AbstractContextManager[Connection]:
        """Provide a connection that sees one state of the database."""
        ...

    def writing(self) -> AbstractContextManager[Connection]:
        """Provide a connection whose changes are saved when the block ends."""
        ...

    def names(self) -> list[str]:
        """Return the names of the studies, oldest first."""
        ...

    def check_writable(self) -> None:
        """Raise a StoreError if nothing can be written; leave nothing behind."""
        ...

    def purge(self, *tables: Table) -> bool:
        """Clear deleted rows of tables from the disk; return False where readers prevent it."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...
