"""Distributions followed through a log together: the value and interval of each, and of their differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.evaluation.course import Course, look_rounds
from evenhand.evaluation.diagnosis import notes_on, weights_of
from evenhand.evaluation.findings import Comparison, Evaluation
from evenhand.evaluation.sequences import Steps, lower_bound
from evenhand.kernels.arrays import Floats
from evenhand.progress import ProgressBar

__all__ = ["compared", "follow"]

Interval = tuple[float, float]


def compared(evaluations: Mapping[str, Evaluation], together: Mapping[str, Interval]) -> Evaluation | Comparison:
    """Return the evaluation, or the comparison of several with the first; `together` are intervals of values that hold
    all at once, from which those of the differences follow."""
    (first, base), *others = evaluations.items()
    rows = [
        (
            name,
            first,
            found.value - base.value,
            together[name][0] - together[first][1],
            together[name][1] - together[first][0],
        )
        for name, found in others
    ]
    return _answer(evaluations, rows)


def follow(courses: Mapping[str, Course], bar: ProgressBar, *, level: float, anytime: bool) -> Evaluation | Comparison:
    """Go through the log once and return the evaluation of each distribution, and of the differences from the first."""
    (first, base), *others = courses.items()
    pairs = {name: Pair(course, base) for name, course in others}
    curves: dict[str, list[tuple[float, ...]]] = {name: [] for name in courses}
    bounds = dict.fromkeys(courses, (0.0, 1.0))
    for look in look_rounds(len(base.logged.codes)):
        while base.rounds < look:
            for course in courses.values():
                course.take(look, bounded=anytime, by_row=bool(pairs))
            for pair in pairs.values():
                pair.take(bounded=anytime)
            bar.advance(base.rounds - bar.done)
        for name, course in courses.items():
            bounds[name] = course.interval(1 - level, *bounds[name]) if anytime else course.normal(level)
            curves[name].append((course.rounds, course.value, *bounds[name]))
    found = {name: _evaluation(course, curves[name], level, anytime) for name, course in courses.items()}
    share = (1 - level) / max(1, len(pairs))
    rows = [
        (
            name,
            first,
            found[name].value - found[first].value,
            *(pair.interval(share) if anytime else pair.normal(1 - share)),
        )
        for name, pair in pairs.items()
    ]
    return _answer(found, rows)


class Pair:
    """The difference of two distributions' values, row by row: their steps are of the same rewards."""

    def __init__(self, one: Course, other: Course) -> None:
        self.one, self.other = one, other
        self._below, self._above = Steps(), Steps()
        self._products: Floats = np.zeros(4)

    def take(self, bounded: bool) -> None:
        """Take in the rows that both have just weighed; `bounded` keeps what an interval for every row needs."""
        if not bounded:
            (x, y), (their_x, their_y) = self.one.terms, self.other.terms
            pairs = (x, their_x), (x, their_y), (y, their_x), (y, their_y)
            self._products += [(mine * theirs).sum() for mine, theirs in pairs]
            return
        (mine, least, most), (theirs, their_least, their_most) = self.one.last, self.other.last
        self._below.add(mine - theirs, least + their_most)
        self._above.add(theirs - mine, most + their_least)

    @property
    def _by_steps(self) -> bool:
        return self.one.largest is not None and self.other.largest is not None and self.one.estimator != "adaptive"

    def interval(self, error: float) -> Interval:
        """Return the bounds of the difference; `error` is the chance that a bound is ever on the wrong side."""
        low, high = self.one.interval(error / 2)
        their_low, their_high = self.other.interval(error / 2)
        apart = low - their_high, high - their_low
        if not self._by_steps:
            return apart
        return lower_bound([self._below], error / 2, -1.0, 1.0), -lower_bound([self._above], error / 2, -1.0, 1.0)

    def normal(self, level: float) -> Interval:
        """Return the normal interval, for this row alone and many rows. Both values are of the same rows: what these
        do to both alike, or to each the other way, belongs to the error of the difference."""
        from scipy.stats import norm

        mine, error, weight = self.one.found()
        theirs, their_error, their_weight = self.other.found()
        xx, xy, yx, yy = self._products.tolist()
        products = xx - theirs * xy - mine * yx + mine * theirs * yy
        together = products / (weight * their_weight) if weight * their_weight > 0 else 0.0
        variance = max(error**2 + their_error**2 - 2 * together, 0.0)
        wide = float(norm.isf((1 - level) / 2)) * variance**0.5
        return mine - theirs - wide, mine - theirs + wide


def _evaluation(course: Course, curve: list[tuple[float, ...]], level: float, anytime: bool) -> Evaluation:
    import pandas as pd

    table = weights_of(course.logged, course.candidate)
    return Evaluation(
        value=course.value,
        low=float(curve[-1][2]),
        high=float(curve[-1][3]),
        rounds=course.rounds,
        effective_rounds=course.effective_rounds,
        curve=pd.DataFrame(curve, columns=["round", "value", "low", "high"]),
        audit=None,
        estimator=course.estimator,
        level=level,
        anytime=anytime,
        reached=course.rounds,
        weights=table,
        notes=notes_on(course, table),
    )


def _answer(evaluations: Mapping[str, Evaluation], rows: list[Any]) -> Evaluation | Comparison:
    import pandas as pd

    if len(evaluations) == 1:
        return next(iter(evaluations.values()))
    table = pd.DataFrame(rows, columns=["policy", "against", "difference", "low", "high"])
    return Comparison(dict(evaluations), table)
