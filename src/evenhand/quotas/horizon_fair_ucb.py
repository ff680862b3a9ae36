"""T-Fair-UCB: knows when the end is, serves every quota first, then plays UCB1; the promise holds at the horizon alone.

The order inside the first phase is free. Here the quotas q_i = max(0, floor(r_i T) - floor(alpha)) are served by
earliest virtual deadline, the n-th pull of arm i at n (q_1 + ... + q_k) / q_i: a proportional round robin, so that no
arm waits for the quotas of the others.

Source: V. Patil, G. Ghalme, V. Nair, Y. Narahari, "Achieving Fairness in the Stochastic Multi-armed Bandit Problem",
Journal of Machine Learning Research 22 (2021), Algorithm 2 and Theorem 8 (appendix C).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.due_times import NEVER, advance, pace, position
from evenhand.learners.ucb1 import UCB1
from evenhand.protocol import Label
from evenhand.quotas.under_quota import Kept, Rule, Shares, UnderQuota, as_wished, promise_over
from evenhand.quotas.worlds import BernoulliArms
from evenhand.registry import register
from evenhand.rng import Seed


class HorizonParams(NamedTuple):
    quotas: Ints
    steps: Ints
    remainders: Ints
    learner: Any


class HorizonState(NamedTuple):
    pulls: Ints
    whole: Ints
    rest: Ints
    learner: Any


@kernel
def unserved(params: HorizonParams, state: HorizonState, round: int) -> int:
    arm, soonest = -1, NEVER
    for i in range(state.pulls.size):
        if state.pulls[i] < params.quotas[i] and state.whole[i] < soonest:
            arm, soonest = i, state.whole[i]
    return arm


@kernel
def count(params: HorizonParams, state: HorizonState, round: int, arm: int) -> None:
    state.pulls[arm] += 1
    advance(params.quotas, params.steps, params.remainders, state.whole, state.rest, arm)


@register("quotas/horizon-fair-ucb")
class HorizonFairUCB(UnderQuota):
    """Serve every arm's quota of the known horizon first, in proportion, then play UCB1.

    The promise N_i(T) >= floor(r_i T) - alpha holds at the horizon T and not before. Past the horizon UCB1 plays on,
    nothing is promised.

    Parameters
    ----------
    shares : the share r_i of the rounds owed to each arm: a list, a dict arm -> share, or one number with `arms`.
    horizon : T, the number of rounds to come.
    tolerance : alpha >= 0, by how many pulls an arm may be behind at the end.
    arms : labels, where `shares` has none.
    seed : unused by this rule, kept so that policies are interchangeable.

    Raises
    ------
    SharesError
        If a share is not in [0, 1], there is not one an arm, or they sum to more than one.
    ArgumentError
        If the tolerance is negative or the horizon is not a positive whole number.

    Examples
    --------
    >>> policy = HorizonFairUCB([0.2, 0.4], horizon=10)
    >>> [policy.choose() for _ in range(6)]
    [1, 0, 1, 1, 0, 1]

    Source: Patil, Ghalme, Nair, Narahari (2021), Algorithm 2; Theorem 8: r-regret O(log T).
    """

    rule = Rule(unserved, as_wished, count)
    kept: ClassVar[Kept] = "at the horizon"

    def __init__(
        self,
        shares: Shares | Any,
        horizon: int,
        *,
        tolerance: float = 0.0,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        if not is_whole(horizon) or not 1 <= horizon < NEVER:
            raise ArgumentError(wanted("horizon", "a number of rounds >= 1, below 2^61", horizon))
        self.horizon = int(horizon)
        self._set_up(UCB1(), promise_over(None, shares, tolerance, arms), seed)

    def quota_parameters(self, learner: Any) -> HorizonParams:
        quotas = self.promise.owed(self.horizon)
        return HorizonParams(*pace(quotas, max(1, sum(quotas))), learner)

    def quota_memory(self, learner: Any) -> HorizonState:
        quotas = self.promise.owed(self.horizon)
        return HorizonState(np.zeros(len(quotas), np.int64), *position(quotas, max(1, sum(quotas)), 1), learner)

    @classmethod
    def examples(cls) -> Iterator[tuple[HorizonFairUCB, Any]]:
        yield cls([0.2, 0.3, 0.25], 500), BernoulliArms([0.7, 0.5, 0.4])
        yield cls({"a": 0.0, "b": 0.9}, 1000, tolerance=7.0), BernoulliArms({"a": 0.2, "b": 0.1})
