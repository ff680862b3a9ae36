"""LinearThompson: play an arm with the probability that it is the best, under a normal posterior for linear rewards.

Source: S. Agrawal, N. Goyal, "Thompson Sampling for Contextual Bandits with Linear Payoffs", ICML 2013, Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import real, whole, yes_or_no
from evenhand.groups.intervals import rank_again
from evenhand.groups.problem import Grouped, Groups, Membership
from evenhand.groups.worlds import BiasedLinearArms
from evenhand.kernels.arrays import Bools, Floats, Ints, Words
from evenhand.kernels.compose import bind, kernel
from evenhand.kernels.linear import Regressions, intercept, learn, product, regressions
from evenhand.kernels.probability_of_largest import largest_normal
from evenhand.kernels.random import draw, normal
from evenhand.policy.kernel_set import Kernels, ProbabilityFunction, reason, sampled, unknown_probability
from evenhand.registry import register
from evenhand.rng import Seed

RIDGE = 1.0
SAMPLED = reason("highest sampled reward", "sampled")
DRAWN = reason("drawn as often as samples prefer it", "drawn")
MOST_DRAWS = 1_000_000


class LinearThompsonParams(NamedTuple):
    groups: Ints
    dimension: int
    delta: float
    noise_scale: float
    spread: float
    """v, or 0 for the paper's v_t."""
    shared: bool
    draws: int
    """Of how many samples a decision is drawn; 0 where one decides."""
    exploration: float


class LinearThompsonState(NamedTuple):
    stream: Words
    eligible: Bools
    sample: Floats
    """The standard normal numbers behind a sampled coefficient vector, one a coefficient."""
    probabilities: Floats
    """Those of the last decision, where it was drawn from samples."""
    fit: Regressions


@kernel
def choose_by_sample(params: Any, state: Any, contexts: Floats, round: int) -> int:
    """Return the arm with the highest reward under one draw from the posterior."""
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
    return best


@kernel
def choose(
    params: LinearThompsonParams, state: LinearThompsonState, contexts: Floats, round: int, waiting: Ints
) -> tuple[int, int]:
    return choose_by_sample(params, state, contexts, round), SAMPLED


@kernel
def choose_drawn(
    params: LinearThompsonParams, state: LinearThompsonState, contexts: Floats, round: int, waiting: Ints
) -> tuple[int, int]:
    """Make the probability rather than estimate it: draw from how often an arm is the best of so many samples."""
    eligible = 0
    for arm in range(state.probabilities.size):
        state.probabilities[arm] = 0.0
        eligible += state.eligible[arm]
    for _ in range(params.draws):
        state.probabilities[choose_by_sample(params, state, contexts, round)] += (
            1.0 - params.exploration
        ) / params.draws
    for arm in range(state.probabilities.size):
        if state.eligible[arm]:
            state.probabilities[arm] += params.exploration / eligible
    return draw(state.stream, state.probabilities), DRAWN


def probabilities(
    params: LinearThompsonParams,
    state: LinearThompsonState,
    contexts: Floats,
    round: int,
    waiting: Ints,
    open: Ints | None = None,
) -> Floats:
    """Return the probability of each arm's sampled reward to be the highest, of those of the open arms where not all
    are; nan for more than two arms that share their coefficients: theirs are dependent, and no formula is known."""
    spread = params.spread
    d = state.fit.coefficients.shape[1]
    if spread == 0.0:
        spread = params.noise_scale * math.sqrt(9.0 * d * math.log(round / params.delta))
    x = contexts[:, : d - intercept(state.fit)]
    x = np.column_stack([x, np.ones(len(x))]) if intercept(state.fit) else x
    arms = np.flatnonzero(np.ones(len(x)) if open is None else open)
    chances, x = np.zeros(len(x)), x[arms]
    if params.shared and len(x) > 2:
        chances[:] = math.nan
    elif len(x) == 1:
        chances[arms] = 1.0
    elif params.shared:
        gap = x[0] - x[1]
        mean, sd = state.fit.coefficients[0] @ gap, spread * np.linalg.norm(state.fit.factors[0] @ gap)
        chances[arms] = largest_normal(np.array([mean, 0.0]), np.array([sd, 0.0]))
    else:
        means = np.einsum("ad,ad->a", state.fit.coefficients[arms], x)
        sds = spread * np.linalg.norm(np.einsum("ajd,ad->aj", state.fit.factors[arms], x), axis=1)
        chances[arms] = largest_normal(means, sds)
    return chances


