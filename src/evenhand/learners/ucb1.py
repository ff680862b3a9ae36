"""UCB1: optimism in the face of uncertainty, with a logarithm evaluated only when it can matter.

The index of arm i before round t is mean_i + sqrt(2 ln t / N_i). With s_t = sqrt(2 ln t) and w_i = 1/sqrt(N_i) it is
mean_i + s_t w_i: while the leader's index at an early s stays above every rival's index at a later s, it is the argmax
in between, exactly.

Source: P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem", Machine Learning
47 (2002), Figure 1 and Theorem 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import bind, kernel
from evenhand.kernels.ties import tried, untried
from evenhand.learners.optimism import HIGHEST, UNSEEN, UNTRIED, rank_by_index
from evenhand.policy.kernel_set import Kernels
from evenhand.policy.policy import KernelPolicy
from evenhand.registry import register

MARGIN = 1.0 + 1e-9
"""By which factor the leader must win for the shortcut to count: far above rounding: decisions are the plain rule's."""


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
def choose(params: UCB1Params, state: UCB1State, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    if round <= state.duel[2]:
        leader = state.duel[0]
        index = state.means[leader] + state.bounds[0] * state.widths[leader]
        if index > state.bounds[2] and index > state.bounds[3]:
            return leader, HIGHEST
    return compare(params, state, round, waiting)


@kernel
def compare(params: UCB1Params, state: UCB1State, round: int, waiting: Ints) -> tuple[int, int]:
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
            index = state.means[i] + now * state.widths[i]
            if index > highest:
                second, next_highest = first, highest
                first, highest = i, index
            elif index > next_highest:
                second, next_highest = i, index
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
def rank(params: UCB1Params, state: UCB1State, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    scale = params.scale * math.sqrt(math.log(round))
    return rank_scaled(UCB1Params(scale), state, contexts, round, waiting, scores)


@kernel
def index(params: UCB1Params, state: UCB1State, round: int, arm: int) -> float:
    return state.means[arm] + params.scale * state.widths[arm]


rank_scaled = bind(rank_by_index, index=index)


@kernel
def update(params: UCB1Params, state: UCB1State, contexts: Floats, index: int, reward: float) -> None:
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
        If there are fewer than two arms or a label twice.

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

    kernels = Kernels(choose, update, rank=rank)

    def parameters(self) -> UCB1Params:
        return UCB1Params(math.sqrt(2.0))

    def memory(self) -> UCB1State:
        k = len(self._labels)
        return UCB1State(
            np.zeros(k, np.int64), np.zeros(k), np.zeros(k), np.full(k, np.inf), np.zeros(3, np.int64), np.zeros(4)
        )
