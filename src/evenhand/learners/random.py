"""Learners that draw: Thompson sampling and epsilon-greedy.

Thompson sampling plays an arm with the probability that it is the best, under a Beta prior for each arm. Source: S.
Agrawal, N. Goyal, "Analysis of Thompson Sampling for the Multi-armed Bandit Problem", COLT 2012, Algorithms 1 and 2.

Epsilon-greedy mostly plays the arm with the best mean so far, and sometimes any arm. Source: C. Watkins, "Learning from
Delayed Rewards", PhD thesis, Cambridge 1989; as a bandit rule with constant epsilon in R. Sutton, A. Barto,
"Reinforcement Learning", MIT Press 1998, section 2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.arguments import as_float
from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import bind, kernel
from evenhand.kernels.probability_of_largest import largest_beta
from evenhand.kernels.random import below, beta, uniform
from evenhand.learners.indices import UNSEEN, UNTRIED, choose_highest, learn_mean, rank_by_index, untried
from evenhand.policy.engine import NO_CONTEXTS
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, ProbabilityFunction, reason, unknown_probability
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

SAMPLED = reason("highest sampled mean", "sampled")
EXPLORED = reason("explored at random", "explored")
BEST_MEAN = reason("highest mean so far", "greedy")
EXPLORATION = 0.1
DRAWN = reason("drawn by exponential weights", "drawn")


class ThompsonParams(NamedTuple):
    prior: float


class ThompsonState(NamedTuple):
    successes: Ints
    failures: Ints
    stream: Words


@kernel
def choose_sampled(
    params: ThompsonParams, state: ThompsonState, contexts: Floats, round: int, waiting: Ints
) -> tuple[int, int]:
    best, highest = 0, -1.0
    for i in range(state.successes.size):
        sample = beta(state.stream, params.prior + state.successes[i], params.prior + state.failures[i])
        if sample > highest:
            best, highest = i, sample
    return best, SAMPLED


@kernel
def rank_sampled(
    params: ThompsonParams, state: ThompsonState, contexts: Floats, round: int, waiting: Ints, scores: Floats
) -> int:
    for i in range(state.successes.size):
        scores[i] = beta(state.stream, params.prior + state.successes[i], params.prior + state.failures[i])
    return SAMPLED


@kernel
def learn_success(params: ThompsonParams, state: ThompsonState, contexts: Floats, index: int, reward: float) -> None:
    success = reward >= 1.0
    if 0.0 < reward < 1.0:
        success = uniform(state.stream) < reward
    if success:
        state.successes[index] += 1
    else:
        state.failures[index] += 1


def chances_of_largest(
    params: ThompsonParams,
    state: ThompsonState,
    contexts: object,
    round: object,
    waiting: object,
    open: Ints | None = None,
) -> Floats:
    """Return the probability of each arm's sample to be the largest, of those of the open arms where not all are."""
    arms = np.flatnonzero(np.ones(state.successes.size) if open is None else open)
    chances = np.zeros(state.successes.size)
    chances[arms] = largest_beta(params.prior + state.successes[arms], params.prior + state.failures[arms])
    return chances


@register("learners/thompson")
class Thompson(KernelPolicy):
    """Play the arm whose sample from Beta(1 + S_i, 1 + F_i) is largest, S_i and F_i its successes and failures.

    A reward strictly between 0 and 1 counts as a success with that probability (the Bernoulli extension). The
    probability of each arm is an integral, computed to 10^-6 when a decision's `probabilities` are read; see
    `evenhand.kernels.probability_of_largest`.

    Parameters
    ----------
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : seed of the samples.

    Raises
    ------
    ArgumentError
        If there are fewer than two arms or a label occurs twice.

    Examples
    --------
    >>> learner = Thompson(arms=["a", "b"], seed=1)
    >>> for _ in range(200):
    ...     decision = learner.ask()
    ...     learner.tell(decision, 1.0 if decision.arm == "a" else 0.1)
    >>> learner.ask().arm
    'a'

    Source: Agrawal and Goyal (2012), Algorithm 2.
    """

    _chances = ProbabilityFunction(chances_of_largest, ("successes", "failures"), among=True)
    _kernels = Kernels(choose_sampled, learn_success, unknown_probability, rank_sampled, _chances)

    def _parameters(self) -> ThompsonParams:
        return ThompsonParams(1.0)

    def _memory(self) -> ThompsonState:
        k = len(self._labels)
        return ThompsonState(np.zeros(k, np.int64), np.zeros(k, np.int64), self._stream())


class GreedyParams(NamedTuple):
    epsilon: float


class GreedyState(NamedTuple):
    pulls: Ints
    sums: Floats
    stream: Words


@kernel
def mean_of(params: GreedyParams, state: GreedyState, round: int, arm: int) -> float:
    return state.sums[arm] / state.pulls[arm]


choose_best = bind(choose_highest, index=mean_of, HIGHEST=BEST_MEAN)
rank_by_mean = bind(rank_by_index, index=mean_of, HIGHEST=BEST_MEAN)


@kernel
def choose_greedy(
    params: GreedyParams, state: GreedyState, contexts: Floats, round: int, waiting: Ints
) -> tuple[int, int]:
    if untried(state.pulls, waiting) < 0 and uniform(state.stream) < params.epsilon:
        return below(state.stream, state.pulls.size), EXPLORED
    return choose_best(params, state, contexts, round, waiting)


@kernel
def rank_greedy(
    params: GreedyParams, state: GreedyState, contexts: Floats, round: int, waiting: Ints, scores: Floats
) -> int:
    if untried(state.pulls, waiting) < 0 and uniform(state.stream) < params.epsilon:
        for i in range(scores.size):
            scores[i] = uniform(state.stream)
        return EXPLORED
    return rank_by_mean(params, state, contexts, round, waiting, scores)


def greedy_chances(
    params: GreedyParams, state: GreedyState, contexts: object, round: object, waiting: Ints, open: Ints | None = None
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
        If epsilon is not in [0, 1], there are fewer than two arms, or a label occurs twice.

    Examples
    --------
    >>> learner = EpsilonGreedy(0.0, arms=2)
    >>> learner.update(0, 0.2)
    >>> learner.update(1, 0.9)
    >>> learner.choose(), learner.ask().probabilities.tolist()
    (1, [0.0, 1.0])

    Source: Sutton and Barto (1998), section 2.2.
    """

    _chances = ProbabilityFunction(greedy_chances, ("pulls", "sums"), reads_waiting=True, among=True)
    _kernels = Kernels(choose_greedy, learn_mean, unknown_probability, rank_greedy, _chances)

    def __init__(self, epsilon: float = 0.1, *, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> None:
        self.epsilon = as_float(epsilon)
        if not 0 <= self.epsilon <= 1:
            raise ArgumentError(expected("epsilon", "a probability in [0, 1]", epsilon))
        super().__init__(arms, seed)

    def _distribution(self, why: int) -> Floats | None:
        if why in (UNTRIED, UNSEEN):
            return None
        engine = self.engine
        return greedy_chances(engine.params, engine.state, NO_CONTEXTS, engine.round, engine.waiting)

    def _inputs(self) -> None:
        """Return None: the distribution is at hand."""

    def _choose(self, shown: Floats) -> tuple[int, int, float]:
        index, why, chance = super()._choose(shown)
        return index, why, 1.0 if why in (UNTRIED, UNSEEN) else chance

    def _parameters(self) -> GreedyParams:
        return GreedyParams(self.epsilon)

    def _memory(self) -> GreedyState:
        k = len(self._labels)
        return GreedyState(np.zeros(k, np.int64), np.zeros(k), self._stream())
