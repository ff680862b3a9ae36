"""When does a grouping of rows say nothing?

A column of ages, prices or names groups rows too: into as many groups as rows, of which none can be judged. A fair coin
falls alike n times with a probability of 2^-n, and each of m groups may err with a probability of error / m: so fewer
than log2(m / error) rows of a group say nothing, whatever they hold. A grouping says nothing where the groups that can
be judged hold less than half of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.data.tables import column, named_alike
from evenhand.errors import ArgumentError, TableError, Wording, expected
from evenhand.kernels.arrays import Bools, Ints
from evenhand.labels import combined_label

if TYPE_CHECKING:
    import pandas as pd

NAMED = 3
"""How many groups a note names."""
MERGE = "merge small ones, or choose a column with fewer values, such as months for days or bands for ages"
"""What to do about too many groups."""


def least_rows(groups: int, error: float = 0.05) -> int:
    """Return how many rows a group needs before they can say anything.

    >>> least_rows(2), least_rows(500)
    (6, 14)
    """
    return max(1, math.ceil(math.log2(groups / error)))


def written_alike(names: Sequence[object]) -> tuple[str, ...]:
    """Return a note on groups whose names differ only in capitals or in blanks around them.

    >>> written_alike(["f", "Female", "female "])
    ("'Female' and 'female ' count as different groups; if they are one, write them alike.",)
    """
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(str(name).strip().casefold(), []).append(repr(name))
    same = (" and ".join(alike) for alike in found.values() if len(alike) > 1)
    return tuple(f"{alike} count as different groups; if they are one, write them alike." for alike in same)


class Grouping(NamedTuple):
    """Groups of rows.

    Attributes
    ----------
    names, sizes : the groups and their rows (n_groups,).
    judged : whether anything can be said of each (n_groups,).

    Examples
    --------
    >>> ages = Grouping.of_rows([20.5, 21.1, 22.7], np.array([1, 2, 9]))
    >>> ages.enough, ages.note("ages", "have too few rows")
    (True, ('2 of 3 ages, with 25% of the rows, have too few rows: 20.5, 21.1.',))
    """

    names: Sequence[object]
    sizes: Ints
    judged: Bools

    @classmethod
    def of_rows(cls, names: Sequence[object], sizes: Ints, error: float = 0.05) -> Self:
        """Return groups that are judged by their own rows alone."""
        return cls(names, sizes, sizes >= least_rows(len(sizes), error))

    @property
    def enough(self) -> bool:
        """Whether the groups that can be judged hold half of the rows."""
        return bool(2 * self.sizes[self.judged].sum() >= self.sizes.sum())

    def refuse(self, name: str, what: str = "groups with rows to train and to validate") -> None:
        """Refuse a column that makes too many groups, such as one that identifies rows; `name` is what was given, and
        `what` was wanted.

        Raises
        ------
        ArgumentError
            If the groups that can be judged hold less than half of the rows.
        """
        if not self.enough:
            got = f"{len(self.sizes):,} groups in {self.sizes.sum():,} rows"
            raise ArgumentError(f"{name}: expected {what}, got {got}; {MERGE}")

    def note(self, what: str, why: str, of: str = "rows") -> tuple[str, ...]:
        """Return which groups cannot be judged and why, nothing where all can; `what` are they, `why` a verb, and `of`
        what they consist of."""
        few = np.flatnonzero(~self.judged)
        if not few.size:
            return ()
        part = self.sizes[few].sum() / self.sizes.sum()
        rows = "under 1%" if part < 0.01 else f"{part:.0%}"
        named = ", ".join(repr(self.names[at]) for at in few[:NAMED]) + (", ..." if few.size > NAMED else "")
        said = f"{few.size:,} of {len(self.sizes):,} {what}, with {rows} of the {of}, {why}: {named}"
        return (f"{said}." if self.enough or len(self.sizes) <= 2 else f"{said}; {MERGE}.",)


def groups_in(frame: pd.DataFrame, names: Sequence[str]) -> NDArray[Any]:
    """Return the group (n,) of each row: its label in a column, or in several ("White & Male").

    Raises
    ------
    TableError
        If a column is missing or named twice, a cell is empty, or two groups read alike.
    """
    used_once("group", list(names), {})
    columns = [named_alike(column(frame, name)).tolist() for name in names]
    values = [cell if len(cell) > 1 else cell[0] for cell in zip(*columns, strict=True)]
    known = {cell: combined_label(cell) for cell in values}
    read: dict[str, Any] = {}
    for cell, name in known.items():
        if read.setdefault(str(name), cell) != cell:
            got, where = Wording(f"{read[str(name)]!r} and {cell!r}"), Wording("columns ", list(names))
            raise TableError(expected(where, "groups that read differently", got, "rename one"))
    return np.array([known[cell] for cell in values])


def used_once(name: str, columns: list[str], taken: Mapping[str, str]) -> None:
    """Refuse a column that is named twice or is taken by another use; `taken` says for what."""
    for number, column_ in enumerate(columns):
        if column_ in taken or column_ in columns[:number]:
            use = taken.get(column_, f"already in {name}")
            raise TableError(expected(name, "columns that have no other use", column_, f"it is {use}"))
