"""The value of a distribution over the rows of a log, and its interval after any number of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from evenhand.audit.sequences import BettingProcess, Values
from evenhand.audit.units import UnitMean, half_width
from evenhand.evaluation.estimators import Candidate, RewardEstimates
from evenhand.evaluation.logged import Logged
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import entry, kernel


class LoggedRows(NamedTuple):
    """Consecutive rows of a log and of a candidate (n_rows,), and the candidate's probabilities (n, n_arms)."""

    codes: Ints
    rewards: Floats
    chances: Floats
    which: Ints
    probabilities: Floats


PRIOR = 20.0
"""Rows of the mean of all arms that are added to each arm's own."""


class PastMeans(NamedTuple):
    """Of the rows before: sums of rewards (n_arms,), 1 / (count + PRIOR) (n_arms,), and (2,) the sum of all rewards and
    the count + 1, both weighted where one m serves all arms."""

    sums: Floats
    inverses: Floats
    total: Floats


@kernel
def weigh_learning(rows: LoggedRows, past: PastMeans, weights: Floats, steps: Floats, tops: Floats) -> None:
    """Fill in the weights and steps (n_rows,), m from the rows before: the mean of an arm's rewards, drawn towards that
    of all. `tops` gets the largest m."""
    for t in range(rows.codes.size):
        arm, mine = rows.codes[t], rows.which[t]
        drawn = PRIOR * past.total[0] / past.total[1]
        expected, top = 0.0, 0.0
        for a in range(past.sums.size):
            mean = (past.sums[a] + drawn) * past.inverses[a]
            expected += rows.probabilities[mine, a] * mean
            top = max(top, mean)
        weight = rows.probabilities[mine, arm] / rows.chances[t]
        weights[t], tops[t] = weight, top
        steps[t] = expected + weight * (rows.rewards[t] - (past.sums[arm] + drawn) * past.inverses[arm])
        # Only after the step: with a row's own reward in m the step is biased, and the interval no longer holds.
        past.sums[arm] += rows.rewards[t]
        past.inverses[arm] = past.inverses[arm] / (1.0 + past.inverses[arm])
        past.total[0] += rows.rewards[t]
        past.total[1] += 1.0


@kernel
def weigh_levelled(rows: LoggedRows, past: PastMeans, weights: Floats, steps: Floats, tops: Floats) -> None:
    """Do the same with one m for all arms: the weighted mean of the rewards before."""
    for t in range(rows.codes.size):
        level = past.total[0] / past.total[1]
        weight = rows.probabilities[rows.which[t], rows.codes[t]] / rows.chances[t]
        weights[t], tops[t] = weight, level
        steps[t] = level + weight * (rows.rewards[t] - level)
        past.total[0] += weight * rows.rewards[t]
        past.total[1] += weight


@kernel
def weigh_given(rows: LoggedRows, estimates: Floats, of: Ints, weights: Floats, steps: Floats, tops: Floats) -> None:
    """Do the same with estimates m (n, n_arms), of which `of` (n_rows,) says the row; `tops` is left as it is."""
    arms = estimates.shape[1]
    for t in range(rows.codes.size):
        arm, mine, row = rows.codes[t], rows.which[t], of[t]
        expected = 0.0
        for a in range(arms):
            expected += rows.probabilities[mine, a] * estimates[row, a]
        weight = rows.probabilities[mine, arm] / rows.chances[t]
        weights[t] = weight
        steps[t] = expected + weight * (rows.rewards[t] - estimates[row, arm])


@kernel
def add_up(
    rows: LoggedRows, estimates: Floats, of: Ints, expected: Floats, robust: bool, normalized: bool, totals: Floats
) -> None:
    """Add to `totals` (11,) the sums of x, y, x^2, x y, y^2, where the value is sum x / sum y, then those of w R, w,
    (w R)^2, w^2 R, w^2, and enter the largest w. `expected` (n, n_estimates) holds sum_a pi(a) m(a) where it is known,
    else it is empty."""
    x_sum, y_sum, xx, xy, yy = 0.0, 0.0, 0.0, 0.0, 0.0
    paid_sum, w_sum, paid_paid, paid_w, ww, most = 0.0, 0.0, 0.0, 0.0, 0.0, totals[10]
    for t in range(rows.codes.size):
        arm, mine = rows.codes[t], rows.which[t]
        weight = rows.probabilities[mine, arm] / rows.chances[t]
        paid = weight * rows.rewards[t]
        x, y = paid, 1.0
        if robust:
            row = of[t]
            x -= weight * estimates[row, arm]
            if expected.size > 0:
                x += expected[mine, row]
            else:
                for a in range(estimates.shape[1]):
                    x += rows.probabilities[mine, a] * estimates[row, a]
        elif normalized:
            y = weight
        x_sum += x
        y_sum += y
        xx += x * x
        xy += x * y
        yy += y * y
        paid_sum += paid
        w_sum += weight
        paid_paid += paid * paid
        paid_w += paid * weight
        ww += weight * weight
        most = max(most, weight)
    totals[0] += x_sum
    totals[1] += y_sum
    totals[2] += xx
    totals[3] += xy
    totals[4] += yy
    totals[5] += paid_sum
    totals[6] += w_sum
    totals[7] += paid_paid
    totals[8] += paid_w
    totals[9] += ww
    totals[10] = most


