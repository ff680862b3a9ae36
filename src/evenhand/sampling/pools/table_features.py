"""Columns of a data frame as numbers: text one-hot, numbers scaled to [0, 1] by the range of the frame they were
learned from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.data.features import factorized
from evenhand.data.tables import cells, column, holds_times, numbers, places_in
from evenhand.errors import TableError, wanted
from evenhand.frames import as_pandas

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableFeatures"]

MANY = 1000
"""More different values than this in a column of categories are refused."""


class TableFeatures:
    """An encoder learned from one frame: `transform` gives (n, d) numbers, `names` what they mean.

    A category that the first frame did not have becomes all zeros; a number outside the first frame's range leaves
    [0, 1].

    Raises
    ------
    TableError
        If a column is missing, a cell is empty, it holds dates, or text differs in most rows, as names and numbers of
        files do.
    """

    def __init__(self, frame: pd.DataFrame, columns: Sequence[str]) -> None:
        frame = as_pandas(frame)
        self.columns = list(columns)
        self._ranges: dict[str, tuple[float, float]] = {}
        self._values: dict[str, NDArray[np.str_]] = {}
        for name in self.columns:
            if cells(frame, name).dtype.kind in "iufb":
                values = numbers(frame, name)
                low, high = float(values.min()), float(values.max())
                if math.isinf(high - low):
                    raise TableError(wanted(f"column {name!r}", "numbers whose range is finite", (low, high)))
                self._ranges[name] = (low, high)
            else:
                self._values[name] = _categories(frame, name)

    @property
    def names(self) -> list[str]:
        """The names (d,) of the numbers."""
        return [
            full for name in self.columns
            for full in ([name] if name in self._ranges else [f"{name}={value}" for value in self._values[name]])
        ]  # fmt: skip

    def transform(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the numbers (n, d) of a frame's rows."""
        frame = as_pandas(frame)
        parts = []
        for name in self.columns:
            if name in self._ranges:
                low, high = self._ranges[name]
                parts.append(((numbers(frame, name) - low) / (high - low or 1.0))[:, None])
            else:
                found = places_in(column(frame, name), self._values[name].tolist())
                parts.append((found[:, None] == np.arange(len(self._values[name]))).astype(np.float64))
        return np.hstack(parts)

    def snapshot(self) -> dict[str, Any]:
        """Return what was learned as plain data."""
        return {"columns": self.columns, "ranges": self._ranges, "values": self._values}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the encoder that `snapshot` was taken of."""
        features = cls.__new__(cls)
        features.columns, features._values = list(snapshot["columns"]), dict(snapshot["values"])
        features._ranges = {name: (low, high) for name, (low, high) in snapshot["ranges"].items()}
        return features


def _categories(frame: pd.DataFrame, name: str) -> NDArray[np.str_]:
    """Return the different values of a column as sorted texts."""
    values = cells(frame, name)
    if holds_times(values):
        mend = "turn it into a number, such as days since a date, or leave it out of features="
        raise TableError(wanted(f"column {name!r}", "numbers or categories", values.iloc[0], mend))
    found = np.unique(factorized(frame, name)[1].astype(str))
    if len(found) > MANY:
        what = f"at most {MANY} categories, as each becomes a feature of 0 and 1"
        raise TableError(
            wanted(f"column {name!r}", what, len(found), "leave it out of features=, or merge rare values")
        )
    return found
