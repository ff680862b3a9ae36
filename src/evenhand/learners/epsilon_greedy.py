"""Epsilon-greedy: mostly the best mean so far, sometimes any arm.

Source: C. Watkins, "Learning from Delayed Rewards", PhD thesis, Cambridge 1989; as a bandit rule with constant epsilon
in R. Sutton, A. Barto, "Reinforcement Learning", MIT Press 1998, section 2.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import as_float
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import below, uniform
from evenhand.kernels.ties import tried, untried
from evenhand.learners.optimism import UNSEEN, UNTRIED, learn_mean
from evenhand.policy.chances import Chances
from evenhand.policy.kernel_set import Kernels, unknown
from evenhand.policy.policy import NO_CONTEXTS, KernelPolicy
from evenhand.policy.reasons import reason
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

EXPLORED = reason("explored at random", "explored")
BEST_MEAN = reason("highest mean so far", "greedy")


class GreedyParams(NamedTuple):
    epsilon: float


class GreedyState(NamedTuple):
    pulls: Ints
    sums: Floats
    stream: Words


@kernel
def choose(params: GreedyParams, state: GreedyState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    arm = untried(state.pulls, waiting)
    if arm >= 0:
        return arm, UNSEEN if tried(state.pulls, waiting, round, arm) else UNTRIED
    if uniform(state.stream) < params.epsilon:
        return below(state.stream, state.pulls.size), EXPLORED
    best, highest = 0, -1.0
    for i in range(state.pulls.size):
        if state.pulls[i] > 0 and state.sums[i] / state.pulls[i] > highest:
            best, highest = i, state.sums[i] / state.pulls[i]
    return best, BEST_MEAN


@kernel
def rank(params: GreedyParams, state: GreedyState, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    explores = untried(state.pulls, waiting) < 0 and uniform(state.stream) < params.epsilon
    why = EXPLORED if explores else BEST_MEAN
    for i in range(state.pulls.size):
        if explores:
            scores[i] = uniform(state.stream)
        elif state.pulls[i] > 0:
            scores[i] = state.sums[i] / state.pulls[i]
        elif waiting[i] > 0:
            scores[i] = -1.0 - waiting[i]
        else:
            scores[i] = math.inf
            why = UNTRIED
    return why


def probabilities(
    params: GreedyParams, state: GreedyState, contexts: Any, round: Any, waiting: Ints, open: Ints | None = None
) -> Floats:
    """Return the probability of each arm, of the open ones where not all are: 1 for one that must be tried first."""
    may = np.ones(state.pulls.size, np.bool_) if open is None else open == 1
    epsilon = params.epsilon if untried(state.pulls, waiting) < 0 else 0.0
    chances = np.where(may, epsilon / may.sum(), 0.0)
    means = state.sums / np.maximum(state.pulls, 1)
    untold = np.where(waiting > 0, -1.0 - waiting, np.inf)
    chances[np.argmax(np.where(may, np.where(state.pulls > 0, means, untold), -np.inf))] += 1.0 - epsilon
    return chances


@register("learners/epsilon-greedy")
class EpsilonGreedy(KernelPolicy):
    """Play a uniformly random arm with probability epsilon, else the arm with the best mean; every arm once first.

    Parameters
    ----------
    epsilon : probability of exploring, in [0, 1].
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : seed of the exploration.

    Raises
    ------
    ArgumentError
        If epsilon is not in [0, 1], there are fewer than two arms, or a label twice.

    Examples
    --------
    >>> learner = EpsilonGreedy(0.0, arms=2)
    >>> learner.update(0, 0.2)
    >>> learner.update(1, 0.9)
    >>> learner.choose(), learner.ask().probabilities.tolist()
    (1, [0.0, 1.0])

    Source: Sutton and Barto (1998), section 2.2.
    """

    kernels = Kernels(choose, learn_mean, unknown, rank, Chances(probabilities, ("pulls", "sums"), True, True))

    def __init__(self, epsilon: float = 0.1, *, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> None:
        self.epsilon = as_float(epsilon)
        if not 0 <= self.epsilon <= 1:
            raise ArgumentError(wanted("epsilon", "a probability in [0, 1]", epsilon))
        super().__init__(arms, seed)

    def distribution(self, why: int) -> Floats | None:
        if why in (UNTRIED, UNSEEN):
            return None
        return probabilities(self._params, self._state, NO_CONTEXTS, self.round, self._waiting)

    def _keep(self) -> None:
        """Return None: the distribution is at hand."""

    def _choose(self, shown: Floats) -> tuple[int, int, float]:
        index, why, chance = super()._choose(shown)
        return index, why, 1.0 if why in (UNTRIED, UNSEEN) else chance

    def parameters(self) -> GreedyParams:
        return GreedyParams(self.epsilon)

    def memory(self) -> GreedyState:
        k = len(self._labels)
        return GreedyState(np.zeros(k, np.int64), np.zeros(k), self.stream())
