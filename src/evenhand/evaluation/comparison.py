"""Distributions followed through a log together: the value and interval of each, and of their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from evenhand.audit.sequences import BettingProcess, Values
from evenhand.audit.units import half_width
from evenhand.display.progress import ProgressBar
from evenhand.evaluation.diagnosis import check_weights, notes_on, overlap_of, weights_of
from evenhand.evaluation.findings import Change, Comparison, Evaluation, change_in, split_rows
from evenhand.evaluation.value_curve import Interval, ValueCurve, look_rounds
from evenhand.kernels.arrays import Floats


def compared(evaluations: Mapping[str, Evaluation], together: Mapping[str, Interval]) -> Evaluation | Comparison:
    """Return the evaluation, or the comparison of several with the first; `together` are intervals of values that hold
    all at once, from which those of the differences follow."""
    first, *others = evaluations
    low, high = together[first]
    return _answer(evaluations, {name: (together[name][0] - high, together[name][1] - low) for name in others})


def follow(
    value_curves: Mapping[str, ValueCurve], bar: ProgressBar, *, level: float, anytime: bool, stationary: bool
) -> Evaluation | Comparison:
    """Go through the log once and return the evaluation of each distribution, and of the differences from the first."""
    base = next(iter(value_curves.values()))
    pairs = {name: Pair(value_curve, base) for name, value_curve in list(value_curves.items())[1:]}
    curves = {name: Curve(value_curve, level, anytime, stationary) for name, value_curve in value_curves.items()}
    looks, splits = look_rounds(base.length), split_rows(base.length) if anytime else []
    for stop in sorted({*looks, *splits}):
        while base.taken < stop:
            for value_curve in value_curves.values():
                value_curve.take(stop, bounded=anytime, by_row=bool(pairs))
            for pair in pairs.values():
                pair.take(bounded=anytime)
            bar.reach(base.taken)
        for name, value_curve in value_curves.items():
            if stop in splits:
                value_curve.split()
            if stop in looks:
                curves[name].look()
    found = {name: curve.evaluation() for name, curve in curves.items()}
    share = (1 - level) / max(1, len(pairs))
    apart = {name: pair.interval(share) if anytime else pair.normal(1 - share) for name, pair in pairs.items()}
    return _answer(found, {name: (min(ends), max(ends)) for name, ends in apart.items()})


class Curve:
    """The value and the interval of a distribution at some rows, the last one included."""

    def __init__(self, value_curve: ValueCurve, level: float, anytime: bool, stationary: bool) -> None:
        self.value_curve, self.level, self.anytime, self.stationary = value_curve, level, anytime, stationary
        self._points: list[tuple[float, ...]] = []
        self._held: Interval = (0.0, 1.0)
        self._crossed, self._moved = False, False

    def look(self) -> None:
        """Add a point. Bounds that are crossed refute the chances: their hull is kept. Where the value is said to stay
        the same, the intersection with the intervals before is kept, unless it is empty."""
        value_curve = self.value_curve
        low, high = value_curve.interval(1 - self.level) if self.anytime else value_curve.normal(self.level)
        self._crossed = low > high
        low, high = min(low, high), max(low, high)
        if self.stationary:
            both = max(low, self._held[0]), min(high, self._held[1])
            self._moved = self._moved or both[0] > both[1]
            if not self._moved:
                low, high = self._held = both
        self._points.append((value_curve.rounds, value_curve.value, low, high))

    def evaluation(self) -> Evaluation:
        import pandas as pd

        value_curve = self.value_curve
        check_weights(value_curve)
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
            anytime=self.anytime,
            reached=value_curve.rounds,
            weights=table,
            notes=(*self._doubts(change), *notes_on(value_curve, table)),
            refuted=self._crossed,
            change=change,
            overlap=overlap_of(value_curve.logged),
            unit=value_curve.logged.unit,
        )

    def _doubts(self, change: Change | None) -> Iterator[str]:
        """Say what the intervals contradict."""
        _, value, low, high = self._points[-1]
        if self._crossed:
            yield (
                "Propensities refuted: the lower bound is above the upper one, which happens with probability "
                f"{1 - self.level:.3g} at most if they are true; low and high are these bounds by size."
            )
        elif not low <= value <= high and self.value_curve.identified:
            yield "The value lies outside its interval: a few rows carry large weights, or weights are wrong."
        if self._moved:
            yield (
                "stationary=True is refuted: the intervals after some rows exclude those after others. The interval is "
                "of the mean over all rows."
            )
        if change is not None:
            yield (
                f"The policy's mean reward changed over the log (e-value {change.evidence:.3g}), most clearly after "
                f"row {change.row}; since then it lies between {change.low:.4g} and {change.high:.4g}."
            )


class Pair:
    """The difference of two distributions' values, row by row: their steps are of the same rewards."""

    def __init__(self, one: ValueCurve, other: ValueCurve) -> None:
        self.one, self.other = one, other
        self.books = BettingProcess()
        self._products: Floats = np.zeros(4)

    def take(self, bounded: bool) -> None:
        """Take in the rows that both have just weighed; `bounded` keeps what an interval for every row needs."""
        if bounded:
            self.books.add(_values(self.one, self.other), _values(self.other, self.one))
            return
        (x, y), (their_x, their_y) = self.one.terms, self.other.terms
        pairs = (x, their_x), (x, their_y), (y, their_x), (y, their_y)
        self._products += [(mine * theirs).sum() for mine, theirs in pairs]

    def interval(self, error: float) -> Interval:
        """Return the bounds of the difference; `error` is the probability that a bound is ever on the wrong side."""
        return self.books.interval(error, -1.0, 1.0)

    def normal(self, level: float) -> Interval:
        """Return the normal interval, for this row alone and many rows. Both values are of the same rows: what these
        do to both alike, or to each the other way, belongs to the error of the difference."""
        from scipy.stats import norm

        if not (self.one.trusted and self.other.trusted):
            low, high = self.one.normal((1 + level) / 2)
            their_low, their_high = self.other.normal((1 + level) / 2)
            return low - their_high, high - their_low
        if self.one.logged.units is not None:
            value, other = self.one.unit_means()[0], self.other.unit_means()[0]
            half = half_width(1 - level, value, other)
            return value.mean - other.mean - half, value.mean - other.mean + half
        mine, error, weight = self.one.found()
        theirs, their_error, their_weight = self.other.found()
        xx, xy, yx, yy = self._products.tolist()
        products = xx - theirs * xy - mine * yx + mine * theirs * yy
        together = products / (weight * their_weight) if weight * their_weight > 0 else 0.0
        variance = max(error**2 + their_error**2 - 2 * together, 0.0)
        wide = float(norm.isf((1 - level) / 2)) * variance**0.5
        return mine - theirs - wide, mine - theirs + wide


def _values(one: ValueCurve, other: ValueCurve) -> list[Values]:
    """Return values whose mean is the value of one less that of the other, or less where a mean of w is below 1:
    w R + w' (1 - R) - 1, and Gamma - Gamma' where both largest weights are known."""
    _, paid, steps, levels = one.last
    their_weights, their_paid, their_steps, their_levels = other.last
    found: list[Values] = [(paid + their_weights - their_paid - 1.0, 1.0)]
    if one.largest is not None and other.largest is not None:
        top = np.maximum(levels, their_levels)
        found += [(steps - their_steps, most * one.largest + other.largest + most) for most in (1.0, top)]
    return found


def _answer(evaluations: Mapping[str, Evaluation], apart: Mapping[str, Interval]) -> Evaluation | Comparison:
    """Return the evaluation, or the comparison with the first; `apart` are the intervals of the differences from it."""
    import pandas as pd

    first, base = next(iter(evaluations.items()))
    if len(evaluations) == 1:
        return base
    rows = [(name, first, evaluations[name].value - base.value, *ends) for name, ends in apart.items()]
    table = pd.DataFrame(rows, columns=["policy", "against", "difference", "low", "high"])
    return Comparison(dict(evaluations), table)
