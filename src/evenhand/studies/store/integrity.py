"""The integrity of the store: its indexes lead to every row of its tables, and to no other."""

from __future__ import annotations

from sqlalchemy import Connection, PrimaryKeyConstraint, UniqueConstraint, text

from evenhand.studies.store.schema import EVENTS, SNAPSHOTS, STUDIES

NAMED = 3
"""How many of SQLite's findings are shown."""
SCANS = ("enable_seqscan", "enable_sort", "enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan")
"""The planner's ways; the first two read and order a table without its indexes."""


def damages(connection: Connection) -> list[str]:
    """Return the damages of the database itself, in words; an empty list if it is sound."""
    if connection.dialect.name == "sqlite":
        found = list(connection.exec_driver_sql(f"PRAGMA integrity_check({NAMED})").scalars())
        return [f"the database is damaged: {one}" for one in found if one != "ok"]
    return [damage for name, columns in _indexes() if (damage := _differs(connection, name, columns))]


def _indexes() -> list[tuple[str, list[str]]]:
    """Return the indexes of studies, as tables and columns."""
    return [
        (table.name, [column.name for column in constraint.columns])
        for table in (STUDIES, EVENTS, SNAPSHOTS)
        for constraint in table.constraints
        if isinstance(constraint, (PrimaryKeyConstraint, UniqueConstraint))
    ]


def _differs(connection: Connection, table: str, columns: list[str]) -> str | None:
    """Read a table without and with an index, and compare the numbers of rows and their contents."""
    names = ", ".join(f'"{name}"' for name in columns)
    present = " AND ".join(f'"{name}" IS NOT NULL' for name in columns)
    digests = f"SELECT count(*), sum(hashtext(ROW({names})::text)::bigint) FROM "
    compared = f"{digests} (SELECT {names} FROM {table} WHERE {present} ORDER BY {names}) AS rows"
    seen = []
    for by_index in (False, True):
        for name in SCANS:
            on = (name in SCANS[:2]) is not by_index and name != "enable_bitmapscan"
            connection.execute(text(f"SET LOCAL {name} = {'on' if on else 'off'}"))
        seen.append(connection.execute(text(compared)).one())
    for name in SCANS:
        connection.execute(text(f"SET LOCAL {name} TO DEFAULT"))
    if seen[0] == seen[1]:
        return None
    return f"the database is damaged: the index of {table} over {', '.join(columns)} does not lead to all its rows"
