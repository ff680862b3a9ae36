"""Probabilities that were written with few decimals: by how much their sum may miss 1.

A number that was rounded is off by at most half a unit of its last decimal, so that a sum misses 1 by at most these
halves together: rows rounded to significant digits have more decimals in their small numbers. How many decimals were
written is read from each number: the fewest from two on with which it reads the same. A sum that misses 1 by less is
scaled to it, and said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats

NEARLY = 1e-5
"""By how much any sum may miss 1 without a word: that of single precision, or of a few numbers with six decimals."""
MOST = 0.05
"""By how much no sum may miss 1, however many numbers were rounded: so much may as well be one that was forgotten."""
EXACT = 1e-12
"""By how much a sum of floats misses 1 that is as good as can be: what was scaled once is not scaled again."""
DECIMALS = (6, 5, 4, 3, 2)
"""Of one decimal alone nothing follows: .3, .3 and .3 are a slip more often than three thirds."""
PRECISION = 6e-8
"""By how much a decimal fraction is off in single precision."""


class Summed(NamedTuple):
    """Rows of probabilities, scaled to sum to 1.

    Attributes
    ----------
    rows : the probabilities (n_rows, k); of a row whose sum is wrong they are not to be used.
    sums, allowed : what each row summed to, and by how much that may miss 1 (n_rows,).
    """

    rows: Floats
    sums: Floats
    allowed: Floats

    @property
    def wrong(self) -> int | None:
        """The first row whose sum misses 1 by more than is allowed, None if none does."""
        wrong = np.abs(self.sums - 1) > self.allowed
        return int(wrong.argmax()) if wrong.any() else None

    def hint(self, row: int) -> str:
        """Return what to do about a row whose sum is wrong."""
        few = f"{self.rows.shape[1]} numbers with these decimals can miss it by at most {self.allowed[row]:.2g}"
        return f"{few}; write more decimals, or correct them"

    @property
    def missed(self) -> float:
        """By how much a row missed 1 at most."""
        return float(np.abs(self.sums - 1).max(initial=0.0))


def summed(rows: Floats) -> Summed:
    """Return rows (n_rows, k) of numbers >= 0, scaled to sum to 1, with what is allowed of their sums.

    >>> summed(np.array([[0.3333, 0.3333, 0.3333]])).rows.round(6).tolist()
    [[0.333333, 0.333333, 0.333333]]
    >>> summed(np.array([[0.3, 0.3, 0.3]])).wrong
    0
    """
    sums = rows.sum(axis=1)
    missed = np.abs(sums - 1)
    allowed, off = np.full(len(rows), NEARLY), missed > NEARLY
    allowed[off] = np.clip(_rounding(rows[off]), NEARLY, MOST) + EXACT
    by = np.where((missed > EXACT) & (sums > 0), sums, 1.0)
    return Summed(rows / by[:, None], sums, allowed)


def scaled_note(what: str, missed: float) -> tuple[str, ...]:
    """Return what is to be known of probabilities that missed a sum of 1 by so much at most, nothing where that is the
    accuracy of floats.

    >>> scaled_note("The chances of all arms", 0.0001)
    ('The chances of all arms miss the sum 1 by up to 0.0001, as rounded numbers do; they are scaled to sum to 1.',)
    """
    if missed <= NEARLY:
        return ()
    return (f"{what} miss the sum 1 by up to {missed:.2g}, as rounded numbers do; they are scaled to sum to 1.",)


def by_arm(lists: Sequence[Any], drawn: Iterable[int], arms: int) -> Floats:
    """Return the chances of all arms (n_rows, arms) from the list that each decision states, which is shorter before an
    arm joined; a decision without a list was certain.

    >>> by_arm([[0.5, 0.5], None, [0.2, 0.3, 0.5]], [0, 1, 2], 3).tolist()
    [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]]
    """
    found = np.zeros((len(lists), arms))
    for row, stated, arm in zip(found, lists, drawn, strict=True):
        if isinstance(stated, list):
            row[: len(stated)] = stated
        else:
            row[arm] = 1.0
    return found


def _rounding(rows: Floats) -> Floats:
    """Return by how much the sum of each row may be off: half a unit of the last decimal of each number, one more than
    six where it was written with more. A zero says nothing of decimals and has those of the finest number beside it."""
    halves = np.full(rows.shape, 0.5 * 10.0 ** -(DECIMALS[0] + 1))
    for decimals in DECIMALS:
        read = rows.round(decimals)
        halves[(np.abs(rows - read) <= PRECISION) & (read > 0)] = 0.5 * 10.0**-decimals
    finest = np.where(rows > 0, halves, MOST).min(axis=1, keepdims=True)
    return np.asarray(np.where(rows > 0, halves, finest).sum(axis=1))
