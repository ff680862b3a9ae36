"""MOSS: an index that explores an arm only as long as it has had less than its even part of the rounds.

Source: J.-Y. Audibert, S. Bubeck, "Minimax Policies for Adversarial and Stochastic Bandits", COLT 2009, section 2.
Without a horizon the current round stands in its place: R. Degenne, V. Perchet, "Anytime Optimal Algorithms in
Stochastic Multi-Armed Bandits", ICML 2016, Algorithm 1 with alpha = 1.35.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.compose import kernel
from evenhand.kernels.due_times import NEVER
from evenhand.learners.optimism import Means, by_index, learn_mean
from evenhand.policy.policy import KernelPolicy
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

ANYTIME = (1.0 + 1.35) / 2.0


class MOSSParams(NamedTuple):
    horizon: int
    """0 where it is not known."""


@kernel
def index(params: MOSSParams, state: Means, round: int, arm: int) -> float:
    pulls, horizon, scale = state.pulls[arm], params.horizon, 1.0
    if horizon == 0:
        horizon, scale = round, ANYTIME
    level = scale * max(0.0, math.log(horizon / (state.pulls.size * pulls)))
    return state.sums[arm] / pulls + math.sqrt(level / pulls)


@register("learners/moss")
class MOSS(KernelPolicy):
    """Play the arm with the largest mean_i + sqrt(max(0, ln(T / (k N_i))) / N_i); every arm once first.

    Parameters
    ----------
    horizon : T, the number of rounds to come; None for the anytime form, with t for T and 1.175 times the logarithm.
        Past the horizon the index goes on with the same T.
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : unused by this rule, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If the horizon is not a positive whole number, there are fewer than two arms, or a label twice.

    Examples
    --------
    >>> learner = MOSS(horizon=1000, arms=2)
    >>> [learner.choose() for _ in range(1)]
    [0]

    Source: Audibert and Bubeck (2009), Theorem 5: regret at most 49 sqrt(k T).
    """

    kernels = by_index(index, learn_mean)

    def __init__(
        self, horizon: int | None = None, *, arms: int | Sequence[Label] | None = None, seed: Seed = None
    ) -> None:
        if horizon is not None and (not is_whole(horizon) or not 1 <= horizon < NEVER):
            raise ArgumentError(wanted("horizon", "a number of rounds >= 1, below 2^61, or None", horizon))
        self.horizon = horizon
        super().__init__(arms, seed)

    def parameters(self) -> MOSSParams:
        return MOSSParams(int(self.horizon or 0))

    def memory(self) -> Means:
        return Means.of(len(self._labels))
