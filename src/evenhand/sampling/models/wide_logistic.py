"""Logistic regression on many features, refitted after every few rows: L-BFGS from the old optimum with a kept
curvature.

Three facts make a refit cheap. As long as there are no more rows than features, the rows are written in coordinates of
their own span (`GramFactor`), so that a sweep costs n^2 and not n d. At the old optimum the gradient of the old rows is
zero, so the first step needs the new rows alone. The Hessian of a refit differs little from an earlier one that takes
in the new rows (`Curvature`), so L-BFGS that starts from it needs two or three sweeps. Margins are linear along a step,
so the length of a step is found without the rows. The Hessian is factored anew once the steps that a fresh one would
have saved have cost as much.

Source: J. Nocedal (1980), "Updating quasi-Newton matrices with limited storage".
"""

from __future__ import annotations

from collections import deque
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.sampling.models.curvature import Curvature
from evenhand.sampling.models.gram import GramFactor

Vector = NDArray[np.float64]
Pair = tuple[Vector, Vector, float]
PAIRS = 12
"""Steps that L-BFGS remembers."""
EXPECTED = 3
"""Steps of a refit whose curvature is fresh."""
RATIO = 8
"""A new curvature costs about as much as min(n, d) / 8 steps."""
FEW = 4
"""Up to so many new rows are taken into the curvature: more cost more than the steps that they save."""
FLAT = 0.1
"""How much of the slope may be left at the end of a step."""
TOLERANCE = 5e-7
"""The largest entry of the last step, after which the coefficients are off by less."""
FORESEEN = 1e-7
"""The largest entry of the next step, by the ratio of the last two, that is not worth a sweep."""
PLAIN = 40
"""Steps without a curvature, each a twentieth of its cost or less, before one is computed."""
LIMIT = 500


