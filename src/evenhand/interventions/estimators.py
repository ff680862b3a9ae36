"""Estimates of every candidate's outcome and gaps from trials of all candidates: the paper's clipped weights, and
mixture weights.

Both work on the scale where outcomes lie in [0, 1] and return sums over samples of outcome times weight; the second
moments of the same terms give standard errors. An estimate without a usable sample is marked undefined: nothing is
concluded from it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.interventions.cells import Cells, Evidence
from evenhand.interventions.divergences import gap_weights, outcome_weights

__all__ = ["Clipped", "Estimates", "Estimator", "Mixture", "inverse"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Estimates(NamedTuple):
    """Outcomes (K,), gaps (pairs, K) over the ordered pairs (a, b) of values of S, which of them are defined, and
    standard errors."""

    outcomes: Floats
    gaps: Floats
    outcome_known: Bools
    gap_known: Bools
    outcome_error: Floats
    gap_error: Floats


Estimator = Callable[[Evidence, int, bool], Estimates]
"""(evidence, level, with_errors) -> estimates; without errors those are zeros."""


class Clipped:
    """The estimators (3) and (4) of Gao and Feng (2021): importance weights, clipped at 2 l times the divergence in
    phase l.

        Y_k    = 1/Z_k sum_j sum_samples of j, S as it came        1/M_kj Y r 1{r <= 2 l M_kj},        Z_k = sum_j n_j
        / M_kj, zeta_k = 1/O_k sum_j sum_samples of j under do(S = b)      1/D_kj Y w 1{|w| <= 2 l D_kj},      O_k =
        sum_j n_{b,j} / D_kj.

    2 l is the paper's 2 log2(2 / eps) at eps = 2^-(l-1). Candidates j of infinite divergence are not used for k.
    """

    def __init__(self, cells: Cells, outcome_divergence: Floats, gap_divergence: Floats) -> None:
        self._divergences = (outcome_divergence, gap_divergence)
        self._trust = (inverse(outcome_divergence), inverse(gap_divergence))
        self._cells = cells
        self._weights: dict[int, tuple[Floats, Floats]] = {}

    def __call__(self, evidence: Evidence, level: int, with_errors: bool) -> Estimates:
        by_outcome, by_gap = self._at(level)
        k, values = self._cells.density.shape[:2]
        natural, forced = evidence.first
        pairs = list(permutations(range(values), 2))
        scale = self._trust[0] @ evidence.trials[0].sum(1)
        outcomes = _divided(by_outcome.reshape(k, -1) @ natural.reshape(-1), scale)
        scales = np.array([self._trust[1][a, b] @ evidence.trials[1, :, b] for a, b in pairs]).reshape(-1, k)
        sums = [by_gap[i].reshape(k, -1) @ forced[:, b].reshape(-1) for i, (_, b) in enumerate(pairs)]
        gaps = _divided(np.array(sums).reshape(-1, k), scales)
        errors = np.zeros(k), np.zeros((len(pairs), k))
        if with_errors:
            second, other = evidence.second
            errors = (
                _error(
                    by_outcome.reshape(k, k, -1),
                    natural.reshape(k, -1),
                    second.reshape(k, -1),
                    evidence.trials[0].sum(1),
                    scale,
                ),
                np.array(
                    [
                        _error(by_gap[i], forced[:, b], other[:, b], evidence.trials[1, :, b], scales[i])
                        for i, (_, b) in enumerate(pairs)
                    ]
                ).reshape(-1, k),
            )
        return Estimates(outcomes, gaps, scale > 0, scales > 0, *errors)

    def _at(self, level: int) -> tuple[Floats, Floats]:
        if level not in self._weights:
            density = self._cells.density
            pairs = list(permutations(range(density.shape[1]), 2))
            limit, trust = 2.0 * level * self._divergences[0], self._trust[0]
            by_outcome = _clipped(outcome_weights(density), limit[:, :, None, None], trust[:, :, None, None])
            by_gap = np.zeros((len(pairs), *by_outcome.shape[:2], density.shape[2]))
            for i, (a, b) in enumerate(pairs):
                limit, trust = 2.0 * level * self._divergences[1][a, b], self._trust[1][a, b]
                by_gap[i] = _clipped(gap_weights(density, a, b), limit[:, :, None], trust[:, :, None])
            self._weights[level] = by_outcome, by_gap
        return self._weights[level]


class Mixture:
    """Estimators with mixture weights, the balance heuristic of E. Veach and L. Guibas (SIGGRAPH 1995); ours for this
    problem.

    A sample counts for candidate k under do(S = s) with weight density[k, s] / sum over j, s' of n_{j,s'} density[j,
    s'], whatever it was drawn under; n_{j,s'} counts the trials of j in which S was s', forced or not. Nothing is
    clipped, the weights are bounded, and both directions of a gap are one number.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._possible = cells.base.sum(1) > 0

    def __call__(self, evidence: Evidence, level: int, with_errors: bool) -> Estimates:
        density, prior = self._cells.density, self._cells.prior
        k, values, profiles = density.shape
        pairs = list(permutations(range(values), 2))
        trials = evidence.trials.sum(0)
        mixture = trials.reshape(-1) @ density.reshape(-1, profiles)
        share = inverse(mixture)
        means = density @ (evidence.first.sum((0, 1, 2)) * share)
        known = ~((density > 0) & (mixture == 0) & self._possible).any(2)
        gaps = np.array([means[:, a] - means[:, b] for a, b in pairs]).reshape(-1, k)
        gap_known = np.array([known[:, a] & known[:, b] for a, b in pairs]).reshape(-1, k)
        outcome_known = known[:, prior > 0].all(1)
        errors = np.zeros(k), np.zeros((len(pairs), k))
        if with_errors:
            first, second = (part.sum(0).reshape(-1, profiles) for part in evidence[1:])
            strata = trials.reshape(-1)

            def error(numerator: Floats) -> Floats:
                return _error((numerator * share)[:, None], first, second, strata, np.ones(k))

            errors = (
                error(np.einsum("ksg,s->kg", density, prior)),
                np.array([error(density[:, a] - density[:, b]) for a, b in pairs]).reshape(-1, k),
            )
        return Estimates(means @ prior, gaps, outcome_known, gap_known, *errors)


def inverse(values: Floats) -> Floats:
    """Return 1 / values; zero where they are infinite or zero."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=(values > 0) & np.isfinite(values))


def _clipped(weights: Floats, limit: Floats, trust: Floats) -> Floats:
    kept = (np.abs(weights) <= limit) & (trust > 0)
    return np.where(kept, weights, 0.0) * trust


def _divided(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _error(weights: Floats, first: Floats, second: Floats, trials: Floats, scale: Floats) -> Floats:
    """Return the standard error of a stratified sum: weights (K, strata or 1, profiles), moments (strata, profiles),
    trials (strata,)."""
    used = trials > 1
    squares = np.einsum("kjg,jg->kj", np.broadcast_to(weights**2, (weights.shape[0], *second.shape)), second)
    sums = np.einsum("kjg,jg->kj", np.broadcast_to(weights, (weights.shape[0], *first.shape)), first)
    spread = np.where(used, squares - sums**2 / np.maximum(trials, 1), squares)
    factor = np.where(used, trials / np.maximum(trials - 1, 1), 1.0)
    return _divided(np.sqrt(np.maximum(spread * factor, 0.0).sum(1)), scale)
