"""Distributions followed through a log together: the value and interval of each, and of their differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from evenhand.audit.confidence_sequences import EVERY, BettingProcess, Values, odds_for
from evenhand.audit.units import half_width
from evenhand.display.progress import ProgressBar
from evenhand.errors import Wording, argument
from evenhand.evaluation.diagnosis import known_difference, notes_on, overlap_of, weights_of
from evenhand.evaluation.findings import Comparison, Evaluation, Interval, MeanChange, change_in, split_rows
from evenhand.evaluation.value_curve import Bounds, ValueCurve, look_rounds
from evenhand.kernels.arrays import Bools, Floats

LEAST = 1e-3
"""The least difference of weights by which odds are chosen: of policies that are nearly the same."""


def compared(
    evaluations: Mapping[str, Evaluation], bounds: Mapping[str, Bounds], spreads: Mapping[str, float], *, each: bool
) -> Evaluation | Comparison:
    """Return the evaluation of a replayed policy, or the comparison of several with the first.

    Parameters
    ----------
    bounds : intervals of the values, of which those of the differences follow: all at once, or of each pair.
    spreads : the standard deviation of each difference over the replays.
    each : whether the intervals of `bounds` hold for each pair alone.
    """
    first, *others = evaluations
    low, high = bounds[first]
    found = _answer(evaluations, {name: (bounds[name][0] - high, bounds[name][1] - low) for name in others}, each)
    if isinstance(found, Evaluation):
        return found
    table = found.differences.assign(spread=[spreads[name] for name in others])
    unseen = (table["low"] <= 0) & (table["high"] >= 0) & ~(table["difference"].abs() > 2 * table["spread"])
    notes = (
        f"Nothing is seen of a difference between {row.policy} and {first}: it is within two standard deviations of "
        "the replays (spread), which reorder the rows of one log, and its interval, which is for other logs, holds 0."
        for row in table[unseen].itertuples()
    )
    return replace(found, differences=table, own_notes=(*found.own_notes, *notes))


def follow(
    value_curves: Mapping[str, ValueCurve],
    bar: ProgressBar,
    *,
    level: float,
    interval: Interval,
    stationary: bool,
    each: bool,
) -> Evaluation | Comparison:
    """Go through the log once and return the evaluation of each distribution, and of the differences from the first."""
    base = next(iter(value_curves.values()))
    pairs = {name: Pair(value_curve, base) for name, value_curve in list(value_curves.items())[1:]}
    curves = {name: Curve(value_curve, level, interval, stationary) for name, value_curve in value_curves.items()}
    looks, splits = look_rounds(base.length), split_rows(base.length) if interval == "anytime" else []
    for stop in sorted({*looks, *splits}):
        while base.taken < stop:
            for value_curve in value_curves.values():
                value_curve.take(stop, bounded=interval != "normal", by_row=bool(pairs))
            for pair in pairs.values():
                pair.take(bounded=interval != "normal")
            bar.reach(base.taken)
        for name, value_curve in value_curves.items():
            if stop in splits:
                value_curve.split()
            if stop in looks:
                curves[name].look(bounded=interval == "anytime" or stop == base.length)
    found = {name: curve.evaluation() for name, curve in curves.items()}
    share = (1 - level) / (1 if each else max(1, len(pairs)))
    apart = {name: pair.bounds(share, interval) for name, pair in pairs.items()}
    return _answer(found, {name: np.clip(sorted(ends), -1.0, 1.0).tolist() for name, ends in apart.items()}, each)


class Curve:
    """The value and the interval of a distribution at some rows, the last one included."""

    def __init__(self, value_curve: ValueCurve, level: float, interval: Interval, stationary: bool) -> None:
        self.value_curve, self.level, self.interval = value_curve, level, interval
        self.stationary = stationary and interval == "anytime"
        self._points: list[tuple[float, ...]] = []
        self._held: Bounds = (0.0, 1.0)
        self._crossed, self._moved = False, False

    def look(self, bounded: bool) -> None:
        """Add a point, `bounded` with an interval. Bounds that are crossed refute the chances: their hull is kept, as
        far as values can be there. Where the value is said to stay the same, the intersection with the intervals before
        is kept, unless it is empty."""
        value_curve = self.value_curve
        low, high = value_curve.bounds(1 - self.level, self.interval) if bounded else (math.nan, math.nan)
        self._crossed = low > high
        low, high = np.clip([min(low, high), max(low, high)], 0.0, 1.0).tolist()
        if self.stationary and value_curve.estimator != "dm":
            both = max(low, self._held[0]), min(high, self._held[1])
            self._moved = self._moved or both[0] > both[1]
            if not self._moved:
                low, high = self._held = both
        self._points.append((value_curve.rounds, value_curve.value, low, high))

    def evaluation(self) -> Evaluation:
        import pandas as pd

        value_curve = self.value_curve
        table = weights_of(value_curve.logged, value_curve.candidate)
        change = change_in(value_curve.books, value_curve.splits, 1 - self.level)
        return Evaluation(
            value=value_curve.value,
            low=float(self._points[-1][2]),
            high=float(self._points[-1][3]),
            rounds=value_curve.rounds,
            effective_rounds=value_curve.effective_rounds,
            curve=pd.DataFrame(self._points, columns=["round", "value", "low", "high"]),
            audit=None,
            estimator=value_curve.estimator,
            level=self.level,
            interval=self.interval,
            weights=table,
            notes=(*self._doubts(change), *notes_on(value_curve, table, self.interval)),
            refuted=self._crossed,
            change=change,
            overlap=overlap_of(value_curve.logged),
            unit=value_curve.logged.unit,
        )

    def _doubts(self, change: MeanChange | None) -> Iterator[str]:
        """Say what the intervals contradict."""
        _, value, low, high = self._points[-1]
        if self._crossed:
            yield (
                "Propensities refuted: the lower bound is above the upper one, which happens with probability "
                f"{1 - self.level:.3g} at most if they are true; low and high are these bounds by size."
            )
        elif self.value_curve.identified and (max(value, 0.0) < low or high < min(value, 1.0)):
            yield (
                f"The value lies outside its interval, which is of the mean of pi / p times the reward, "
                f"{self.value_curve.paid:.4g}: a few rows carry large weights, or weights are wrong."
            )
        if not 0 <= value <= 1 and self.value_curve.identified:
            yield "The value is outside of [0, 1], as a weighted mean of few rows of the policy may be."
        if self._moved:
            refuted = " is refuted: the intervals after some rows exclude those after others. "
            used = f"{self.value_curve.rounds} {'rows' if self.value_curve.logged.unit is None else 'units'} used"
            yield Wording(argument("stationary", True), refuted, f"The interval is of the mean over the {used}, alone.")
        if change is not None:
            where = "after" if self.value_curve.logged.unit is None else "with the units whose first rows come after"
            yield (
                f"The policy's mean reward changed over the log (e-value {change.evidence:.3g}), most clearly {where} "
                f"row {change.row}; since then it lies between {change.low:.4g} and {change.high:.4g}."
            )


class Pair:
    """The difference of two distributions' values, row by row: their steps are of the same rewards."""

    def __init__(self, one: ValueCurve, other: ValueCurve) -> None:
        self.one, self.other = one, other
        self.books = BettingProcess()
        self._known = known_difference(one, other)
        self._products: Floats = np.zeros(4)

    def take(self, bounded: bool) -> None:
        """Take in the rows that both have just weighed; `bounded` keeps what an interval for every row needs."""
        if bounded:
            self.books.add(self._values(self.one, self.other), self._values(self.other, self.one))
            return
        (x, y), (their_x, their_y) = self.one.terms, self.other.terms
        pairs = (x, their_x), (x, their_y), (y, their_x), (y, their_y)
        self._products += [(mine * theirs).sum() for mine, theirs in pairs]

    def bounds(self, error: float, interval: Interval) -> Bounds:
        """Return the bounds of the difference; `error` is the probability with which they are wrong, at every row or
        once."""
        if self.one.estimator == "dm":
            return math.nan, math.nan
        if interval == "normal":
            return self._normal(error)
        chosen: Bools | slice = EVERY
        if interval == "once" and self._known is not None:
            chosen = odds_for(self.one.rounds, max(*self._known[:2], LEAST))
        return self.books.interval(error, -1.0, 1.0, chosen)

    def _normal(self, error: float) -> Bounds:
        """Return the normal interval. Both values are of the same rows: what these do to both alike, or to each the
        other way, belongs to the error of the difference."""
        from scipy.stats import norm

        if not (self.one.trusted and self.other.trusted):
            low, high = self.one.bounds(error / 2, "normal")
            their_low, their_high = self.other.bounds(error / 2, "normal")
            return low - their_high, high - their_low
        if self.one.logged.units is not None:
            value, other = self.one.unit_means()[0], self.other.unit_means()[0]
            half = half_width(error, value, other)
            return value.mean - other.mean - half, value.mean - other.mean + half
        mine, own_error, weight = self.one.found()
        theirs, their_error, their_weight = self.other.found()
        xx, xy, yx, yy = self._products.tolist()
        products = xx - theirs * xy - mine * yx + mine * theirs * yy
        together = products / (weight * their_weight) if weight * their_weight > 0 else 0.0
        variance = max(own_error**2 + their_error**2 - 2 * together, 0.0)
        wide = float(norm.isf(error / 2)) * variance**0.5
        return mine - theirs - wide, mine - theirs + wide

    def _values(self, one: ValueCurve, other: ValueCurve) -> list[Values]:
        """Return values whose mean is the value of one less that of the other, or less where a mean of w is below 1:
        w R + w' (1 - R) - 1, and w R - w' R where w - w' is known to lie in [-fall, rise]. Less the model, this is
        Gamma - Gamma': both expect the same m of a row, so that it is w - w' times R - m, beside what m expects of the
        part of their plays that is not the same."""
        _, paid, steps, levels = one.last
        their_weights, their_paid, their_steps, their_levels = other.last
        found: list[Values] = [(paid + their_weights - their_paid - 1.0, 1.0)]
        if self._known is not None:
            rise, fall, apart = self._known if one is self.one else (self._known[1], self._known[0], self._known[2])
            top = np.maximum(levels, their_levels)
            modelled = steps - their_steps, np.maximum(rise * top, fall) + apart * top
            found.append(modelled if one.estimator == "dr" else (paid - their_paid, fall))
        return found


