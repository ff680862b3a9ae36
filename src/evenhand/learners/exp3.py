"""Exp3: exponential weights for rewards that nobody need have drawn from a distribution.

In each round arm i is drawn with probability

    p_i = (1 - gamma) w_i / sum_j w_j + gamma / k,

and a reward x of arm i multiplies its weight by exp(gamma x / (k p_i)), p_i being the probability with which that very
decision was drawn: x / p_i, and 0 for the other arms, estimates every arm's reward without bias. A ticket remembers its
probability, so a reward may come late. Weights are kept as logarithms, which neither overflow nor vanish.

Source: P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The Nonstochastic Multiarmed Bandit Problem", SIAM Journal
on Computing 32 (2002), Figure 1, Theorem 3.1 and Corollary 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.arguments import real, whole
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import draw
from evenhand.policy.kernel_set import Kernels, Ticket, drawn
from evenhand.policy.policy import KernelPolicy
from evenhand.policy.reasons import reason
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

EXPLORATION = 0.1
DRAWN = reason("drawn by exponential weights", "drawn")


class Exp3Params(NamedTuple):
    exploration: float


class Exp3State(NamedTuple):
    weights: Floats
    """Logarithms, the largest 0."""
    probabilities: Floats
    stream: Words


@kernel
def choose(params: Exp3Params, state: Exp3State, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    arms = state.weights.size
    total = 0.0
    for i in range(arms):
        state.probabilities[i] = math.exp(state.weights[i])
        total += state.probabilities[i]
    for i in range(arms):
        share = state.probabilities[i] / total
        state.probabilities[i] = (1.0 - params.exploration) * share + params.exploration / arms
    return draw(state.stream, state.probabilities), DRAWN


@kernel
def update(params: Exp3Params, state: Exp3State, contexts: Floats, index: int, reward: float, ticket: Ticket) -> None:
    arms = state.weights.size
    chance = ticket.probability
    if math.isnan(chance):  # decided by a ranking of the arms: the learner's own latest probability stands in
        chance = max(state.probabilities[index], params.exploration / arms)
    state.weights[index] += params.exploration * reward / (arms * chance)
    highest = state.weights[0]
    for i in range(1, arms):
        highest = max(highest, state.weights[i])
    for i in range(arms):
        state.weights[i] -= highest


@register("learners/exp3")
class Exp3(KernelPolicy):
    """Draw arms by exponential weights: low regret whatever the rewards are, chosen by an adversary included.

    Parameters
    ----------
    exploration : gamma in (0, 1], the part of the decisions that are uniformly random; None for 0.1, or for what the
        horizon asks for.
    horizon : T, the number of rounds: gamma is min(1, sqrt(k ln k / ((e - 1) T))), as in Corollary 3.2.
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : seed of the draws.

    Raises
    ------
    ArgumentError
        If gamma is not in (0, 1], both gamma and the horizon are given, there are fewer than two arms, or a label
        twice.

    Examples
    --------
    >>> learner = Exp3(0.1, arms=["tea", "coffee"], seed=1)
    >>> for _ in range(500):
    ...     decision = learner.ask()
    ...     learner.tell(decision, 1.0 if decision.arm == "tea" else 0.2)
    >>> bool(learner.ask().probabilities[0] > 0.9)
    True

    `DeadlineLearn` holds a wish of it that is refused and tells it of granted ones alone. Where nobody knows the
    probability of a decision, the learner's own latest
    probability of the arm stands in, and the bound below is not proved.

    Source: Auer, Cesa-Bianchi, Freund, Schapire (2002), Corollary 3.2: against the best single arm, the expected regret
    for rewards in [0, 1] is at most 2.63 sqrt(T k ln k) with the exploration of the horizon.
    """

    kernels = Kernels(choose, update, drawn)
    own_choices = True

    def __init__(
        self,
        exploration: float | None = None,
        *,
        horizon: int | None = None,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self.exploration = None if exploration is None else real("exploration", exploration, above=0.0, high=1.0)
        self.horizon = None if horizon is None else whole("horizon", horizon, low=1)
        if exploration is not None and horizon is not None:
            raise ArgumentError(wanted("exploration", "None beside horizon=, which decides it", exploration))
        super().__init__(arms, seed)

    def parameters(self) -> Exp3Params:
        if self.horizon is None:
            return Exp3Params(EXPLORATION if self.exploration is None else self.exploration)
        k = len(self._labels)
        return Exp3Params(min(1.0, math.sqrt(k * math.log(k) / ((math.e - 1.0) * self.horizon))))

    def memory(self) -> Exp3State:
        k = len(self._labels)
        return Exp3State(np.zeros(k), np.full(k, 1.0 / k), self.stream())
