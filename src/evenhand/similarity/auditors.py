"""Several auditors: how often each is wrong, how much they agree, and which verdicts are suspect.

Nobody tells which verdicts are wrong. The belief about the metric does: a verdict that it finds unlikely is probably
wrong, and an auditor with many such verdicts errs often, which makes the belief trust the others more. A few passes of
this settle (expectation maximisation; A. P. Dawid, A. M. Skene, "Maximum likelihood estimation of observer error-rates
using the EM algorithm", 1979). A majority that is wrong together is believed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, wanted
from evenhand.similarity.metric import EQUAL
from evenhand.similarity.verdicts import Verdict

__all__ = [
    "UNKNOWN", "Suspect", "checked_auditor", "heard", "is_due", "learned_rates",
    "ranked", "suspects",
]  # fmt: skip

WRONG, RIGHT = 2.0, 6.0
"""The Beta prior of an auditor's rate of wrong verdicts."""

UNKNOWN = WRONG / (WRONG + RIGHT)
"""The rate of an auditor of whom nothing is known."""

PASSES = 4


class Belief(Protocol):
    """What a metric learner says here of what it believes."""

    error_rate: float
    rates: dict[str, float]
    shared: bool
    dimension: int | None
    copies: int

    @property
    def state(self) -> Any:
        """The belief's arrays."""
        ...

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The verdicts that it knows."""
        ...

    def fresh(self) -> Belief:
        """Return one of the same configuration that knows nothing."""
        ...

    def begin(self, dimension: int, copies: int) -> None:
        """Begin with features of this dimension, and so many metrics."""
        ...

    def relive(self, verdicts: Sequence[Verdict], rates: dict[str, float]) -> None:
        """Learn from these verdicts alone, at these rates of error."""
        ...


class Suspect(NamedTuple):
    """A verdict, and the probability that it is wrong."""

    id: int
    wrong: float
    verdict: Verdict


def checked_auditor(auditor: Any) -> str | None:
    """Return an auditor's name, or None for nobody's, refusing anything else."""
    if auditor is None or (isinstance(auditor, str) and auditor.strip()):
        return auditor
    raise ArgumentError(wanted("auditor", "a name, or None", auditor))


def signed(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts whose auditor is known."""
    return [verdict for verdict in verdicts if verdict.auditor is not None]


def heard(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts that the auditors' rates are learned from: all up to the last time they were due."""
    named = signed(verdicts)
    return named[: last_due(len(named))]


def is_due(verdicts: Sequence[Verdict], newest: int) -> bool:
    """Say whether rates are learned anew after the newest verdicts, so many of auditors who are known."""
    count = len(signed(verdicts))
    return last_due(count) > count - newest


def last_due(count: int) -> int:
    """Return the last time, at most `count` verdicts, that rates were due: after 4, 5, 6, 7, 8, 10, 12, 14, 16, ..."""
    step = max(count.bit_length() - 3, 0)
    return (count >> step) << step if count >= 4 else 0


def learned_rates(learner: Belief, verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Return the share of wrong verdicts of each auditor: the mean of its posterior after a few passes.

    The learner is not changed: it only says what belief to begin with.
    """
    named = signed(verdicts)
    rates = dict.fromkeys((str(verdict.auditor) for verdict in named), UNKNOWN)
    if learner.error_rate == 0.0 or learner.dimension is None or not named:
        return {}
    belief = learner.fresh()
    belief.begin(learner.dimension, learner.copies)
    for _ in range(PASSES):
        belief.relive(named, rates)
        wrong = chances(belief, named)
        for name in rates:
            mine = np.array([verdict.auditor == name for verdict in named])
            rates[name] = float((WRONG + wrong[mine].sum()) / (WRONG + RIGHT + mine.sum()))
    return rates


def suspects(learner: Belief) -> list[Suspect]:
    """Return each verdict with the probability that it is wrong, the likeliest first."""
    return ranked(learner.verdicts, chances(learner, learner.verdicts))


def ranked(verdicts: Sequence[Verdict], chances: NDArray[np.float64]) -> list[Suspect]:
    """Return verdicts that are wrong with these probabilities, the likeliest first."""
    found = [Suspect(v.id, float(wrong), v) for v, wrong in zip(verdicts, chances, strict=True)]
    return sorted(found, key=lambda one: -one.wrong)


def chances(learner: Belief, verdicts: Sequence[Verdict]) -> NDArray[np.float64]:
    """Return the probability that each verdict is wrong, by the belief as it is now."""
    return np.array([_chance(learner, verdict) for verdict in verdicts])


def _chance(learner: Belief, verdict: Verdict) -> float:
    state, copy = learner.state, 0 if learner.shared else verdict.pair
    away = verdict.x - verdict.y
    direction = state.scales * away[state.rows] * away[state.columns]
    mid, spread = direction @ state.centre[copy], math.sqrt(np.square(direction @ state.factor[copy]).sum())
    sign = 1.0 if verdict.unfair else -1.0
    room = sign * (verdict.gap**2 - mid) + state.tolerance
    if spread > 0.0:
        right = 0.5 * math.erfc(-room / spread * math.sqrt(0.5))
    else:
        right = float(verdict.unfair or verdict.gap <= EQUAL)
    rate = learner.error_rate if verdict.auditor is None else learner.rates.get(verdict.auditor, UNKNOWN)
    wrong = rate * (1.0 - right)
    return wrong / (wrong + (1.0 - rate) * right)
