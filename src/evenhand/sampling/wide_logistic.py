"""Logistic regression on many features, refitted after every few rows: L-BFGS from the old optimum with a kept
curvature.

The curvature is the Hessian at an earlier optimum, factored in the smaller of its two forms: (d + 1) x (d + 1), or by
the Woodbury identity rows x rows. The Hessian of a refit differs little from it, so L-BFGS that starts from it needs
few steps of two products with the rows each. Margins are linear along a step, so the length of a step is found without
the rows. The Hessian is factored anew once the steps that a fresh factor would have saved have cost as much.

Sources: J. Nocedal (1980), "Updating quasi-Newton matrices with limited storage"; M. Woodbury (1950).
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

__all__ = ["Curvature", "WideFit"]

Vector = NDArray[np.float64]
Pair = tuple[Vector, Vector, float]
PAIRS = 12
"""Steps that L-BFGS remembers."""
EXPECTED = 4
"""Steps of a refit whose curvature is fresh."""
RATIO = 16
"""A factor costs about as much as min(n, d) / 16 steps."""
FLAT = 0.1
"""How much of the slope may be left at the end of a step."""
TOLERANCE = 5e-7
"""The largest entry of the last step, after which the coefficients are off by less."""
FLOOR = 1e-12
LIMIT = 500


class Curvature:
    """The Hessian I + A' D A over rows A = (X, 1) at `center`, the intercept without penalty, factored.

    `strength` (n,) is C times the weights of the rows X (n, d).
    """

    def __init__(self, X: NDArray[np.float64], strength: Vector, center: Vector) -> None:
        self.rows, self.center = len(X), center.copy()
        chance = _chances(X @ center[:-1] + center[-1])
        root = np.sqrt(strength * chance * (1.0 - chance))
        self._dual = self.rows <= X.shape[1]
        if self._dual:
            scaled = X * root[:, None]
            hessian = scaled @ scaled.T
            hessian[np.diag_indices(self.rows)] += 1.0
        else:
            scaled = np.column_stack([X, np.ones(self.rows)]) * root[:, None]
            hessian = scaled.T @ scaled
            hessian[np.diag_indices(len(hessian))] += np.append(np.ones(X.shape[1]), FLOOR)
        hessian[np.diag_indices(len(hessian))] += FLOOR * hessian.trace()  # keeps huge ones positive in rounding
        self._factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
        if self._dual:
            self._root, self._solved = root, cho_solve(self._factor, root, check_finite=False)
            self._intercept = max(float(root @ self._solved), FLOOR)

    def solve(self, X: NDArray[np.float64], gradient: Vector) -> Vector:
        """Return the Hessian's inverse times the gradient; X begins with the rows of the Hessian."""
        if not self._dual:
            return np.asarray(cho_solve(self._factor, gradient, check_finite=False))
        seen = self._root * (X[: self.rows] @ gradient[:-1])
        last = (gradient[-1] - self._solved @ seen) / self._intercept
        back = self._root * cho_solve(self._factor, seen + last * self._root, check_finite=False)
        return np.append(gradient[:-1] - back @ X[: self.rows], last)


class WideFit:
    """What is kept from one refit to the next: the curvature, and the steps that a fresh one would have saved."""

    def __init__(self, curvature: Curvature | None = None, excess: int = 0) -> None:
        self.curvature, self.excess = curvature, excess

    def copy(self) -> WideFit:
        """Return a copy; a curvature never changes."""
        return WideFit(self.curvature, self.excess)

    def refit(self, X: NDArray[np.float64], y: NDArray[np.int64], strength: Vector, coef: Vector) -> None:
        """Move `coef` (d + 1,), the intercept last, to the optimum over rows X (n, d) with codes y (n,)."""
        if self.curvature is None:
            self._factor(X, strength, coef)
        steps, allowed = self._descend(X, y, strength, coef), max(PAIRS, min(X.shape) // RATIO)
        self.excess += max(0, steps - EXPECTED)
        if self.excess > allowed:
            self._factor(X, strength, coef)

    def _factor(self, X: NDArray[np.float64], strength: Vector, coef: Vector) -> None:
        self.curvature, self.excess = Curvature(X, strength, coef), 0

    def _descend(self, X: NDArray[np.float64], y: NDArray[np.int64], strength: Vector, coef: Vector) -> int:
        """Descend by L-BFGS and return the number of steps."""
        pairs = deque[Pair](maxlen=PAIRS)
        margins = X @ coef[:-1] + coef[-1]
        pull = strength * (_chances(margins) - y)
        gradient = np.append(coef[:-1] + pull @ X, pull.sum())
        for steps in range(1, LIMIT):
            if steps % (4 * PAIRS) == 0:
                self._factor(X, strength, coef)
                pairs.clear()
            step = -self._newton(X, pairs, gradient)
            if np.abs(step).max() <= TOLERANCE:
                coef += step
                return steps
            change = X @ step[:-1] + step[-1]
            length = _length(margins, change, y, strength, coef, step, float(gradient @ step))
            margins = margins + length * change
            pull = strength * (_chances(margins) - y)
            coef += length * step
            before, gradient = gradient, np.append(coef[:-1] + pull @ X, pull.sum())
            turned, went = gradient - before, length * step
            if (bent := float(turned @ went)) > 0.0:
                pairs.append((went, turned, bent))
        return LIMIT

    def _newton(self, X: NDArray[np.float64], pairs: deque[Pair], gradient: Vector) -> Vector:
        """Return the inverse Hessian, as the pairs of steps correct the curvature, times the gradient."""
        assert self.curvature is not None
        rest, along = gradient.copy(), []
        for went, turned, bent in reversed(pairs):
            along.append(float(went @ rest) / bent)
            rest -= along[-1] * turned
        found = self.curvature.solve(X, rest)
        for (went, turned, bent), share in zip(pairs, reversed(along), strict=True):
            found += (share - float(turned @ found) / bent) * went
        return found


def _length(
    margins: Vector, change: Vector, y: NDArray[np.int64], strength: Vector, coef: Vector, step: Vector, slope: float
) -> float:
    """Return how far to go along a step: 1, or where nearly nothing of the slope is left, by Newton and bisection."""
    length, low, high = 1.0, 0.0, np.inf
    inner, square = float(coef[:-1] @ step[:-1]), float(step[:-1] @ step[:-1])
    for _ in range(60):
        chance = _chances(margins + length * change)
        left = float(change @ (strength * (chance - y))) + inner + length * square
        if abs(left) <= FLAT * abs(slope):
            break
        low, high = (low, length) if left > 0.0 else (length, high)
        length -= left / (float((change * change) @ (strength * chance * (1.0 - chance))) + square)
        if not low < length < high:
            length = 0.5 * (low + high) if high < np.inf else 4.0 * low
    return length


def _chances(margins: Vector) -> Vector:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * margins)))
