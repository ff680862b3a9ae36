"""Discounted UCB: old rewards count less and less, so that the indices follow means that change.

Each reward that is told first multiplies all counts and sums by gamma, then adds itself: N_i and S_i are the discounted
count and sum of arm i, and n = sum_i N_i. The index of arm i is S_i / N_i + 2 sqrt(xi ln(n) / N_i).

Source: A. Garivier, E. Moulines, "On Upper-Confidence Bound Policies for Switching Bandit Problems", ALT 2011, section
2.1 and Theorem 1; L. Kocsis, C. Szepesvári, "Discounted UCB", 2nd PASCAL Challenges Workshop (2006).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.arguments import real, whole
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.learners.optimism import by_index
from evenhand.policy.policy import KernelPolicy
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

DISCOUNT = 0.999
LONGEST = 10**9
"""The longest horizon that sets a discount; beyond it 1 - gamma would be lost in rounding."""
FORGOTTEN = 1e-300
"""A discounted count below this is as good as none."""


class DiscountedParams(NamedTuple):
    discount: float
    xi: float


class DiscountedState(NamedTuple):
    pulls: Ints
    """How many rewards of each arm were ever told."""
    counts: Floats
    sums: Floats
    total: Floats
    """(1,): the sum of the discounted counts."""


@kernel
def index(params: DiscountedParams, state: DiscountedState, round: int, arm: int) -> float:
    count = state.counts[arm]
    if count < FORGOTTEN:
        return math.inf
    level = params.xi * max(0.0, math.log(state.total[0]))
    return state.sums[arm] / count + 2.0 * math.sqrt(level / count)


@kernel
def update(params: DiscountedParams, state: DiscountedState, contexts: Floats, index: int, reward: float) -> None:
    for i in range(state.pulls.size):
        state.counts[i] *= params.discount
        state.sums[i] *= params.discount
    state.pulls[index] += 1
    state.counts[index] += 1.0
    state.sums[index] += reward
    state.total[0] = params.discount * state.total[0] + 1.0


@register("learners/discounted-ucb")
class DiscountedUCB(KernelPolicy):
    """Play the arm with the largest discounted mean + 2 sqrt(xi ln(n) / N_i); every arm once first.

    The discount goes by rewards, not by the clock: a reward that comes late counts as new when it is told, and while
    nothing is told nothing is forgotten. Where several arms are played in a round, each of their rewards discounts.

    Parameters
    ----------
    discount : gamma in (0, 1]; None for 0.999, or for what the horizon asks for. About 1 / (1 - gamma) rewards count.
    xi : how much is explored, above 0. The theorem wants more than 1/2.
    horizon : T, the number of rounds to come: gamma is 1 - sqrt(changes / T) / 4.
    changes : how many times the means change within the horizon.
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : unused by this rule, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If the discount is not in (0, 1] or is given beside a horizon, xi is not above 0, horizon or changes are not
        whole numbers with 1 <= changes <= horizon, there are fewer than two arms, or a label twice.

    Examples
    --------
    >>> learner = DiscountedUCB(0.98, arms=["tea", "coffee"])
    >>> for t in range(600):
    ...     decision = learner.ask()
    ...     better = "tea" if t < 300 else "coffee"
    ...     learner.tell(decision, 0.9 if decision.arm == better else 0.1)
    >>> [learner.choose() for _ in range(1)]
    [1]

    Source: Garivier and Moulines (2011), Theorem 1 and Remark 3: with that gamma the expected number of times that a
    wrong arm is played is O(sqrt(changes T) ln T).
    """

    kernels = by_index(index, update)

    def __init__(
        self,
        discount: float | None = None,
        xi: float = 0.5,
        *,
        horizon: int | None = None,
        changes: int = 1,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self.discount = None if discount is None else real("discount", discount, above=0.0, high=1.0)
        self.horizon = None if horizon is None else whole("horizon", horizon, low=1, high=LONGEST)
        self.changes = whole("changes", changes, low=1, high=self.horizon)
        if discount is not None and horizon is not None:
            raise ArgumentError(wanted("discount", "None beside horizon=, which decides it", discount))
        self.xi = real("xi", xi, above=0.0)
        super().__init__(arms, seed)

    def parameters(self) -> DiscountedParams:
        discount = DISCOUNT if self.discount is None else self.discount
        if self.horizon is not None:
            discount = 1.0 - 0.25 * math.sqrt(self.changes / self.horizon)
        return DiscountedParams(discount, self.xi)

    def memory(self) -> DiscountedState:
        k = len(self._labels)
        return DiscountedState(np.zeros(k, np.int64), np.zeros(k), np.zeros(k), np.zeros(1))
