"""GLR-klUCB: KL-UCB that tests whether an arm's mean has changed, and begins anew when it has.

After n rewards of an arm since the last restart, X_1 .. X_n, the generalized likelihood ratio of a change is the
largest, over splits s, of s kl(mean of the first s, mean of all) + (n - s) kl(mean of the others, mean of all). A
restart follows when it is above ln(n^(3/2) sqrt(T)). Arms that look bad are played now and then, or nobody would notice
that they became good: with e = sqrt(k K ln(T) / T) in the k-th episode, K of every floor(K / e) rounds take the arms in
turn.

Every 10th reward of an arm is tested, at the splits 1, 6, 11, ...; the source does so too where time matters. Sums of
the first rewards of every arm stand in one array, each with the place of the one before, so memory is that of the
rewards and not of arms times rounds.

Source: L. Besson, E. Kaufmann, O.-A. Maillard, J. Seznec, "Efficient Change-Point Detection for Tackling
Piecewise-Stationary Bandits", Journal of Machine Learning Research 23 (2022), Algorithm 1, Theorems 5 and 9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from evenhand.arguments import one_of, whole
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import bind, kernel
from evenhand.learners.kl_ucb import divergence, upper
from evenhand.learners.optimism import choose_highest, rank_by_index
from evenhand.policy.conversation import locked
from evenhand.policy.policy import KernelPolicy, Kernels, Ticket, reason
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed

__all__ = ["GLRKLUCB"]

LONGEST = 10**7
"""The longest horizon: each of its rewards takes 16 bytes."""
BETWEEN_TESTS, BETWEEN_SPLITS = 10, 5
PRECISION = 1e-9
RESTARTED = reason("no reward since the last restart", "untried")
WATCHED = reason("looked at in turn, in case it has changed", "explored")


class GLRParams(NamedTuple):
    level: float
    """ln(T) / 2."""
    rate: float
    """sqrt(K ln(T) / T), the part of the rounds that watches the arms in the first episode."""
    local: bool


class GLRState(NamedTuple):
    pulls: Ints
    """Of each arm, since its last restart."""
    sums: Floats
    last: Ints
    """The place in `prefixes` of each arm's last reward, -1 for none."""
    since: Ints
    """(2, K): the round of each arm's last restart, and how many rewards had been told then."""
    clock: Ints
    """(4,): the last round, the rewards told, the restarts, the places used in `prefixes`."""
    prefixes: Floats
    """(T,): the sum of an arm's rewards up to this one."""
    before: Ints
    """(T,): the place of the arm's reward before."""


@kernel
def index(params: GLRParams, state: GLRState, round: int, arm: int) -> float:
    pulls = state.pulls[arm]
    level = math.log(1.0 + state.clock[1] - state.since[1, arm])
    return upper(min(1.0, state.sums[arm] / pulls), level / pulls, PRECISION)


choose_best = bind(choose_highest, index=index, UNSEEN=RESTARTED)
rank_best = bind(rank_by_index, index=index, UNTRIED=RESTARTED)


@kernel
def watched(params: GLRParams, state: GLRState, round: int) -> int:
    """Return the arm whose turn it is to be watched, or -1."""
    arms = state.pulls.size
    rate = min(1.0, params.rate * math.sqrt(1.0 + state.clock[2]))
    turn = (round - 1) % int(arms / rate)
    return turn if turn < arms else -1


