"""Softmax, or Boltzmann exploration: arms are drawn in proportion to exp(mean / temperature).

Every arm is tried once; after that arm i is drawn with probability exp(m_i / tau) / sum_j exp(m_j / tau), m_i being the
mean of its rewards. A high temperature explores, a low one is greedy. A fixed temperature has linear regret: it never
stops drawing arms that are known to be worse.

Source: R. S. Sutton, A. G. Barto, "Reinforcement Learning" (1998), section 2.3; for what it lacks, N. Cesa-Bianchi,
C. Gentile, G. Lugosi, G. Neu, "Boltzmann Exploration Done Right", NeurIPS 2017, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.arguments import real
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import draw, uniform
from evenhand.kernels.ties import tried, untried
from evenhand.learners.optimism import UNSEEN, UNTRIED
from evenhand.policy.policy import KernelPolicy, Kernels, drawn, reason
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

__all__ = ["Softmax"]

LAST = -1e300
"""The score of an arm with one reward on its way, its first; of one that was never handed out it is the opposite."""
DRAWN = reason("drawn in proportion to exp(mean / temperature)", "drawn")


class SoftmaxParams(NamedTuple):
    temperature: float


class SoftmaxState(NamedTuple):
    pulls: Ints
    sums: Floats
    probabilities: Floats
    stream: Words


@kernel
def choose(params: SoftmaxParams, state: SoftmaxState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    arms = state.pulls.size
    arm = untried(state.pulls, waiting)
    if arm >= 0:
        for i in range(arms):
            state.probabilities[i] = 1.0 if i == arm else 0.0
        return arm, UNSEEN if tried(state.pulls, waiting, round, arm) else UNTRIED
    highest, total = -math.inf, 0.0
    for i in range(arms):
        if state.pulls[i] > 0:
            highest = max(highest, state.sums[i] / state.pulls[i])
    for i in range(arms):
        state.probabilities[i] = 0.0
        if state.pulls[i] > 0:
            state.probabilities[i] = math.exp((state.sums[i] / state.pulls[i] - highest) / params.temperature)
        total += state.probabilities[i]
    for i in range(arms):
        state.probabilities[i] /= total
    return draw(state.stream, state.probabilities), DRAWN


@kernel
def rank(
    params: SoftmaxParams, state: SoftmaxState, contexts: Floats, round: int, waiting: Ints, scores: Floats
) -> int:
    """Draw one arm after another in proportion to its probability, without putting it back; arms that were never told
    about come in the order in which they would be tried.

    The largest of log p_i + G_i, with standard Gumbel G_i, is drawn with probability p_i, the next largest is drawn
    among the others, and so on: J. I. Yellott, Journal of Mathematical Psychology 15 (1977).
    """
    wish, why = choose(params, state, contexts, round, waiting)
    for i in range(scores.size):
        if state.pulls[i] > 0:
            noise = -math.log(-math.log(max(uniform(state.stream), 1e-300)))
            scores[i] = state.sums[i] / (state.pulls[i] * params.temperature) + noise
        else:
            scores[i] = LAST * waiting[i] if waiting[i] > 0 else -LAST
    scores[wish] = math.inf
    return why


@kernel
def update(params: SoftmaxParams, state: SoftmaxState, contexts: Floats, index: int, reward: float) -> None:
    state.pulls[index] += 1
    state.sums[index] += reward


@register("learners/softmax")
class Softmax(KernelPolicy):
    """Draw arms in proportion to exp(mean / temperature); every arm once first.

    Parameters
    ----------
    temperature : tau > 0, in units of the reward.
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : seed of the draws.

    Raises
    ------
    ArgumentError
        If the temperature is not above 0, there are fewer than two arms, or a label twice.

    Examples
    --------
    >>> learner = Softmax(0.1, arms=2, seed=1)
    >>> learner.update(0, 0.8)
    >>> learner.update(1, 0.5)
    >>> learner.ask().probabilities.round(3).tolist()
    [0.953, 0.047]

    Source: Sutton and Barto (1998), section 2.3.
    """

    kernels = Kernels(choose, update, drawn, rank)

    def __init__(
        self, temperature: float = 0.1, *, arms: int | Sequence[Label] | None = None, seed: Seed = None
    ) -> None:
        self.temperature = real("temperature", temperature, above=0.0)
        super().__init__(arms, seed)

    def parameters(self) -> SoftmaxParams:
        return SoftmaxParams(self.temperature)

    def memory(self) -> SoftmaxState:
        k = len(self._labels)
        return SoftmaxState(np.zeros(k, np.int64), np.zeros(k), np.full(k, 1.0 / k), self.stream())
