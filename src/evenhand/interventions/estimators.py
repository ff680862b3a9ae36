"""Estimates of every candidate's outcome and gaps from trials of all candidates: the paper's clipped weights, and
mixture weights.

Both work on the scale where outcomes lie in [0, 1] and return sums over samples of outcome times weight; the second
moments of the same terms give standard errors. An estimate without a usable sample is marked undefined: nothing is
concluded from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.interventions.cells import Cells, Evidence

__all__ = ["Clipped", "Estimates", "Estimator", "Mixture", "inverse"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
CLIP = np.dtype([("k", np.int64), ("j", np.int64), ("cell", np.int64), ("weight", np.float64)])
_Clip = NDArray[np.void]


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

    2 l is the paper's 2 log2(2 / eps) at eps = 2^-(l-1). Candidates j of infinite divergence are not used for k. A
    weight is a ratio of a number of k and one of j, so the sums are products of small matrices, less the few terms
    that are clipped.
    """

    def __init__(self, cells: Cells, outcome_divergence: Floats, gap_divergences: Sequence[Floats]) -> None:
        density, k = cells.density, cells.density.shape[0]
        self._pairs = list(permutations(range(density.shape[1]), 2))
        self._divergences = [outcome_divergence, *gap_divergences]
        self._trust = [inverse(divergence) for divergence in self._divergences]
        self._top = [density.reshape(k, -1), *(density[:, a] - density[:, b] for a, b in self._pairs)]
        self._bottom = [inverse(density.reshape(k, -1)), *(inverse(density[:, b]) for _, b in self._pairs)]
        self._clips: dict[int, list[_Clip]] = {}

    def __call__(self, evidence: Evidence, level: int, with_errors: bool) -> Estimates:
        trials, first, second = evidence
        k = len(first[0])
        shown = [(trials[0].sum(1), first[0].reshape(k, -1), second[0].reshape(k, -1))]
        shown += [(trials[1, :, b], first[1, :, b], second[1, :, b]) for _, b in self._pairs]
        values, scales, errors = np.zeros((3, len(shown), k))
        for i, (clip, (number, one, two)) in enumerate(zip(self._at(level), shown, strict=True)):
            scales[i] = self._trust[i] @ number
            values[i] = (self._top[i] * (self._trust[i] @ (one * self._bottom[i]))).sum(1)
            if clip.size:
                values[i] -= np.bincount(clip["k"], clip["weight"] * one[clip["j"], clip["cell"]], k)
            if with_errors:
                weights = self._trust[i][..., None] * self._top[i][:, None] * self._bottom[i]
                weights[clip["k"], clip["j"], clip["cell"]] = 0.0
                errors[i] = _error(weights, one, two, number, scales[i])
        values, known = _divided(values, scales), scales > 0
        return Estimates(values[0], values[1:], known[0], known[1:], errors[0], errors[1:])

    def _at(self, level: int) -> list[_Clip]:
        """Return the terms that are clipped, of the outcome and then of each ordered pair."""
        if level not in self._clips:
            self._clips[level] = [
                _clipped(top[:, None] * bottom, 2.0 * level * divergence[..., None], trust[..., None])
                for top, bottom, divergence, trust in zip(
                    self._top, self._bottom, self._divergences, self._trust, strict=True
                )
            ]
        return self._clips[level]


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


def _clipped(weights: Floats, limit: Floats, trust: Floats) -> _Clip:
    """Return where the weights (K, K, cells) pass the limit, and weight times trust there."""
    k, j, cell = np.nonzero((np.abs(weights) > limit) & (trust > 0))
    clip = np.zeros(k.size, CLIP)
    clip["k"], clip["j"], clip["cell"] = k, j, cell
    clip["weight"] = (weights * trust)[k, j, cell]
    return clip


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
