"""Tsallis-INF: a learner that draws, for rewards that are independent, that change, or that an adversary chooses.

Let L_i estimate the sum of the losses 1 - reward of arm i, and let eta = 4 / sqrt(t) before the t-th reward. Arm i is
drawn with the probability that minimises the sum of w_i L_i less the 1/2-Tsallis entropy over eta,

    w_i = 4 / (eta (L_i - x))^2,   x < min L such that sum w = 1.

With x = min L - y, the sum of w falls and is convex in y, and it is at least 1 for y = 2 / eta. From there Newton's
method, y += (sum w - 1) / (eta sum w^1.5), rises to the root without passing it.

The loss of arm I changes every estimate, by the reduced-variance estimator

    L_i += B_i + 1{i = I} (loss - B_i) / p,   B_i = 1/2 where w_i >= eta^2, else 0,

p being the probability with which that very decision was drawn. It is without bias for any p and any B that was fixed
before the draw: a ticket remembers its p, so a reward may come late. L is kept less its minimum, so it cannot swallow
small losses.

Source: J. Zimmert, Y. Seldin, "Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits", Journal of
Machine Learning Research 22 (2021), Algorithms 1 and 2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import draw
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, RewardContext, reason, sampled
from evenhand.registry import register

DRAWN = reason("drawn by Tsallis-INF", "drawn")
STEPS = 100
"""Newton needs about ten; each of the first grows y by half, so these suffice for any number of arms."""

SMALLEST = 1e-12
"""A probability counts as at least this, which a learner that others override would soon fall below."""


class TsallisParams(NamedTuple):
    precision: float
    """By how much the probabilities may sum to more than one before they are scaled."""


class TsallisState(NamedTuple):
    losses: Floats
    """The estimates L, the least 0."""
    baselines: Floats
    """B, of the latest distribution."""
    probabilities: Floats
    told: Ints
    """(1,): how many rewards were told."""
    stream: Words


@kernel
def choose_drawn(
    params: TsallisParams, state: TsallisState, contexts: Floats, round: int, waiting: Ints
) -> tuple[int, int]:
    rate = 4.0 / math.sqrt(state.told[0] + 1.0)
    distance, total = 2.0 / rate, 0.0
    for _ in range(STEPS):
        total, slope = 0.0, 0.0
        for i in range(state.losses.size):
            root = 2.0 / (rate * (state.losses[i] + distance))
            state.probabilities[i] = root * root
            total += root * root
            slope += root * root * root
        if total <= 1.0 + params.precision:
            break
        distance += (total - 1.0) / (rate * slope)
    for i in range(state.losses.size):
        state.probabilities[i] /= total
        state.baselines[i] = 0.5 if state.probabilities[i] >= rate * rate else 0.0
    return draw(state.stream, state.probabilities), DRAWN


@kernel
def learn_loss(
    params: TsallisParams, state: TsallisState, contexts: Floats, index: int, reward: float, ticket: RewardContext
) -> None:
    chance = state.probabilities[index] if math.isnan(ticket.probability) else ticket.probability
    state.losses[index] += (1.0 - reward - state.baselines[index]) / max(chance, SMALLEST)
    least = math.inf
    for i in range(state.losses.size):
        state.losses[i] += state.baselines[i]
        least = min(least, state.losses[i])
    for i in range(state.losses.size):
        state.losses[i] -= least
    state.told[0] += 1


@register("learners/tsallis-inf")
class TsallisINF(KernelPolicy):
    """Draw arms so that the regret is low whatever the rewards, and lower still if one arm stays the best.

    Parameters
    ----------
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : seed of the draws.

    Raises
    ------
    ArgumentError
        If there are fewer than two arms or a label occurs twice.

    Examples
    --------
    >>> learner = TsallisINF(arms=["tea", "coffee"], seed=1)
    >>> for _ in range(500):
    ...     decision = learner.ask()
    ...     learner.tell(decision, 1.0 if decision.arm == "tea" else 0.2)
    >>> bool(learner.ask().probabilities[0] > 0.9)
    True

    `DeadlineLearn` holds a refused proposal of this learner, and tells it the rewards of granted ones alone. Where
    nobody knows the probability of a decision, the learner's own latest probability of the arm is used, and the bounds
    below are not proved. Nor are they where arms come and go or reach caps: an arm that cannot be played costs nothing.

    Source: Zimmert and Seldin (2021), with reduced variance: against the best single arm, the expected regret for
    rewards in [0, 1] is of order sqrt(k T), and of order sum_i ln T / Delta_i where one arm leads arm i by Delta_i in
    every round, however the rewards of all change.
    """

    _kernels = Kernels(choose_drawn, learn_loss, sampled)
    _traits = replace(KernelPolicy._traits, own_choices=True)

    def _parameters(self) -> TsallisParams:
        return TsallisParams(1e-12)

    def _memory(self) -> TsallisState:
        k = len(self._labels)
        return TsallisState(np.zeros(k), np.zeros(k), np.full(k, 1.0 / k), np.zeros(1, np.int64), self._stream())
