"""Whether a mean changed over the rows of a log, and what it is since.

Under a constant mean v, bets on more than v over the first s rows and on less than v over the others multiply to an
E(v, s) that is 1 at most in expectation, and so do those the other way round. The mean of E(v, s) over some s and both
directions is small for some v unless the mean changed: the least over v is an e-value against a constant mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.audit.sequences import ODDS, Book, Books
from evenhand.kernels.arrays import Floats

FIRST, PER_OCTAVE = 16, 4
GOLDEN = (math.sqrt(5) - 1) / 2
NARROWINGS = 40


@dataclass(frozen=True)
class Change:
    """A mean reward that is shown to change over the rows of a log.

    Attributes
    ----------
    evidence : the e-value against a constant mean; it is 20 or more in at most one of twenty logs of a constant mean.
    row : the row after which the change shows most clearly.
    low, high : the interval of the mean over the rows since; it holds for whichever row is found.
    """

    evidence: float
    row: int
    low: float
    high: float


def split_rows(rows: int) -> list[int]:
    """Return the numbers of rows before which and after which means are compared.

    >>> split_rows(40)
    [16, 19, 22, 26, 32, 38]
    """
    found: list[int] = []
    while (row := int(FIRST * 2 ** (len(found) / PER_OCTAVE))) < rows:
        found.append(row)
    return found


def change_in(whole: Books, splits: dict[int, Books], error: float) -> Change | None:
    """Return the change of a mean in [0, 1], None where it is not shown at this error.

    Parameters
    ----------
    whole, splits : the books after all rows, and after some, by the number of rows.
    """
    if not splits:
        return None
    before, after = list(splits.values()), [whole.since(books) for books in splits.values()]
    rising, falling = _wealth_of_sides(before), _wealth_of_sides(after)

    def evidence(mean: float) -> Floats:
        """Return ln E(mean, s) for each s (n_splits,), the mean of both directions."""
        more, less = (side(mean) for side in rising)
        later_more, later_less = (side(mean) for side in falling)
        return np.asarray(np.logaddexp(more + later_less, less + later_more) - math.log(2), np.float64)

    logs = evidence(_least(lambda mean: float(np.logaddexp.reduce(evidence(mean))), 0.0, 1.0))
    found = float(np.logaddexp.reduce(logs)) - math.log(len(logs))
    if found < -math.log(error):
        return None
    clearest = int(logs.argmax())
    low, high = after[clearest].interval(error / len(logs), 0.0, 1.0)
    return Change(math.exp(min(found, 700.0)), list(splits)[clearest], min(low, high), max(low, high))


def _wealth_of_sides(many: Sequence[Books]) -> tuple[Callable[[float], Floats], Callable[[float], Floats]]:
    """Return ln K of bets on more than a mean, and on less, as functions of the mean."""
    more, less = _wealth([books.below for books in many]), _wealth([books.above for books in many])
    return more, lambda mean: less(-mean)


def _wealth(many: Sequence[Sequence[Book]]) -> Callable[[float], Floats]:
    gains = np.array([[book.gains for book in books] for books in many])
    rows = np.array([books[0].rows for books in many])[:, None, None]
    shift = np.array([[book.shift for book in books] for books in many])[:, :, None] / rows
    count = math.log(gains.shape[1] * gains.shape[2])

    def wealth(mean: float) -> Floats:
        logs = gains - rows * np.log1p(ODDS * np.maximum(mean + shift, 0.0))
        return np.asarray(np.logaddexp.reduce(logs.reshape(len(logs), -1), axis=1) - count, np.float64)

    return wealth


def _least(convex: Callable[[float], float], low: float, high: float) -> float:
    """Return where a convex function is least, by golden section."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = convex(left), convex(right)
    for _ in range(NARROWINGS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = convex(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = convex(right)
    return (low + high) / 2
