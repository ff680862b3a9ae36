"""Rows with empty cells in the columns that a command needs: refused, left out, or filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from evenhand.data.tables import check_empty
from evenhand.errors import ArgumentError, TableError, expected_one_of

if TYPE_CHECKING:
    import pandas as pd

FILLED = "empty"
"""The category of text that is not there."""


def without_empty_cells(frame: pd.DataFrame, needed: Sequence[str], features: Sequence[str], how: str) -> pd.DataFrame:
    """Return the table without empty cells in the columns that are needed and in the features.

    What was left out or filled is said in one line on standard error.

    Raises
    ------
    ArgumentError
        If `how` is none of refuse, drop and fill.
    TableError
        If a cell is empty and `how` is "refuse", or a column or every row is empty.
    """
    if how not in ("refuse", "drop", "fill"):
        raise ArgumentError(expected_one_of("--empty", ("refuse", "drop", "fill"), how))
    names = [name for name in dict.fromkeys([*needed, *features]) if list(frame.columns).count(name) == 1]
    empty = {name: count for name in names if (count := int(frame[name].isna().sum()))}
    if not empty:
        return frame
    if how == "refuse":
        for name in empty:
            check_empty(name, frame[name].isna(), "fill it or drop the row, or pass --empty drop or --empty fill")
    filled = {name: count for name, count in empty.items() if how == "fill" and name not in needed}
    left = frame.dropna(subset=[name for name in empty if name not in filled])
    said = []
    if len(left) < len(frame):
        where = ", ".join(f"{name!r} {count:,}" for name, count in empty.items() if name not in filled)
        said.append(f"left out {len(frame) - len(left):,} of {len(frame):,} rows with an empty cell ({where})")
    if filled:
        where = ", ".join(f"{name!r} {count:,}" for name, count in filled.items())
        said.append(f"filled {sum(filled.values()):,} empty cells ({where})")
    if left.empty:
        raise TableError("no row is left: each has an empty cell in a column that is needed")
    typer.echo(f"Empty cells: {'; '.join(said)}", err=True)
    return left.assign(**{name: _filled(left[name]) for name in filled})


def _filled(column: pd.Series) -> pd.Series:
    """Return a column whose empty cells hold the median of its numbers, or a category of their own."""
    if column.isna().all():
        raise TableError(f"column {column.name!r}: every cell is empty; leave it out of --features")
    if column.dtype.kind in "iuf":
        return column.astype(float).fillna(column.median())
    return column.astype(object).where(column.notna(), FILLED)
