"""Index policies: try every arm first, then play the one with the highest index. UCB1, KL-UCB, and templates for any
other index.

An index is a kernel `index(params, state, round, arm)` of an arm that has been told about; `state.pulls` counts the
rewards of each arm. Many need no more than `Means`.

UCB1. The index of arm i before round t is mean_i + sqrt(2 ln t / N_i). With s_t = sqrt(2 ln t) and w_i = 1/sqrt(N_i) it
is mean_i + s_t w_i: while the leader's index at an early s stays above every rival's index at a later s, it is the
argmax in between, exactly. So a logarithm is evaluated only when it can matter. Source: P. Auer, N. Cesa-Bianchi, P.
Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem", Machine Learning 47 (2002), Figure 1 and Theorem 1.

KL-UCB: the largest mean that the rewards seen so far do not rule out, measured by Kullback-Leibler divergence. Source:
A. Garivier, O. Cappé, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond", COLT 2011, Algorithm 1 with c =
0, the value that the authors recommend in practice.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, Kernel, bind, kernel
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, reason
from evenhand.registry import register

UNTRIED = reason("never tried before", "untried")
UNSEEN = reason("no reward seen yet", "untried")
HIGHEST = reason("highest upper confidence bound", "optimistic")
MARGIN = 1.0 + 1e-9
"""By which factor the leader must win for the shortcut to count: far above rounding, so that decisions are those of the
plain rule."""


@kernel
def untried(pulls: Ints, waiting: Ints) -> int:
    """Return the arm to try before any index is defined, or -1 when every arm has been told about.

    That is the first arm that was never handed out; where all such rewards are still on their way and no arm has been
    told about, the one with the fewest open tickets.
    """
    told = False
    for arm in range(pulls.size):
        if pulls[arm] == 0:
            if waiting[arm] == 0:
                return arm
        else:
            told = True
    if told:
        return -1
    fewest = 0
    for arm in range(1, pulls.size):
        if waiting[arm] < waiting[fewest]:
            fewest = arm
    return fewest


@kernel
def tried(pulls: Ints, waiting: Ints, round: int, arm: int) -> bool:
    """Return whether an arm without a reward may have been decided for before this round.

    Every round before left a reward or an open ticket, unless its ticket was forgotten: then nobody knows whose it was.
    """
    known = 0
    for other in range(pulls.size):
        known += pulls[other] + waiting[other]
    return waiting[arm] > 0 or known < round - 1


index: Any = OPEN


class Means(NamedTuple):
    """The rewards of each arm: how many, and their sum."""

    pulls: Ints
    sums: Floats

    @classmethod
    def of(cls, arms: int) -> Self:
        """Return those before the first reward."""
        return cls(np.zeros(arms, np.int64), np.zeros(arms))


class Counted(Protocol):
    """The state of a learner that counts the rewards of each arm."""

    @property
    def pulls(self) -> Ints: ...


@kernel
def learn_mean(params: object, state: Means, contexts: Floats, index: int, reward: float) -> None:
    """Count a reward and add it to its arm's sum."""
    state.pulls[index] += 1
    state.sums[index] += reward


