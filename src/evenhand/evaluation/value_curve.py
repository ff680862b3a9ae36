"""The value of a distribution over the rows of a log, and its interval after any number of them."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from evenhand.audit.confidence_sequences import EVERY, BettingProcess, Values, odds_for
from evenhand.audit.units import UnitMean, half_width
from evenhand.evaluation.estimators import Candidate, RewardEstimates
from evenhand.evaluation.findings import Interval
from evenhand.evaluation.logged import Logged
from evenhand.evaluation.weighing_kernels import LoggedRows, PastMeans, add_up, weigh_given, weigh_learning
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import entry

Bounds = tuple[float, float]
Stationary = Literal["dr", "ips", "snips", "dm"]
UNEVEN = 3.0
"""Standard errors from 1 at which a mean is remarked upon."""
CHUNK = 1 << 15
"""Rows that are weighed at once."""
LOOKS = 60
FEW = 4096
"""So many products of a distribution and expected rewards are computed beforehand."""


def look_rounds(rounds: int) -> list[int]:
    """Return the rounds after which the curve has a point: at most 60, closer together at first."""
    looks: list[int] = np.unique(np.geomspace(min(10, rounds), rounds, LOOKS).round().astype(np.int64)).tolist()
    return looks


class ValueCurve:
    """A distribution followed through a log, row by row, in memory that does not grow.

    Parameters
    ----------
    logged, candidate : the log and the distribution.
    estimator : what `value` is.
    estimates : rewards that a model expects, None for the means of the rows before.
    largest : the largest weight, where it is known before the data.
    single : the only weight above 0, where rows do not depend on earlier ones and all rewards are 0 or 1.
    identified : whether the log gives every arm of the distribution a chance in every row, so that the mean of w is 1.

    Attributes
    ----------
    length, taken : the rows, or units where they are named, of the whole log and so far.
    rounds : what was counted so far: the rows, or for an interval at every round the units.
    books : what the interval rests on.
    splits : the books as they were after some of the rows or units, by the number of rows of the log that was given
        before the first one of the next.
    last : of the rows that were weighed last their w, w R, the terms Gamma = m + w (R - m(arm)) of dr, where m is what
        the model expects of the candidate and m(arm) of the arm played, and the bound on the m so far (`_levels`).
    terms : the x and y of these rows, of which the value is sum x / sum y.
    """

    def __init__(
        self,
        logged: Logged,
        candidate: Candidate,
        estimator: Stationary,
        estimates: RewardEstimates | None = None,
        largest: float | None = None,
        single: float | None = None,
        *,
        identified: bool = True,
    ) -> None:
        self.logged, self.candidate, self.estimator = logged, candidate, estimator
        self.estimates, self.largest, self.single, self.identified = estimates, largest, single, identified
        arms = len(logged.arms)
        self._past = PastMeans(np.zeros(arms), np.zeros(arms), np.zeros(5))
        self.taken, self.rounds, self.books = 0, 0, BettingProcess()
        self.splits: dict[int, BettingProcess] = {}
        self._totals, self._top = np.zeros(11), 0.0
        self.last: tuple[Floats, ...] = (np.zeros(0),) * 4
        self.terms: tuple[Floats, Floats] = np.zeros(0), np.zeros(0)
        self._units = np.arange(len(logged.codes)) if logged.units is None else logged.units
        self._begins = np.flatnonzero(np.diff(self._units, prepend=-1, append=-1))
        self._unit_sums: list[Floats] = []

    def take(self, until: int, bounded: bool = True, by_row: bool = False) -> None:
        """Weigh rows up to `until`, or as many as fit in a chunk; `bounded` keeps what an interval needs, `by_row` the
        terms of each row."""
        alone = self.estimator in ("ips", "snips") or (self.estimator == "dr" and self.estimates is not None)
        if alone and not bounded and not by_row and self.logged.units is None:
            self._add_up(until)
            return
        until = min(until, self.taken + CHUNK)
        begins, end = self._begins[self.taken : until], int(self._begins[until])
        weights, expected, own, tops = self._weigh(int(begins[0]), end)
        rewards = self.logged.rewards[begins[0] : end]
        paid, steps = weights * rewards, expected + weights * (rewards - own)
        if self.logged.units is not None:
            each = [weights, paid, steps, expected, np.ones(len(weights))]
            sums = np.add.reduceat(each, begins - begins[0], axis=1)
            self._unit_sums.append(sums)
            if bounded:
                # A bet must know the bound on m before the first row of a unit; of its other rows m may be larger.
                (weights, paid, steps, expected), tops = sums[:4] / sums[4], np.ones(len(begins))
        self._count(weights, paid, expected if self.estimator == "dm" else steps)
        self.taken = until
        if bounded:
            self.last = weights, paid, steps, self._levels(tops)
            self._bet()

    def split(self) -> None:
        """Keep the books as they are now, before the next row or unit."""
        self.splits[int(self.logged.rows[self._begins[self.taken]])] = self.books.copy()

    @property
    def value(self) -> float:
        """The value so far; nan where the log does not identify it."""
        return self.found()[0] if self.identified else float("nan")

    @property
    def length(self) -> int:
        return len(self._begins) - 1

    @property
    def weight(self) -> float:
        """The sum of w."""
        return float(self._totals[6])

    @property
    def paid(self) -> float:
        """The mean of w R."""
        return float(self._totals[5]) / self.rounds

    @property
    def squares(self) -> float:
        """The sum of w^2."""
        return float(self._totals[9])

    @property
    def most(self) -> float:
        """The largest w."""
        return float(self._totals[10])

    @property
    def effective_rounds(self) -> float:
        """(sum w)^2 / sum w^2: so many rows of the candidate's own would say as much."""
        return self.weight**2 / self.squares if self.squares > 0 else 0.0

    @property
    def trusted(self) -> bool:
        """Whether the mean of w is known to be 1, or does not fall short of it visibly."""
        return self.identified and (self.logged.every is not None or self.weight_errors > -UNEVEN)

    @property
    def weight_errors(self) -> float:
        """How many standard errors the mean of w is away from 1."""
        if self.logged.units is not None:
            found = self.unit_means()[1]
            mean, error = found.mean, float(np.square(found.scores).sum()) ** 0.5
        else:
            mean = self.weight / self.rounds
            error = (max(self.squares / self.rounds - mean**2, 0.0) / self.rounds) ** 0.5
        return (mean - 1) / error if error > 0 and abs(mean - 1) > 1e-6 else 0.0

    def bounds(self, error: float, interval: Interval) -> Bounds:
        """Return the bounds now; `error` is the probability that they are wrong, at every row or at this one. The lower
        end is above the upper one only where the rows refute that the mean of w is 1."""
        if self.estimator == "dm":
            return math.nan, math.nan
        if interval == "normal":
            return self._normal(error) if self.logged.units is None else self._normal_of_units(error)
        if interval == "once" and self.single is not None and self.logged.units is None:
            return self._clopper_pearson(error, self.single)
        chosen = odds_for(self.rounds, self.largest) if interval == "once" and self.largest is not None else EVERY
        return self.books.interval(error, 0.0, 1.0, chosen)

    def _clopper_pearson(self, error: float, weight: float) -> Bounds:
        """Return Clopper and Pearson's limits of the share of rows that have the weight and a reward of 1, times it."""
        from scipy.stats import beta

        times, n = round(self._totals[5] / weight), self.rounds
        low = float(beta.ppf(error / 2, times, n - times + 1)) if times else 0.0
        high = float(beta.isf(error / 2, times + 1, n - times)) if times < n else 1.0
        return low * weight, min(high * weight, 1.0)

    def _normal(self, error: float) -> Bounds:
        """Return the normal interval."""
        from scipy.stats import norm

        z = float(norm.isf(error / 2))
        if self.trusted:
            value, deviation, _ = self.found()
            return value - z * deviation, value + z * deviation
        n = self.rounds  # w R is at most the value in expectation, and w (1 - R) at most what is missing to 1
        paid, weight, paid_paid, paid_w, ww = self._totals[5:10].tolist()
        unpaid, unpaid_unpaid = weight - paid, ww - 2 * paid_w + paid_paid
        below, above = paid_paid / n - (paid / n) ** 2, unpaid_unpaid / n - (unpaid / n) ** 2
        low, high = paid / n - z * (max(below, 0.0) / n) ** 0.5, unpaid / n - z * (max(above, 0.0) / n) ** 0.5
        return max(low, 0.0), 1.0 - max(high, 0.0)

    def unit_means(self) -> tuple[UnitMean, ...]:
        """Return the value, the mean of w and that of w R as means over the rows of units, and the value as the mean
        over units."""
        weights, paid, steps, expected, rows = np.concatenate(self._unit_sums, axis=1)
        x = {"dr": steps, "dm": expected}.get(self.estimator, paid)
        y = weights if self.estimator == "snips" else rows
        return tuple(map(UnitMean.of, (x, weights, paid, x / rows), (y, rows, rows, y / rows)))

    def _normal_of_units(self, error: float) -> Bounds:
        """Return the interval that is robust to rows of one unit that resemble each other, for few units as well."""
        value, weight, paid, _ = self.unit_means()
        if self.trusted:
            half = half_width(error, value)
            return value.mean - half, value.mean + half
        high = 1 - (weight.mean - paid.mean) + half_width(error, weight, paid)
        return max(paid.mean - half_width(error, paid), 0.0), min(high, 1.0)

    def _bet(self) -> None:
        """Bet on the mean of w R, which is at most the value whether or not the mean of w is 1; where the largest
        weight W is known, also on Gamma, which is at least -W o and at most W + o for the bound o on the m so far."""
        weights, paid, steps, levels = self.last
        below: list[Values] = [(paid, 0.0)]
        above: list[Values] = [(weights - paid - 1.0, 1.0)]
        if self.largest is not None and self.estimator == "ips":
            above.append((-paid, self.largest))
        elif self.largest is not None:
            below += [(steps, self.largest), (steps, self.largest * levels)]
            above += [(-steps, self.largest + 1.0), (-steps, self.largest + levels)]
        self.books.add(below, above)

    def _levels(self, tops: Floats) -> Floats:
        """Return the least power of 2 that is not below any m so far, at most 1 (n_rows,)."""
        # A bet must bound the step before it sees it; powers of 2 keep the bound near m and change only a few times.
        with np.errstate(divide="ignore"):
            powers = np.exp2(np.ceil(np.log2(tops)))
        levels = np.minimum(np.maximum.accumulate(np.concatenate([[self._top], powers]))[1:], 1.0)
        self._top = float(levels[-1])
        return levels

    def _add_up(self, until: int) -> None:
        """Add up rows whose weights depend on nothing before them, in one pass."""
        logged, candidate, estimates, part = self.logged, self.candidate, self.estimates, slice(self.taken, until)
        rows = self._rows(part)
        every = np.zeros((1, 1)) if estimates is None else estimates.rewards
        of = logged.at[part] if estimates is None else estimates.of[part]
        known = estimates is not None and len(candidate.probabilities) * len(every) <= FEW
        expected = candidate.probabilities @ every.T if known else np.zeros((0, 0))
        entry(add_up)(rows, every, of, expected, self.estimator == "dr", self.estimator == "snips", self._totals)
        self.taken = self.rounds = until

    def _rows(self, part: slice) -> LoggedRows:
        logged, candidate = self.logged, self.candidate
        drawn = logged.codes[part], logged.rewards[part], logged.chances[part], self._units[part]
        return LoggedRows(*drawn, candidate.which[part], candidate.probabilities)

    def _weigh(self, start: int, until: int) -> tuple[Floats, ...]:
        part = slice(start, until)
        rows, out = self._rows(part), tuple(np.empty(until - start) for _ in range(4))
        if self.estimates is None:
            entry(weigh_learning)(rows, self._past, *out)
        else:
            out[3][:] = self.estimates.largest[part]
            entry(weigh_given)(rows, self.estimates.rewards, self.estimates.of[part], *out)
        return out

    def _count(self, weights: Floats, paid: Floats, steps: Floats) -> None:
        """Add up w R and w, and the x and y of which the value is sum x / sum y; `steps` are those of dr or dm."""
        self.rounds += len(weights)
        ones = np.ones(len(weights))
        modelled = self.estimator in ("dr", "dm")
        x, y = (steps, ones) if modelled else (paid, weights if self.estimator == "snips" else ones)
        self.terms = x, y
        sums = [(a.sum(), b.sum(), (a * a).sum(), (a * b).sum(), (b * b).sum()) for a, b in ((x, y), (paid, weights))]
        self._totals[:10] += np.concatenate(sums)  # BLAS would start threads for this
        self._totals[10] = max(self._totals[10], weights.max())

    def found(self) -> tuple[float, float, float]:
        """Return sum x / sum y, its standard error, and sum y."""
        x, y, xx, xy, yy = self._totals[:5].tolist()
        if y == 0:
            return float("nan"), float("inf"), 0.0
        value = x / y
        return value, max(0.0, xx - 2 * value * xy + value**2 * yy) ** 0.5 / y, y
