"""A recommendation for people: sentences, a table with a number and its interval in a cell, and a page to hand over."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from evenhand.cli.output import as_json, drawing, folder, is_page, print_text, say_notes, table
from evenhand.cli.refusals import in_shell
from evenhand.data.csv_files import write_csv
from evenhand.display.html import Table
from evenhand.display.report import Part, Png, Typed, page
from evenhand.interventions.recommendation import of_outcome
from evenhand.interventions.search import GAP_HIGH

LARGE = 1000.0
"""Where a number is as large, it and those beside it are written without fractions."""
SENSITIVITY = ("sensitivity", "sensitivity-to-groups")
Shown = tuple[str, list[str], list[list[str]]]
"""Title, header and lines of a table."""


def in_words(problem: Any, found: Any, tolerance: float | None, sure: str = "confidence {:g}") -> str:
    """Say what is recommended and how sure that is, who has the lower outcome under the rule that is named, or under
    the one nearest to fair, whether that is within the tolerance, and what the outcome is."""
    rows, words = found.table, in_brief(found)
    if (at := _nearest(rows) if found.candidate is None else found.candidate) is None:
        return "Nothing is shown yet: no rule was tried enough."
    if found.confidence is not None:
        words += f" ({sure.format(found.confidence)})"
    elif "best" in rows.columns and found.status == "not_shown":
        words += f" (probability {1.0 - rows['best'].sum() if found.candidate is None else rows.loc[at, 'best']:.3f})"
    words += f", and the nearest to fair is {at!r}" if found.candidate is None else ""
    overall = f"Over all people, the {of_column(rows, 'outcome')} is then {with_interval(rows.loc[at], 'outcome')}"
    return f"{words}: under it, {_of_gap(problem, rows.loc[at], tolerance)}. {overall}."


def in_brief(found: Any) -> str:
    """Return what an answer says, without how sure it is.

    >>> from types import SimpleNamespace as Found
    >>> in_brief(Found(candidate="even", status="certified"))
    "'even' is certified as the best fair rule"
    >>> in_brief(Found(candidate=None, status="not_shown"))
    'It is not shown which rule is the best fair one; so far no rule seems fair'
    """
    guess = "so far no rule seems fair" if found.candidate is None else f"the best guess is {found.candidate!r}"
    return {
        "certified": f"{found.candidate!r} is certified as the best fair rule",
        "none_is_fair": "No rule is fair",
        "no_fair_candidate": "No rule was found to be fair",
        "not_shown": f"It is not shown which rule is the best fair one; {guess}",
        "uncertified": f"No rule is certified; {guess}",
        "graph_refuted": f"No rule is certified, because the table contradicts the graph; under this graph, {guess}",
    }[found.status]


def in_people(problem: Any, found: Any) -> list[str]:
    """Say what a gap is, and what would be best if fairness did not matter."""
    rows, (one, other) = found.table, map(problem.structure.named, problem.groups[:2])
    what, tried = of_column(rows, "outcome"), rows["outcome"].dropna()
    pair = "" if len(problem.groups) == 2 else ", and likewise for each two groups"
    lines = [f"The gap of a rule is the {what} if everybody had {one}, minus that if everybody had {other}{pair}."]
    if len(tried) and (best := tried.idxmax()) != found.candidate:
        outcome = with_interval(rows.loc[best], "outcome")
        aside = "" if best == _nearest(rows) else f"; under it, {_of_gap(problem, rows.loc[best])}"
        lines.append(f"With fairness set aside, {best!r} has the highest {what}, {outcome}{aside}.")
    return lines


def _nearest(rows: Any) -> Any:
    """Return the candidate whose largest gap is the smallest, or None where no candidate's gaps are known."""
    gaps = [name for name in rows.columns if name.startswith("gap[")]
    worst = rows[gaps].abs().max(axis=1, skipna=False).dropna()
    return worst.idxmin() if len(worst) else None


