"""The two divergences that say how well samples of candidate j speak about candidate k.

    M_kj        = ln E_k exp(P_k(V | pa V) / P_j(V | pa V)),
    D_kj^{a,b}  = ln (E_{k,a} exp|w| + E_{k,b} exp|w|),   w = (P_k P_a - P_k P_b) / (P_j P_b),

with E_{k,a} the expectation under candidate k and do(S = a), and P_a the product of the tables of C with S = a. Both
are evaluated by log-sum-exp: exponents pass 300. Where k has mass and j has none, they are infinite. Neither is
symmetric.

Source: T. Gao and Y. Feng, "Identifying Best Fair Intervention" (2021), for both; M is from R. Sen, K. Shanmugam, A. G.
Dimakis, S. Shakkottai, "Identifying Best Interventions through Online Importance Sampling" (ICML 2017).
"""

from __future__ import annotations

import numpy as np

from evenhand.kernels.arrays import Floats


def outcome_weights(density: Floats) -> Floats:
    """Return r (K, K, S, profiles): k against j, infinite where j has no mass and k has."""
    return _ratio(density[:, None], density[None, :])


def gap_weights(density: Floats, a: int, b: int) -> Floats:
    """Return w (K, K, profiles) for the gap between do(S = a) and do(S = b), on samples of j under do(S = b)."""
    mine, other = density[:, None, a], density[:, None, b]
    weights = _ratio(mine - other, density[None, :, b])
    return np.where((density[None, :, b] == 0) & ((mine > 0) | (other > 0)), np.inf, weights)


def outcome_divergence(density: Floats, law: Floats, prior: Floats) -> Floats:
    """Return M (K, K) from densities and laws (K, S, profiles) and the law of S (S,)."""
    weights = outcome_weights(density)
    mass = np.broadcast_to((law * prior[:, None])[:, None], weights.shape)
    return _log_mean_exp(weights, mass, (2, 3))


def gap_divergence(density: Floats, law: Floats, a: int, b: int) -> Floats:
    """Return D^{a,b} (K, K) from densities and laws (K, S, profiles)."""
    weights = np.abs(gap_weights(density, a, b))
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
