"""`evenhand audit-parity`: whether groups have the same mean, in one look or in any number of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evenhand.cli.inputs.inputs import names_of
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import JSON, Options
from evenhand.cli.output import as_json, print_text, records, say_notes
from evenhand.display.digits import number

if TYPE_CHECKING:
    import pandas as pd

INTERVALS = (
    ("one look", "once_low", "once_high"),
    ("any number of looks", "low", "high"),
    ("interval of the gap", "gap_low", "gap_high"),
)
"""Of each interval that a table may hold its heading and its columns."""


@Options(
    tables="log",
    beside={
        "--seed": "--unit not --given --rates",
        "--within": "not --given --rates",
        "--tolerance --given": "not --rates",
    },
)
def audit_parity(
    log: Path, *, group: str = "group", value: str = "reward", level: float = 0.95, tolerance: float = 0.0,
    within: int = 20, unit: str = "", seed: int = 0, given: str = "", rates: bool = False, json: JSON = False,
) -> None:  # fmt: skip
    """Test whether groups have the same mean, in one look and in any number of looks. Exit code 1 when any number of
    looks would show that they differ, 2 when too few rows can be compared, as with too many groups. With --given, and
    for values outside [0, 1], there is one look, and the exit code is by it.

    Parameters
    ----------
    log : The log, one row per outcome, in order: CSV, Parquet, Arrow or JSON lines, or -.
    group : The column with the group of each row, or several: sex,race.
    value : The column compared: a salary, a reward in [0, 1], or 1 for selected.
    level : The probability that equal groups are never reported to differ.
    tolerance : By how much means may differ.
    within : How many rows apart the rows of a pair may lie.
    unit : The column that says which rows belong together, such as a person's; without it rows must be independent.
    seed : The seed of the draw of one group for each unit with rows in several.
    given : Features: what do they explain, and what is the gap between similar people? Standard error: HC2.
    rates : Compare rates with the best group's instead, as the four-fifths rule does: of 1 among 0 and 1, or of scores
        above the median; with several groups of each, and of all combinations.
    """
    from evenhand.audit import parity

    groups = names_of(group)
    frame = read_table(log, text=[*groups, *([unit] if unit else [])])
    if rates:
        _rates(frame, groups, value, level, unit or None, json)
        return
    found = parity(
        frame,
        group=groups,
        value=value,
        level=level,
        tolerance=tolerance,
        within=within,
        unit=unit or None,
        seed=seed,
        given=names_of(given) or None,
    )
    if json:
        similar = [one._asdict() for one in found.similar]
        as_json(vars(found) | {"groups": found.groups.to_dict("records"), "similar": similar}, found)
    else:
        print_text(str(found))
        say_notes(found)
        rows = found.groups.to_dict("records")
        for row in rows:
            for name, low, high in INTERVALS:
                if low in row:
                    row[name] = f"{number(row.pop(low))} to {number(row.pop(high))}".replace("- to -", "-")
        records(f"{log}: mean {value} by {group}, and its difference from all others", rows)
    if found.rejected or not found.enough:
        raise typer.Exit(1 if found.rejected else 2)


def _rates(frame: pd.DataFrame, groups: list[str], value: str, level: float, unit: str | None, json: bool) -> None:
    """Print the ratios to the best group's rate."""
    from evenhand.audit import rates

    found = rates(frame, group=groups, value=value, level=level, unit=unit)
    rows = found.groups.to_dict("records")
    if json:
        as_json(vars(found) | {"groups": rows}, found)
        return
    print_text(str(found))
    say_notes(found)
    for name in dict.fromkeys(row["column"] for row in rows):
        own = [{key: cell for key, cell in row.items() if key != "column"} for row in rows if row["column"] == name]
        records(f"Rates of {value} by {name}, and their ratios to the best group's", own, empty=False)