def side_by_side(found: Sequence[Evaluation | Comparison]) -> Evaluation | Comparison:
    """Return the first of the answers of several estimators, with a table of all of them."""
    import pandas as pd

    each = [one.evaluations if isinstance(one, Comparison) else {"policy": one} for one in found]
    rows = [(name, one.estimator, one.value, one.low, one.high) for some in each for name, one in some.items()]
    table = pd.DataFrame(rows, columns=["policy", "estimator", "value", "low", "high"])
    return replace(found[0], estimates=table if isinstance(found[0], Comparison) else table.drop(columns="policy"))


def _answer(evaluations: Mapping[str, Evaluation], apart: Mapping[str, Bounds], each: bool) -> Evaluation | Comparison:
    """Return the evaluation, or the comparison with the first; `apart` are the intervals of the differences from it."""
    import pandas as pd

    first, base = next(iter(evaluations.items()))
    if len(evaluations) == 1:
        return base
    rows = [(name, first, evaluations[name].value - base.value, *ends) for name, ends in apart.items()]
    table = pd.DataFrame(rows, columns=["policy", "against", "difference", "low", "high"])
    together = f"The {len(apart)} differences hold together (Bonferroni); "
    together = Wording(together, argument("each", True), " is for one at a time.")
    return Comparison(dict(evaluations), table, (together,) if len(apart) > 1 and not each else ())
