"""Three tests, each wrong with probability at most a level: a candidate is fair, is unfair, is worse than another; and
the ends of intervals in a recommendation's table, each at its own confidence, or all holding at once.
"""

from __future__ import annotations

from itertools import permutations
from statistics import NormalDist
from typing import Any

import numpy as np

from evenhand.interventions.bets import Bets, Contrast, gap, lead, least, outcome
from evenhand.interventions.cells import Evidence
from evenhand.interventions.problem import Problem
from evenhand.interventions.report import Ends
from evenhand.kernels.arrays import Bools, Floats, Ints


def gaps_of(candidates: Ints | range, groups: int) -> list[Contrast]:
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


def growth(
    tests: Bets, named: int | None, groups: int, limit: float, level: float, among: Bools, slack: float
) -> float:
    """Return how many times the trials are needed to show an answer, if the estimates are right and what is shown
    narrows with the root of their number: that one candidate is fair and each other unfair or worse, or that all are
    unfair. Infinity where the estimates say otherwise, or nothing is known."""

    def times(contrasts: list[Contrast], limit: float) -> Floats:
        room = tests.estimate(contrasts) - limit
        short, known = tests.lower(contrasts, level) - limit, [least(one) for one in contrasts]
        wide = np.divide(room - short, room, where=(room > 0) & (short + limit > known), out=np.full(len(room), np.inf))
        return np.asarray(np.maximum(wide, 1.0) ** 2)

    others = np.flatnonzero(among & (np.arange(len(among)) != named))
    needed = times(gaps_of(others, groups), limit).reshape(groups * (groups - 1), len(others)).min(0)
    if named is None:
        return float(needed.max())
    worse = times([lead(named, int(k)) for k in others], -slack)
    fair = times(gaps_of(range(named, named + 1), groups), -limit)
    return float(np.concatenate([fair, np.minimum(needed, worse)]).max())


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


def estimated_ends(problem: Problem, told: Evidence, confidence: float) -> tuple[Ends, Ends]:
    """Return mixture estimates of outcomes and gaps with the ends of normal intervals, each at its own confidence, not
    a number where no trial speaks about them."""
    found, errors = problem.mixture(told), problem.mixture.errors(told)
    width = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    ends = []
    for middle, error, known in zip(found[:2], errors, found[2:], strict=True):
        ends.append(tuple(np.where(known, middle + side * error, np.nan) for side in (0.0, -width, width)))
    return ends[0], ends[1]


def ends_of(problem: Problem) -> int:
    """Return how many ends the intervals of outcomes and gaps have together."""
    return len(problem.candidates) * (2 + len(problem.pairs))


def shown_ends(problem: Problem, tests: Bets, level: float) -> tuple[Ends, Ends]:
    """Return estimates of outcomes and gaps with the ends of their intervals, each end wrong at this level."""
    k, pairs = len(problem.candidates), list(permutations(range(len(problem.groups)), 2))
    outcomes = [outcome(number) for number in range(k)]
    middles, gaps = estimated(tests, k, len(problem.groups))
    highest = -tests.lower([one.reversed() for one in outcomes], level)
    lowest = tests.lower(gaps_of(range(k), len(problem.groups)), level).reshape(gaps.shape)
    highest_gaps = -lowest[[pairs.index((b, a)) for a, b in pairs]]
    return _where_known(middles, tests.lower(outcomes, level), highest), _where_known(gaps, lowest, highest_gaps)


def _where_known(middle: Any, low: Any, high: Any) -> Ends:
    return middle, *(np.where(np.isnan(middle), np.nan, end) for end in (low, high))
