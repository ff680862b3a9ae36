"""Finite pools of labelled examples: arrays, tables, images of pairs of classes.

Rows are drawn without replacement until a group's pool is dry; the sampler is told by getting fewer rows than it
asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, TableError, wanted
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import generator
from evenhand.sampling.problem import Draw
from evenhand.sampling.table_features import TableFeatures
from evenhand.tables import column

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ArrayPool", "TablePool", "label_pairs"]


@register("sampling/array-pool", kind="world")
class ArrayPool:
    """A pool of rows X (n, ...), labels y (n,) and groups (n,), drawn in a random order.

    Parameters
    ----------
    X : features, a row an example; images may have more axes.
    y : labels (n,).
    group : the group (n,) of each row.
    replace : draw with replacement; then pools never run dry, but the same row may train and validate.

    Attributes
    ----------
    groups : the groups' labels, sorted.
    sizes : rows (m,) of each group.
    chosen : row numbers handed out since `reset`, in order.

    Raises
    ------
    ArgumentError
        If the lengths differ or there are no rows.

    Examples
    --------
    >>> pool = ArrayPool([[0.0], [1.0], [2.0]], [0, 1, 1], group=["a", "b", "b"])
    >>> pool.groups, pool.sizes.tolist()
    (('a', 'b'), [1, 2])
    """

    def __init__(self, X: Any, y: Any, *, group: Any, replace: bool = False) -> None:
        self.X, self.y = np.asarray(X), np.asarray(y)
        labels, self.group = np.unique(np.asarray(group), return_inverse=True)
        self.groups: tuple[Label, ...] = tuple(labels.tolist())
        if not len(self.X) == len(self.y) == len(self.group) > 0:
            lengths = (len(self.X), len(self.y), len(self.group))
            raise ArgumentError(wanted("X", "rows, and as many labels and groups", lengths))
        self.sizes = np.bincount(self.group)
        self.replace = replace
        if replace:
            warnings.warn(
                "drawing with replacement: a row may train and validate, so validation risks come out too low",
                UserWarning,
                stacklevel=2,
            )
        self.reset(0)

    @property
    def proportions(self) -> NDArray[np.float64]:
        """The proportions (m,) of the groups in the pool."""
        return self.sizes / self.sizes.sum()

    @property
    def left(self) -> NDArray[np.int64]:
        """Rows (m,) that are left in each group."""
        return np.array([len(order) for order in self._order]) - self._position

    def reset(self, seed: int) -> None:
        """Fill the pools again, in an order drawn from the seed."""
        self._rng = generator(seed)
        self._order = [self._rng.permutation(np.flatnonzero(self.group == z)) for z in range(len(self.groups))]
        self._position = np.zeros(len(self.groups), np.int64)
        self.chosen: list[int] = []

    def advance(self, counts: Mapping[Label, int]) -> None:
        """Skip rows of each group, to take up a saved collection where it stopped."""
        for z, label in enumerate(self.groups):
            self._position[z] += counts.get(label, 0)

    def observe(self) -> tuple[Any, ...]:
        """Begin a round; it shows nothing."""
        return ()

    def respond(self, ticket: Draw) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return (X, y) of up to `count` fresh rows of the draw's group; fewer when the pool is dry."""
        rows = self.rows(self.groups.index(ticket.group), ticket.count)
        self.chosen.extend(rows.tolist())
        return self.X[rows], self.y[rows]

    def rows(self, z: int, count: int) -> NDArray[np.int64]:
        """Return the next row numbers of a group."""
        if self.replace:
            return np.asarray(self._rng.choice(self._order[z], count))
        start = self._position[z]
        found = self._order[z][start : start + count]
        self._position[z] += len(found)
        return found

    @classmethod
    def examples(cls) -> Iterator[Self]:
        """Yield worlds to try."""
        rng = np.random.default_rng(0)
        yield cls(rng.random((60, 2)), rng.integers(0, 2, 60), group=rng.choice(["u", "v"], 60))


