"""Three tests, each wrong with probability at most a level: a candidate is fair, is unfair, is worse than another."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.interventions.bets import Bets
from evenhand.interventions.shown import Contrast, gap, lead, outcome

__all__ = ["estimated", "gaps_of", "shown_fair", "shown_unfair", "shown_worse"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def gaps_of(candidates: NDArray[np.int64] | range, groups: int) -> list[Contrast]:
    """Return the gaps of candidates, by ordered pair of values of S and then by candidate."""
    return [gap(int(k), a, b) for a, b in permutations(range(groups), 2) for k in candidates]


def estimated(tests: Bets, candidates: int, groups: int) -> tuple[Floats, Floats]:
    """Return estimates of the outcomes (K,) and the gaps (pairs, K), not a number where nothing is known."""
    gaps = tests.estimate(gaps_of(range(candidates), groups)).reshape(-1, candidates)
    return tests.estimate([outcome(k) for k in range(candidates)]), gaps


def shown_fair(tests: Bets, groups: int, limit: float, level: float, among: Bools) -> Bools:
    """Return which candidates (K,) have every gap shown to be below the limit."""
    return _scattered(among, np.all(_gaps_exceed(tests, groups, -limit, level, among), axis=0))


def shown_unfair(tests: Bets, groups: int, limit: float, level: float, among: Bools) -> Bools:
    """Return which candidates (K,) have some gap shown to be above the limit."""
    return _scattered(among, np.any(_gaps_exceed(tests, groups, limit, level, among), axis=0))


def shown_worse(tests: Bets, best: int, level: float, among: Bools, slack: float = 0.0) -> Bools:
    """Return which candidates (K,) have an outcome shown to be below that of the candidate number `best`, or at most
    the slack above it."""
    rivals = among & (np.arange(len(among)) != best)
    leads = [lead(best, int(j)) for j in np.flatnonzero(rivals)]
    return _scattered(rivals, tests.exceed(leads, -slack, level))


def _gaps_exceed(tests: Bets, groups: int, limit: float, level: float, among: Bools) -> Bools:
    """Return which gaps (pairs, candidates among these) are shown to be above the limit."""
    named = np.flatnonzero(among)
    found = tests.exceed(gaps_of(named, groups), limit, level)
    return np.asarray(found).reshape(groups * (groups - 1), len(named))


def _scattered(among: Bools, found: Any) -> Bools:
    """Return what was found of some candidates as an array over all (K,)."""
    every = np.zeros_like(among)
    every[among] = found
    return every
