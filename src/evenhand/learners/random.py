"""Learners that draw: Thompson sampling, epsilon-greedy, and exponential weights for adversarial rewards.

Thompson sampling plays an arm with the probability that it is the best, under a Beta prior for each arm. Source: S.
Agrawal, N. Goyal, "Analysis of Thompson Sampling for the Multi-armed Bandit Problem", COLT 2012, Algorithms 1 and 2.

Epsilon-greedy mostly plays the arm with the best mean so far, and sometimes any arm. Source: C. Watkins, "Learning from
Delayed Rewards", PhD thesis, Cambridge 1989; as a bandit rule with constant epsilon in R. Sutton, A. Barto,
"Reinforcement Learning", MIT Press 1998, section 2.2.

Exp3 does not assume that rewards are drawn from a distribution. In each round arm i is drawn with probability

    p_i = (1 - gamma) w_i / sum_j w_j + gamma / k,

and a reward x of arm i multiplies its weight by exp(gamma x / (k p_i)), p_i being the probability with which that very
decision was drawn: x / p_i, and 0 for the other arms, estimates every arm's reward without bias. A ticket remembers its
probability, so a reward may come late. Weights are kept as logarithms, which neither overflow nor vanish. Source: P.
Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The Nonstochastic Multiarmed Bandit Problem", SIAM Journal on
Computing 32 (2002), Figure 1, Theorem 3.1 and Corollary 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import as_float, real, whole
from evenhand.errors import NOTHING, ArgumentError, Wording, wanted
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import bind, kernel
from evenhand.kernels.probability_of_largest import largest_beta
from evenhand.kernels.random import below, beta, draw, uniform
from evenhand.learners.indices import UNSEEN, UNTRIED, choose_highest, learn_mean, rank_by_index, untried
from evenhand.policy.compiled import NO_CONTEXTS
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Chances, Kernels, RewardContext, reason, sampled, unknown_probability
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
    params: ThompsonParams, state: ThompsonState, contexts: Any, round: Any, waiting: Any, open: Ints | None = None
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

    chances = Chances(chances_of_largest, ("successes", "failures"), among=True)
    kernels = Kernels(choose_sampled, learn_success, unknown_probability, rank_sampled, chances)

    def parameters(self) -> ThompsonParams:
        return ThompsonParams(1.0)

    def memory(self) -> ThompsonState:
        k = len(self._labels)
        return ThompsonState(np.zeros(k, np.int64), np.zeros(k, np.int64), self.stream())


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

    chances = Chances(greedy_chances, ("pulls", "sums"), waiting=True, among=True)
    kernels = Kernels(choose_greedy, learn_mean, unknown_probability, rank_greedy, chances)

    def __init__(self, epsilon: float = 0.1, *, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> None:
        self.epsilon = as_float(epsilon)
        if not 0 <= self.epsilon <= 1:
            raise ArgumentError(wanted("epsilon", "a probability in [0, 1]", epsilon))
        super().__init__(arms, seed)

    def distribution(self, why: int) -> Floats | None:
        if why in (UNTRIED, UNSEEN):
            return None
        return greedy_chances(self._params, self._state, NO_CONTEXTS, self.round, self._waiting)

    def _copy_inputs(self) -> None:
        """Return None: the distribution is at hand."""

    def _choose(self, shown: Floats) -> tuple[int, int, float]:
        index, why, chance = super()._choose(shown)
        return index, why, 1.0 if why in (UNTRIED, UNSEEN) else chance

    def parameters(self) -> GreedyParams:
        return GreedyParams(self.epsilon)

    def memory(self) -> GreedyState:
        k = len(self._labels)
        return GreedyState(np.zeros(k, np.int64), np.zeros(k), self.stream())


class Exp3Params(NamedTuple):
    exploration: float


class Exp3State(NamedTuple):
    weights: Floats
    """Logarithms, the largest 0."""
    probabilities: Floats
    stream: Words


@kernel
def choose_drawn(params: Exp3Params, state: Exp3State, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
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
def reweigh(
    params: Exp3Params, state: Exp3State, contexts: Floats, index: int, reward: float, ticket: RewardContext
) -> None:
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
    """Draw arms by exponential weights: the regret is low whatever the rewards, even if an adversary chooses them.

    Parameters
    ----------
    exploration : gamma in (0, 1], the part of the decisions that are uniformly random; None for 0.1, or as the horizon
        implies.
    horizon : T, the number of rounds: gamma is min(1, sqrt(k ln k / ((e - 1) T))), as in Corollary 3.2.
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : seed of the draws.

    Raises
    ------
    ArgumentError
        If gamma is not in (0, 1], both gamma and the horizon are given, there are fewer than two arms, or a label
        occurs twice.

    Examples
    --------
    >>> learner = Exp3(0.1, arms=["tea", "coffee"], seed=1)
    >>> for _ in range(500):
    ...     decision = learner.ask()
    ...     learner.tell(decision, 1.0 if decision.arm == "tea" else 0.2)
    >>> bool(learner.ask().probabilities[0] > 0.9)
    True

    `DeadlineLearn` holds a refused proposal of this learner, and tells it the rewards of granted ones alone. Where
    nobody knows the probability of a decision, the learner's own latest probability of the arm is used, and the bound
    below is not proved.

    Source: Auer, Cesa-Bianchi, Freund, Schapire (2002), Corollary 3.2: against the best single arm, the expected regret
    for rewards in [0, 1] is at most 2.63 sqrt(T k ln k) with the exploration of the horizon.
    """

    kernels = Kernels(choose_drawn, reweigh, sampled)
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
            what = Wording(NOTHING, " together with horizon=, which sets it")
            raise ArgumentError(wanted("exploration", what, exploration))
        super().__init__(arms, seed)

    def parameters(self) -> Exp3Params:
        if self.horizon is None:
            return Exp3Params(EXPLORATION if self.exploration is None else self.exploration)
        k = len(self._labels)
        return Exp3Params(min(1.0, math.sqrt(k * math.log(k) / ((math.e - 1.0) * self.horizon))))

    def memory(self) -> Exp3State:
        k = len(self._labels)
        return Exp3State(np.zeros(k), np.full(k, 1.0 / k), self.stream())
