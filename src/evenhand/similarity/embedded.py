"""A metric in many dimensions, learned on a few fixed axes, with certified intervals.

With orthonormal rows B and D = x - y, what the axes miss of a pair is rho = |(I - B'B)D|, and |d^2 - d_B^2| <= ||G||
(2|BD| rho + rho^2), where d_B is the distance between Bx and By under the same G. That is a tolerance of each pair.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arguments import array, real, yes_or_no
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, VerdictError, wanted
from evenhand.policy.conversation import Configured, locked
from evenhand.registry import register
from evenhand.similarity.metric import EQUAL
from evenhand.similarity.moments import MomentDistance
from evenhand.similarity.reading import LARGEST_FEATURE

__all__ = ["EmbeddedDistance"]


@register("similarity/embedded-distance", kind="part")
class EmbeddedDistance(Configured):
    """Learn a distance in d dimensions on r fixed axes: r(r + 1)/2 numbers, with an interval for each pair.

    The intervals hold the truth if the radius is large enough and no verdict is wrong, whatever the axes miss: a pair
    that they miss much of has a wide interval.

    Parameters
    ----------
    basis : the axes (r, d), orthonormal rows, such as `fit_metric(...).basis` or principal components.
    radius : at least the Frobenius norm of A'A; it cannot be left out, as it bounds what the axes miss.
    error_rate : the share of verdicts that may be wrong, as in `MomentDistance`.
    precision : an interval of d narrower than this is not cut any more.

    Attributes
    ----------
    learner : the `MomentDistance` on the axes, with the log of verdicts.

    Raises
    ------
    ArgumentError
        If the rows are not orthonormal to 1e-6, or a number is out of range.

    Examples
    --------
    >>> learner = EmbeddedDistance([[1.0, 0.0, 0.0]], radius=1.0)
    >>> number = learner.verdict([0.9, 0.0, 0.0], [0.1, 0.0, 0.0], 0.4, unfair=True)
    >>> learner.bounds([0.9, 0.0, 0.0], [0.1, 0.0, 0.0])[2]
    0.4
    >>> learner.bounds([0.9, 0.2, 0.0], [0.1, 0.0, 0.0])[2] > 0.4
    True
    """

    def __init__(self, basis: ArrayLike, *, radius: float, error_rate: float = 0.0, precision: float = 0.02) -> None:
        super().__init__()
        what = "orthonormal rows (r, d), r <= d"
        self.basis = array("basis", basis, what, dimensions=2)
        rows, d = self.basis.shape
        if rows > d or rows == 0 or np.abs(self.basis @ self.basis.T - np.eye(rows)).max() > 1e-6:
            mend = "np.linalg.svd(rows, full_matrices=False)[2] makes rows orthonormal"
            raise ArgumentError(wanted("basis", what, self.basis.shape, mend))
        self.radius = real("radius", radius, above=0, high=LARGEST_FEATURE)
        self.learner = MomentDistance(radius=self.radius, error_rate=error_rate, precision=precision)
        self.error_rate, self.precision = self.learner.error_rate, self.learner.precision

    @locked
    def bounds(self, x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
        """Return (low, guess, high) of the distance between two individuals, all in [0, 1].

        Raises
        ------
        ArgumentError
            If x or y are not d finite numbers.
        """
        one, other, missed = self._seen(x, y)
        low, guess, high = self.learner.bounds(one, other)
        most = math.inf if high >= 1.0 else high * high
        return math.sqrt(max(low * low - missed, 0.0)), guess, min(math.sqrt(most + missed), 1.0)

    @locked
    def verdict(
        self, x: ArrayLike, y: ArrayLike, gap: float, unfair: bool, *, auditor: str | None = None
    ) -> int | None:
        """Take the verdict that treating x and y differently by `gap` was unfair or not; return its id.

        None is returned where the axes miss so much of the pair that the verdict teaches nothing about them.

        Raises
        ------
        ArgumentError, VerdictError
            As `verdict` of a metric learner does.
        """
        one, other, missed = self._seen(x, y)
        gap, unfair = real("gap", gap, low=0, high=1), yes_or_no("unfair", unfair)
        if gap <= EQUAL and unfair:
            above = f"a difference above {EQUAL:g}, which is rounding, where treatment was unfair"
            raise VerdictError(wanted("gap", above, gap, "equal treatment is never unfair"))
        square = gap * gap + (missed if unfair else -missed)
        if not 0.0 <= square <= 1.0:
            return None
        return self.learner.verdict(one, other, math.sqrt(square), unfair, auditor=auditor)

    @locked
    def withdraw(self, verdict: int) -> None:
        """Take a verdict back: the learner believes exactly what it would if it had never been given.

        Raises
        ------
        VerdictError
            If there is no such verdict.
        """
        self.learner.withdraw(verdict)

    @property
    def guarantee(self) -> str:
        """What the intervals are: "certified", or "measured, not certified" where verdicts may be wrong."""
        return self.learner.guarantee

    def fresh(self) -> Self:
        """Return a learner of the same configuration that knows nothing."""
        return self._made_again()

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        return {"config": self.config(), "learner": self.learner}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the learner that `snapshot` was taken of."""
        embedded = cls(**snapshot["config"])
        embedded.learner = snapshot["learner"]
        return embedded

    @classmethod
    def examples(cls) -> Iterator[Self]:
        """Yield learners to check: one that knows nothing and one that was told something."""
        yield cls([[1.0, 0.0]], radius=1.0)
        taught = cls([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0]], radius=2.0, error_rate=0.1)
        taught.verdict([0.5, 0.2, 0.1], [0.1, 0.0, 0.1], 0.2, True)
        yield taught

    def _seen(self, x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return two individuals on the axes, and how far the square of their distance there may be from the true
        one."""
        read = []
        what = f"{self.basis.shape[1]} finite numbers"
        for name, value in zip("xy", in_step(("x", x), ("y", y)), strict=True):
            read.append(array(name, value, what, dimensions=1, largest=LARGEST_FEATURE))
            if read[-1].size != self.basis.shape[1]:
                raise ArgumentError(wanted(name, what, read[-1].size))
        one, other = (self.basis @ value for value in read)
        away, along = read[0] - read[1], float(np.linalg.norm(one - other))
        rest = float(np.linalg.norm(away - self.basis.T @ (one - other)))
        rest = 0.0 if rest <= 1e-12 * float(np.linalg.norm(away)) else rest
        return one, other, self.radius * (2.0 * along * rest + rest * rest)
