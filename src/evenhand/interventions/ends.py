"""The ends of intervals in a recommendation's table: each at its own confidence, or all holding at once."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from evenhand.interventions.cells import Evidence
from evenhand.interventions.problem import Problem
from evenhand.interventions.report import Ends
from evenhand.interventions.shown import Shown
from evenhand.interventions.verdicts import gap_contrasts, outcome_contrasts

__all__ = ["estimated_ends", "shown_ends"]


def estimated_ends(problem: Problem, told: Evidence, confidence: float) -> tuple[Ends, Ends]:
    """Return mixture estimates of outcomes and gaps with the ends of normal intervals, each at its own confidence, not
    a number where no trial speaks about them."""
    found, errors = problem.mixture(told), problem.mixture.errors(told)
    width = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    ends = []
    for middle, error, known in zip(found[:2], errors, found[2:], strict=True):
        ends.append(tuple(np.where(known, middle + side * error, np.nan) for side in (0.0, -width, width)))
    return ends[0], ends[1]


def shown_ends(problem: Problem, tests: Shown, delta: float) -> tuple[Ends, Ends]:
    """Return estimates of outcomes and gaps with the ends of intervals that hold all at once."""
    outcomes, gaps = outcome_contrasts(problem.cells), gap_contrasts(problem.cells)
    level = delta / (len(outcomes) * (2 + len(gaps)))

    def ends(weights: Any, mass: float) -> Ends:
        middle = tests.estimate(weights, mass)
        low, high = tests.lower(weights, level, mass), -tests.lower(-weights, level, -mass)
        return middle, np.where(np.isnan(middle), np.nan, low), np.where(np.isnan(middle), np.nan, high)

    of_gaps = ends(gaps.reshape(-1, gaps.shape[-1]), 0.0)
    return ends(outcomes, 1.0), tuple(part.reshape(gaps.shape[:2]) for part in of_gaps)
