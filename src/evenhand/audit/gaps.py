"""The difference in mean between a group and all others, from pairs of rows that lie close together.

A row of the group is paired with a row of another group at most so many rows away, and each row is used once, so that
means that drift together cancel. D in [-1, 1] is the difference of a pair. Half of the wealth is bet on a mean of D
above the tolerance e, half on one below -e:

    K = 1/2 K of (1 + D) / (1 + e) + 1/2 K of (1 - D) / (1 + e)

with the bets of `evenhand.evaluation.sequences`. While the groups are alike K reaches 1/d with probability at most d,
however often it is looked at.

Source: B. Chugg, S. Cortes-Gomez, B. Wilder, A. Ramdas, "Auditing fairness by betting", NeurIPS 2023; the pairs within
a few rows are ours.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

import numpy as np

from evenhand.evaluation.sequences import BETS, Steps, lower_bound
from evenhand.kernels.arrays import Floats

__all__ = ["WITHIN", "Gap", "Gaps", "wealth_of"]

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
        self._waiting: deque[tuple[int, bool, float]] = deque()
        self._fresh: list[float] = []
        self._above, self._below = Steps(), Steps()

    def take(self, inside: bool, value: float) -> float | None:
        """Take in whether a row is of the group, and its value in [0, 1]; return the difference if it made a pair."""
        self._rows += 1
        waiting = self._waiting
        while waiting and waiting[0][0] < self._rows - self.within:
            waiting.popleft()
        if not waiting or waiting[0][1] == inside:
            waiting.append((self._rows, inside, value))
            return None
        other = waiting.popleft()[2]
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
        low = lower_bound([self._above], error / 2, -1.0, 1.0)
        return low, -lower_bound([self._below], error / 2, -1.0, 1.0)

    def _settle(self) -> None:
        if self._fresh:
            fresh = np.array(self._fresh)
            self._above.add(fresh, 1.0)
            self._below.add(-fresh, 1.0)
            self._fresh.clear()


class Gaps:
    """The gap of each of several groups from all others, row after row; of two groups that of the first."""

    def __init__(self, groups: int, within: int = WITHIN) -> None:
        self.gaps = [Gap(within) for _ in range(groups if groups > 2 else 1)]

    def take(self, group: int, value: float) -> None:
        """Take in a row: the position of its group, and its value in [0, 1]."""
        for number, gap in enumerate(self.gaps):
            gap.take(number == group, value)

    def shown(self, error: float, group: int | None = None) -> float | None:
        """Return by how much a group (any, where none is named) is shown to differ from the others at least, 0 if it is
        not; None before there is a pair. `error` is the chance that this is ever too much for any group."""
        chosen = self.gaps if group is None or len(self.gaps) == 1 else [self.gaps[group]]
        if not any(gap.pairs for gap in chosen):
            return None
        bounds = [gap.interval(error / len(self.gaps)) for gap in chosen]
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
