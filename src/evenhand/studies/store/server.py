"""Statements on a PostgreSQL server that need no cursor: several in one round trip, sent as they are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg
    from sqlalchemy import Connection

__all__ = ["BEGIN_WRITING", "PATIENCE", "Prepared", "commit", "driver_of", "execute", "literals"]

PATIENCE = 60
"""Seconds for which a writer waits for its turn, on a server and at a file."""
BEGIN_WRITING = f"BEGIN; SET LOCAL lock_timeout = '{PATIENCE}s'"
"""Begins a transaction that writes: a server by itself would wait for ever for a writer that hangs."""


def driver_of(connection: Connection) -> Any:
    """Return the driver's own connection."""
    return connection.connection.dbapi_connection


def execute(connection: psycopg.Connection[Any], statements: str) -> Sequence[str | None]:
    """Execute statements, and return the first row of the last one, as text; () if it has none.

    Raises
    ------
    psycopg.Error
        If one fails; the later ones are not executed.
    """
    from psycopg import errors, pq

    encoding = connection.info.encoding
    result = connection.pgconn.exec_(statements.encode(encoding))
    if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
        state = result.error_field(pq.DiagnosticField.SQLSTATE)
        kind = errors.OperationalError if state is None else errors.lookup(state.decode())
        raise kind(pq.error_message(result, encoding))
    if not result.ntuples:
        return ()
    row = (result.get_value(0, column) for column in range(result.nfields))
    return [None if value is None else value.decode(encoding) for value in row]


def commit(connection: psycopg.Connection[Any]) -> None:
    """End the transaction that `execute` began, if it is not over."""
    from psycopg import pq

    if connection.pgconn.transaction_status != pq.TransactionStatus.IDLE:
        execute(connection, "COMMIT")


def literals(connection: psycopg.Connection[Any], values: Iterable[str | int | None]) -> str:
    """Return texts and whole numbers as they stand in a statement, separated by commas.

    Raises
    ------
    psycopg.DataError
        If a text has a zero byte, which PostgreSQL cannot keep.
    """
    from psycopg import errors, pq

    encoding, escape = connection.info.encoding, pq.Escaping(connection.pgconn).escape_literal
    written = []
    for value in values:
        if value is None or isinstance(value, int):
            written.append("NULL" if value is None else str(value))
        elif "\0" in value:
            raise errors.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
        else:
            written.append(bytes(escape(value.encode(encoding))).decode(encoding))
    return ", ".join(written)


class Prepared:
    """Statements that a server reads and plans once for each connection.

    A connection gets them when it turns out to lack them, so that they may also be lost between two transactions, as
    behind a program that shares connections out.

    Parameters
    ----------
    statements : name -> the types of its parameters, and the statement; transactions begin with the last of them.
    """

    def __init__(self, statements: Mapping[str, tuple[str, str]]) -> None:
        own = hashlib.sha256(repr(statements).encode()).hexdigest()[:12]
        self._names = {name: f"evenhand_{name}_{own}" for name in statements}
        self._preparing = "; ".join(
            f"PREPARE {self._names[name]} ({types}) AS {statement}" for name, (types, statement) in statements.items()
        )

    def call(self, name: str, values: str) -> str:
        """Return the text that executes a statement with these values."""
        return f"EXECUTE {self._names[name]} ({values})"

    def begin(self, connection: psycopg.Connection[Any], statements: str) -> Sequence[str | None]:
        """Execute the first statements of a transaction, and return the first row of the last one."""
        from psycopg.errors import InvalidSqlStatementName

        try:
            return execute(connection, f"{BEGIN_WRITING}; {statements}")
        except InvalidSqlStatementName:
            execute(connection, f"ROLLBACK; {self._preparing}")
            return execute(connection, f"{BEGIN_WRITING}; {statements}")
