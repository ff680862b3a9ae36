"""A data frame as a pool of labelled examples: groups, labels and features are columns; text is one-hot, numbers are
scaled to [0, 1] by the range of the frame they were learned from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arguments import yes_or_no
from evenhand.data.encoding import Encoder
from evenhand.data.features import categories, other_columns
from evenhand.data.groupings import groups_in, used_once
from evenhand.data.tables import cells, check_column, column, column_names, in_column_order, places_in
from evenhand.errors import TableError, Wording, expected, expected_one_of
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Floats
from evenhand.registry import register
from evenhand.sampling.pools.pools import ArrayPool

if TYPE_CHECKING:
    import pandas as pd


class TableFeatures:
    """An encoder learned from one frame: `transform` gives (n, d) numbers, `names` what they mean.

    A category that the first frame did not have becomes all zeros; a number outside the first frame's range falls
    outside [0, 1].

    Raises
    ------
    TableError
        If a column is missing, a cell is empty, a column holds dates, or its text differs in most rows, as names and
        file numbers do.
    """

    def __init__(self, frame: pd.DataFrame, columns: Sequence[str]) -> None:
        kinds = {str(name): categories(as_pandas(frame), name) for name in columns}
        self.encoder = Encoder(kinds, unseen="ignore")
        rows = self.encoder.transform(frame)
        scaled = np.isin(self.names, [name for name, kinds in self.encoder.columns.items() if kinds is None])
        self.low = np.where(scaled, rows.min(axis=0), 0.0)
        with np.errstate(over="ignore"):
            self.range = np.where(scaled, rows.max(axis=0) - self.low, 1.0)
        if np.isinf(self.range).any():
            name = self.names[int(np.isinf(self.range).argmax())]
            raise TableError(expected(f"column {name!r}", "numbers whose range is finite", Wording("an infinite one")))
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


@register("sampling/table-pool", kind="world")
class TablePool(ArrayPool):
    """A data frame as a pool: numbers scaled to [0, 1] by the pool's range, everything else one-hot.

    Parameters
    ----------
    frame : the pool, one row per example.
    group : the column of the groups, or several columns, whose combinations are the groups ("White & Male").
    label : the column of the labels, text or whole numbers.
    features : the columns to learn from; all but the group's and the label's when left out.
    replace : draw with replacement.
    encoded : turn text into numbers and scale; False hands out the columns as they are, for a pipeline that names them.

    Attributes
    ----------
    features : the encoder, None without `encoded`; `features.transform(other_frame)` encodes held-out rows alike.
    enough, notes : whether enough groups have enough rows, and which have too few; a column of measurements makes too
        many groups.

    Raises
    ------
    TableError
        If a column is missing or has two uses, a cell is empty, a label is a fraction, two groups read alike, or there
        is no column to learn from.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m", "f"], "job": ["a", "b", "a"], "age": [20, 30, 40], "hired": [0, 1, 1]})
    >>> pool = TablePool(frame, group="sex", label="hired")
    >>> pool.groups, pool.features.names, pool.X.tolist()
    (('f', 'm'), ['job=a', 'job=b', 'age'], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [1.0, 0.0, 1.0]])
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        group: str | Sequence[str],
        label: str,
        features: Sequence[str] | None = None,
        replace: bool = False,
        encoded: bool = True,
    ) -> None:
        import pandas as pd

        frame = as_pandas(frame)
        self.group_columns = column_names("group", group)
        check_column(frame, label, "label")
        self.label_column = label
        used_once("group", self.group_columns, {label: "the label"})
        groups, y = self.groups_of(frame), self._labels(frame)
        used = {*self.group_columns, label}
        names = other_columns(frame, used) if features is None else column_names("features", features)
        if not names:
            raise TableError(expected("features", "at least one column to learn from", names))
        used_once("features", names, {label: "the label"})
        self.features = TableFeatures(frame, names) if yes_or_no("encoded", encoded) else None
        of_rows = pd.Categorical(groups, in_column_order(frame, self.group_columns, groups), ordered=True)
        rows = frame[names] if self.features is None else self.features.transform(frame)
        super().__init__(rows, y, group=of_rows, replace=replace)

    def groups_of(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return the group (n,) of each row of a frame."""
        return groups_in(as_pandas(frame), self.group_columns)

    @property
    def _grouped(self) -> str:
        return f"groups of {', '.join(map(repr, self.group_columns))}"

    def _labels(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return the labels (n,) of a frame; a column of numbers must hold whole ones."""
        values = cells(frame, self.label_column)
        with np.errstate(invalid="ignore"):
            fractions = np.flatnonzero(~(values.to_numpy() % 1 == 0)) if values.dtype.kind == "f" else np.zeros(0)
        if fractions.size:
            where = f"column {self.label_column!r}, row {int(fractions[0]) + 1}"
            hint = "turn the column into classes first"
            raise TableError(expected(where, "a label that is text or a whole number", values.iloc[fractions[0]], hint))
        return np.array(column(frame, self.label_column).tolist())

    def held_out(self, frame: pd.DataFrame) -> tuple[Any, NDArray[Any], NDArray[Any]]:
        """Return features (n, d), labels (n,) and groups (n,) of other rows, encoded, or as columns, like the pool's.

        Raises
        ------
        TableError
            If a row is of none of the pool's groups, or a column cannot be read.
        """
        frame = as_pandas(frame)
        groups = self.groups_of(frame)
        at = places_in(groups, self.groups)
        if (at < 0).any():
            row = int(np.argmax(at < 0))
            where = Wording("columns ", self.group_columns, f", row {row + 1}")
            raise TableError(expected_one_of(where, self.groups, groups[row].item(), what="groups among"))
        rows = frame[self.columns] if self.features is None else self.features.transform(frame)
        return rows, self._labels(frame), np.array(self.groups)[at]

    def snapshot(self) -> dict[str, Any]:
        """Return the rows, the pool's position in them, and how frames are encoded."""
        return super().snapshot() | {
            "columns": self.group_columns,
            "label": self.label_column,
            "features": None if self.features is None else self.features.snapshot(),
        }

    def _resume(self, snapshot: dict[str, Any]) -> None:
        super()._resume(snapshot)
        self.group_columns, self.label_column = list(snapshot["columns"]), snapshot["label"]
        kept = snapshot["features"]
        self.features = None if kept is None else TableFeatures.restored(kept)

    @classmethod
    def _examples(cls) -> Iterator[Self]:
        """Yield worlds to try."""
        import pandas as pd

        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"group": rng.choice(["u", "v"], 80), "x": rng.random(80), "y": rng.integers(0, 2, 80)})
        yield cls(frame, group="group", label="y")
