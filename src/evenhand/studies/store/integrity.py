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
    return [
        f"the database is damaged: the index of {table} over {', '.join(columns)} does not lead to all its rows"
        for table in (STUDIES, EVENTS, SNAPSHOTS)
        for one in table.constraints
        if isinstance(one, (PrimaryKeyConstraint, UniqueConstraint))
        and _differs(connection, table.name, columns := one.columns.keys())
    ]


def _differs(connection: Connection, table: str, columns: list[str]) -> bool:
    """Read a table without and with an index; return whether the numbers of rows or their contents differ."""
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
    return bool(seen[0] != seen[1])
