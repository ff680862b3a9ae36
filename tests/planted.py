"""Policies with one mistake each, which the contract and the search for broken promises must find."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, reason
from evenhand.quotas.quota_kernels import QuotaRule
from evenhand.quotas.quota_policy import QuotaPolicy, promise_over

BEST = reason("highest mean, or so it believes", "greedy")


class Params(NamedTuple):
    scale: float


class State(NamedTuple):
    pulls: Ints
    sums: Floats


@kernel
def lowest_mean(params: Params, state: State, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    best, value = 0, 1e9
    for i in range(state.pulls.size):
        if state.pulls[i] + waiting[i] == 0:
            return i, BEST
        mean = params.scale * state.sums[i] / max(state.pulls[i], 1)
        if mean < value:
            best, value = i, mean
    return best, BEST


@kernel
def in_turn(params: Params, state: State, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    return (round - 1 + int(params.scale)) % state.pulls.size, BEST


@kernel
def add(params: Params, state: State, contexts: Floats, index: int, reward: float) -> None:
    state.pulls[index] += 1
    state.sums[index] += reward


class LearnsTheOpposite(KernelPolicy):
    """Plays the arm with the lowest mean: a sign is wrong."""

    _kernels = Kernels(lowest_mean, add)

    def __init__(self, scale=1.0, *, arms=None, seed=None):
        self.scale = scale
        super().__init__(arms, seed)

    def _parameters(self):
        return Params(float(self.scale))

    def _memory(self):
        return State(np.zeros(len(self._labels), np.int64), np.zeros(len(self._labels)))


class LearnsNothing(LearnsTheOpposite):
    """Plays every arm in turn."""

    _kernels = Kernels(in_turn, add)


@kernel
def misspelt(params: Params, state: State, contexts: Floats, index: int, reward: float) -> None:
    state.pulls[index] += 1
    state.sum[index] += reward  # no such field


class HasNoSuchField(LearnsTheOpposite):
    """A kernel that names a field that is not there."""

    _kernels = Kernels(in_turn, misspelt)


class MeansNotToLearn(LearnsNothing):
    """The same, and says so."""

    _traits = replace(KernelPolicy._traits, learns=False)


class TakesAnArgumentInVain(MeansNotToLearn):
    """States an argument that nothing reads."""

    def __init__(self, patience=2, *, arms=None, seed=None):
        self.patience = patience
        super().__init__(arms=arms, seed=seed)


class PatientParams(NamedTuple):
    scale: float
    patience: float


class HandsAnArgumentOnInVain(TakesAnArgumentInVain):
    """Gives an argument to its kernels, none of which reads it."""

    def _parameters(self):
        return PatientParams(float(self.scale), float(self.patience))


class LooksAtLabels(MeansNotToLearn):
    """Starts with the arm whose label comes first in the alphabet."""

    def _parameters(self):
        return Params(float(min(range(len(self.arms)), key=lambda i: str(self.arms[i]))))


class LeavesNumbersAsTheyAre(MeansNotToLearn):
    """Params(1) and Params(1.0) compile twice, and decide in other arithmetic."""

    def _parameters(self):
        return Params(self.scale)


class QuotaParams(NamedTuple):
    shares: Floats
    learner: object


class QuotaState(NamedTuple):
    pulls: Ints
    learner: object


@kernel
def late_from_700(params: QuotaParams, state: QuotaState, round: int) -> int:
    """Play whoever is behind; from round 700 on be one pull more patient."""
    for i in range(state.pulls.size):
        if params.shares[i] * round - state.pulls[i] >= (1.0 if round < 700 else 2.0):
            return i
    return -1


@kernel
def wishes(params: QuotaParams, state: QuotaState, round: int, wish: int) -> int:
    return wish


@kernel
def whoever_is_behind(params: QuotaParams, state: QuotaState, round: int) -> int:
    for i in range(state.pulls.size):
        if params.shares[i] * round - state.pulls[i] >= 1.0:
            return i
    return -1


@kernel
def count(params: QuotaParams, state: QuotaState, round: int, arm: int) -> None:
    state.pulls[arm] += 1


class BreaksItsPromiseLate(QuotaPolicy):
    """Keeps a promise of small shares for 700 rounds, and breaks it a little later."""

    _rule = QuotaRule(late_from_700, wishes, count)

    def __init__(self, learner, shares, tolerance=0.0, *, arms=None, seed=None):
        self._set_up(learner, promise_over(learner, shares, tolerance, arms), seed)

    def _quota_parameters(self, learner):
        return QuotaParams(np.array(self.promise.floats()), learner)

    def _quota_memory(self, learner):
        return QuotaState(np.zeros(len(self.promise.arms), np.int64), learner)


class LooksAtNoDeadline(BreaksItsPromiseLate):
    """Waits until an arm is behind, when others may be behind in the same round."""

    _rule = QuotaRule(whoever_is_behind, wishes, count)