@kernel
def choose_highest(params: object, state: Counted, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    """Choose the arm with the highest index, ties by the lowest arm."""
    arm = untried(state.pulls, waiting)
    if arm >= 0:
        return arm, UNSEEN if tried(state.pulls, waiting, round, arm) else UNTRIED
    best, highest = 0, -1.0
    for i in range(state.pulls.size):
        if state.pulls[i] > 0:
            bound = index(params, state, round, i)
            if bound > highest:
                best, highest = i, bound
    return best, HIGHEST


@kernel
def rank_by_index(params: object, state: Counted, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    """Score every arm by its index: first those that were never handed out, last those whose reward is on its way."""
    why = HIGHEST
    for i in range(state.pulls.size):
        if state.pulls[i] > 0:
            scores[i] = index(params, state, round, i)
        elif waiting[i] > 0:
            scores[i] = -1.0 - waiting[i]
        else:
            scores[i] = math.inf
            why = UNTRIED
    return why


def by_index(index: Kernel, update: Kernel) -> Kernels:
    """Return the kernels of a learner with this index."""
    return Kernels(bind(choose_highest, index=index), update, rank=bind(rank_by_index, index=index))


class UCB1Params(NamedTuple):
    scale: float


class UCB1State(NamedTuple):
    pulls: Ints
    sums: Floats
    means: Floats
    widths: Floats
    duel: Ints
    """(3,): leader, challenger, and the last round for which `bounds` hold (0: they do not)."""
    bounds: Floats
    """(4,): s at the last comparison, s at the round up to which it holds; the largest index at the latter of the
    challenger,
    and of all others but the leader."""


@kernel
def choose_leader(params: UCB1Params, state: UCB1State, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    if round <= state.duel[2]:
        leader = state.duel[0]
        bound = state.means[leader] + state.bounds[0] * state.widths[leader]
        if bound > state.bounds[2] and bound > state.bounds[3]:
            return leader, HIGHEST
    return compare_all(params, state, round, waiting)


@kernel
def compare_all(params: UCB1Params, state: UCB1State, round: int, waiting: Ints) -> tuple[int, int]:
    first = untried(state.pulls, waiting)
    if first >= 0:
        state.duel[2] = 0
        return first, UNSEEN if tried(state.pulls, waiting, round, first) else UNTRIED
    if round > state.duel[2]:
        until = round + (round >> 10) + 4
        state.duel[2] = until
        state.bounds[1] = params.scale * math.sqrt(math.log(until))
    now = params.scale * math.sqrt(math.log(round))
    later = state.bounds[1]
    first, second = -1, -1
    highest, next_highest = -1.0, -1.0
    for i in range(state.pulls.size):
        if state.pulls[i] > 0:
            bound = state.means[i] + now * state.widths[i]
            if bound > highest:
                second, next_highest = first, highest
                first, highest = i, bound
            elif bound > next_highest:
                second, next_highest = i, bound
    leader, challenger = first, second
    if second < 0:
        challenger = first
    elif state.pulls[second] > state.pulls[first]:
        leader, challenger = second, first
    others = 0.0
    for i in range(state.pulls.size):
        if i != leader and i != challenger:
            others = max(others, state.means[i] + later * state.widths[i])
    state.duel[0], state.duel[1] = leader, challenger
    state.bounds[0] = now
    state.bounds[2] = (state.means[challenger] + later * state.widths[challenger]) * MARGIN
    state.bounds[3] = others * MARGIN
    return first, HIGHEST


@kernel
def ucb1_index(params: UCB1Params, state: UCB1State, round: int, arm: int) -> float:
    return state.means[arm] + params.scale * math.sqrt(math.log(round)) * state.widths[arm]


@kernel
def learn_width(params: UCB1Params, state: UCB1State, contexts: Floats, index: int, reward: float) -> None:
    state.pulls[index] += 1
    state.sums[index] += reward
    inverse = 1.0 / state.pulls[index]
    state.means[index] = state.sums[index] * inverse
    state.widths[index] = math.sqrt(inverse)
    if index != state.duel[0]:
        rival = (state.means[index] + state.bounds[1] * state.widths[index]) * MARGIN
        if index == state.duel[1]:
            state.bounds[2] = rival
        elif rival > state.bounds[3]:
            state.bounds[3] = rival


@register("learners/ucb1")
class UCB1(KernelPolicy):
    """Play the arm with the largest mean_i + sqrt(2 ln t / N_i); every arm once first.

    Parameters
    ----------
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : unused by this rule, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If there are fewer than two arms or a label occurs twice.

    Examples
    --------
    >>> learner = UCB1(arms=["tea", "coffee"])
    >>> for _ in range(100):
    ...     decision = learner.ask()
    ...     learner.tell(decision, 1.0 if decision.arm == "tea" else 0.2)
    >>> learner.ask().arm
    'tea'

    Source: Auer, Cesa-Bianchi, Fischer (2002), Theorem 1: expected regret at most
    8 sum_i ln T / Delta_i + (1 + pi^2/3) sum_i Delta_i for rewards in [0, 1].
    """

    _kernels = Kernels(choose_leader, learn_width, rank=bind(rank_by_index, index=ucb1_index))

    def _parameters(self) -> UCB1Params:
        return UCB1Params(math.sqrt(2.0))

    def _memory(self) -> UCB1State:
        k = len(self._labels)
        return UCB1State(
            np.zeros(k, np.int64), np.zeros(k), np.zeros(k), np.full(k, np.inf), np.zeros(3, np.int64), np.zeros(4)
        )


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
def kl_index(params: KLUCBParams, state: Means, round: int, arm: int) -> float:
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
        If there are fewer than two arms or a label occurs twice.

    Examples
    --------
    >>> learner = KLUCB(arms=2)
    >>> learner.update(0, 1.0)
    >>> learner.update(1, 0.0)
    >>> learner.choose()
    0

    Source: Garivier and Cappé (2011), Theorem 2: regret at most (1 + o(1)) sum_i Delta_i ln T / d(mu_i, mu*).
    """

    _kernels = by_index(kl_index, learn_mean)

    def _parameters(self) -> KLUCBParams:
        return KLUCBParams(1e-9)

    def _memory(self) -> Means:
        return Means.of(len(self._labels))
