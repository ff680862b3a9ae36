"""Columns of a table as features: what is a number, what is a category, and what is neither."""

from __future__ import annotations

import re
from collections.abc import Container
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.data.tables import cells, column, holds_times, levels_of
from evenhand.errors import TableError, Wording, argument, expected

if TYPE_CHECKING:
    import pandas as pd

MOST_CODES = 50
"""How many values text may have in any case; text with more that differs in most rows is taken for an identifier."""
MANY = 1000
"""More categories than this in a column are refused."""
NUMBERED = 30
"""From so many rows on different whole numbers that lie close together number the rows."""

_DAYS = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}",
    r"\d{1,2}[-/.]\d{1,2}[-/.]\d{4}",
    r"\d{4}-(0[1-9]|1[0-2])",
    r"\d{1,2}[ -][A-Z][a-z]{2,8}[ -]\d{4}",
    r"[A-Z][a-z]{2,8} \d{1,2}, ?\d{4}",
)
_TIME = re.compile(rf"({'|'.join(_DAYS)})([T ]\d{{1,2}}:\d{{2}}\b.*)?|\d{{1,2}}:\d{{2}}(:\d{{2}}(\.\d+)?)?")
_PERCENT = re.compile(r"[+-]?\d+([.,]\d+)? ?%")


def other_columns(frame: pd.DataFrame, used: Container[Any]) -> list[Any]:
    """Return the columns that are features where nobody names these: all that have no other use.

    Raises
    ------
    TableError
        If one numbers the rows, as an id from 1 to 1000 does, which says nothing about anybody.
    """
    names = [name for name in dict.fromkeys(frame.columns) if name not in used]
    for name in names:
        values: Any = frame[name]
        whole = values.ndim == 1 and values.dtype.kind in "iu" and len(values) >= NUMBERED
        if whole and values.is_unique and values.max() - values.min() < 2 * len(values):
            got = Wording(f"a number for each row, from {values.min()} to {values.max()}")
            hint = Wording("leave it out of ", argument("features"))
            raise TableError(expected(f"column {name!r}", "a feature", got, hint))
    return names


def categories(frame: pd.DataFrame, name: str, of: str = "features") -> list[Any] | None:
    """Return the categories of a column in natural order, ordered ones in theirs; None for numbers and truth values.

    `of` is the argument that named the column.

    Raises
    ------
    TableError
        If a cell is empty, or the column holds dates, times, durations, text that differs in most rows, or more than
        1000 categories.
    """
    import pandas as pd

    values = cells(frame, name)
    declared = values.dtype if isinstance(values.dtype, pd.CategoricalDtype) else None
    if holds_times(values) or (declared is None and all(map(_reads_as_time, values))):
        days = "turn dates and durations into numbers, such as days since the earliest, or leave it out of "
        hint: str = Wording(days, argument(of))
        raise TableError(expected(f"column {name!r}", "numbers or categories", values.iloc[0], hint))
    if declared is None and all(isinstance(value, str) and _PERCENT.fullmatch(value.strip()) for value in values):
        hint = "write percentages as numbers, 0.04 or 4"
        raise TableError(expected(f"column {name!r}", "numbers or categories", values.iloc[0], hint))
    numeric = pd.api.types.is_numeric_dtype(values.dtype)
    if declared is None and (numeric or all(isinstance(value, (Number, np.bool_)) for value in values)):
        return None
    ordered = declared is not None and declared.ordered
    found = list(map(str, values.cat.categories)) if ordered else levels_of(column(frame, name), values)
    if declared is None and len(found) > max(MOST_CODES, len(values) / 2):
        declare = Wording("give categories the dtype 'category'", shell="merge categories until there are fewer")
        hint = Wording("if it is an identifier, leave it out of ", argument(of), "; ", declare)
        got = Wording(f"{len(found)} in {len(values)} rows")
        raise TableError(expected(f"column {name!r}", "text with few values", got, hint))
    if len(found) > MANY:
        hint = Wording("leave it out of ", argument(of), ", or merge rare ones")
        raise TableError(expected(f"column {name!r}", f"at most {MANY} categories", len(found), hint))
    return found


def _reads_as_time(value: object) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value.strip()) is not None
