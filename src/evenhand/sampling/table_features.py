"""Columns of a data frame as numbers: text one-hot, numbers scaled to [0, 1] by the range of the frame they were
learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import TableError, wanted
from evenhand.tables import column, numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableFeatures"]

MANY = 1000
"""More different texts than this in a column are refused."""
FEW = 50
"""Up to here a column may have a text of its own in each row."""


class TableFeatures:
    """An encoder learned from one frame: `transform` gives (n, d) numbers, `names` what they mean.

    A category that the first frame did not have becomes all zeros; a number outside the first frame's range leaves
    [0, 1].

    Raises
    ------
    TableError
        If a column is missing, a cell is empty, or a column of text has nearly as many values as rows, as names have.
    """

    def __init__(self, frame: pd.DataFrame, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self._ranges: dict[str, tuple[float, float]] = {}
        self._values: dict[str, NDArray[np.str_]] = {}
        for name in self.columns:
            if name in frame.columns and frame[name].dtype.kind in "iufb":
                values = numbers(frame, name)
                self._ranges[name] = (float(values.min()), float(values.max()))
                if not np.isfinite(values.max() - values.min()):
                    raise TableError(wanted(f"column {name!r}", "numbers whose range is finite", self._ranges[name]))
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
        parts = []
        for name in self.columns:
            if name in self._ranges:
                low, high = self._ranges[name]
                parts.append(((numbers(frame, name) - low) / (high - low or 1.0))[:, None])
            else:
                parts.append((column(frame, name).astype(str)[:, None] == self._values[name]).astype(np.float64))
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
    """Return the different texts of a column."""
    found = np.unique(column(frame, name).astype(str))
    if len(found) > MANY or len(found) > max(FEW, len(frame) // 2):
        what = "text with few values, each of which becomes a feature of 0 and 1"
        got = f"{len(found)} different values in {len(frame)} rows"
        mend = "leave it out of the features, merge rare values, or mend the cells that keep it from being numbers"
        raise TableError(wanted(f"column {name!r}", what, got, mend))
    return found
