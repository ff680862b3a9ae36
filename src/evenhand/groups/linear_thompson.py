"""LinearThompson: play an arm with the probability that it is the best, under a normal posterior for linear rewards.

Source: S. Agrawal, N. Goyal, "Thompson Sampling for Contextual Bandits with Linear Payoffs", ICML 2013, Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import real, yes_or_no
from evenhand.groups.pooling import RegressionPool
from evenhand.groups.problem import Grouped, Groups, Membership
from evenhand.groups.worlds import BiasedLinearArms
from evenhand.kernels.arrays import Bools, Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.least_squares import Regressions, learn, product, regressions
from evenhand.kernels.random import normal
from evenhand.policy import KernelPolicy, Kernels, reason, unknown
from evenhand.pooling import Pool
from evenhand.registry import register
from evenhand.rng import Seed

__all__ = ["LinearThompson"]

RIDGE = 1.0
SAMPLED = reason("highest sampled reward", "sampled")


class ThompsonParams(NamedTuple):
    groups: Ints
    dimension: int
    delta: float
    noise_scale: float
    spread: float
    """v, or 0 for the paper's v_t."""
    shared: bool


class ThompsonState(NamedTuple):
    stream: Words
    eligible: Bools
    sample: Floats
    """The standard normal numbers behind a sampled coefficient vector, one a coefficient."""
    fit: Regressions


@kernel
def choose(
    params: ThompsonParams, state: ThompsonState, contexts: Floats, round: int, waiting: Ints
) -> tuple[int, int]:
    spread = params.spread
    if spread == 0.0:
        spread = params.noise_scale * math.sqrt(9.0 * state.sample.size * math.log(round / params.delta))
    best, highest = -1, -math.inf
    for arm in range(contexts.shape[0]):
        if arm == 0 or not params.shared:
            for j in range(state.sample.size):
                state.sample[j] = normal(state.stream)
        row, x = 0 if params.shared else arm, contexts[arm]
        value = product(state.fit, state.fit.coefficients[row], x)
        for j in range(state.sample.size):
            value += spread * state.sample[j] * product(state.fit, state.fit.factors[row, j], x)
        if state.eligible[arm] and (best < 0 or value > highest):
            best, highest = arm, value
    return best, SAMPLED


@kernel
def update(params: ThompsonParams, state: ThompsonState, contexts: Floats, index: int, reward: float) -> None:
    learn(state.fit, 0 if params.shared else index, contexts[index], reward)


@register("groups/linear-thompson")
class LinearThompson(Grouped, KernelPolicy):
    """Pull the arm whose reward is largest under coefficients sampled from N(beta, v^2 B^-1), B = I + sum x x'.

    v_t = sigma sqrt(9 d ln(t / delta)), the paper's, whose regret bound holds for one coefficient vector that all arms
    share (`shared=True`). By default each arm has its own, as in the rest of this package.

    Parameters
    ----------
    groups : the group of each arm: a list, or a dict arm -> group; they name the arms and do not enter the decision.
    delta : the bound holds with probability 1 - delta, in (0, 1).
    noise_scale : sigma, the standard deviation of the reward's noise.
    spread : v > 0 in place of the paper's v_t; smaller explores less.
    shared : whether all arms share one coefficient vector.
    intercept : as for `TopInterval`; it is penalized like every other coefficient.
    seed : seed of the samples.

    Raises
    ------
    ArgumentError
        If a setting cannot be, or there are fewer than two arms.

    Examples
    --------
    >>> policy = LinearThompson(["F", "M"], seed=1)
    >>> decision = policy.ask([[1.0, 0.5], [0.2, 0.9]])
    >>> decision.reason
    'highest sampled reward'

    Source: Agrawal and Goyal (2013), Algorithm 1 and Theorem 1: regret O(d^(3/2) sqrt(T) (sqrt(ln T) + sqrt(ln
    1/delta))) up to logarithms.
    """

    kernels = Kernels(choose, update, unknown)

    def __init__(
        self,
        groups: Membership,
        delta: float = 0.1,
        *,
        noise_scale: float = 1.0,
        spread: float | None = None,
        shared: bool = False,
        intercept: bool = False,
        seed: Seed = None,
    ) -> None:
        self.membership = Groups.read(groups)
        self.delta = real("delta", delta, above=0, below=1)
        self.noise_scale = real("noise_scale", noise_scale, above=0)
        self.spread = None if spread is None else real("spread", spread, above=0)
        self.shared = bool(shared)
        self.intercept = yes_or_no("intercept", intercept)
        super().__init__(self.membership.arms, seed)

    def new_pool(self) -> Pool:
        """Return an empty pool for the regressions, whose data add over workers."""
        return RegressionPool(RIDGE, self.derive)

    def parameters(self) -> ThompsonParams:
        codes = np.array(self.membership.codes, np.int64)
        assert self.dimension is not None
        return ThompsonParams(codes, self.dimension, self.delta, self.noise_scale, self.spread or 0.0, self.shared)

    def memory(self) -> ThompsonState:
        assert self.dimension is not None
        arms = len(self.membership.arms)
        fit = regressions(1 if self.shared else arms, self.dimension, ridge=RIDGE, intercept=self.intercept)
        return ThompsonState(self.stream(), np.ones(arms, np.bool_), np.zeros(self.dimension + self.intercept), fit)

    @classmethod
    def examples(cls) -> Iterator[tuple[LinearThompson, Any]]:
        world = BiasedLinearArms(arms=4, sensitive=2)
        yield cls(world.groups, spread=1.0), world
        yield cls(world.groups, shared=True, intercept=True), world
