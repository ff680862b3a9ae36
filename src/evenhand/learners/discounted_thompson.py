"""Discounted Thompson sampling: a Beta posterior whose evidence fades, so that every arm stays a little uncertain.

Source: V. Raj, S. Kalyani, "Taming Non-stationary Bandits: A Bayesian Approach" (2017), Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import uniform
from evenhand.learners.discounted_ucb import discount, read_discount
from evenhand.learners.thompson import CHANCES, choose, rank
from evenhand.policy.policy import KernelPolicy, Kernels, unknown
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

__all__ = ["DiscountedThompson"]


class DiscountedThompsonParams(NamedTuple):
    prior: float
    gamma: float


class DiscountedThompsonState(NamedTuple):
    successes: Floats
    failures: Floats
    stream: Words


@kernel
def update(
    params: DiscountedThompsonParams, state: DiscountedThompsonState, contexts: Floats, index: int, reward: float
) -> None:
    success = reward >= 1.0
    if 0.0 < reward < 1.0:
        success = uniform(state.stream) < reward
    for i in range(state.successes.size):
        state.successes[i] *= params.gamma
        state.failures[i] *= params.gamma
    if success:
        state.successes[index] += 1.0
    else:
        state.failures[index] += 1.0


@register("learners/discounted-thompson")
class DiscountedThompson(KernelPolicy):
    """Play the arm whose sample from Beta(1 + S_i, 1 + F_i) is largest, S_i and F_i its discounted successes and
    failures.

    Each reward that is told multiplies all S_i and F_i by gamma first, as for `DiscountedUCB`. A reward strictly
    between 0 and 1 counts as a success with that probability.

    Parameters
    ----------
    gamma : the discount in (0, 1]; None for 0.999, or for what the horizon asks for.
    horizon : T, the number of rounds to come: gamma is 1 - sqrt(changes / T) / 4, that of `DiscountedUCB`; the source
        names no rule.
    changes : how many times the means change within the horizon.
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : seed of the samples.

    Raises
    ------
    ArgumentError
        If gamma is not in (0, 1] or is given beside a horizon, horizon or changes are not whole numbers with 1 <=
        changes <= horizon, there are fewer than two arms, or a label twice.

    Examples
    --------
    >>> learner = DiscountedThompson(0.95, arms=["tea", "coffee"], seed=1)
    >>> for t in range(600):
    ...     decision = learner.ask()
    ...     better = "tea" if t < 300 else "coffee"
    ...     learner.tell(decision, 1.0 if decision.arm == better else 0.0)
    >>> learner.ask().arm
    'coffee'

    Source: Raj and Kalyani (2017), Algorithm 1; they prove no bound on its regret.
    """

    kernels = Kernels(choose, update, unknown, rank, CHANCES)

    def __init__(
        self,
        gamma: float | None = None,
        *,
        horizon: int | None = None,
        changes: int = 1,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self.gamma, self.horizon, self.changes = read_discount(gamma, horizon, changes)
        super().__init__(arms, seed)

    def parameters(self) -> DiscountedThompsonParams:
        return DiscountedThompsonParams(1.0, discount(self.gamma, self.horizon, self.changes))

    def memory(self) -> DiscountedThompsonState:
        k = len(self._labels)
        return DiscountedThompsonState(np.zeros(k), np.zeros(k), self.stream())
