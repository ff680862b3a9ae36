"""`evenhand audit-parity`: whether groups have the same mean, a test that may be looked at any time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.options import JSON

__all__ = ["audit_parity"]


def audit_parity(
    log: Annotated[
        Path, typer.Argument(help="The log, one row per outcome, in order: CSV, Parquet, Arrow or JSON lines, or -.")
    ],
    group: Annotated[str, typer.Option(help="The column with the group of each row.")] = "group",
    value: Annotated[str, typer.Option(help="The column compared: a reward in [0, 1], or 1 for selected.")] = "reward",
    level: Annotated[
        float, typer.Option(help="The probability with which equal groups are never said to differ.")
    ] = 0.95,
    tolerance: Annotated[float, typer.Option(help="By how much means may differ.")] = 0.0,
    within: Annotated[int, typer.Option(help="How many rows apart the rows of a pair may lie.")] = 20,
    json: JSON = False,
) -> None:
    """Test whether groups have the same mean, as often as you like. Exit code 1 when they are shown to differ, 2 when
    too few rows can be compared to say, as of too many groups."""
    from evenhand.audit import parity
    from evenhand.cli.output import as_json, records, say, say_notes
    from evenhand.cli.reading.tables import read_table

    frame = read_table(log, text=[group])
    found = parity(frame, group=group, value=value, level=level, tolerance=tolerance, within=within)
    if json:
        names = ("rejected", "round", "low", "high", "group", "pairs", "enough", "level", "tolerance")
        as_json({name: getattr(found, name) for name in names} | {"groups": found.groups.to_dict("records")}, found)
    else:
        records(f"{log}: mean {value} by {group}, less that of all others", found.groups.to_dict("records"))
        say(str(found))
        say_notes(found)
    if found.rejected or not found.enough:
        raise typer.Exit(1 if found.rejected else 2)
