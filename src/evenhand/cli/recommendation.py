"""A recommendation for people: one sentence, and a table with a number and its interval in a cell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.cli.output import as_json, draw, folder, print_text, say_notes, table
from evenhand.data.csv_files import write_csv


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
    words += "" if found.confidence is None else f" ({sure.format(found.confidence)})"
    return words if named is None else f"{words}; outcome {_with_interval(named, 'outcome')}"


def in_brief(found: Any) -> str:
    """Return status and candidate of an answer."""
    if found.status == "graph_refuted":
        return "not certified: the table refutes the graph"
    return found.status.replace("_", " ") + ("" if found.candidate is None else f": {found.candidate}")


def compact(rows: Any) -> tuple[list[str], list[list[str]]]:
    """Return header and lines of the report for people: a number with its interval in a cell, of more than three gaps
    the largest alone."""
    gaps = [name for name in rows.columns if name.startswith("gap[")]
    few = gaps if len(gaps) <= 3 else []
    drawn = {"fair": "is fair", "best": "is best"} if "best" in rows.columns else {}
    header = ["candidate", "outcome", *([_pair(name, "gap ") for name in few] or ["largest gap"]), "verdict"]
    lines = []
    for row in rows.to_dict("records"):
        shown = [_with_interval(row, name) for name in few] or [_largest(row, gaps)]
        dropped = row["verdict"] == "dropped"
        verdict = f"dropped in phase {row['phase']}: {row['reason']}" if dropped else row["verdict"]
        share = [f"{row[name]:.3f}" for name in drawn]
        lines.append([str(row["candidate"]), _with_interval(row, "outcome"), *shown, verdict, *share])
    return [*header, *drawn.values()], lines


def show(
    found: Any, body: dict[str, Any], sentences: Sequence[str], tolerance: float | None, out: Path | None, json: bool,
    sure: str = "confidence {:g}", sensitive: Sequence[Any] = (),
) -> None:  # fmt: skip
    """Print a recommendation, in words or as JSON with `body`; write its tables and pictures into a folder."""
    rows = found.table.reset_index()
    files = [] if out is None else _write(found, rows, tolerance, sensitive, out)
    if json:
        answer = {name: getattr(found, name) for name in ("candidate", "status", "confidence", "more", "refuted")}
        cells = rows.astype(object).where(rows.notna(), None)
        as_json({**answer, **body, "table": cells.to_dict("records")}, found)
        return
    for sentence in found.refuted:
        print_text(sentence)
    print_text(in_words(found, rows, sure))
    table("Candidates", *compact(rows))
    for sentence in sentences:
        print_text(sentence)
    say_notes(found)
    if files:
        print_text(f"Written: {', '.join(map(str, files))}")


def _write(found: Any, rows: Any, tolerance: float | None, sensitive: Sequence[Any], out: Path) -> list[Path]:
    """Write the table and the pictures into a folder; return the files."""
    from evenhand.plots.interventions import plot_candidates, plot_outcomes, plot_sensitivity

    folder(out)
    files = [out / "candidates.csv"]
    write_csv(rows, files[0])
    height = 1.6 + 0.28 * len(rows)
    if tolerance is None:
        files.append(draw(out, "candidates", partial(plot_outcomes, found), height=height))
    else:
        both = partial(plot_candidates, found, tolerance=tolerance)
        files.append(draw(out, "candidates", both, width=9.5, height=height, columns=2))
    for one, name in zip(sensitive, ("sensitivity", "sensitivity-to-groups"), strict=False):
        write_csv(one.curve(), out / f"{name}.csv")
        files += [
            out / f"{name}.csv",
            draw(out, name, partial(plot_sensitivity, one), width=9.5, height=4.2, columns=2),
        ]
    return files


def _largest(row: Any, gaps: Sequence[str]) -> str:
    """Return the largest gap that is known, and of whom it is."""
    import pandas as pd

    known = {name: abs(row[name]) for name in gaps if pd.notna(row[name])}
    largest = max(known, key=known.__getitem__, default=None)
    return "unknown" if largest is None else f"{known[largest]:.3f} ({_pair(largest)})"


def _pair(gap: str, before: str = "") -> str:
    return before + gap[len("gap[") : -1].replace(", ", " - ")


def _with_interval(row: Any, name: str) -> str:
    """Return a number with its interval, alone where it is exact."""
    import pandas as pd

    if pd.isna(row[name]):
        return "unknown"
    stem, _, rest = name.partition("[")
    low, high = (row[f"{stem}_{end}" + (f"[{rest}" if rest else "")] for end in ("low", "high"))
    return f"{row[name]:.3f}" + ("" if low == high else f" ({low:.3f} to {high:.3f})")
