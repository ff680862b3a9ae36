"""Columns of a table as features: what is a number, what is a category, and what is neither."""

from __future__ import annotations

import re
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.data.tables import cells, column, holds_times, named_alike, numbers
from evenhand.errors import TableError, wanted
from evenhand.kernels.arrays import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["coded", "factorized"]

MOST_CODES = 50
"""How many values text may have in any case; text with more that differs in most rows is taken for an identifier."""

_DAYS = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}",
    r"\d{1,2}[-/.]\d{1,2}[-/.]\d{4}",
    r"\d{4}-(0[1-9]|1[0-2])",
    r"\d{1,2}[ -][A-Z][a-z]{2,8}[ -]\d{4}",
    r"[A-Z][a-z]{2,8} \d{1,2}, ?\d{4}",
)
_TIME = re.compile(rf"({'|'.join(_DAYS)})([T ]\d{{1,2}}:\d{{2}}\b.*)?|\d{{1,2}}:\d{{2}}(:\d{{2}}(\.\d+)?)?")


def coded(frame: pd.DataFrame, name: str) -> Floats:
    """Return a column of features as finite numbers (n_rows,).

    Numbers and truth values stay what they are. Ordered categories become 0, 1, ... in their order; text and other
    categories in the order in which they first appear.

    Raises
    ------
    TableError
        If a cell is empty or not finite, or the column holds dates, times, durations, or text that differs in most
        rows.
    """
    import pandas as pd

    values = cells(frame, name)
    categories = values.dtype if isinstance(values.dtype, pd.CategoricalDtype) else None
    if holds_times(values) or (categories is None and all(map(_reads_as_time, values))):
        mend = "turn dates and durations into numbers first, such as days since the earliest"
        raise TableError(wanted(f"column {name!r}", "numbers or categories", values.iloc[0], mend))
    if categories is not None and categories.ordered:
        return np.asarray(values.cat.codes, dtype=np.float64)
    numeric = pd.api.types.is_numeric_dtype(values.dtype)
    if categories is None and (numeric or all(isinstance(value, (Number, np.bool_)) for value in values)):
        return numbers(frame, name)
    return np.asarray(factorized(frame, name)[0], dtype=np.float64)


def factorized(frame: pd.DataFrame, name: str) -> tuple[Ints, NDArray[Any]]:
    """Return a column of categories as codes (n_rows,) and its different values in the order of first appearance.

    Raises
    ------
    TableError
        If a cell is empty, or the column holds text that differs in most rows.
    """
    import pandas as pd

    codes, known = pd.factorize(named_alike(column(frame, name)))
    categorical = isinstance(frame[name].dtype, pd.CategoricalDtype)
    if not categorical and len(known) > max(MOST_CODES, len(codes) / 2):
        mend = "leave an identifier out of features=; give categories the dtype 'category'"
        raise TableError(wanted(f"column {name!r}", "text with few values", f"{len(known)} in {len(codes)} rows", mend))
    return np.asarray(codes, dtype=np.int64), np.asarray(known)


def _reads_as_time(value: Any) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value.strip()) is not None
