"""The difference in mean between a group and all others, from rows that lie close together.

A run is a stretch of rows that are all of the group, or all of others. The first row of a run is paired with the first
row of the next, at most so many rows away, and each row is used once. Means that drift together cancel in a pair. The
other rows of a run are left out: where rows come in batches, each with a mean of its own, the rows of a run are not
independent; and whether a run goes on may depend on its values, as with a learner, so that its mean is biased.

D in [-1, 1] is the difference of a pair. Half of the wealth is bet on a mean of D above the tolerance e, half on one
below -e:

    K = 1/2 K of (1 + D) / (1 + e) + 1/2 K of (1 - D) / (1 + e)

where K of y is the mean of prod (1 + c (y - 1)) over the bets c of `evenhand.audit.confidence_sequences`. While the
groups are alike K reaches 1/d with probability at most d, however often it is looked at.

Source: B. Chugg, S. Cortes-Gomez, B. Wilder, A. Ramdas, "Auditing fairness by betting", NeurIPS 2023; the pairs of
first rows are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from evenhand.audit.confidence_sequences import BETS, BettingProcess, Book
from evenhand.kernels.arrays import Floats

WITHIN = 20
"""How many rows a pair may lie apart."""
CHUNK = 10_000


class Gap:
    """Pairs of one group with all others, row after row.

    Attributes
    ----------
    pairs : how many there are.
    """

    def __init__(self, within: int = WITHIN) -> None:
        self.within, self.pairs = within, 0
        self._rows = 0
        self._inside: bool | None = None
        self._waiting: tuple[int, float] | None = None
        self._fresh: list[float] = []
        self._books = BettingProcess()

    def skip(self, rows: int) -> None:
        """Pass over rows of the run that the last row is of."""
        self._rows += rows

    def take(self, inside: bool, value: float) -> float | None:
        """Take in whether a row is of the group, and its value in [0, 1]; return the difference if it made a pair."""
        self._rows += 1
        if inside == self._inside:
            return None
        self._inside = inside
        if self._waiting is None or self._waiting[0] < self._rows - self.within:
            self._waiting = self._rows, value
            return None
        other = self._waiting[1]
        self._waiting = None
        difference = value - other if inside else other - value
        self.pairs += 1
        self._fresh.append(difference)
        if len(self._fresh) >= CHUNK:
            self._settle()
        return difference

    def interval(self, error: float) -> tuple[float, float]:
        """Return the bounds of the mean difference, group less others; `error` is the chance that a bound is ever on
        the wrong side."""
        if not self.pairs:
            return -1.0, 1.0
        self._settle()
        return self._books.interval(error, -1.0, 1.0)

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue exactly here."""
        books = [[book.rows, book.shift, book.gains] for book in (*self._books.below, *self._books.above)]
        counts = {"pairs": self.pairs, "rows": self._rows}
        return counts | {"inside": self._inside, "waiting": self._waiting, "fresh": self._fresh, "books": books}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot."""
        self.pairs, self._rows = snapshot["pairs"], snapshot["rows"]
        self._inside, waiting = snapshot["inside"], snapshot["waiting"]
        self._waiting = None if waiting is None else (waiting[0], waiting[1])
        self._fresh = list(snapshot["fresh"])
        books = [Book(rows, shift, np.array(gains)) for rows, shift, gains in snapshot["books"]]
        self._books = BettingProcess(books[: len(books) // 2], books[len(books) // 2 :])

    def _settle(self) -> None:
        if self._fresh:
            fresh = np.array(self._fresh)
            self._books.add([(fresh, 1.0)], [(-fresh, 1.0)])
            self._fresh.clear()


class Gaps:
    """The gap of each of several groups from all others, row after row; of two groups that of the first."""

    def __init__(self, groups: int) -> None:
        self.gaps = [Gap() for _ in range(groups if groups > 2 else 1)]

    def take(self, group: int, value: float) -> None:
        """Take in a row: the position of its group, and its value in [0, 1]."""
        for number, gap in enumerate(self.gaps):
            gap.take(number == group, value)

    def snapshot(self) -> list[dict[str, Any]]:
        """Return everything that `restore` needs to continue exactly here."""
        return [gap.snapshot() for gap in self.gaps]

    def restore(self, snapshot: list[dict[str, Any]]) -> None:
        """Continue from a snapshot of the gaps of as many groups."""
        for gap, found in zip(self.gaps, snapshot, strict=True):
            gap.restore(found)

    def shown(self, error: float) -> float | None:
        """Return by how much a group is shown to differ from the others at least, 0 if none is; None before there is a
        pair. `error` is the chance that this is ever too much for any group."""
        if not any(gap.pairs for gap in self.gaps):
            return None
        bounds = [gap.interval(error / len(self.gaps)) for gap in self.gaps]
        return max(0.0, *(max(low, -high) for low, high in bounds))


def wealth_of(differences: Floats, tolerance: float) -> Iterator[Floats]:
    """Yield the logarithm of the wealth K after each difference, in pieces."""
    logs = np.zeros((2, len(BETS)))
    for start in range(0, len(differences), CHUNK):
        part = differences[start : start + CHUNK]
        sides = np.array([part, -part])[:, :, None]
        steps = logs[:, None, :] + np.cumsum(np.log1p(BETS * ((1 + sides) / (1 + tolerance) - 1)), axis=1)
        logs = steps[:, -1]
        most = steps.max(axis=(0, 2))
        mean = np.exp(steps - most[None, :, None]).sum(axis=(0, 2)) / (2 * len(BETS))
        yield most + np.array([math.log(one) for one in mean])
