"""Columns of a data frame as numbers: text one-hot, numbers scaled to [0, 1] by the range of the frame they were
learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenhand.tables import column, numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableFeatures"]


class TableFeatures:
    """An encoder learned from one frame: `transform` gives (n, d) numbers, `names` what they mean.

    A category that the first frame did not have becomes all zeros; a number outside the first frame's range leaves
    [0, 1].

    Raises
    ------
    TableError
        If a column is missing or a cell is empty.
    """

    def __init__(self, frame: pd.DataFrame, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self._ranges: dict[str, tuple[float, float]] = {}
        self._values: dict[str, NDArray[np.str_]] = {}
        for name in self.columns:
            if name in frame.columns and frame[name].dtype.kind in "iufb":
                values = numbers(frame, name)
                self._ranges[name] = (float(values.min()), float(values.max()))
            else:
                self._values[name] = np.unique(column(frame, name).astype(str))

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
