"""A recommendation for people: one sentence, and a table with a number and its interval in a cell."""

from __future__ import annotations

from typing import Any

__all__ = ["compact", "in_words"]


def in_words(found: Any) -> str:
    """Say what is recommended, and how sure that is.

    >>> from types import SimpleNamespace as Found
    >>> in_words(Found(candidate="even", status="certified", confidence=0.95))
    'certified: even (confidence 0.95)'
    >>> in_words(Found(candidate="even", status="not_shown", confidence=None))
    'not shown: even (the best guess so far)'
    """
    chosen = "-" if found.candidate is None else found.candidate
    if found.confidence is not None:
        return f"{found.status.replace('_', ' ')}: {chosen} (confidence {found.confidence:g})"
    guess = " (the best guess so far)" if found.status == "not_shown" and found.candidate is not None else ""
    return f"{found.status.replace('_', ' ')}: {chosen}{guess}"


def compact(rows: Any) -> tuple[list[str], list[list[str]]]:
    """Return header and lines of the report for people: a number with its interval in a cell."""
    middles = [name for name in rows.columns if name == "outcome" or name.startswith("gap[")]
    header = [
        "candidate",
        *(name.replace("[", " ").replace("]", "").replace(", ", " - ") for name in middles),
        "verdict",
    ]
    lines = []
    for row in rows.to_dict("records"):
        cells = [str(row["candidate"])]
        for name in middles:
            stem, _, rest = name.partition("[")
            low, high = (row[f"{stem}_{end}" + (f"[{rest}" if rest else "")] for end in ("low", "high"))
            known = row[name] is not None and row[name] == row[name]
            cells.append(f"{row[name]:.3f} ({low:.3f} to {high:.3f})" if known else "unknown")
        dropped = row["verdict"] == "dropped"
        lines.append([*cells, f"dropped in phase {row['phase']}: {row['reason']}" if dropped else row["verdict"]])
    return header, lines
