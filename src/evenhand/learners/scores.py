"""Scores: somebody's own model ranks the arms of each round, and evenhand keeps the promise in front of it.

A round shows the score of each arm as its context, one number, and the arm with the highest one is proposed. Nothing is
learned: a replay refits no model, and the scores stand in the log.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.learners.adapter import read_range
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, reason
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

EVERY = (-math.inf, math.inf)
BOTH = "such as low=0, high=1, or leave both out"
HIGHEST_SCORE = reason("the highest of the given scores", "learner")


class Nothing(NamedTuple):
    nothing: Floats


@kernel
def choose(params: object, state: object, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    best = 0
    for arm in range(1, contexts.shape[0]):
        if contexts[arm, 0] > contexts[best, 0]:
            best = arm
    return best, HIGHEST_SCORE


@kernel
def rank(params: object, state: object, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    for arm in range(contexts.shape[0]):
        scores[arm] = contexts[arm, 0]
    return HIGHEST_SCORE


@kernel
def update(params: object, state: object, contexts: Floats, index: int, reward: float) -> None:
    """Learn nothing: the model is elsewhere."""


@register("learners/scores")
class Scores(KernelPolicy):
    """Rank the arms by scores that are given with each `ask`, from a model that is trained elsewhere.

    Pass it to `DeadlineLearn`, and the scores of the arms on offer to its `ask(scores={"a": 0.12, "b": 0.3})`.

    Parameters
    ----------
    low, high : the lowest and the highest score, where a score is the reward that an arm is expected to earn: then
        others are refused, and `priced=True` weighs them against what is owed. Rewards are not checked by them, as one
        reward may lie beyond what can be expected. Leave both out for scores that only rank, such as upper bounds.
    arms : number of arms or their labels.
    seed : unused by this rule, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If only one of `low` and `high` is given, they are no range of finite numbers, there are fewer than two arms, or
        a label repeats.

    Examples
    --------
    >>> from evenhand.quotas import DeadlineLearn
    >>> policy = DeadlineLearn(Scores(), {"a": 0.5, "b": 0, "c": 0})
    >>> [policy.ask(scores={"a": 0.1, "b": 0.3, "c": 0.2}).arm for _ in range(4)]
    ['b', 'a', 'b', 'a']
    >>> policy.ask(scores={"c": 0.2, "b": 0.2}).arm
    'c'

    Source: ours.
    """

    _traits = replace(KernelPolicy._traits, contextual=True, reward_range=EVERY, scored=EVERY, learns=False)
    _kernels = Kernels(choose, update, rank=rank)
    _features = ("score",)

    def __init__(
        self,
        low: float | None = None,
        high: float | None = None,
        *,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self.low = self.high = None
        if low is not None or high is not None:
            what = "the lowest and the highest score, two finite numbers"
            self.low, self.high = ends = read_range((low, high), "low, high", what, BOTH)
            if math.isinf(self.high - self.low):
                raise ArgumentError(expected("low, high", what, (low, high), BOTH))
            self._traits = replace(self._traits, scored=ends)
        super().__init__(arms, seed)

    def _parameters(self) -> Nothing:
        return Nothing(np.zeros(1))

    def _memory(self) -> Nothing:
        return Nothing(np.zeros(1))