@register("sampling/table-pool", kind="world")
class TablePool(ArrayPool):
    """A data frame as a pool: numbers scaled to [0, 1] by the pool's range, everything else one-hot.

    Parameters
    ----------
    frame : the pool, a row an example.
    group : the column of the groups, or several columns, whose combinations are the groups ("White & Male").
    label : the column of the labels.
    features : the columns to learn from; all but the group's and the label's when left out.
    replace : draw with replacement.

    Attributes
    ----------
    features : the encoder; `features.transform(other_frame)` encodes held-out rows alike.

    Raises
    ------
    TableError
        If a column is missing, a cell is empty, or there is no column to learn from.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m", "f"], "job": ["a", "b", "a"], "age": [20, 30, 40], "hired": [0, 1, 1]})
    >>> pool = TablePool(frame, group="sex", label="hired")
    >>> pool.groups, pool.features.names, pool.X.tolist()
    (('f', 'm'), ['job=a', 'job=b', 'age'], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [1.0, 0.0, 1.0]])
    """

    def __init__(
        self, frame: pd.DataFrame, *, group: str | Sequence[str], label: str, features: Sequence[str] | None = None,
        replace: bool = False,
    ) -> None:  # fmt: skip
        self.group_columns = [group] if isinstance(group, str) else list(group)
        self.label_column = label
        groups, y = self.groups_of(frame), column(frame, label)
        used = {*self.group_columns, label}
        names = [str(c) for c in frame.columns if c not in used] if features is None else list(features)
        if not names:
            raise TableError(wanted("features", "at least one column to learn from", names))
        self.features = TableFeatures(frame, names)
        super().__init__(self.features.transform(frame), np.array(y.tolist()), group=groups, replace=replace)

    def groups_of(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return the group (n,) of each row of a frame."""
        columns = [column(frame, name) for name in self.group_columns]
        if len(columns) == 1:
            return np.array(columns[0].tolist())
        return np.array([" & ".join(map(str, values)) for values in zip(*columns, strict=True)])

    def held_out(self, frame: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any]]:
        """Return features (n, d), labels (n,) and groups (n,) of other rows, encoded like the pool."""
        y = np.array(column(frame, self.label_column).tolist())
        return self.features.transform(frame), y, self.groups_of(frame)

    @classmethod
    def examples(cls) -> Iterator[Self]:
        """Yield worlds to try."""
        import pandas as pd

        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"group": rng.choice(["u", "v"], 80), "x": rng.random(80), "y": rng.integers(0, 2, 80)})
        yield cls(frame, group="group", label="y")


def label_pairs(
    images: NDArray[Any], labels: NDArray[Any], pairs: Mapping[Label, tuple[Any, Any]], *, replace: bool = False
) -> ArrayPool:
    """Return a pool whose groups are pairs of classes, to be told apart: label 0 is the first of the pair, 1 the
    second.

    Parameters
    ----------
    images, labels : examples (n, ...) and their classes (n,).
    pairs : group -> (class, class).
    replace : draw with replacement.

    Raises
    ------
    ArgumentError
        If a pair names a class that no example has.

    Examples
    --------
    >>> pool = label_pairs(np.zeros((4, 2, 2)), np.array([3, 5, 5, 7]), {"3 or 5": (3, 5)})
    >>> pool.sizes.tolist(), sorted(pool.y.tolist())
    ([3], [0, 1, 1])
    """
    parts = []
    for name, pair in pairs.items():
        for code, value in enumerate(pair):
            found = np.flatnonzero(labels == value)
            if not len(found):
                raise ArgumentError(wanted(f"pairs[{name!r}]", "classes that occur", value))
            parts.append((found, np.full(len(found), code), np.full(len(found), str(name))))
    rows, y, group = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return ArrayPool(images[rows], y, group=group, replace=replace)
