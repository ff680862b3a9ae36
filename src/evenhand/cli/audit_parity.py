"""`evenhand audit-parity`: whether groups have the same mean, looked at once or again and again."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand import audit
from evenhand.audit.similar import all_at_once
from evenhand.cli.exit_codes import UNDECIDED
from evenhand.cli.inputs.inputs import names_of
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import JSON, Options
from evenhand.cli.output import as_json, drawing, folder, print_text, records, say_notes
from evenhand.cli.refusals import command_line, in_shell
from evenhand.data.csv_files import write_csv
from evenhand.display.digits import with_signs
from evenhand.display.html import Table
from evenhand.display.report import Typed, page

if TYPE_CHECKING:
    import pandas as pd

INTERVALS = (
    ("looked at once", "once_low", "once_high"),
    ("looked at again and again", "low", "high"),
    ("interval of the gap", "gap_low", "gap_high"),
    ("whoever the unknown are", "least", "most"),
)
"""Of each interval that a table may hold its heading and its columns."""
COUNTED = {"rows", "units", "pairs", "above", "with 1", "freedom"}
READ = {
    "freedom": "degrees of freedom",
    "at_average": "gap at the average of all rows",
    "where": "the ratio is",
}
"""Columns that people read under another name."""
Alike = tuple[set[str], Callable[..., list[str]]]
"""Columns that are written to the same digits, and what writes them."""
WITH_INTERVALS = {name for _, low, high in INTERVALS for name in (low, high)}


@Options(
    tables="log",
    beside={
        "--seed": "--unit not --given --rates",
        "--within": "not --given --rates",
        "--tolerance --given": "not --rates",
    },
)
def audit_parity(
    log: Path,
    context: typer.Context,
    *,
    group: str = "group",
    value: str = "reward",
    level: float = 0.95,
    tolerance: float = 0.0,
    within: int = 20,
    unit: str = "",
    seed: int = 0,
    given: str = "",
    rates: bool = False,
    out: Path | None = None,
    json: JSON = False,
) -> None:
    """Test whether groups have the same mean, if a finished table is looked at once, and if a log grows and is looked
    at again and again. Exit code 1 when that would show that they differ, or with --rates that a ratio is below 0.8; 3
    when too few rows can be compared, as with too many groups. With --given, for values outside [0, 1], and for rates
    of scores or by --unit, the table can be looked at only once, and the exit code is by that.

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
    given : Features: what do they explain, and what is the gap between similar people? Its interval is the usual robust
        one (standard error HC2, and CR2 by --unit).
    rates : Compare rates with the best group's instead, as the four-fifths rule does: of 1 among 0 and 1, or of scores
        above the median; with several groups of each, and of all combinations.
    out : Folder for report.html, one page with the answer, a picture and the table, for groups.png and groups.csv.
    """
    groups = names_of(group)
    frame = read_table(log, text=[*groups, *([unit] if unit else [])])
    settings: dict[str, Any] = {"group": groups, "value": value, "level": level, "unit": unit or None}
    if rates:
        found: Any = audit.rates(frame, **settings)
    else:
        found = audit.parity(
            frame, **settings, tolerance=tolerance, within=within, seed=seed, given=names_of(given) or None
        )
    title = f"{value} by {', '.join(groups)}"
    tables = _rates(found) if rates else _means(found, title)
    written = [] if out is None else _write(found, tables, f"{title}: {log.name}", folder(out), context)
    if json:
        body = {"groups": found.groups.to_dict("records")}
        body |= {} if rates else {"similar": [one._asdict() for one in found.similar]}
        as_json(vars(found) | body, found)
    else:
        print_text(str(found))
        say_notes(found)
        for caption, rows in tables.items():
            records(caption, rows, empty=False)
        if written:
            print_text("Written: " + ", ".join(map(str, written)))
    if found.rejected or not (rates or found.enough):
        raise typer.Exit(1 if found.rejected else UNDECIDED)


def _means(found: Any, title: str) -> dict[str, list[dict[Any, Any]]]:
    """Return the table of groups, by its caption."""
    alike = [{"mean"}, {"difference", "explained", "gap", "at_average"}, *({low, high} for _, low, high in INTERVALS)]
    rows = written_rows(found.groups, *((names, with_signs) for names in alike))
    together = all_at_once(found.together)
    return {f"Mean {title}, difference from all others{together and '; each interval is one'}{together}": rows}


def _rates(found: Any) -> dict[str, list[dict[Any, Any]]]:
    """Return a table of groups for each column, and for their combinations, by its caption."""
    tables = {}
    for name, own in found.groups.groupby("column", sort=False):
        known = own.drop(columns="column").dropna(axis="columns", how="all")
        ends = [name for name in ("once_low", "once_high", "low", "high") if name in known]
        known.loc[known["where"] == "reference", ends] = math.nan  # what it is compared with is itself
        rates, ratios = ({"rate"}, partial(_each, "{:.1%}")), ({"ratio"} | WITH_INTERVALS, partial(_each, "{:.3f}"))
        known = known.rename(columns={"above": "with 1"} if found.median is None else {})
        tables[f"{found.value}: rates by {name}, and ratios to the best group's"] = written_rows(known, rates, ratios)
    return tables


def _each(form: str, *values: float) -> list[str]:
    return ["-" if value != value else form.format(value) for value in values]


def written_rows(table: pd.DataFrame, *alike: Alike) -> list[dict[Any, Any]]:
    """Return rows as people read them: columns that are alike are written by one function, an interval in one cell."""
    table = table.astype(object)
    counted: Alike = (COUNTED, partial(_each, "{:,.0f}"))
    for names, write in (*alike, counted):
        own = [name for name in table if name in names]
        texts = iter(write(*table[own].to_numpy(float).ravel()))
        table[own] = [[next(texts) for _ in own] for _ in range(len(table))]
    rows: list[dict[Any, Any]] = table.rename(columns=READ).to_dict("records")
    for row in rows:
        for name, low, high in INTERVALS:
            if low in row:
                interval = f"{row.pop(low)} to {row.pop(high)}"
                row[name] = {"- to -": "-", "-inf to inf": "not known"}.get(interval, interval)
    return [{name: None if cell == "-" else cell for name, cell in row.items()} for row in rows]


def _table(caption: str, rows: list[dict[Any, Any]]) -> Table:
    return Table([name.replace("_", " ") for name in rows[0]], len(rows), lambda i: list(rows[i].values()), caption)


def _write(found: Any, tables: dict[str, Any], title: str, out: Path, context: typer.Context) -> list[Path]:
    """Write a report of one page, its picture and the groups into a folder, and return what was written."""
    from evenhand.plots import plot_parity

    drawn = drawing(partial(plot_parity, found), height=1.6 + 0.32 * len(found.bars()[-1]))
    (out / "groups.png").write_bytes(drawn)
    write_csv(found.groups, out / "groups.csv")
    parts: dict[str, Any] = {
        "The picture": [drawn],
        "The numbers": [_table(caption, rows) for caption, rows in tables.items()],
        "What this supposes": [found.supposed] if found.supposed else [],
        "How to check it again": [Typed(command_line(context, without=("out", "json")))],
        "Before you believe it": [[in_shell(note) for note in found.notes]],
    }
    (out / "report.html").write_text(page(title, None, found.finding(), parts), encoding="utf-8")
    return [out / name for name in ("report.html", "groups.png", "groups.csv")]
