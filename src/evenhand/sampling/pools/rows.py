"""A table of labelled rows that grows, in arrays that double when they are full; and the examples of a collection:
the first half of each draw is for training, the second half for validation of its group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.data.rows import in_step
from evenhand.errors import ContextError, Wording, expected
from evenhand.frames import frame_or_value, is_frame
from evenhand.kernels.arrays import Ints
from evenhand.protocol import Label
from evenhand.sampling.pools.frame_codes import FrameCodes
from evenhand.sampling.pools.labels import Classes
from evenhand.sampling.problem import read_rows


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

    def joined(self, other: Rows) -> Rows:
        """Return a new table with the rows of both."""
        given = [table.snapshot() for table in (self, other) if table.count]
        both = {name: np.concatenate([table[name] for table in given]) for name in ("X", "y", "group")}
        return Rows.restored(both | {"groups": len(self.by_group)})

    def snapshot(self) -> dict[str, Any]:
        """Return the rows without the spare room."""
        n = self.count
        return {"X": self.X[:n], "y": self.y[:n], "group": self.group[:n], "groups": len(self.by_group)}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the table that `snapshot` was taken of."""
        rows = cls(snapshot["groups"])
        rows.X, rows.y, rows.group = (np.array(snapshot[name]) for name in ("X", "y", "group"))
        rows.count = len(rows.y)
        rows.by_group = np.bincount(rows.group, minlength=snapshot["groups"]).astype(np.int64)
        return rows


class Told(NamedTuple):
    """Checked rows of one draw: features (n, ...), labels, a data frame's columns, and how many of them train: the
    first ones. The others validate.
    """

    X: NDArray[Any]
    labels: list[Label]
    columns: list[str]
    trains: int


class Examples:
    """Training and validation rows with their class codes; the classes are `classes`, or the labels told first."""

    def __init__(self, groups: int, classes: Sequence[Label] | None) -> None:
        self.training, self.validation = Rows(groups), Rows(groups)
        self.classes = Classes(classes)
        self.columns: list[str] = []
        self.codes = FrameCodes()

    def validate(self, X: Any, y: object, count: int, *, keep: bool = False, texts: bool = False) -> Told:
        """Return up to `count` rows, of the shape of those before; a data frame's columns in the first one's order;
        `keep` as in `read_rows`; with `texts`, columns of texts become numbers.

        Raises
        ------
        ContextError, ArgumentError
            If they are anything else.
        """
        X, y = in_step(("X", frame_or_value(X, "X")), ("y", y))
        names = [str(name) for name in X.columns] if is_frame(X) else []
        columns = self.columns or names
        if names:
            if len(set(names)) < len(names) or set(names) != set(columns):
                raise ContextError(expected("X", Wording("the columns ", columns, ", each once"), names))
            X = X.iloc[:, [names.index(name) for name in columns]]
            X = self.codes.numbers(X) if texts else X
        table = read_rows(X, self.training.X.shape[1:] if self.training.count else None, count, keep=keep)
        return Told(table, self.classes.validate(y, len(table)), columns, (len(table) + 1) // 2)

    def add(self, told: Told, group: int) -> None:
        """Add rows of one group."""
        X, labels, columns, trained = told
        if len(X):
            self.columns = self.columns or columns
        self.admit(labels)
        codes = [self.classes.known.index(label) for label in labels]
        if trained:
            self.training.append(X[:trained], codes[:trained], group)
        if len(X) > trained:
            self.validation.append(X[trained:], codes[trained:], group)

    def admit(self, labels: list[Label]) -> None:
        """Take checked labels among the classes."""
        self._name(self.classes.with_labels(labels))

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that takes back all rows and classes added since."""
        known, columns = self.classes.known, self.columns
        counts = self.training.count, self.validation.count

        def undo() -> None:
            self.columns = columns
            self.training.truncate(counts[0])
            self.validation.truncate(counts[1])
            self._name(known)

        return undo

    def by_group(self) -> Ints:
        """Return the number of rows (m,) of each group, training and validation."""
        return self.training.by_group + self.validation.by_group

    def _name(self, known: tuple[Label, ...]) -> None:
        """Take over the classes; a second one may move the code of the only one so far."""
        before, self.classes.known = self.classes.known, known
        if known != before:
            only = [known.index(label) for label in before if label in known]
            for rows in (self.training, self.validation):
                rows.y[: rows.count] = only[0] if only else 0

    def snapshot(self) -> dict[str, Any]:
        """Return the rows and the classes as plain data."""
        parts = {"training": self.training.snapshot(), "validation": self.validation.snapshot()}
        return {"known": list(self.classes.known), "columns": self.columns, "texts": self.codes.texts, **parts}

    def restore(self, snapshot: dict[str, Any]) -> Self:
        """Take over the rows and the classes of a snapshot."""
        self.classes.known = tuple(snapshot["known"])
        self.columns, self.codes = list(snapshot["columns"]), FrameCodes(snapshot["texts"])
        self.training, self.validation = (Rows.restored(snapshot[name]) for name in ("training", "validation"))
        return self
