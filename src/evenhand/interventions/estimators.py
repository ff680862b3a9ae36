"""Estimates of every candidate's outcome and gaps from all trials: the paper's clipped weights, and mixture weights.

Both work on the scale where outcomes lie in [0, 1] and return sums over samples of outcome times weight. An estimate
without a usable sample is marked undefined: nothing is concluded from it. Standard errors come from the mixture form:
its weights are bounded, and its normal intervals have their nominal coverage, where those of the clipped form fall
short while weights are heavy-tailed.

Two divergences say how badly samples of candidate j inform about candidate k:

    M_kj        = ln E_k exp(P_k(V | pa V) / P_j(V | pa V)),
    D_kj^{a,b}  = ln (E_{k,a} exp|w| + E_{k,b} exp|w|),   w = (P_k P_a - P_k P_b) / (P_j P_b),

with E_{k,a} the expectation under candidate k and do(S = a), and P_a the product of the tables of C with S = a. Both
are evaluated by log-sum-exp: exponents pass 300. Where k has mass and j has none, they are infinite. Neither is
symmetric.

Source: R. Gao and H. Feng, "Identifying Best Fair Intervention" (2021), for both; M is from R. Sen, K. Shanmugam, A. G.
Dimakis, S. Shakkottai, "Identifying Best Interventions through Online Importance Sampling" (ICML 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from evenhand.interventions.cells import Cells, Evidence
from evenhand.kernels.arrays import Bools, Floats, Ints


def outcome_divergence(density: Floats, law: Floats, prior: Floats, samples: int | None = None) -> Floats:
    """Return M (K, K) from densities and laws (K, S, profiles) and the law of S (S,), for samples of the first few
    candidates alone where their number is given."""
    weights = _ratio(density[:, None], density[None, :samples])
    mass = np.broadcast_to((law * prior[:, None])[:, None], weights.shape)
    return _log_mean_exp(weights, mass, (2, 3))


def gap_divergence(density: Floats, law: Floats, a: int, b: int, samples: int | None = None) -> Floats:
    """Return D^{a,b} (K, K) from densities and laws (K, S, profiles), as `outcome_divergence` does."""
    mine, other, given = density[:, None, a], density[:, None, b], density[None, :samples, b]
    weights = np.where((given == 0) & ((mine > 0) | (other > 0)), np.inf, np.abs(_ratio(mine - other, given)))
    mass = np.broadcast_to((law[:, a] + law[:, b])[:, None], weights.shape)
    return _log_mean_exp(weights, mass, (2,))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """Return top / bottom with 0 / 0 = 0 and no warnings."""
    top, bottom = np.broadcast_arrays(top, bottom)
    out = np.where(top == 0, 0.0, np.where(top > 0, np.inf, -np.inf))
    return np.divide(top, bottom, out=out, where=bottom > 0)


def _log_mean_exp(exponent: Floats, mass: Floats, axes: tuple[int, ...]) -> Floats:
    exponent = np.where(mass > 0, exponent, -np.inf)
    top = exponent.max(axes, keepdims=True)
    finite = np.where(np.isfinite(top), top, 0.0)
    total = (mass * np.exp(np.minimum(exponent - finite, 0.0))).sum(axes)
    return np.where(np.isinf(top).reshape(total.shape), np.inf, finite.reshape(total.shape) + np.log(total))


_Clip = tuple[Ints, Ints, Ints, Floats]
"""Where weights are clipped, candidates k, j and cell, and weight times trust there."""


class Estimates(NamedTuple):
    """Outcomes (K,), gaps (pairs, K) over the ordered pairs (a, b) of values of S, and which of them are defined."""

    outcomes: Floats
    gaps: Floats
    outcome_known: Bools
    gap_known: Bools


class Clipped:
    """The estimators (3) and (4) of Gao and Feng (2021): importance weights, clipped at 2 l times the divergence.

        Y_k    = 1/Z_k sum_j sum 1/M_kj Y r 1{r <= 2 l M_kj},    over samples of j, S as it came,
        zeta_k = 1/O_k sum_j sum 1/D_kj Y w 1{|w| <= 2 l D_kj},  over samples of j under do(S = b),

    with Z_k = sum_j n_j / M_kj and O_k = sum_j n_bj / D_kj from the numbers of samples that came.

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

    def __call__(self, evidence: Evidence, level: int) -> Estimates:
        trials, first = evidence.trials, evidence.first
        k = len(first[0])
        shown = [(trials[0].sum(1), first[0].reshape(k, -1))]
        shown += [(trials[1, :, b], first[1, :, b]) for _, b in self._pairs]
        values, scales = np.zeros((2, len(shown), k))
        for i, ((of, by, cell, weights), (number, sums)) in enumerate(zip(self._at(level), shown, strict=True)):
            scales[i] = self._trust[i] @ number
            values[i] = (self._top[i] * (self._trust[i] @ (sums * self._bottom[i]))).sum(1)
            values[i] -= np.bincount(of, weights * sums[by, cell], k)
        values, known = np.divide(values, scales, out=np.zeros_like(values), where=scales > 0), scales > 0
        return Estimates(values[0], values[1:], known[0], known[1:])

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
    """Estimators with mixture weights: the balance heuristic of E. Veach and L. Guibas (SIGGRAPH 1995), ours here.

    A sample counts for candidate k under do(S = s) with weight density[k, s] / sum over j, s' of n_{j,s'} density[j,
    s'], whatever it was drawn under; n_{j,s'} counts the trials of j in which S was s', forced or not. Nothing is
    clipped, the weights are bounded, and both directions of a gap are one number.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._pairs = list(permutations(range(cells.density.shape[1]), 2))
        self._possible = cells.base.sum(1) > 0

    def __call__(self, evidence: Evidence, level: int = 0) -> Estimates:
        density, prior, pairs = self._cells.density, self._cells.prior, self._pairs
        mixture = self._mixture(evidence)
        means = density @ (evidence.first.sum((0, 1, 2)) * inverse(mixture))
        known = ~((density > 0) & (mixture == 0) & self._possible).any(2)
        gaps = np.array([means[:, a] - means[:, b] for a, b in pairs])
        gap_known = np.array([known[:, a] & known[:, b] for a, b in pairs])
        return Estimates(means @ prior, gaps, known[:, prior > 0].all(1), gap_known)

    def errors(self, evidence: Evidence) -> tuple[Floats, Floats]:
        """Return the standard errors of outcomes (K,) and gaps (pairs, K): stratified by candidate and S.

        A stratum of one trial counts with its square, which is on the safe side.
        """
        density = self._cells.density
        trials, first, second = (part.sum(0).reshape(density.shape[0] * density.shape[1], -1) for part in evidence[:3])
        several, share = trials[:, 0] > 1, inverse(self._mixture(evidence))
        share_of_mean = np.where(several, inverse(trials[:, 0]), 0.0)
        bessel = np.where(several, trials[:, 0] * inverse(trials[:, 0] - 1.0), 1.0)

        def error(numerator: Floats) -> Floats:
            weights = numerator * share
            spread = np.maximum(weights**2 @ second.T - (weights @ first.T) ** 2 * share_of_mean, 0.0)
            return np.asarray(np.sqrt((spread * bessel).sum(1)))

        gaps = np.array([error(density[:, a] - density[:, b]) for a, b in self._pairs])
        return error(np.einsum("ksg,s->kg", density, self._cells.prior)), gaps

    def _mixture(self, evidence: Evidence) -> Floats:
        """Return sum over j, s of n_{j,s} density[j, s], by profile."""
        trials, density = evidence.trials.sum(0), self._cells.density
        return np.asarray(trials.reshape(-1) @ density.reshape(trials.size, -1))


def inverse(values: Floats) -> Floats:
    """Return 1 / values; zero where they are infinite or zero."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=(values > 0) & np.isfinite(values))


def _clipped(weights: Floats, limit: Floats, trust: Floats) -> _Clip:
    """Return where the weights (K, K, cells) pass the limit, and weight times trust there."""
    at = k, j, cell = np.nonzero((np.abs(weights) > limit) & (trust > 0))
    return k, j, cell, (weights * trust)[at]
