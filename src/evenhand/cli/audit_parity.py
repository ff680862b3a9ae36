"""`evenhand audit-parity`: whether groups have the same mean, in one look or in any number of them."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.inputs.inputs import names_of
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import JSON, Options
from evenhand.cli.output import as_json, print_text, records, say_notes


@Options(tables="log", beside={"--seed": "--unit"})
def audit_parity(
    log: Path, *, group: str = "group", value: str = "reward", level: float = 0.95, tolerance: float = 0.0,
    within: int = 20, unit: str = "", seed: int = 0, json: JSON = False,
) -> None:  # fmt: skip
    """Test whether groups have the same mean, in one look and in any number of looks. Exit code 1 when any number of
    looks would show that they differ, 2 when too few rows can be compared, as with too many groups.

    Parameters
    ----------
    log : The log, one row per outcome, in order: CSV, Parquet, Arrow or JSON lines, or -.
    group : The column with the group of each row, or several: sex,race.
    value : The column compared: a reward in [0, 1], or 1 for selected.
    level : The probability that equal groups are never reported to differ.
    tolerance : By how much means may differ.
    within : How many rows apart the rows of a pair may lie.
    unit : The column that says which rows belong together, such as a person's; without it rows must be independent.
    seed : The seed of the draw of one group for each unit with rows in several.
    """
    from evenhand.audit import parity

    groups = names_of(group)
    frame = read_table(log, text=[*groups, *([unit] if unit else [])])
    found = parity(
        frame, group=groups, value=value, level=level, tolerance=tolerance, within=within, unit=unit or None, seed=seed
    )
    if json:
        as_json(vars(found) | {"groups": found.groups.to_dict("records")}, found)
    else:
        print_text(str(found))
        say_notes(found)
        rows = found.groups.to_dict("records")
        for row in rows:
            for name, low, high in (("one look", "once_low", "once_high"), ("any number of looks", "low", "high")):
                row[name] = f"{row.pop(low):.3g} to {row.pop(high):.3g}"
        records(f"{log}: mean {value} by {group}, and its difference from that of all others", rows)
    if found.rejected or not found.enough:
        raise typer.Exit(1 if found.rejected else 2)