def _of_gap(problem: Any, row: Any, tolerance: float | None = None) -> str:
    """Say which two groups differ most under a candidate, by how much, and whether that is within a tolerance."""
    gaps = [name for name in row.index if name.startswith("gap[")]
    if row[gaps].isna().any():
        return "the gap is not known yet"
    name, (a, b) = max(zip(gaps, combinations(problem.groups, 2), strict=True), key=lambda gap: abs(row[gap[0]]))
    sign = 1.0 if row[name] > 0 else -1.0
    low, high = sorted(sign * row[name.replace("gap[", f"gap_{end}[")] for end in ("low", "high"))
    what = of_outcome(problem)
    factor, decimals, unit = (100.0, 1, " points") if what.startswith("chance") else (1.0, 3, "")
    size, *ends = numbers(*(factor * at for at in (abs(row[name]), low, high)), decimals=decimals)
    lower, upper = (problem.structure.named(group) for group in ((b, a) if sign > 0 else (a, b)))
    have = "have" if low > 0 else "seem to have, perhaps by chance,"
    by = f"{size}{unit}" + ("" if low == high else f" ({ends[0]} to {ends[1]})")
    words = f"people with {lower} {have} a lower {what} than people with {upper}, by {by}"
    if not "".join((size, *ends)).strip("-0."):
        words = f"people of all groups have nearly the same {what}"
    if tolerance is None:
        return words
    inside, unit = abs(row[name]) < tolerance, " point" if factor * tolerance == 1.0 and unit else unit
    words += f"; {'this is' if inside else 'this is not'} within the tolerance of {factor * tolerance:,g}{unit}"
    why = GAP_HIGH if row["verdict"] == "unfair" else row.get("reason")
    if row["verdict"] in ("certified", "fair") if inside else why == GAP_HIGH:
        return words
    sure = f"the true gap is with probability {row['fair']:.3f}" if "fair" in row.index else "that is not shown"
    return f"{words} by the estimate, {'and' if inside else 'but'} {sure}"


def compact(rows: Any) -> tuple[list[str], list[list[str]]]:
    """Return header and lines of the report for people: a number with its interval in a cell, of more than three gaps
    the largest alone."""
    gaps = [name for name in rows.columns if name.startswith("gap[")]
    few = gaps if len(gaps) <= 3 else []
    drawn = {"fair": "probability fair", "best": "probability best"} if "best" in rows.columns else {}
    apart = [f"gap: {of_column(rows, name)}" for name in few] or ["largest gap"]
    header = ["rule", of_column(rows, "outcome"), *apart, "verdict"]
    lines = []
    for row in rows.to_dict("records"):
        shown = [with_interval(row, name) for name in few] or [_largest(row, gaps, rows)]
        dropped = row["verdict"] == "dropped"
        verdict = f"dropped in phase {row['phase']}: {row['reason']}" if dropped else row["verdict"]
        share = [f"{row[name]:.3f}" for name in drawn]
        lines.append([str(row["candidate"]), with_interval(row, "outcome"), *shown, verdict, *share])
    return [*header, *drawn.values()], lines


def show(
    problem: Any,
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
    computed: Sequence[str] = (),
) -> None:
    """Print a recommendation, in words or as JSON with `body`; write its tables and pictures into a folder, or a
    page. The last of what is said of how it was `computed` is the command."""
    rows, *said, again = found.table.reset_index(), *computed
    words, shown = in_words(problem, found, tolerance, sure), [("The rules", *compact(rows)), *tables]
    sentences = [*in_people(problem, found), *sentences]
    files: list[Path] = []
    if out is not None and is_page(out):
        pictures: list[Part] = [picture for _, picture in _pictures(found, rows, tolerance, sensitive)]
        needed = int(found.status == "not_shown")
        sections: dict[str, list[Part]] = {
            title: [Table(header, len(lines), lines.__getitem__)] for title, header, lines in shown
        }
        sections["What it means"], sections["Pictures"] = [sentences], pictures
        sections["What would show the answer"] = [list(map(in_shell, found.notes[:needed]))]
        sections["What would overturn it"] = [[*found.refuted, *overturn]]
        sections["What it supposes"] = [list(map(in_shell, found.notes[needed:]))]
        sections["How it was computed"] = [*said, Typed(again)]
        out.write_text(page("Which rule is best among the fair ones?", None, words, sections), encoding="utf-8")
        files = [out]
    elif out is not None:
        files = _write(found, rows, tolerance, sensitive, out)
    if json:
        answer = {name: getattr(found, name) for name in ("candidate", "status", "confidence", "more", "refuted")}
        cells = rows.astype(object).where(rows.notna(), None)
        as_json({"answer": words, **answer, **body, "table": cells.to_dict("records")}, found)
        return
    print_text(*found.refuted, words)
    for each in shown:
        table(*each)
    print_text(*sentences, *overturn)
    say_notes(found)
    print_text(*said, *([f"Written: {', '.join(map(str, files))}"] if files else []))


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