@kernel
def update(
    params: LinearThompsonParams, state: LinearThompsonState, contexts: Floats, index: int, reward: float
) -> None:
    learn(state.fit, 0 if params.shared else index, contexts[index], reward)


@register("groups/linear-thompson")
class LinearThompson(Grouped):
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
    draws : M: an arm is drawn by how often each is the best in M samples, mixed with a uniform draw: every decision
        then has exact probabilities, also for any number of arms that share coefficients, at M times the cost. None
        plays the best of one sample; its probabilities are known where each arm has its own coefficients, and for two
        arms.
    exploration : g in (0, 1], the part of the decisions that are uniformly random, with `draws`. It is never 0: an arm
        that none of the samples prefers would have the probability 0, and a log could say nothing about it.
    seed : seed of the samples.

    Raises
    ------
    ArgumentError
        If a setting is invalid, or there are fewer than two arms.

    Examples
    --------
    >>> policy = LinearThompson(["F", "M"], seed=1)
    >>> decision = policy.ask([[1.0, 0.5], [0.2, 0.9]])
    >>> decision.reason
    'highest sampled reward'

    Source: Agrawal and Goyal (2013), Algorithm 1 and Theorem 1: regret O(d^(3/2) sqrt(T) (sqrt(ln T) + sqrt(ln
    1/delta))) up to logarithms.
    """

    _traits = replace(Grouped._traits, conditional_arguments=("delta", "noise_scale", "exploration"))
    _kernels = Kernels(
        choose,
        update,
        unknown_probability,
        bind(rank_again, choose_eligible=choose),
        ProbabilityFunction(probabilities, ("fit.coefficients", "fit.factors"), among=True),
    )

    def __init__(
        self,
        groups: Membership,
        delta: float = 0.1,
        *,
        noise_scale: float = 1.0,
        spread: float | None = None,
        shared: bool = False,
        intercept: bool = False,
        draws: int | None = None,
        exploration: float = 0.05,
        seed: Seed = None,
    ) -> None:
        self.membership = Groups.read(groups)
        self.delta = real("delta", delta, above=0, below=1)
        self.noise_scale = real("noise_scale", noise_scale, above=0)
        self.spread = None if spread is None else real("spread", spread, above=0)
        self.shared = yes_or_no("shared", shared)
        self._traits = replace(self._traits, own_rows=self.shared)
        self.intercept = yes_or_no("intercept", intercept)
        self.draws = None if draws is None else whole("draws", draws, low=1, high=MOST_DRAWS)
        self.exploration = real("exploration", exploration, above=0, high=1)
        if self.draws is not None:
            self._kernels = Kernels(choose_drawn, update, sampled, bind(rank_again, choose_eligible=choose_drawn))
        super().__init__(self.membership.arms, seed)

    def _parameters(self) -> LinearThompsonParams:
        assert self.dimension is not None
        codes, spread = np.array(self.membership.codes, np.int64), self.spread or 0.0
        settings = self.delta, self.noise_scale, spread, self.shared, self.draws or 0, self.exploration
        return LinearThompsonParams(codes, self.dimension, *settings)

    def _memory(self) -> LinearThompsonState:
        assert self.dimension is not None
        arms = len(self.membership.arms)
        fit = regressions(1 if self.shared else arms, self.dimension, ridge=RIDGE, intercept=self.intercept)
        sample = np.zeros(self.dimension + self.intercept)
        return LinearThompsonState(self._stream(), np.ones(arms, np.bool_), sample, np.full(arms, 1.0 / arms), fit)

    @classmethod
    def _examples(cls) -> Iterator[tuple[LinearThompson, Any]]:
        world = BiasedLinearArms(arms=4, sensitive=2)
        yield cls(world.groups, spread=1.0, seed=1), world
        yield cls(world.groups, shared=True, intercept=True, seed=2), world
