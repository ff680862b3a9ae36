"""A recommendation for people: sentences, a table with a number and its interval in a cell, and a page to hand over."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from evenhand.cli.output import as_json, drawing, folder, is_page, print_text, say_notes, table
from evenhand.data.csv_files import write_csv
from evenhand.display.html import Table
from evenhand.display.report import Part, Png, Typed, page

LARGE = 1000.0
"""Where a number is as large, it and those beside it are written without fractions."""
SENSITIVITY = ("sensitivity", "sensitivity-to-groups")
Shown = tuple[str, list[str], list[list[str]]]
"""Title, header and lines of a table."""


def in_words(found: Any, rows: Any, sure: str = "confidence {:g}") -> str:
    """Say what is recommended, how sure that is, and what it brings.

    >>> import pandas as pd
    >>> from types import SimpleNamespace as Found
    >>> rows = pd.DataFrame([{"candidate": "even", "outcome": 0.7, "outcome_low": 0.6, "outcome_high": 0.8}])
    >>> in_words(Found(candidate="even", status="certified", confidence=0.95), rows)
    'certified: even (confidence 0.95); outcome 0.700 (0.600 to 0.800)'
    >>> in_words(Found(candidate="even", status="not_shown", confidence=None), rows)
    'not shown: even is the best guess so far; outcome 0.700 (0.600 to 0.800)'
    >>> in_words(Found(candidate=None, status="not_shown", confidence=None), rows.assign(outcome=float("nan")))
    'not shown: nothing was tried yet'
    """
    words, guess, refuted = in_brief(found), found.status == "not_shown", found.status == "graph_refuted"
    named = None if found.candidate is None else rows[rows["candidate"] == found.candidate].iloc[0]
    if named is not None:
        words += " is the best guess so far" if guess else ""
        words += f"; under this graph {found.candidate} is the best guess" if refuted else ""
        words += f" (posterior probability {named['best']:.3f})" if guess and "best" in named else ""
    elif guess:
        tried = rows["outcome"].notna().any()
        words += ": no candidate seems to be fair so far" if tried else ": nothing was tried yet"
    words += "; under this graph none seems fair" if refuted and named is None else ""
    words += "" if found.confidence is None else f" ({sure.format(found.confidence)})"
    return words if named is None else f"{words}; {of_column(rows, 'outcome')} {with_interval(named, 'outcome')}"


def in_brief(found: Any) -> str:
    """Return status and candidate of an answer."""
    if found.status == "graph_refuted":
        return "not certified: the table refutes the graph"
    return found.status.replace("_", " ") + ("" if found.candidate is None else f": {found.candidate}")


def in_people(problem: Any, found: Any) -> list[str]:
    """Say who has the lower outcome under the candidate that is named, or under the one nearest to fair, and what would
    be best if fairness did not matter."""
    rows, best = found.table, found.table["outcome"].idxmax()
    worst = rows[[name for name in rows.columns if name.startswith("gap[")]].abs().max(axis=1, skipna=False)
    named = worst.idxmin() if found.candidate is None else found.candidate
    nearest = f"Nearest to fair is {named}: under it, " if found.candidate is None else f"Under {named}, "
    lines = [f"{nearest}{_of_gap(problem, rows.loc[named])}."]
    if best != found.candidate:
        outcome = with_interval(rows.loc[best], "outcome")
        aside = "" if best == named else f"; under it, {_of_gap(problem, rows.loc[best])}"
        lines.append(f"With fairness set aside, {best} has the best {of_column(rows, 'outcome')}, {outcome}{aside}.")
    return lines


def _of_gap(problem: Any, row: Any) -> str:
    """Say which two groups differ most under a candidate, and by how much."""
    gaps = [name for name in row.index if name.startswith("gap[")]
    name, (a, b) = max(zip(gaps, combinations(problem.groups, 2), strict=True), key=lambda gap: abs(row[gap[0]]))
    sign = 1.0 if row[name] > 0 else -1.0
    low, high = sorted(sign * row[name.replace("gap[", f"gap_{end}[")] for end in ("low", "high"))
    chance = (problem.low, problem.high) == (0.0, 1.0)
    units, decimals = (100.0, 1) if chance else (1.0, 3)
    size, *ends = numbers(*(units * at for at in (abs(row[name]), low, high)), decimals=decimals)
    who, interval = problem.structure.named(b if sign > 0 else a), "" if low == high else f" ({ends[0]} to {ends[1]})"
    by = f"the lower {'chance' if chance else problem.structure.outcome}, by {size}{' points' * chance}{interval}"
    return f"people with {who} have {by}" if low > 0 else f"people with {who} seem to have {by}, which may be chance"


def compact(rows: Any) -> tuple[list[str], list[list[str]]]:
    """Return header and lines of the report for people: a number with its interval in a cell, of more than three gaps
    the largest alone."""
    gaps = [name for name in rows.columns if name.startswith("gap[")]
    few = gaps if len(gaps) <= 3 else []
    drawn = {"fair": "is fair", "best": "is best"} if "best" in rows.columns else {}
    apart = [of_column(rows, name) for name in few] or ["largest gap"]
    header = ["candidate", of_column(rows, "outcome"), *apart, "verdict"]
    lines = []
    for row in rows.to_dict("records"):
        shown = [with_interval(row, name) for name in few] or [_largest(row, gaps, rows)]
        dropped = row["verdict"] == "dropped"
        verdict = f"dropped in phase {row['phase']}: {row['reason']}" if dropped else row["verdict"]
        share = [f"{row[name]:.3f}" for name in drawn]
        lines.append([str(row["candidate"]), with_interval(row, "outcome"), *shown, verdict, *share])
    return [*header, *drawn.values()], lines


def show(
    found: Any,
    body: dict[str, Any],
    sentences: Sequence[str],
    tolerance: float | None,
    out: Path | None,
    json: bool,
    sure: str = "confidence {:g}",
    sensitive: Sequence[Any] = (),
    tables: Sequence[Shown] = (),
    overturn: Sequence[str] = (),
    again: str = "",
) -> None:
    """Print a recommendation, in words or as JSON with `body`; write its tables and pictures into a folder, or a
    page."""
    rows = found.table.reset_index()
    words, shown = in_words(found, rows, sure), [("Candidates", *compact(rows)), *tables]
    files: list[Path] = []
    if out is not None and is_page(out):
        pictures: list[Part] = [picture for _, picture in _pictures(found, rows, tolerance, sensitive)]
        sections: dict[str, list[Part]] = {
            title: [Table(header, len(lines), lines.__getitem__)] for title, header, lines in shown
        }
        sections["What it means"], sections["Pictures"] = [list(sentences)], pictures
        sections["What would overturn it"] = [[*found.refuted, *overturn]]
        sections["What it supposes"] = [list(found.notes)]
        sections["How it was computed"] = [Typed(again)]
        out.write_text(page("Which rule is best among the fair ones?", None, words, sections), encoding="utf-8")
        files = [out]
    elif out is not None:
        files = _write(found, rows, tolerance, sensitive, out)
    if json:
        answer = {name: getattr(found, name) for name in ("candidate", "status", "confidence", "more", "refuted")}
        cells = rows.astype(object).where(rows.notna(), None)
        as_json({**answer, **body, "table": cells.to_dict("records")}, found)
        return
    for sentence in found.refuted:
        print_text(sentence)
    print_text(words)
    for each in shown:
        table(*each)
    for sentence in (*sentences, *overturn):
        print_text(sentence)
    say_notes(found)
    if files:
        print_text(f"Written: {', '.join(map(str, files))}")


def _write(found: Any, rows: Any, tolerance: float | None, sensitive: Sequence[Any], out: Path) -> list[Path]:
    """Write the tables and the pictures into a folder; return the files."""
    folder(out)
    files = [out / "candidates.csv"]
    write_csv(rows, files[0])
    for one, name in zip(sensitive, SENSITIVITY, strict=False):
        files.append(out / f"{name}.csv")
        write_csv(one.curve(), files[-1])
    for name, content in _pictures(found, rows, tolerance, sensitive):
        files.append(out / f"{name}.png")
        files[-1].write_bytes(content)
    return files


def _pictures(found: Any, rows: Any, tolerance: float | None, sensitive: Sequence[Any]) -> list[tuple[str, Png]]:
    """Return the names of the pictures, and the content of their files."""
    from evenhand.plots.interventions import plot_candidates, plot_outcomes, plot_sensitivity

    height, columns = 1.6 + 0.28 * len(rows), 1 + (found.candidate is not None)
    if tolerance is None:
        drawn = [("candidates", drawing(partial(plot_outcomes, found), height=height))]
    else:
        both = partial(plot_candidates, found, tolerance=tolerance)
        drawn = [("candidates", drawing(both, width=9.5, height=height, columns=2))]
    for one, name in zip(sensitive, SENSITIVITY, strict=False):
        plot = partial(plot_sensitivity, one)
        drawn.append((name, drawing(plot, width=9.5 if columns == 2 else 6.0, height=4.2, columns=columns)))
    return drawn


def _largest(row: Any, gaps: Sequence[str], rows: Any) -> str:
    """Return the largest gap that is known, and of whom it is."""
    import pandas as pd

    known = {name: abs(row[name]) for name in gaps if pd.notna(row[name])}
    largest = max(known, key=known.__getitem__, default=None)
    return "unknown" if largest is None else f"{numbers(known[largest])[0]} ({of_column(rows, largest)})"


def of_column(rows: Any, name: str) -> str:
    """Return what a column of a recommendation's table holds, in words."""
    return str(rows.attrs.get(name, name))


def numbers(*values: float, decimals: int = 3) -> list[str]:
    """Return numbers alike: without fractions where one of them is large.

    >>> numbers(1917.2, -915.23, 4955), numbers(0.5, 0.25)
    (['1,917', '-915', '4,955'], ['0.500', '0.250'])
    """
    places = 0 if max(map(abs, values)) >= LARGE else decimals
    return [f"{value:,.{places}f}" for value in values]


def with_interval(row: Any, name: str) -> str:
    """Return a number with its interval, alone where it is exact."""
    import pandas as pd

    if pd.isna(row[name]):
        return "unknown"
    stem, _, rest = name.partition("[")
    low, high = (row[f"{stem}_{end}" + (f"[{rest}" if rest else "")] for end in ("low", "high"))
    middle, *ends = numbers(row[name], low, high)
    return middle if low == high else f"{middle} ({ends[0]} to {ends[1]})"
