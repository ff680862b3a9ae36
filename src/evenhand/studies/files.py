"""A study's table as a file: JSON in cells that hold more than one value, and the way back from CSV."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from evenhand.data.csv_files import CsvFile
from evenhand.data.json_files import to_json
from evenhand.errors import TableError

if TYPE_CHECKING:
    import pandas as pd

NESTED = (
    *("arms", "available", "decision", "given", "groups", "probabilities", "random_state", "slate_propensity"),
    "told",
)
"""Columns that `frame` fills with lists and objects."""
MIXED = ("reward",)
"""Columns that hold numbers, or lists where there are several."""
TIMES = ("at", "told_at")
TEXTS = ("arm", "reason", "status", "version", "key", "actor", "digest")


def flat(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with one type a column: lists and objects as JSON, labels of several types as text."""
    table = table.copy()
    for name in table.columns:
        cells = table[name]
        if cells.dtype != object and name not in NESTED:
            continue
        if name in NESTED or any(isinstance(cell, (list, tuple, dict)) for cell in cells):
            table[name] = [None if _missing(cell) else to_json(cell).decode() for cell in cells]
        elif len({type(cell) for cell in cells if not _missing(cell)}) > 1:
            table[name] = [None if _missing(cell) else str(cell) for cell in cells]
    return table


def read_csv(source: str | os.PathLike[str] | IO[str]) -> pd.DataFrame:
    """Return the table that `evenhand export` or `/history` wrote as CSV, with times, lists and objects parsed.

    Arms are text, whatever they were; `decision` holds them as they were, but for numbers beyond 2^53, which are text.

    Raises
    ------
    TableError
        If a cell is not what an export holds.
    """
    import pandas as pd

    if isinstance(source, (str, os.PathLike)):
        file = CsvFile.at(Path(source))
    else:
        content = source.read()
        file = CsvFile("source", lambda: io.StringIO(content, newline=""))  # as it is read more than once
    table = file.frame([*TEXTS, *NESTED])
    for name in table.columns:
        cells = table[name]
        try:
            if name in TIMES:
                table[name] = pd.to_datetime(cells, utc=True, format="ISO8601")
            elif name in NESTED or (name in MIXED and not pd.api.types.is_numeric_dtype(cells)):
                table[name] = pd.Series(
                    [None if _missing(cell) else orjson.loads(cell) for cell in cells], dtype=object
                )
            elif not pd.api.types.is_numeric_dtype(cells):
                table[name] = [cell if isinstance(cell, str) else None for cell in cells]
        except (TypeError, ValueError) as error:
            raise TableError(f"column {name!r}: not as an export of evenhand writes it: {error}") from error
    return table


def _missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell)
