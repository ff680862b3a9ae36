"""LFG: learning with fairness guarantee, by virtual queues that weigh an arm's claim against its reward.

Each arm has a queue Q_i <- max(0, Q_i + r_i - 1{i pulled}); the m arms on offer with the largest Q_i + eta u_i are
pulled, with u_i = min(1, mean_i + sqrt(3 ln t / (2 N_i))), and u_i = 1 while N_i = 0. Queues grow whether an arm is on
offer or not, because shares are of all rounds. They are met in the long run only, and only if they can be: the
shortfall climbs to a plateau that grows with eta, the weight of reward.

Source: F. Li, J. Liu, B. Ji, "Combinatorial Sleeping Bandits with Fairness Constraints", IEEE INFOCOM 2019, Algorithm
1, with equal weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import as_float, whole
from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.learners.indices import learn_mean
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, reason
from evenhand.protocol import Label
from evenhand.quotas.quota_policy import QuotaPolicy, Shares, promise_over
from evenhand.quotas.worlds import BernoulliArms
from evenhand.registry import register
from evenhand.rng import Seed

LARGEST_ETA = 1e300
PRESSED = reason("largest queue and reward bound together", "optimistic")


class LFGParams(NamedTuple):
    shares: Floats
    eta: float


class LFGState(NamedTuple):
    pulls: Ints
    sums: Floats
    queues: Floats
    weights: Floats
    offered: Ints
    """(n_arms,): 1 for an arm that is on offer in this round, else 0."""
    chosen: Ints
    """(plays,): the arms of the last round, the best first; -1 where fewer are on offer."""


@kernel
def choose(params: LFGParams, state: LFGState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    spread = 1.5 * math.log(round)
    for i in range(state.pulls.size):
        bound = 1.0
        if state.pulls[i] > 0:
            bound = min(1.0, state.sums[i] / state.pulls[i] + math.sqrt(spread / state.pulls[i]))
        state.weights[i] = state.queues[i] + params.eta * bound if state.offered[i] == 1 else -1.0
        state.queues[i] += params.shares[i]
    for n in range(state.chosen.size):
        best, largest = -1, -1.0
        for i in range(state.pulls.size):
            if state.weights[i] > largest:
                best, largest = i, state.weights[i]
        state.chosen[n] = best
        if best >= 0:
            state.weights[best] = -1.0
            state.queues[best] -= 1.0
    for i in range(state.pulls.size):
        state.queues[i] = max(0.0, state.queues[i])
    return state.chosen[0], PRESSED


@register("quotas/lfg", baseline=True)
class LFG(KernelPolicy):
    """Play the arms with the largest sum of queue and eta times reward bound: shares are met in the long run, with no
    promise at any given round.

    Parameters
    ----------
    shares : the share r_i of the rounds owed to each arm: a list, a dict arm -> share, or one number with `arms`.
    eta : weight of reward against queues, > 0; the shortfall settles near eta times the largest gap.
    plays : m, how many arms are played in a round, none twice; the shares may sum to m.
    arms : labels, where `shares` has none.
    seed : unused by this rule, kept so that policies are interchangeable.

    Raises
    ------
    SharesError
        If a share is not in [0, 1], there is not one share per arm, or they sum to more than the plays of a round.
    ArgumentError
        If eta is not a positive number, or there are more plays than arms.

    Examples
    --------
    >>> policy = LFG([0.2, 0.3, 0.25], eta=10.0)
    >>> [policy.choose() for _ in range(4)]
    [0, 1, 2, 0]
    >>> LFG([0.5, 0.3, 0.25], eta=10.0, plays=2).ask(available=[1, 2]).arms
    (1, 2)

    Source: Li, Liu, Ji (2019), Algorithm 1 and Theorem 2.
    """

    _kernels = Kernels(choose, learn_mean)
    _traits = replace(KernelPolicy._traits, holds_when="in the long run")
    shares = QuotaPolicy.shares

    def __init__(
        self,
        shares: Shares | Any,
        eta: float = 1000.0,
        plays: int = 1,
        *,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self.eta = as_float(eta)
        if not 0 < self.eta <= LARGEST_ETA:
            raise ArgumentError(expected("eta", "a number > 0", eta))
        self.promise = promise_over(None, shares, 0.0, arms, whole("plays", plays, low=1))
        self.plays = self.promise.plays
        self._traits = replace(self._traits, plays=self.plays)
        super().__init__(self.promise.arms, seed)

    def _parameters(self) -> LFGParams:
        return LFGParams(self.promise.floats(), self.eta)

    def _memory(self) -> LFGState:
        k = len(self._labels)
        books = np.zeros(k, np.int64), np.zeros(k), np.zeros(k)
        return LFGState(*books, np.zeros(k), np.ones(k, np.int64), np.full(self.plays, -1, np.int64))

    def _offer(self, available: list[int]) -> Ints:
        return self.engine.offer(available)

    @classmethod
    def _examples(cls) -> Iterator[tuple[LFG, Any]]:
        yield cls([0.2, 0.3, 0.25], eta=30.0, seed=1), BernoulliArms([0.7, 0.5, 0.4])
        yield cls([0.4, 0.3, 0.25], eta=30.0, plays=2, seed=2), BernoulliArms([0.7, 0.5, 0.4])