class WideFit:
    """What is kept from one refit to the next.

    Attributes
    ----------
    bends : C s p (1 - p) of each known row (n,) when the curvature took it in, 0 for rows that it does not know.
    base : of how many rows the curvature was factored; later ones it has taken in.
    excess : the steps that a fresh curvature would have saved.
    place : the coefficients (n,) in coordinates of the rows' span, as long as there are no more rows than features.
    """

    def __init__(self) -> None:
        self.curvature: Curvature | None = None
        self.gram = GramFactor()
        self.bends, self.place = np.zeros(0), np.zeros(0)
        self.base, self.excess = 0, 0

    def copy(self) -> WideFit:
        """Return a copy."""
        twin = WideFit()
        twin.__dict__ |= self.__dict__  # arrays are replaced, never changed
        twin.gram = self.gram.copy()
        twin.curvature = None if self.curvature is None else self.curvature.copy()
        return twin

    def refit(self, X: NDArray[np.float64], y: NDArray[np.int64], strength: Vector, coef: Vector, warm: bool) -> None:
        """Move `coef` (d + 1,), the intercept last, to the optimum over rows X (n, d) with codes y (n,).

        Only a warm start, from an optimum over some of the rows, is worth a curvature before `PLAIN` steps have failed.
        """
        if self.curvature is None and not warm:
            theta = np.append(coef[-1], coef[:-1])
            steps = self._descend(X, y, strength, theta, 0, limit=PLAIN)
            coef[-1], coef[:-1] = theta[0], theta[1:]
            if steps < PLAIN:
                return
        (count, d), known = X.shape, len(self.bends)
        table, place = X, coef[:-1]
        if count <= d:
            self.gram.extend(X)
            table = self.gram.factor
            old = self.place if known else self.gram.coordinates(X @ coef[:-1])
            place = np.append(old, np.zeros(count - len(old)))
        elif self.gram.rows:
            self.gram, self.curvature, self.place = GramFactor(), None, np.zeros(0)
        self.bends = np.append(self.bends, np.zeros(count - known))
        theta = np.append(coef[-1], place)
        if self.curvature is None:
            self._factor(table, strength, theta)
            known = 0
        else:
            self.curvature.invert()
        steps = self._descend(table, y, strength, theta, known)
        self._keep(X, theta, coef)
        self.excess += max(0, steps - EXPECTED)
        assert self.curvature is not None
        late = self.excess > max(PAIRS, min(count, d) // RATIO)
        if late or self.curvature.absorbed > max(PAIRS, self.curvature.size // 4):
            self._factor(table, strength, theta)

    def _keep(self, X: NDArray[np.float64], theta: Vector, coef: Vector) -> None:
        coef[-1] = theta[0]
        if self.gram.rows:
            self.place = theta[1:]
            coef[:-1] = self.gram.shares(self.place) @ X
        else:
            coef[:-1] = theta[1:]

    def _factor(self, table: NDArray[np.float64], strength: Vector, theta: Vector) -> None:
        chance = _chances(table @ theta[1:] + theta[0])
        self.bends, self.base, self.excess = strength * chance * (1.0 - chance), len(table), 0
        self.curvature = Curvature(table, self.bends)

    def _begin(
        self, table: NDArray[np.float64], y: NDArray[np.int64], strength: Vector, theta: Vector, known: int
    ) -> Vector:
        """Return the gradient at the old optimum, where that of the known rows is zero."""
        new = table[known:]
        chance = _chances(new @ theta[1:] + theta[0])
        pull = strength[known:] * (chance - y[known:])
        gradient = np.append(pull.sum(), pull @ new)
        if known == 0:
            gradient[1:] += theta[1:]
        elif len(new) <= FEW:
            self.bends[known:] = strength[known:] * chance * (1.0 - chance)
            self._absorb(table, known)
        return gradient

    def _absorb(self, table: NDArray[np.float64], first: int) -> None:
        assert self.curvature is not None
        for i in range(first, len(table)):
            if self.bends[i] > 0.0:
                self.curvature.absorb(table[i, : i + 1] if self.gram.rows else table[i], float(self.bends[i]))

    def _descend(
        self, table: NDArray[np.float64], y: NDArray[np.int64], strength: Vector, theta: Vector, known: int,
        *, limit: int = LIMIT,
    ) -> int:  # fmt: skip
        """Descend by L-BFGS and return the number of steps."""
        pairs = deque[Pair](maxlen=PAIRS)
        gradient = self._begin(table, y, strength, theta, known)
        before = 0.0
        for steps in range(1, limit):
            if self.curvature is not None and steps % (4 * PAIRS) == 0:
                self._factor(table, strength, theta)
                pairs.clear()
            step = -self._newton(pairs, gradient)
            largest = float(np.abs(step).max())
            theta += step
            if largest <= TOLERANCE or largest * largest <= FORESEEN * before:
                return steps
            slope = float(gradient @ step)
            margins = table @ theta[1:] + theta[0]
            pull = strength * (_chances(margins) - y)
            after = np.append(pull.sum(), theta[1:] + pull @ table)
            if abs(float(after @ step)) > FLAT * abs(slope):
                change = table @ step[1:] + step[0]
                theta -= step
                step *= _length(margins - change, change, y, strength, theta, step, slope)
                theta += step
                pull = strength * (_chances(table @ theta[1:] + theta[0]) - y)
                after = np.append(pull.sum(), theta[1:] + pull @ table)
                largest = 0.0
            turned, gradient, before = after - gradient, after, largest
            if (bent := float(turned @ step)) > 0.0:
                pairs.append((step, turned, bent))
        return limit

    def _newton(self, pairs: deque[Pair], gradient: Vector) -> Vector:
        """Return the inverse Hessian, as the pairs of steps correct the curvature, times the gradient."""
        rest, along = gradient.copy(), []
        for went, turned, bent in reversed(pairs):
            along.append(float(went @ rest) / bent)
            rest -= along[-1] * turned
        if self.curvature is not None:
            found = self.curvature.solve(rest)
        else:
            found = rest * (pairs[-1][2] / float(pairs[-1][1] @ pairs[-1][1]) if pairs else 1.0)
        for (went, turned, bent), share in zip(pairs, reversed(along), strict=True):
            found += (share - float(turned @ found) / bent) * went
        return found

    def saved(self) -> list[Any] | None:
        """Return what `resumed` needs besides the rows."""
        blocks = np.array(self.gram.blocks, np.int64)
        return [self.bends, self.base, self.excess, self.place, blocks] if self.curvature is not None else None

    @classmethod
    def resumed(cls, saved: list[Any], X: NDArray[np.float64]) -> Self:
        """Return the fit that was saved, with all that was computed of rows X (n, d) computed again."""
        fit = cls()
        fit.bends, fit.base, fit.excess, fit.place = saved[0].copy(), saved[1], saved[2], saved[3].copy()
        for count in saved[4]:
            fit.gram.extend(X[:count])
        table = fit.gram.factor if fit.gram.rows else X
        known = table[: fit.base, : fit.base] if fit.gram.rows else table[: fit.base]
        fit.curvature = Curvature(known, fit.bends[: fit.base])
        if fit.base < len(X):
            fit.curvature.invert()
            fit._absorb(table, fit.base)
        return fit


def _length(
    margins: Vector, change: Vector, y: NDArray[np.int64], strength: Vector, theta: Vector, step: Vector, slope: float
) -> float:
    """Return how far to go along a step: where nearly nothing of the slope is left, by Newton and bisection."""
    length, low, high = 1.0, 0.0, np.inf
    inner, square = float(theta[1:] @ step[1:]), float(step[1:] @ step[1:])
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
