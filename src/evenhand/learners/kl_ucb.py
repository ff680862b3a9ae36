"""KL-UCB: the largest mean that the rewards seen so far do not rule out, measured by Kullback-Leibler divergence.

Source: A. Garivier, O. Cappé, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond", COLT 2011, Algorithm 1
with c = 0, the value that the authors recommend in practice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import bind, kernel
from evenhand.learners.optimism import choose_highest, rank_by_index
from evenhand.policy.kernel_set import Kernels
from evenhand.policy.policy import KernelPolicy
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed


class KLUCBParams(NamedTuple):
    precision: float


class KLUCBState(NamedTuple):
    pulls: Ints
    sums: Floats


@kernel
def divergence(p: float, q: float) -> float:
    """Return d(p, q) = p ln(p/q) + (1-p) ln((1-p)/(1-q)) for 0 <= p <= q < 1."""
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / q)
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return total


@kernel
def upper(mean: float, level: float, precision: float) -> float:
    """Return max { q in [mean, 1] : d(mean, q) <= level }, from below within `precision`."""
    if mean >= 1.0:
        return 1.0
    low, high = mean, min(1.0, mean + math.sqrt(level / 2.0))
    while high - low > precision:
        middle = 0.5 * (low + high)
        if middle < 1.0 and divergence(mean, middle) <= level:
            low = middle
        else:
            high = middle
    return low


@kernel
def index(params: KLUCBParams, state: KLUCBState, round: int, arm: int) -> float:
    pulls = state.pulls[arm]
    return upper(min(1.0, state.sums[arm] / pulls), math.log(round) / pulls, params.precision)


@kernel
def update(params: KLUCBParams, state: KLUCBState, contexts: Floats, index: int, reward: float) -> None:
    state.pulls[index] += 1
    state.sums[index] += reward


@register("learners/kl-ucb")
class KLUCB(KernelPolicy):
    """Play the arm with the largest q such that N_i d(mean_i, q) <= ln t, d the Bernoulli divergence; every arm once
    first.

    Parameters
    ----------
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : unused by this rule, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If there are fewer than two arms or a label twice.

    Examples
    --------
    >>> learner = KLUCB(arms=2)
    >>> learner.update(0, 1.0)
    >>> learner.update(1, 0.0)
    >>> learner.choose()
    0

    Source: Garivier and Cappé (2011), Theorem 2: regret at most (1 + o(1)) sum_i Delta_i ln T / d(mu_i, mu*).
    """

    kernels = Kernels(bind(choose_highest, index=index), update, rank=bind(rank_by_index, index=index))

    def __init__(self, *, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> None:
        super().__init__(arms, seed)

    def parameters(self) -> KLUCBParams:
        return KLUCBParams(1e-9)

    def memory(self) -> KLUCBState:
        return KLUCBState(np.zeros(len(self._labels), np.int64), np.zeros(len(self._labels)))
