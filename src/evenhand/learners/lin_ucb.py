"""LinUCB: linear rewards, estimated by least squares, which a discount lets follow coefficients that drift.

With contexts x in d dimensions and a ridge lambda, each reward r of a context x that is told makes

    V <- gamma V + x x' + (1 - gamma) lambda I,  W <- gamma^2 W + x x' + (1 - gamma^2) lambda I,  b <- gamma b + r x,

V and W starting at lambda I. The index of a context is x'theta + beta sqrt(x' V^-1 W V^-1 x), theta = V^-1 b, with

    beta = sqrt(lambda) S + sigma sqrt(2 ln(1 / delta) + d ln(1 + L^2 w / (lambda d))),

w = sum_s gamma^(2s) over the rewards told. The ridge that comes back in every round has full rank, so V^-1 is no
update of the one before: V is factorized anew, d^3 / 6 multiplications a reward.

Source: Y. Russac, C. Vernade, O. Cappé, "Weighted Linear Bandits for Non-Stationary Environments", NeurIPS 2019,
Algorithm 1 and Theorem 2; without a discount L. Li, W. Chu, J. Langford, R. Schapire, "A Contextual-Bandit Approach to
Personalized News Article Recommendation", WWW 2010.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evenhand.arguments import real, whole
from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.linear import factorize, solve
from evenhand.learners.changing import LONGEST
from evenhand.learners.indices import HIGHEST
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

SHORTEST = 0.01
"""The least discount that a horizon asks for, where the coefficients change so much that the rule gives none."""


class LinearParams(NamedTuple):
    discount: float
    ridge: float
    bias: float
    """sqrt(lambda) S."""
    noise_scale: float
    confidence: float
    """2 ln(1 / delta)."""
    spread: float
    """L^2 / (lambda d)."""


class LinearState(NamedTuple):
    gram: Floats
    squared: Floats
    """W."""
    factor: Floats
    """(d, d): the Cholesky factor of V."""
    moment: Floats
    coefficients: Floats
    weight: Floats
    """(1,): w."""
    scratch: Floats


@kernel
def width(params: LinearParams, state: LinearState) -> float:
    """Return beta."""
    level = params.confidence + state.moment.size * math.log(1.0 + params.spread * state.weight[0])
    return params.bias + params.noise_scale * math.sqrt(level)


@kernel
def index(state: LinearState, x: Floats, width: float) -> float:
    u, d = state.scratch, x.size
    solve(state.factor, x, u)
    mean, variance = 0.0, 0.0
    for i in range(d):
        mean += x[i] * state.coefficients[i]
        row = state.squared[i]
        for j in range(d):
            variance += u[i] * row[j] * u[j]
    return mean + width * math.sqrt(max(0.0, variance))


@kernel
def choose(params: LinearParams, state: LinearState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    best, highest, beta = 0, -math.inf, width(params, state)
    for arm in range(contexts.shape[0]):
        bound = index(state, contexts[arm], beta)
        if bound > highest:
            best, highest = arm, bound
    return best, HIGHEST


@kernel
def rank(params: LinearParams, state: LinearState, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    beta = width(params, state)
    for arm in range(contexts.shape[0]):
        scores[arm] = index(state, contexts[arm], beta)
    return HIGHEST


@kernel
def update(params: LinearParams, state: LinearState, contexts: Floats, index: int, reward: float) -> None:
    x, gamma, square = contexts[index], params.discount, params.discount * params.discount
    for i in range(x.size):
        gram, squared = state.gram[i], state.squared[i]
        for j in range(x.size):
            gram[j] = gamma * gram[j] + x[i] * x[j]
            squared[j] = square * squared[j] + x[i] * x[j]
        gram[i] += (1.0 - gamma) * params.ridge
        squared[i] += (1.0 - square) * params.ridge
        state.moment[i] = gamma * state.moment[i] + reward * x[i]
    state.weight[0] = square * state.weight[0] + 1.0
    factorize(state.gram, state.factor, 0.0)
    solve(state.factor, state.moment, state.coefficients)


@register("learners/lin-ucb")
class LinUCB(KernelPolicy):
    """Play the arm whose linear prediction plus confidence width is largest; contextual.

    The arms share one coefficient vector; with a discount it may drift. Arms with equal contexts cannot be told apart,
    and the first of them is played: give each arm a context that says which arm it is. The discount counts rewards, as
    for `DiscountedUCB`; a reward that comes late is learned with the contexts of its own decision.

    Parameters
    ----------
    discount : gamma in (0, 1], by which every reward makes older ones count less; 1 forgets nothing.
    noise_scale : sigma, the standard deviation of the reward's noise, above 0.
    horizon : T, the number of rounds to come, where coefficients drift: the discount is 1 - (variation / (d T))^(2/3).
    variation : by how much the coefficients move within the horizon, the sum of the lengths of all their steps.
    delta : the confidence bounds hold in every round with probability 1 - delta each, in (0, 1).
    ridge : lambda > 0.
    coefficient_norm : S, the greatest length of the coefficient vector.
    context_norm : L, the greatest length of a context.
    arms : number of arms or their labels.
    seed : unused by this rule, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If a setting is invalid, a discount is given with a horizon, there are fewer than two arms, or a label repeats.

    Examples
    --------
    >>> learner = LinUCB(0.95, noise_scale=0.1, arms=["tea", "coffee"])
    >>> for t in range(200):
    ...     decision = learner.ask([[1.0, 0.0], [0.0, 1.0]])
    ...     better = "tea" if t < 100 else "coffee"
    ...     learner.tell(decision, 1.0 if decision.arm == better else 0.0)
    >>> learner.ask([[1.0, 0.0], [0.0, 1.0]]).arm
    'coffee'

    Source: Russac, Vernade, Cappé (2019), Theorem 2: regret O(d^(2/3) variation^(1/3) T^(2/3)) up to logarithms.
    """

    _traits = replace(KernelPolicy._traits, contextual=True, own_rows=True, reward_range=(-math.inf, math.inf))
    _kernels = Kernels(choose, update, rank=rank)

    def __init__(
        self,
        discount: float = 1.0,
        noise_scale: float = 1.0,
        *,
        horizon: int | None = None,
        variation: float = 1.0,
        delta: float = 0.1,
        ridge: float = 1.0,
        coefficient_norm: float = 1.0,
        context_norm: float = 1.0,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self.discount = real("discount", discount, above=0.0, high=1.0)
        self.horizon = None if horizon is None else whole("horizon", horizon, low=1, high=LONGEST)
        if self.discount != 1.0 and horizon is not None:
            raise ArgumentError(expected("discount", "1.0 together with horizon=, which sets it", discount))
        self.noise_scale = real("noise_scale", noise_scale, above=0.0)
        self.variation = real("variation", variation, above=0.0)
        if horizon is None and self.variation != 1.0:
            raise ArgumentError(
                expected("variation", "1.0 without horizon=, within which coefficients move", variation)
            )
        self.delta = real("delta", delta, above=0.0, below=1.0)
        self.ridge = real("ridge", ridge, above=0.0)
        self.coefficient_norm = real("coefficient_norm", coefficient_norm, above=0.0)
        self.context_norm = real("context_norm", context_norm, above=0.0)
        super().__init__(arms, seed)

    def _parameters(self) -> LinearParams:
        d, discount = self.dimension or 1, self.discount
        if self.horizon is not None:
            discount = max(SHORTEST, 1.0 - (self.variation / (d * self.horizon)) ** (2.0 / 3.0))
        bias = math.sqrt(self.ridge) * self.coefficient_norm
        spread = self.context_norm / self.ridge * self.context_norm / d
        return LinearParams(discount, self.ridge, bias, self.noise_scale, -2.0 * math.log(self.delta), spread)

    def _memory(self) -> LinearState:
        assert self.dimension is not None
        d, ridge = self.dimension, np.eye(self.dimension) * self.ridge
        return LinearState(ridge, ridge.copy(), np.sqrt(ridge), np.zeros(d), np.zeros(d), np.zeros(1), np.zeros(d))