Interval = tuple[float, float]
Stationary = Literal["dr", "ips", "snips"]
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
    identified : whether the log gives every arm of the distribution a chance in every row, so that the mean of w is 1.

    Attributes
    ----------
    length, taken : the rows, or units where they are named, of the whole log and so far.
    rounds : what was counted so far: the rows, or for an interval at every round the units.
    books : what the interval rests on.
    splits : the books as they were after some of the rows, by the number of rows.
    last : of the rows that were weighed last their w, w R, Gamma, and the bound o on the m so far.
    terms : the x and y of these rows, of which the value is sum x / sum y.
    """

    def __init__(
        self,
        logged: Logged,
        candidate: Candidate,
        estimator: Stationary,
        estimates: RewardEstimates | None = None,
        largest: float | None = None,
        *,
        identified: bool = True,
    ) -> None:
        self.logged, self.candidate, self.estimator = logged, candidate, estimator
        self.estimates, self.largest, self.identified = estimates, largest, identified
        arms = len(logged.arms)
        self._past = PastMeans(np.zeros(arms), np.full(arms, 1 / PRIOR), np.array([0.0, 1.0]))
        self.taken, self.rounds, self.books = 0, 0, BettingProcess()
        self.splits: dict[int, BettingProcess] = {}
        self._totals, self._top = np.zeros(11), 0.0
        self.last: tuple[Floats, ...] = (np.zeros(0),) * 4
        self.terms: tuple[Floats, Floats] = np.zeros(0), np.zeros(0)
        units = np.arange(len(logged.codes)) if logged.units is None else logged.units
        self._begins = np.flatnonzero(np.diff(units, prepend=-1, append=-1))
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
        weights, steps, tops = self._weigh(int(begins[0]), end)
        paid = weights * self.logged.rewards[begins[0] : end]
        if self.logged.units is not None:
            sums = np.add.reduceat([weights, paid, steps, np.ones(len(weights))], begins - begins[0], axis=1)
            self._unit_sums.append(sums)
            if bounded:
                # A bet must know the bound on m before the first row of a unit; of its other rows m may be larger.
                (weights, paid, steps), tops = sums[:3] / sums[3], np.ones(len(begins))
        self._count(weights, paid, steps)
        self.taken = until
        if bounded:
            self.last = weights, paid, steps, self._levels(tops)
            self._bet()

    def split(self) -> None:
        """Keep the books as they are now."""
        self.splits[self.rounds] = self.books.copy()

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
            return (mean - 1) / error if error > 0 and abs(mean - 1) > 1e-6 else 0.0
        mean = self.weight / self.rounds
        error = (max(self.squares / self.rounds - mean**2, 0.0) / self.rounds) ** 0.5
        return (mean - 1) / error if error > 0 and abs(mean - 1) > 1e-6 else 0.0

    def interval(self, error: float) -> Interval:
        """Return the bounds now; `error` is the probability that a bound is ever on the wrong side. The lower end is
        above the upper one only where the rows refute that the mean of w is 1."""
        return self.books.interval(error, 0.0, 1.0)

    def normal(self, level: float) -> Interval:
        """Return the normal interval, for this row alone and many rows."""
        from scipy.stats import norm

        if self.logged.units is not None:
            return self._normal_of_units(level)
        z = float(norm.isf((1 - level) / 2))
        if self.trusted:
            value, error, _ = self.found()
            return value - z * error, value + z * error
        n = self.rounds  # w R is at most the value in expectation, and w (1 - R) at most what is missing to 1
        paid, weight, paid_paid, paid_w, ww = self._totals[5:10].tolist()
        unpaid, unpaid_unpaid = weight - paid, ww - 2 * paid_w + paid_paid
        below, above = paid_paid / n - (paid / n) ** 2, unpaid_unpaid / n - (unpaid / n) ** 2
        low, high = paid / n - z * (max(below, 0.0) / n) ** 0.5, unpaid / n - z * (max(above, 0.0) / n) ** 0.5
        return max(low, 0.0), 1.0 - max(high, 0.0)

    def unit_means(self) -> tuple[UnitMean, ...]:
        """Return the value, the mean of w and that of w R as means of units."""
        weights, paid, steps, rows = np.concatenate(self._unit_sums, axis=1)
        x = steps if self.estimator == "dr" else paid
        y = weights if self.estimator == "snips" else rows
        return UnitMean.of(x, y), UnitMean.of(weights, rows), UnitMean.of(paid, rows)

    def _normal_of_units(self, level: float) -> Interval:
        """Return the interval that is robust to rows of one unit that resemble each other, for few units as well."""
        value, weight, paid = self.unit_means()
        if self.trusted:
            half = half_width(1 - level, value)
            return value.mean - half, value.mean + half
        high = 1 - (weight.mean - paid.mean) + half_width(1 - level, weight, paid)
        return max(paid.mean - half_width(1 - level, paid), 0.0), min(high, 1.0)

    def _bet(self) -> None:
        """Bet on the mean of w R, which is at most the value whether or not the mean of w is 1; where the largest
        weight W is known, also on Gamma, which is at least -W o and at most W + o."""
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
        drawn = logged.codes[part], logged.rewards[part], logged.chances[part]
        return LoggedRows(*drawn, candidate.which[part], candidate.probabilities)

    def _weigh(self, start: int, until: int) -> tuple[Floats, Floats, Floats]:
        part = slice(start, until)
        rows = self._rows(part)
        out = np.empty(until - start), np.empty(until - start), np.empty(until - start)
        if self.estimator == "snips":
            entry(weigh_levelled)(rows, self._past, *out)
        elif self.estimates is None:
            entry(weigh_learning)(rows, self._past, *out)
        else:
            out[2][:] = self.estimates.largest[part]
            entry(weigh_given)(rows, self.estimates.rewards, self.estimates.of[part], *out)
        return out

    def _count(self, weights: Floats, paid: Floats, steps: Floats) -> None:
        """Add up w R and w, and the x and y of which the value is sum x / sum y."""
        self.rounds += len(weights)
        ones = np.ones(len(weights))
        x, y = (steps, ones) if self.estimator == "dr" else (paid, weights if self.estimator == "snips" else ones)
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
