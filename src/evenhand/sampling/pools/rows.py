"""A table of labelled rows that grows: features, class codes and groups, in arrays that double when they are full."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class Rows:
    """Rows 0 .. count - 1 of `X` (., ...), `y` (.,) class codes and `group` (.,) group indices; beyond lies spare
    room.
    """

    def __init__(self, groups: int) -> None:
        self.count = 0
        self.by_group = np.zeros(groups, np.int64)
        self.X: NDArray[Any] = np.zeros((0, 0))
        self.y = np.zeros(0, np.int64)
        self.group = np.zeros(0, np.int64)

    def append(self, X: NDArray[Any], y: list[int], group: int) -> None:
        """Add rows of one group; the table takes the wider of two types of numbers."""
        end = self.count + len(X)
        if self.count == 0:
            self.X = np.zeros((0, *X.shape[1:]), X.dtype)
        elif X.dtype != self.X.dtype:
            self.X = self.X.astype(np.result_type(self.X, X), copy=False)
        if end > len(self.X):
            self.X, self.y, self.group = (self._grown(old, 2 * end) for old in (self.X, self.y, self.group))
        self.X[self.count : end] = X
        self.y[self.count : end] = y
        self.group[self.count : end] = group
        self.by_group[group] += len(X)
        self.count = end

    def _grown(self, old: NDArray[Any], room: int) -> NDArray[Any]:
        new = np.zeros((max(64, room), *old.shape[1:]), old.dtype)
        new[: self.count] = old[: self.count]
        return new

    def truncate(self, count: int) -> None:
        """Forget the rows from `count` on."""
        self.by_group -= np.bincount(self.group[count : self.count], minlength=len(self.by_group))
        self.count = count

    def taken(self, index: NDArray[Any]) -> Rows:
        """Return a new table of the rows at these places."""
        some = Rows(len(self.by_group))
        for name in ("X", "y", "group"):
            setattr(some, name, getattr(self, name)[: self.count][index])
        some.count = len(some.y)
        some.by_group = np.bincount(some.group, minlength=len(self.by_group)).astype(np.int64)
        return some

    def joined(self, other: Rows) -> Rows:
        """Return a new table with the rows of both."""
        both = Rows(len(self.by_group))
        both.count = self.count + other.count
        both.by_group = self.by_group + other.by_group
        for name in ("X", "y", "group"):
            setattr(both, name, np.concatenate([getattr(t, name)[: t.count] for t in (self, other) if t.count]))
        return both

    def snapshot(self) -> dict[str, Any]:
        """Return the rows without the spare room."""
        return {name: getattr(self, name)[: self.count] for name in ("X", "y", "group")} | {
            "groups": len(self.by_group)
        }

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the table that `snapshot` was taken of."""
        rows = cls(snapshot["groups"])
        rows.X, rows.y, rows.group = (np.array(snapshot[name]) for name in ("X", "y", "group"))
        rows.count = len(rows.y)
        rows.by_group = np.bincount(rows.group, minlength=snapshot["groups"]).astype(np.int64)
        return rows
