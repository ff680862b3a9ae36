"""The value of a distribution over the rows of a log, and its interval after any number of them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from evenhand.evaluation.candidates import Candidate
from evenhand.evaluation.logged import Logged
from evenhand.evaluation.models import Estimates
from evenhand.evaluation.sequences import Steps, lower_bound
from evenhand.evaluation.weighing import PRIOR, Means, Rows, add_up, weigh_given, weigh_learning, weigh_levelled
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import entry

__all__ = ["Course", "Stationary", "look_rounds"]

Stationary = Literal["dr", "ips", "snips", "adaptive"]
CHUNK = 1 << 15
"""Rows that are weighed at once."""
LOOKS = 60
FEW = 4096
"""So many products of a distribution and expected rewards are computed beforehand."""


def look_rounds(rounds: int) -> list[int]:
    """Return the rounds after which the curve has a point: at most 60, closer together at first."""
    looks: list[int] = np.unique(np.geomspace(min(10, rounds), rounds, LOOKS).round().astype(np.int64)).tolist()
    return looks


class Course:
    """A distribution followed through a log, row by row, in memory that does not grow.

    Parameters
    ----------
    logged, candidate : the log and the distribution.
    estimator : what `value` is.
    estimates : rewards that a model expects, None for the means of the rows before.
    largest : the largest weight, where it is known before the data.

    Attributes
    ----------
    rounds, weight, squares, most : the rows so far, the sums of w and w^2, and the largest w.
    last : the steps of the rows that were weighed last, and by how much each may be below and above 0 at most.
    terms : the x and y of these rows, of which the value is sum x / sum y.
    """

    def __init__(
        self,
        logged: Logged,
        candidate: Candidate,
        estimator: Stationary,
        estimates: Estimates | None = None,
        largest: float | None = None,
    ) -> None:
        self.logged, self.candidate, self.estimator = logged, candidate, estimator
        self.estimates, self.largest = estimates, largest
        arms = len(logged.arms)
        self._past = Means(np.zeros(arms), np.full(arms, 1 / PRIOR), np.array([0.0, 1.0]))
        mixed = largest is not None and estimator != "ips"
        self._below, self._above = [Steps() for _ in range(1 + mixed)], [Steps() for _ in range(1 + 2 * mixed)]
        self.rounds, self.most = 0, 0.0
        self.weight = self.squares = 0.0
        self._sums: Floats = np.zeros(5)
        self.last: tuple[Floats, Floats, Floats] = np.zeros(0), np.zeros(0), np.zeros(0)
        self.terms: tuple[Floats, Floats] = np.zeros(0), np.zeros(0)

    def take(self, until: int, bounded: bool = True, by_row: bool = False) -> None:
        """Weigh rows up to `until`, or as many as fit in a chunk; `bounded` keeps what an interval needs, `by_row` the
        terms of each row."""
        alone = self.estimator in ("ips", "snips") or (self.estimator == "dr" and self.estimates is not None)
        if alone and not bounded and not by_row:
            self._add_up(until)
            return
        start, until = self.rounds, min(until, self.rounds + CHUNK)
        weights, steps, tops = self._weigh(start, until)
        stakes = self._stakes(start, until)
        paid = weights * self.logged.rewards[start:until]
        self._count(weights, paid, steps, stakes)
        self.rounds = until
        if not bounded:
            return
        self._below[0].add(paid, 0.0, stakes)
        if self.largest is not None:
            self._above[-1].add(-paid, self.largest, stakes)
            self.last = paid, np.zeros(len(paid)), np.full(len(paid), self.largest)
        if self.largest is None or self.estimator != "ips":
            self._above[0].add(weights - paid - 1.0, 1.0, stakes)  # w (1 - R), whose mean is 1 less the value
        if self.largest is not None and self.estimator != "ips":
            self.last = steps, self.largest * tops, self.largest + tops
            self._below[1].add(steps, self.last[1], stakes)
            self._above[1].add(-steps, self.last[2], stakes)

    @property
    def value(self) -> float:
        """The value so far."""
        return self.found()[0]

    @property
    def effective_rounds(self) -> float:
        """(sum w)^2 / sum w^2: so many rows of the candidate's own would say as much."""
        return self.weight**2 / self.squares if self.squares > 0 else 0.0

    def interval(self, error: float, low: float = 0.0, high: float = 1.0) -> tuple[float, float]:
        """Return the bounds now; `error` is the chance that a bound is ever on the wrong side. The value is known to
        lie in [low, high]."""
        return lower_bound(self._below, error / 2, low, 1.0), -lower_bound(self._above, error / 2, -high, 0.0)

    def normal(self, level: float) -> tuple[float, float]:
        """Return the normal interval, for this row alone and many rows."""
        from scipy.stats import norm

        value, error, _ = self.found()
        wide = float(norm.isf((1 - level) / 2)) * error
        return value - wide, value + wide

    def _add_up(self, until: int) -> None:
        """Add up rows whose weights depend on nothing before them, in one pass."""
        logged, candidate, estimates, part = self.logged, self.candidate, self.estimates, slice(self.rounds, until)
        one, every = candidate.probabilities, np.zeros((1, 1)) if estimates is None else estimates.rewards
        drawn = logged.codes[part], logged.rewards[part], logged.chances[part]
        rows = Rows(*drawn, candidate.which[:1] if len(one) == 1 else candidate.which[part], one)
        of = np.zeros(1, np.int64) if estimates is None or len(every) == 1 else estimates.of[part]
        known = len(one) * len(every) <= FEW and estimates is not None
        expected = one @ every.T if known else np.zeros((0, 0))
        totals = np.array([*self._sums, self.weight, self.squares, self.most])
        entry(add_up)(rows, every, of, expected, self.estimator == "dr", self.estimator == "snips", totals)
        self._sums, (self.weight, self.squares, self.most) = totals[:5], totals[5:].tolist()
        self.rounds = until

    def _weigh(self, start: int, until: int) -> tuple[Floats, Floats, Floats]:
        logged, candidate, part = self.logged, self.candidate, slice(start, until)
        drawn = logged.codes[part], logged.rewards[part], logged.chances[part]
        rows = Rows(*drawn, candidate.which[part], candidate.probabilities)
        out = np.empty(until - start), np.empty(until - start), np.empty(until - start)
        if self.estimator == "snips":
            entry(weigh_levelled)(rows, self._past, *out)
        elif self.estimates is None:
            entry(weigh_learning)(rows, self._past, *out)
        else:
            out[2][:] = self.estimates.largest[part]
            entry(weigh_given)(rows, self.estimates.rewards, self.estimates.of[part], *out)
        return out

    def _stakes(self, start: int, until: int) -> Floats | None:
        """Return h = (sum_a pi(a)^2 / p(a))^-1/2 of each row, at most 1; None for estimators that weigh rows alike."""
        if self.estimator != "adaptive":
            return None
        logged, rows = self.logged, slice(start, until)
        assert logged.every is not None
        chances = logged.every[logged.at[rows]] if logged.fixed else logged.every[rows]
        mine = self.candidate.probabilities[self.candidate.which[rows]]
        with np.errstate(divide="ignore"):
            spread = np.divide(mine**2, chances, out=np.zeros_like(mine), where=mine > 0).sum(axis=1)
        return np.asarray(spread**-0.5, np.float64)

    def _count(self, weights: Floats, paid: Floats, steps: Floats, stakes: Floats | None) -> None:
        """Add up the weights, and the x and y of which the value is sum x / sum y."""
        self.weight += float(weights.sum())
        self.squares += float((weights * weights).sum())
        self.most = max(self.most, float(weights.max()))
        ones = np.ones(len(weights))
        if self.estimator == "adaptive":
            x, y = (steps, ones) if stakes is None else (steps * stakes, stakes)
        else:
            x, y = (steps, ones) if self.estimator == "dr" else (paid, weights if self.estimator == "snips" else ones)
        self.terms = x, y
        self._sums += x.sum(), y.sum(), (x * x).sum(), (x * y).sum(), (y * y).sum()  # BLAS would start threads for this

    def found(self) -> tuple[float, float, float]:
        """Return sum x / sum y, its standard error, and sum y."""
        x, y, xx, xy, yy = self._sums.tolist()
        if y == 0:
            return float("nan"), float("inf"), 0.0
        value = x / y
        return value, max(0.0, xx - 2 * value * xy + value**2 * yy) ** 0.5 / y, y
