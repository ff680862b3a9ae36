"""Three tests, each wrong with probability at most a level: a candidate is fair, is unfair, is worse than another."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.interventions.cells import Cells
from evenhand.interventions.shown import Shown

__all__ = ["estimated", "gap_contrasts", "outcome_contrasts", "shown_fair", "shown_unfair", "shown_worse"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def gap_contrasts(cells: Cells) -> Floats:
    """Return the weights of the gaps (pairs, K, profiles) over the ordered pairs of values of S."""
    density = cells.density
    return np.array([density[:, a] - density[:, b] for a, b in permutations(range(density.shape[1]), 2)])


def outcome_contrasts(cells: Cells) -> Floats:
    """Return the weights of the outcomes (K, profiles)."""
    return np.asarray(np.einsum("ksg,s->kg", cells.density, cells.prior))


def estimated(tests: Shown, cells: Cells) -> tuple[Floats, Floats]:
    """Return estimates of the outcomes (K,) and the gaps (pairs, K), not a number where nothing is known."""
    gaps = gap_contrasts(cells)
    means = tests.estimate(gaps.reshape(-1, gaps.shape[-1]), 0.0).reshape(gaps.shape[:2])
    return tests.estimate(outcome_contrasts(cells), 1.0), means


def shown_fair(tests: Shown, cells: Cells, limit: float, level: float, among: Bools) -> Bools:
    """Return which candidates (K,) have every gap shown to be below the limit."""
    return _scattered(among, np.all(_gaps_exceed(tests, cells, -limit, level, among), axis=0))


def shown_unfair(tests: Shown, cells: Cells, limit: float, level: float, among: Bools) -> Bools:
    """Return which candidates (K,) have some gap shown to be above the limit."""
    return _scattered(among, np.any(_gaps_exceed(tests, cells, limit, level, among), axis=0))


def shown_worse(tests: Shown, cells: Cells, best: int, level: float, among: Bools, slack: float = 0.0) -> Bools:
    """Return which candidates (K,) have an outcome shown to be below that of the candidate number `best`, or at most
    the slack above it."""
    outcomes, rivals = outcome_contrasts(cells), among & (np.arange(len(among)) != best)
    return _scattered(rivals, tests.exceed(outcomes[best] - outcomes[rivals], -slack, level))


def _gaps_exceed(tests: Shown, cells: Cells, limit: float, level: float, among: Bools) -> Bools:
    """Return which gaps (pairs, candidates among these) are shown to be above the limit."""
    gaps = gap_contrasts(cells)[:, among]
    return tests.exceed(gaps.reshape(-1, gaps.shape[-1]), limit, level).reshape(gaps.shape[:2])


def _scattered(among: Bools, found: Any) -> Bools:
    """Return what was found of some candidates as an array over all (K,)."""
    every = np.zeros_like(among)
    every[among] = found
    return every
