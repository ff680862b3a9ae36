"""The fair mixture pi*: which proportions of the groups make the trained classifier's worst risk smallest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Floats

NODES = 60
"""Points of the Gauss-Hermite quadrature; the margins are Gaussian, the loss is smooth."""


def logistic_optimum(means: Floats, mixture: Floats) -> tuple[Floats, float]:
    """Return (coef (d,), intercept) that minimises the population logistic loss of Gaussian groups.

    The margin of group z and label y is Gaussian with mean w.mu_yz + b and standard deviation |w|, so that the loss
    is a one-dimensional integral, done by Gauss-Hermite quadrature. `means` is (m, 2, d), `mixture` (m,).
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    d = means.shape[2]
    signs = np.array([-1.0, 1.0])
    shares = 0.5 * mixture[:, None, None] * weights

    def loss(parameters: Floats) -> tuple[float, Floats]:
        w, b = parameters[:d], parameters[d]
        size = float(np.sqrt(w @ w)) + 1e-300
        margins = signs[:, None] * ((means @ w + b)[:, :, None] + size * nodes)
        slopes = -shares * expit(-margins) * signs[:, None]
        along = (slopes * nodes).sum() / size * w
        return float((shares * np.logaddexp(0.0, -margins)).sum()), np.append(
            np.einsum("zyk,zyd->d", slopes, means) + along, slopes.sum()
        )

    start = np.append(np.einsum("z,zd->d", mixture, means[:, 1] - means[:, 0]) + 1e-3, 0.0)
    found: Any = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-10})
    return found.x[:d], float(found.x[d])


def fair_mixture(risks: Callable[[Floats], Floats], groups: int) -> Floats:
    """Return the mixture (m,) with the smallest max_z risks(mixture)_z.

    Two groups: the root of the difference of their risks along the segment, or its better end. More: Nelder-Mead
    from several starts.
    """
    from scipy.optimize import brentq, minimize

    if groups == 2:
        edge = 1e-6

        def gap(share: float) -> float:
            first, second = risks(np.array([share, 1.0 - share]))
            return float(first - second)

        low, high = gap(edge), gap(1.0 - edge)
        if low * high > 0:
            ends = [np.array([s, 1.0 - s]) for s in (edge, 1.0 - edge)]
            return min(ends, key=lambda mixture: float(risks(mixture).max()))
        share = float(brentq(gap, edge, 1.0 - edge, xtol=1e-9))
        return np.array([share, 1.0 - share])

    def worst(free: Floats) -> float:
        return float(risks(_softmax(free)).max())

    starts = [np.zeros(groups), *(2.0 * np.eye(groups))]
    options = {"xatol": 1e-5, "fatol": 1e-9, "maxiter": 400 * groups}
    tries = [minimize(worst, start, method="Nelder-Mead", options=options) for start in starts]
    return _softmax(min(tries, key=lambda result: float(result.fun)).x)


def _softmax(free: Floats) -> Floats:
    powers = np.exp(free - free.max())
    return np.asarray(powers / powers.sum())
