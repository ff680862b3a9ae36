"""Phases: how many there are, how many trials each has, and whole numbers of trials from shares."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.interventions.program import Rows
from evenhand.kernels.arrays import Floats, Ints


class Phase(NamedTuple):
    """One phase: how many trials, the level l that sets clips and radii, and what its trials serve."""

    size: int
    level: int
    rows: Rows


def phase_count(trials: int) -> int:
    """Return n(T) = ceil(log2(10 sqrt T)).

    >>> phase_count(10_000)
    10

    Source: Gao and Feng (2021), algorithm CSR, after Sen et al. (2017), algorithm SRIS.
    """
    return math.ceil(math.log2(10.0 * math.sqrt(trials)))


def phase_sizes(trials: int, phases: int) -> list[int]:
    """Return how many trials each phase has, in proportion to 1/l, rounded so that all are spent.

    >>> phase_sizes(100, 3)
    [55, 27, 18]
    """
    ends = np.cumsum(1.0 / np.arange(1, phases + 1))
    return [int(n) for n in np.diff(np.rint(trials * ends / ends[-1]), prepend=0.0)]


def schedule(trials: int, rows: Rows) -> list[Phase]:
    """Return the phases that spend so many trials, all of which serve the same."""
    sizes = phase_sizes(trials, phase_count(max(trials, 1)))
    return [Phase(size, level, rows) for level, size in enumerate(sizes, 1)]


def looks(trials: int, least: int, rows: Rows) -> list[Phase]:
    """Return phases for tests, which may look at any time: each at least so large, or a quarter of all before it.

    >>> [phase.size for phase in looks(100, 20, Rows())]
    [20, 20, 20, 20, 20]
    >>> [phase.size for phase in looks(100_000, 30, Rows())][4:10]
    [30, 38, 47, 59, 74, 92]
    """
    found: list[Phase] = []
    spent = 0
    while spent < trials:
        size = min(max(least, -(-spent // 4)), trials - spent)
        found.append(Phase(size, len(found) + 1, rows))
        spent += size
    return found


def rounded(wish: Floats, size: int, costs: Floats, allowed: float) -> Ints:
    """Return whole numbers near `wish` that sum to `size` and cost at most `allowed`, if the cheapest can be paid.

    What the fractions leave goes to the largest ones that can still be paid, then to the cheapest wish.

    >>> rounded(np.array([2.5, 0.75, 0.75]), 4, np.array([0.0, 1.0, 1.0]), 1.0)
    array([3, 1, 0])
    """
    flat, price = np.maximum(wish.reshape(-1), 0.0), costs.reshape(-1)
    extra = price - price.min()
    plan = np.floor(flat + 1e-9).astype(np.int64)
    money = allowed - size * float(price.min()) + 1e-9
    while plan.sum() > size or plan @ extra > money:
        over = np.where(plan > 0, extra if plan @ extra > money else plan, -1)
        plan[over.argmax()] -= 1
    order = np.argsort(plan - flat, kind="stable")[: size - int(plan.sum())]
    bill = np.cumsum(extra[order])
    plan[order[(bill <= money - plan @ extra) | (extra[order] == 0.0)]] += 1
    cheapest = np.flatnonzero(extra == 0.0)
    plan[cheapest[flat[cheapest].argmax()]] += size - plan.sum()
    return plan.reshape(wish.shape)
