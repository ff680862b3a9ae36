"""Verdicts from estimates at a radius r = 2^-l: fair, unfair, too low; gaps count as known to 3 r, outcomes to 5 r."""

from __future__ import annotations

import numpy as np

from evenhand.interventions.estimators import Estimates
from evenhand.kernels.arrays import Bools, Floats


def worst_gap(estimates: Estimates) -> Floats:
    """Return the largest |gap| of each candidate (K,) over the pairs of which anything is known."""
    return np.asarray(np.where(estimates.gap_known, np.abs(estimates.gaps), 0.0).max(0))


def fair(estimates: Estimates, limit: float, radius: float) -> Bools:
    """Return which candidates (K,) have every gap known and |gap| + 3 radius below the limit."""
    return estimates.gap_known.all(0) & (worst_gap(estimates) + 3.0 * radius < limit)


def unfair(estimates: Estimates, limit: float, radius: float) -> Bools:
    """Return which candidates (K,) have a |gap| - 3 radius above the limit."""
    return worst_gap(estimates) - 3.0 * radius > limit


def low(estimates: Estimates, among: Bools, radius: float) -> Bools:
    """Return which candidates (K,) have an outcome more than 5 radius below the highest `among`."""
    rivals = among & estimates.outcome_known
    best = estimates.outcomes[rivals].max() if rivals.any() else -np.inf
    return estimates.outcome_known & (best > estimates.outcomes + 5.0 * radius)


def highest(estimates: Estimates, pool: Bools) -> int:
    """Return the number of the highest outcome in a pool that is not empty; unknown outcomes come last."""
    outcomes = np.where(estimates.outcome_known, estimates.outcomes, -1e300)
    return int(np.where(pool, outcomes, -np.inf).argmax())
