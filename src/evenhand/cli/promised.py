"""What arms and sets of arms are promised, beside their shares in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from evenhand.promises.clause import Clause
from evenhand.protocol import Label, find_label, places

__all__ = ["promised_cells"]

COLUMNS = {"floor": "promised", "cap": "cap", "window": "window"}


def promised_cells(clauses: Iterable[Clause], arms: Sequence[Label]) -> dict[tuple[int, ...], dict[str, Any]]:
    """Return what is promised to each arm, by its place, and to each set of arms, by theirs: cells by their columns,
    which are those of the kinds that are promised.

    >>> from fractions import Fraction
    >>> promised_cells([Clause("floor", ("b",), Fraction(1, 4)), Clause("floor", ("a", "b"), Fraction(1, 2))], "ab")
    {(0,): {'promised': None}, (1,): {'promised': 0.25}, (0, 1): {'promised': 0.5}}
    """
    of, clauses = places(arms), list(clauses)
    columns = [column for kind, column in COLUMNS.items() if any(clause.kind == kind for clause in clauses)]
    cells: dict[tuple[int, ...], dict[str, Any]] = {(place,): dict.fromkeys(columns) for place in range(len(arms))}
    for clause in clauses:
        found = tuple(place for arm in clause.arms if (place := find_label(arm, of)) is not None)
        rate = clause.rate_as_text if isinstance(clause.rate, tuple) else float(clause.rate)
        cells.setdefault(found, dict.fromkeys(columns))[COLUMNS[clause.kind]] = rate
    return cells
