"""The result of an evaluation: a value and its interval, and whether a mean changed over the rows of a log.

Under a constant mean v, bets on more than v over the first s rows and on less than v over the others multiply to an
E(v, s) that is 1 at most in expectation, and so do those the other way round. The mean of E(v, s) over some s and both
directions is small for some v unless the mean changed: the least over v is an e-value against a constant mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arguments import real
from evenhand.audit.confidence_sequences import BettingProcess, Book, log_wealth
from evenhand.display.html import Card, HasCard, Table
from evenhand.errors import Wording
from evenhand.kernels.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.audit import Audit


Interval = Literal["anytime", "once", "normal"]
FIRST, PER_OCTAVE = 16, 4
PRECISE = {"xatol": 1e-9}
"""How closely the mean is found under which there is least evidence; that is convex in the mean."""


@dataclass(frozen=True)
class MeanChange:
    """A mean reward that is shown to change over the rows of a log.

    Attributes
    ----------
    evidence : the e-value against a constant mean; it is 20 or more in at most one of twenty logs of a constant mean.
    row : the row of the log after which the change shows most clearly; of units, the row before the first of the next.
    low, high : the interval of the mean over the rows since; it holds for whichever row is found.
    """

    evidence: float
    row: int
    low: float
    high: float


def split_rows(rows: int) -> list[int]:
    """Return the numbers of rows before which and after which means are compared.

    >>> split_rows(40)
    [16, 19, 22, 26, 32, 38]
    """
    found: list[int] = []
    while (row := int(FIRST * 2 ** (len(found) / PER_OCTAVE))) < rows:
        found.append(row)
    return found


def change_in(whole: BettingProcess, splits: dict[int, BettingProcess], error: float) -> MeanChange | None:
    """Return the change of a mean in [0, 1], None where it is not shown at this error.

    Parameters
    ----------
    whole, splits : the books after all rows, and after some, by the row of the log.
    """
    if not splits:
        return None
    from scipy.optimize import minimize_scalar

    before, after = list(splits.values()), [whole.since(books) for books in splits.values()]
    more, later_more = (_wealth([books.below for books in many]) for many in (before, after))
    less, later_less = (_wealth([books.above for books in many]) for many in (before, after))

    def evidence(mean: float) -> Floats:
        """Return ln E(mean, s) for each s (n_splits,), the mean of both directions."""
        rising, falling = more(mean) + later_less(-mean), less(-mean) + later_more(mean)
        return np.asarray(np.logaddexp(rising, falling) - math.log(2), np.float64)

    least = minimize_scalar(lambda mean: np.logaddexp.reduce(evidence(mean)), bounds=(0.0, 1.0), options=PRECISE)
    logs = evidence(least.x)
    found = float(np.logaddexp.reduce(logs)) - math.log(len(logs))
    if found < -math.log(error):
        return None
    clearest = int(logs.argmax())
    low, high = after[clearest].interval(error / len(logs), 0.0, 1.0)
    return MeanChange(math.exp(min(found, 700.0)), list(splits)[clearest], min(low, high), max(low, high))


def _wealth(many: Sequence[Sequence[Book]]) -> Callable[[float], Floats]:
    """Return ln K of bets on more than a mean, as a function of the mean, for each of several sets of books."""
    each = list(map(log_wealth, many))
    return lambda mean: np.array([wealth(mean) for wealth in each])


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(HasCard):
    """The value of a policy, from a log of another.

    Attributes
    ----------
    value : the mean reward a round that the policy would have had; nan where the log does not identify it, because it
        gave an arm of the policy no chance in some rows.
    low, high : the interval: with probability `level` it contains the policy's expected reward, averaged over the rows
        so far, however expected rewards change over time: after every row at once with `interval="anytime"`, else after
        the last row alone, and with "normal" for many rows.
    rounds : the rows that were used; of a policy that learns, the rounds to which `value` refers.
    effective_rounds : (sum w)^2 / sum w^2: as many rows of the policy's own would be as informative.
    curve : a table of the value and the interval after some rounds: `round`, `value`, `low`, `high`; an interval for
        one look stands in the last row alone, in the others is nan.
    audit : the audit of the first replay in which the policy broke its promise, or of the first replay if it kept it in
        all; None for distributions, and for policies without a promise at every round.
    estimator, level, interval : as they were given; of the replays of a learner, "once" where there are several.
    weights : one row per arm: `arm`, `pulls`, `share`, `probability` (of the policy, its mean), `calibration`, the mean
        of 1{a} / p over the rows in which the arm had a chance, which is near 1 where the propensities are right, and
        `p_value` of the test of that, adjusted for all arms (Holm).
    notes : what to know before trusting the value, in sentences.
    refuted : whether the lower bound was above the upper one, which refutes the propensities; `low` and `high` are then
        these bounds in increasing order.
    change : if the mean reward is shown to change over the rows, when it did and what it has been since; else None.
        Only distributions are tested, with `interval="anytime"`.
    overlap : the share of the rows in which each arm had a chance; None where the log does not say.
    estimates : where several estimators are asked for, a row for each: `estimator`, `value`, `low`, `high`; else None.
    unit : as it was given; but for normal intervals, the value and its interval are then means over units, and
        `rounds` and the rounds of `curve` count units.
    """

    value: float
    low: float
    high: float
    rounds: int
    effective_rounds: float
    curve: pd.DataFrame
    audit: Audit | None
    estimator: str
    level: float
    interval: Interval
    weights: pd.DataFrame
    notes: tuple[str, ...] = ()
    refuted: bool = False
    change: MeanChange | None = None
    overlap: pd.Series[float] | None = None
    unit: str | None = None
    estimates: pd.DataFrame | None = None

    @property
    def counted(self) -> str:
        """What `rounds` counts."""
        if self.estimator == "replay":
            return "rounds"
        return "rows" if self.unit is None or self.interval == "normal" else f"units ({self.unit})"

    def at_least(self, value: float) -> bool:
        """Return whether the mean reward is shown to be at least `value`: over all rows and, if it changed, also over
        the rows since."""
        value = real("value", value)
        return not self.refuted and self.low >= value and (self.change is None or self.change.low >= value)

    def __str__(self) -> str:
        return self._sentence(self.refuted)

    def _sentence(self, refuted: bool) -> str:
        """Return the value in words; without an interval where the propensities are refuted, on which it rests."""
        when = "at every round" if self.interval == "anytime" else "after the last row"
        where = f"between {self.low:.4g} and {self.high:.4g} with probability {self.level:g} {when}"
        where = "without an interval" if math.isnan(self.low) else where
        rounds = f"{self.rounds} {self.counted}, as informative as {self.effective_rounds:.0f} of its own"
        value = "not identified" if math.isnan(self.value) else f"{self.value:.4g} per round"
        if refuted:
            crossed = "a lower bound is above the upper one"
            return f"the propensities cannot be true, as {crossed}; by them {value}, without an interval; {rounds}"
        return f"{value}, {where}; {rounds}"

    def _card(self) -> Card:
        facts: dict[str, Any] = {"value": str(self), "estimator": self.estimator}
        if self.audit is not None:
            facts["promise"] = "kept in every replayed round" if self.audit.kept else "broken in a replayed round"
        return Card("Evaluation", facts, [Table.of(self.weights, "Arms of the log")])


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(HasCard):
    """The evaluations of several policies on one log.

    Attributes
    ----------
    evaluations : the evaluation of each policy, by its name.
    differences : a row for each policy but the first: `policy`, `against` (the first), `difference`, `low`, `high`; of
        replays also `spread`, its standard deviation over replays in which both see the rows in the same order.
    own_notes : what to know about the differences.
    estimates : where several estimators are asked for, a row for each of each `policy`; else None.
    """

    evaluations: dict[str, Evaluation]
    differences: pd.DataFrame
    own_notes: tuple[str, ...] = ()
    estimates: pd.DataFrame | None = None

    def __getitem__(self, name: str) -> Evaluation:
        return self.evaluations[name]

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the differences, and those of all evaluations; one that does not concern all of them begins with
        the policy's name."""
        every = {name: found.notes for name, found in self.evaluations.items()}
        said = dict.fromkeys(note for notes in every.values() for note in notes)
        shared = {note for note in said if all(note in notes for notes in every.values())}
        own = [Wording(f"{name}: ", note) for name, notes in every.items() for note in notes if note not in shared]
        return (*self.own_notes, *(note for note in said if note in shared), *own)

    def _card(self) -> Card:
        refuted = any(found.refuted for found in self.evaluations.values())
        facts = {name: found._sentence(refuted) for name, found in self.evaluations.items()}
        shown = self.differences.assign(**dict.fromkeys(("low", "high"))) if refuted else self.differences
        return Card("Comparison", facts, [Table.of(shown, "Differences from the first")])
