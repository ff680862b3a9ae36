"""KL-UCB: the largest mean that the rewards seen so far do not rule out, measured by Kullback-Leibler divergence.

Source: A. Garivier, O. Cappé, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond", COLT 2011, Algorithm 1
with c = 0, the value that the authors recommend in practice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from evenhand.kernels.compose import kernel
from evenhand.learners.optimism import Means, by_index, learn_mean
from evenhand.policy.policy import KernelPolicy
from evenhand.registry import register


class KLUCBParams(NamedTuple):
    precision: float


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
def index(params: KLUCBParams, state: Means, round: int, arm: int) -> float:
    pulls = state.pulls[arm]
    return upper(min(1.0, state.sums[arm] / pulls), math.log(round) / pulls, params.precision)


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

    kernels = by_index(index, learn_mean)

    def parameters(self) -> KLUCBParams:
        return KLUCBParams(1e-9)

    def memory(self) -> Means:
        return Means.of(len(self._labels))
