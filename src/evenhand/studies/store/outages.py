"""Outages of a database: it did not answer, which says nothing of what it holds."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

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


def is_outage(error: BaseException | None) -> bool:
    """Return whether a database raised this because it was not to be had, and not because of what it holds."""
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
    if "readonly database" in said:
        said += "; to read it too, its folder must be writable: copy all its files to one that is"
    return said
