"""Columns of a data frame as numbers: text one-hot, numbers scaled to [0, 1] by the range of the frame they were
learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenhand.data.encoding import Encoder
from evenhand.errors import TableError, wanted
from evenhand.kernels.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd


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
        self.encoder = Encoder.fit(frame, columns, unseen="ignore")
        rows = self.encoder.transform(frame)
        scaled = np.isin(self.names, [name for name, kinds in self.encoder.columns.items() if kinds is None])
        self.low = np.where(scaled, rows.min(axis=0), 0.0)
        with np.errstate(over="ignore"):
            self.range = np.where(scaled, rows.max(axis=0) - self.low, 1.0)
        if np.isinf(self.range).any():
            name = self.names[int(np.isinf(self.range).argmax())]
            raise TableError(wanted(f"column {name!r}", "numbers whose range is finite", "an infinite one"))
        self.range[self.range == 0] = 1.0

    @property
    def names(self) -> list[str]:
        """The names (d,) of the numbers."""
        return self.encoder.names

    def transform(self, frame: pd.DataFrame) -> Floats:
        """Return the numbers (n, d) of a frame's rows."""
        return np.asarray((self.encoder.transform(frame) - self.low) / self.range)

    def snapshot(self) -> dict[str, Any]:
        """Return what was learned as plain data."""
        return {"encoder": self.encoder.snapshot(), "low": self.low, "range": self.range}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the encoder that `snapshot` was taken of."""
        features = cls.__new__(cls)
        features.encoder = Encoder.restored(snapshot["encoder"])
        features.low, features.range = snapshot["low"], snapshot["range"]
        return features
