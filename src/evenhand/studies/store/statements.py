"""Statements as the drivers take them: to build one with SQLAlchemy takes longer than the database needs for it."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from sqlalchemy import Connection

from evenhand.studies.store.server import driver_of

__all__ = ["change", "marks", "read"]


def read(connection: Connection, statement: str, *values: Any) -> list[Any]:
    """Return the rows that a statement finds in the connection's transaction; each ? stands for a value."""
    found: list[Any] = _execute(connection, statement, values).fetchall()
    return found


def change(connection: Connection, statement: str, *values: Any) -> int:
    """Change rows in the connection's transaction, and return how many; each ? stands for a value."""
    return int(_execute(connection, statement, values).rowcount)


def marks(values: Sized) -> str:
    """Return a question mark for each of these values, separated by commas."""
    return ", ".join("?" * len(values))


def _execute(connection: Connection, statement: str, values: tuple[Any, ...]) -> Any:
    if not connection.in_transaction():
        connection.begin()
    if connection.dialect.name != "sqlite":
        statement = statement.replace("?", "%s")
    return driver_of(connection).execute(statement, values)