@kernel
def choose(params: GLRParams, state: GLRState, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    state.clock[0] = round
    arm = watched(params, state, round)
    if arm >= 0:
        return arm, WATCHED
    return choose_best(params, state, contexts, round, waiting)


@kernel
def rank(params: GLRParams, state: GLRState, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    state.clock[0] = round
    why = rank_best(params, state, contexts, round, waiting, scores)
    arm = watched(params, state, round)
    if arm >= 0:
        scores[arm] = math.inf
        return WATCHED
    return why


@kernel
def changed(params: GLRParams, state: GLRState, arm: int) -> bool:
    """Say whether the rewards of an arm since its last restart look like those of two means."""
    n, total = state.pulls[arm], state.sums[arm]
    mean = total / n
    if mean <= 0.0 or mean >= 1.0:
        return False
    threshold = 1.5 * math.log(n) + params.level
    place = state.before[state.last[arm]]
    for back in range(1, n):
        s = n - back
        if s % BETWEEN_SPLITS == 1:
            first = min(1.0, state.prefixes[place] / s)
            second = min(1.0, max(0.0, (total - state.prefixes[place]) / back))
            if s * divergence(first, mean) + back * divergence(second, mean) > threshold:
                return True
        place = state.before[place]
    return False


@kernel
def restart(state: GLRState, arm: int) -> None:
    state.pulls[arm] = 0
    state.sums[arm] = 0.0
    state.last[arm] = -1
    state.since[0, arm], state.since[1, arm] = state.clock[0], state.clock[1]


@kernel
def update(params: GLRParams, state: GLRState, contexts: Floats, index: int, reward: float, ticket: Ticket) -> None:
    if ticket.round < state.since[0, index]:
        return
    full = state.clock[3] == state.prefixes.size
    if full:
        for arm in range(state.pulls.size):
            restart(state, arm)
        state.clock[3] = 0
    place = state.clock[3]
    state.pulls[index] += 1
    state.sums[index] += reward
    state.prefixes[place], state.before[place] = state.sums[index], state.last[index]
    state.last[index] = place
    state.clock[1] += 1
    state.clock[3] += 1
    if state.pulls[index] % BETWEEN_TESTS == 0 and changed(params, state, index):
        state.clock[2] += 1
        for arm in range(state.pulls.size):
            if arm == index or not params.local:
                restart(state, arm)
        if not params.local:
            state.clock[3] = 0


@register("learners/glr-kl-ucb")
class GLRKLUCB(KernelPolicy):
    """Play KL-UCB on the rewards since the last change that a likelihood ratio test found; watch every arm now and
    then.

    A reward of a decision that was taken before the arm's last restart tells of the old mean: it is not counted.
    After `horizon` rewards without a restart of all arms it begins anew, and it goes on past the horizon.

    Parameters
    ----------
    horizon : T, the number of rounds to come, up to ten million. A test takes time in proportion to the rewards of the
        arm since its last restart.
    scope : which arms begin anew when one has changed: "global" for all, "local" for that one alone.
    arms : number of arms or their labels; may be left out where FairLearn or simulate names them.
    seed : unused by this rule, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If the horizon is not a whole number from 2 to ten million, the scope is none of the two, there are fewer than
        two arms, or a label twice.

    Examples
    --------
    >>> learner = GLRKLUCB(600, arms=["tea", "coffee"])
    >>> for t in range(600):
    ...     decision = learner.ask()
    ...     better = "tea" if t < 300 else "coffee"
    ...     learner.tell(decision, 1.0 if decision.arm == better else 0.0)
    >>> learner.restarts, learner.ask().arm
    (1, 'coffee')

    Source: Besson, Kaufmann, Maillard, Seznec (2022), Corollaries 6 and 10: regret O(sqrt(K changes T ln T)) where
    changes are far apart and large enough to be found, both made exact there.
    """

    kernels = Kernels(choose, update, rank=rank)

    def __init__(
        self,
        horizon: int = 10_000,
        scope: Literal["global", "local"] = "global",
        *,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self.horizon = whole("horizon", horizon, low=2, high=LONGEST)
        self.scope = one_of("scope", scope, ("global", "local"))
        super().__init__(arms, seed)

    @property
    @locked
    def restarts(self) -> int:
        """How many changes it has found so far."""
        return int(self._state.clock[2])

    def parameters(self) -> GLRParams:
        log, k = math.log(self.horizon), len(self._labels)
        return GLRParams(0.5 * log, math.sqrt(k * log / self.horizon), self.scope == "local")

    def memory(self) -> GLRState:
        k = len(self._labels)
        return GLRState(
            np.zeros(k, np.int64),
            np.zeros(k),
            np.full(k, -1, np.int64),
            np.zeros((2, k), np.int64),
            np.zeros(4, np.int64),
            np.zeros(self.horizon),
            np.zeros(self.horizon, np.int64),
        )
