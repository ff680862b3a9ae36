"""Which verdicts are suspect, and who gave them.

Nobody tells which verdicts are wrong. The belief about the metric does: a verdict that it finds unlikely is probably
wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import ArgumentError, wanted
from evenhand.similarity.metric import EQUAL
from evenhand.similarity.verdicts import Verdict


class Belief(Protocol):
    """What a metric learner says here of what it believes."""

    error_rate: float
    shared: bool

    @property
    def state(self) -> Any:
        """The belief's arrays."""
        ...

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The verdicts that it knows."""
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


def suspects(learner: Belief) -> list[Suspect]:
    """Return each verdict with the probability that it is wrong, the likeliest first."""
    return ranked(learner.verdicts, [_chance(learner, verdict) for verdict in learner.verdicts])


def ranked(verdicts: Sequence[Verdict], chances: ArrayLike) -> list[Suspect]:
    """Return verdicts that are wrong with these probabilities, the likeliest first."""
    found = [Suspect(v.id, float(wrong), v) for v, wrong in zip(verdicts, np.asarray(chances), strict=True)]
    return sorted(found, key=lambda one: -one.wrong)


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
    wrong = learner.error_rate * (1.0 - right)
    return wrong / (wrong + (1.0 - learner.error_rate) * right)
