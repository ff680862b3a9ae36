"""LFG: learning with fairness guarantee, virtual queues that press an arm's claim against its reward.

Each arm has a queue Q_i <- max(0, Q_i + r_i - 1{i pulled}); the arm with the largest Q_i + eta u_i is pulled, with
u_i = min(1, mean_i + sqrt(3 ln t / (2 N_i))), and u_i = 1 while N_i = 0. Shares are met in the long run only: the
shortfall climbs to a plateau that grows with eta, the weight of reward.

Source: F. Li, J. Liu, B. Ji, "Combinatorial Sleeping Bandits with Fairness Constraints", IEEE INFOCOM 2019, Algorithm
1, with one arm a round and no arm asleep.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evenhand.arguments import as_float
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.policy import KernelPolicy, Kernels, reason
from evenhand.protocol import Label
from evenhand.quotas.under_quota import Kept, Shares, read_promise
from evenhand.quotas.worlds import BernoulliArms
from evenhand.registry import register
from evenhand.rng import Seed

__all__ = ["LFG"]

LARGEST_ETA = 1e300
PRESSED = reason("largest queue and reward bound together", "optimistic")


class LFGParams(NamedTuple):
    shares: Floats
    eta: float


class LFGState(NamedTuple):
    pulls: Ints
    sums: Floats
    queues: Floats


@kernel
def choose(params: LFGParams, state: LFGState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    best, largest = 0, -1.0
    spread = 1.5 * math.log(round)
    for i in range(state.pulls.size):
        bound = 1.0
        if state.pulls[i] > 0:
            bound = min(1.0, state.sums[i] / state.pulls[i] + math.sqrt(spread / state.pulls[i]))
        weight = state.queues[i] + params.eta * bound
        if weight > largest:
            best, largest = i, weight
    for i in range(state.pulls.size):
        served = 1.0 if i == best else 0.0
        state.queues[i] = max(0.0, state.queues[i] + params.shares[i] - served)
    return best, PRESSED


@kernel
def update(params: LFGParams, state: LFGState, contexts: Floats, index: int, reward: float) -> None:
    state.pulls[index] += 1
    state.sums[index] += reward


@register("quotas/lfg")
class LFG(KernelPolicy):
    """Play the arm with the largest queue plus eta times its reward bound: shares in the long run, no promise at any
    given round.

    Parameters
    ----------
    shares : the share r_i of the rounds owed to each arm: a list, a dict arm -> share, or one number with `arms`.
    eta : weight of reward against queues, > 0; the shortfall settles near eta times the largest gap.
    arms : labels, where `shares` has none.
    seed : unused by this rule, kept so that policies are interchangeable.

    Raises
    ------
    SharesError
        If a share is not in [0, 1], there is not one an arm, or they sum to more than one.
    ArgumentError
        If eta is not a positive number.

    Examples
    --------
    >>> policy = LFG([0.2, 0.3, 0.25], eta=10.0)
    >>> [policy.choose() for _ in range(4)]
    [0, 1, 2, 0]

    Source: Li, Liu, Ji (2019), Algorithm 1 and Theorem 2.
    """

    kernels = Kernels(choose, update)
    kept: ClassVar[Kept] = "in the long run"

    def __init__(
        self, shares: Shares | Any, eta: float = 1000.0, *, arms: int | Sequence[Label] | None = None, seed: Seed = None
    ) -> None:
        self.eta = as_float(eta)
        if not 0 < self.eta <= LARGEST_ETA:
            raise ArgumentError(wanted("eta", "a number > 0", eta))
        self.promise = read_promise(shares, 0.0, arms)
        super().__init__(self.promise.arms, seed)

    @property
    def shares(self) -> dict[Label, Fraction]:
        """The share of each arm, exactly as it was read."""
        return dict(zip(self.promise.arms, self.promise.shares, strict=True))

    def parameters(self) -> LFGParams:
        return LFGParams(self.promise.floats(), self.eta)

    def memory(self) -> LFGState:
        k = len(self._labels)
        return LFGState(np.zeros(k, np.int64), np.zeros(k), np.zeros(k))

    @classmethod
    def examples(cls) -> Iterator[tuple[LFG, Any]]:
        yield cls([0.2, 0.3, 0.25], eta=30.0), BernoulliArms([0.7, 0.5, 0.4])
