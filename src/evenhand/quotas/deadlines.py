"""Floors of single arms, one a round, every arm on offer: the form of DeadlineLearn that costs the least.

The theorem, its proof and the search stand at the head of `evenhand.kernels.deadlines`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.deadlines import EARLIEST, deadline, may_play, only_one, outlook, played
from evenhand.quotas.problem import Promise
from evenhand.quotas.under_quota import Form, Rule

__all__ = ["DEADLINES"]


class DeadlineParams(NamedTuple):
    numerators: Ints
    steps: Ints
    remainders: Ints
    denominator: int
    learner: Any


class DeadlineState(NamedTuple):
    pulls: Ints
    whole: Ints
    """whole + rest/R is when the arm's next owed pull falls due; rounded up it is the deadline."""
    rest: Ints
    memo: Ints
    soonest: Ints
    ahead_whole: Ints
    ahead_rest: Ints
    learner: Any


@kernel
def forced(params: DeadlineParams, state: DeadlineState, round: int) -> int:
    return only_one(params, state, round - 1)


@kernel
def granted(params: DeadlineParams, state: DeadlineState, round: int, wish: int) -> int:
    if may_play(params, state, round - 1, deadline(state.whole, state.rest, wish)):
        return wish
    return state.memo[EARLIEST]


@kernel
def count(params: DeadlineParams, state: DeadlineState, round: int, arm: int) -> None:
    state.pulls[arm] += 1
    played(params, state, arm)


def deadline_parameters(promise: Promise, learner: Any) -> DeadlineParams:
    """Return the parameters of the rule."""
    return DeadlineParams(*promise.pace(), promise.fixed_point()[1], learner)


def deadline_state(promise: Promise, learner: Any) -> DeadlineState:
    """Return the state of the rule before the first round."""
    arms = len(promise.arms)
    position = promise.position(promise.slack + 1)
    return DeadlineState(np.zeros(arms, np.int64), *position, *outlook(arms), learner)


DEADLINES = Form(Rule(forced, granted, count, ("whole", "rest")), deadline_parameters, deadline_state)
