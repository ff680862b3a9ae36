"""The ends of intervals in a recommendation's table: each at its own confidence, or all holding at once."""

from __future__ import annotations

from itertools import permutations
from statistics import NormalDist
from typing import Any

import numpy as np

from evenhand.interventions.bets import Bets
from evenhand.interventions.cells import Evidence
from evenhand.interventions.problem import Problem
from evenhand.interventions.report import Ends
from evenhand.interventions.shown import outcome
from evenhand.interventions.verdicts import estimated, gaps_of


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
