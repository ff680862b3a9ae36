"""Optimism: try every arm first, then play the one with the highest index; templates for any index.

An index is a kernel `index(params, state, round, arm)` of an arm that has been told about; `state.pulls` counts the
rewards of each arm. Many need no more than `Means`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.kernels.ties import tried, untried
from evenhand.policy.kernel_set import Kernels
from evenhand.policy.reasons import reason

UNTRIED = reason("never tried before", "untried")
UNSEEN = reason("no reward seen yet", "untried")
HIGHEST = reason("highest upper confidence bound", "optimistic")

index: Any = OPEN


class Means(NamedTuple):
    """The rewards of each arm: how many, and their sum."""

    pulls: Ints
    sums: Floats

    @classmethod
    def of(cls, arms: int) -> Self:
        """Return those before the first reward."""
        return cls(np.zeros(arms, np.int64), np.zeros(arms))


@kernel
def learn_mean(params: Any, state: Any, contexts: Floats, index: int, reward: float) -> None:
    """Count a reward and add it to its arm's sum."""
    state.pulls[index] += 1
    state.sums[index] += reward


@kernel
def choose_highest(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    """Choose the arm with the highest index, ties by the lowest arm."""
    arm = untried(state.pulls, waiting)
    if arm >= 0:
        return arm, UNSEEN if tried(state.pulls, waiting, round, arm) else UNTRIED
    best, highest = 0, -1.0
    for i in range(state.pulls.size):
        if state.pulls[i] > 0:
            bound = index(params, state, round, i)
            if bound > highest:
                best, highest = i, bound
    return best, HIGHEST


@kernel
def rank_by_index(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    """Score every arm by its index: first those that were never handed out, last those whose reward is on its way."""
    why = HIGHEST
    for i in range(state.pulls.size):
        if state.pulls[i] > 0:
            scores[i] = index(params, state, round, i)
        elif waiting[i] > 0:
            scores[i] = -1.0 - waiting[i]
        else:
            scores[i] = math.inf
            why = UNTRIED
    return why


def by_index(index: Any, update: Any) -> Kernels:
    """Return the kernels of a learner with this index."""
    return Kernels(bind(choose_highest, index=index), update, rank=bind(rank_by_index, index=index))
