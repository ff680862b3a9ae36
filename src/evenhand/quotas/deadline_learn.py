"""DeadlineLearn: any shares that sum to at most one, and a pull is forced only when a deadline would otherwise be
missed.

The promise floor(r_i t) - N_i(t) <= a, a = floor(alpha), gives the n-th owed pull of arm i the deadline ceil((n +
a)/r_i). After round t let

    g(s) = s - t - sum_i max(0, floor(r_i s) - a - N_i(t)),    s >= t,

the rounds left until s less the pulls that fall due by s. The learner's wish j is granted iff g stays >= 0 after it;
otherwise the arm with the earliest deadline is pulled.

The promise is kept. g(s) >= 0 for every s holds at t = 0, since sum_i floor(r_i s) <= s. A granted wish keeps it by the
very test. If the arm j with the earliest deadline is pulled instead, then for s below that deadline nothing is due and
g(s) = s - t - 1 >= 0 after the pull; from that deadline on the time left and the pulls due both fall by one, and g is
unchanged. At s = t, g >= 0 says that nothing is overdue. Nothing was assumed of the learner or the rewards, and no rule
that keeps the promise against every continuation can grant more.

A wish j lowers g by one at every s before j's own deadline and nowhere else. So it is enough to know the time `clear`
up to which g >= 1: the wish is granted iff j's deadline is at most `clear`. The first time s with g(s) = 0 is found by
walking the deadlines in order. The walk ends early because h(s) = sum_i max(0, r_i s - a - N_i) - (s - t) is convex
with a last slope sum_i r_i - 1 <= 0, hence never rises again, and g >= -h. A walk longer than `PATIENCE` deadlines is
cut short, and what lies beyond counts as not clear, which can only force earlier.

With shares that sum to one exactly an arm of share 0 can be pulled at most floor(alpha) times for each arm that is owed
something, ever; with alpha < 1 never.

Ours; the deadlines are those of earliest-deadline-first scheduling (C. L. Liu, J. W. Layland, Journal of the ACM 20,
1973), the promise that of V. Patil, G. Ghalme, V. Nair, Y. Narahari, Journal of Machine Learning Research 22 (2021),
Definition 2.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.pace import NEVER, advance
from evenhand.learners.thompson import Thompson
from evenhand.learners.ucb1 import UCB1
from evenhand.online import KernelPolicy
from evenhand.protocol import Label
from evenhand.quotas.under_quota import Rule, Shares, UnderQuota, read_promise
from evenhand.quotas.worlds import BernoulliArms
from evenhand.registry import register
from evenhand.rng import Seed

__all__ = ["DeadlineLearn"]

PATIENCE = 4096
BEYOND = NEVER + 1
CLEAR, UNSEEN, UNOWED = 0, 1, 2


class DeadlineParams(NamedTuple):
    numerators: Ints
    steps: Ints
    remainders: Ints
    shares: Floats
    full: bool
    """Whether the shares, as the kernels count them, sum to one exactly."""
    spare: int
    """floor(alpha) for each arm that is owed something, summed."""
    learner: Any


class DeadlineState(NamedTuple):
    pulls: Ints
    whole: Ints
    """whole + rest/R is when the arm's next owed pull falls due; rounded up it is the deadline."""
    rest: Ints
    memo: Ints
    """(3,): `clear`, 0 where it must be looked for; wishes that may be granted unseen; pulls of arms owed nothing."""
    ahead_whole: Ints
    ahead_rest: Ints
    learner: Any


@kernel
def deadline(whole: Ints, rest: Ints, arm: int) -> int:
    return whole[arm] + 1 if rest[arm] > 0 else whole[arm]


@kernel
def earliest(whole: Ints, rest: Ints) -> int:
    first = 0
    for arm in range(1, whole.size):
        if deadline(whole, rest, arm) < deadline(whole, rest, first):
            first = arm
    return first


@kernel
def surplus(params: DeadlineParams, state: DeadlineState, now: int, s: int) -> float:
    """Return -h(s): the rounds left until s less what is owed by then, fractions of pulls included."""
    left = float(s - now)
    for arm in range(state.whole.size):
        if params.numerators[arm] > 0:
            late = (s - state.whole[arm]) - state.rest[arm] / params.numerators[arm]
            left -= max(0.0, params.shares[arm] * late + 1.0)
    return left


@kernel
def look_ahead(params: DeadlineParams, state: DeadlineState, now: int) -> None:
    """Walk the deadlines after round `now` and note how far the way is clear."""
    arms = state.whole.size
    whole, rest = state.ahead_whole, state.ahead_rest
    owed = 0
    for arm in range(arms):
        whole[arm], rest[arm] = state.whole[arm], state.rest[arm]
        if params.numerators[arm] > 0:
            owed += 1
    free = params.spare - state.memo[UNOWED]
    due, entered, least = 0, 0, NEVER
    for _ in range(PATIENCE):
        s = deadline(whole, rest, earliest(whole, rest))
        if s >= NEVER:
            state.memo[CLEAR], state.memo[UNSEEN] = BEYOND, NEVER
            return
        for arm in range(arms):
            if deadline(whole, rest, arm) == s:
                due += 1
                if whole[arm] == state.whole[arm]:
                    entered += 1
                advance(params.numerators, params.steps, params.remainders, whole, rest, arm)
        state.memo[CLEAR], state.memo[UNSEEN] = s, 0
        left = s - now - due
        if left <= 0:
            return
        least = min(least, left)
        later = math.ceil(surplus(params, state, now, s) - 1e-6)
        if entered == owed:
            later = max(later, free if params.full else free + 1)
        if later >= 1:
            state.memo[CLEAR], state.memo[UNSEEN] = BEYOND, min(least, later)
            return
        if entered == owed and params.full:
            return


@kernel
def only_one(params: DeadlineParams, state: DeadlineState, round: int) -> int:
    """Return the arm if it is the only one that may be pulled, else -1."""
    if state.memo[UNSEEN] > 0:
        return -1
    if round > state.memo[CLEAR]:
        look_ahead(params, state, round - 1)
        if state.memo[UNSEEN] > 0:
            return -1
    only = -1
    for arm in range(state.whole.size):
        if deadline(state.whole, state.rest, arm) <= state.memo[CLEAR]:
            if only >= 0:
                return -1
            only = arm
    return only


@kernel
def granted(params: DeadlineParams, state: DeadlineState, round: int, wish: int) -> int:
    if state.memo[UNSEEN] > 0 or deadline(state.whole, state.rest, wish) <= state.memo[CLEAR]:
        return wish
    return earliest(state.whole, state.rest)


@kernel
def count(params: DeadlineParams, state: DeadlineState, round: int, arm: int) -> None:
    if state.memo[UNSEEN] > 0:
        state.memo[UNSEEN] -= 1
        if state.memo[UNSEEN] == 0:
            state.memo[CLEAR] = 0
    elif arm != earliest(state.whole, state.rest):
        state.memo[CLEAR] = 0
    state.pulls[arm] += 1
    if params.numerators[arm] == 0:
        state.memo[UNOWED] += 1
    advance(params.numerators, params.steps, params.remainders, state.whole, state.rest, arm)


@register("quotas/deadline-learn")
class DeadlineLearn(UnderQuota, KernelPolicy):
    """Play any learner under any guaranteed shares with sum at most one, forcing a pull only when a deadline would be
    missed.

    The promise is the paper's: N_i(t) >= floor(r_i t) - alpha for every arm at every round, proved at the head of this
    module. Against `FairLearn` it takes shares such as 0.7/0.1/0.1 and leaves the learner more rounds, hence less
    regret.

    Parameters
    ----------
    learner : one of `evenhand.learners`, a contextual policy, or any object with `choose()` and `update(index,
        reward)`; forced pulls feed it too.
    shares : the share r_i of the rounds owed to each arm: a list, a dict arm -> share, or one number with `arms`.
    tolerance : alpha >= 0, by how many pulls an arm may be behind.
    arms : labels, where `shares` has none.
    seed : seed of the learner's random choices.

    Raises
    ------
    SharesError
        If a share is not in [0, 1], there is not one an arm, or they sum to more than one.
    ArgumentError
        If the tolerance is negative or beyond any conversation, or the learner has decided before or cannot choose and
        update.

    Warns
    -----
    UserWarning
        If the shares sum to one exactly and an arm has share 0: that arm can hardly ever be pulled.

    Examples
    --------
    >>> from evenhand.learners import UCB1
    >>> policy = DeadlineLearn(UCB1(), {"red": 0.7, "green": 0.1, "blue": 0.1})
    >>> for _ in range(20):
    ...     decision = policy.ask()
    ...     policy.tell(decision, 1.0 if decision.arm == "blue" else 0.0)
    >>> policy.promise.kept(list(policy.pulls.values()), 20)
    True

    Source: the head of this module.
    """

    rule = Rule(only_one, granted, count)

    def __init__(
        self,
        learner: Any,
        shares: Shares | Any,
        tolerance: float = 0.0,
        *,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        promise = read_promise(shares, tolerance, arms, learner)
        if (promise.slack + 1) * len(promise.arms) >= NEVER:
            raise ArgumentError(wanted("tolerance", f"less than 2^61 / {len(promise.arms)} pulls", tolerance))
        if sum(promise.shares) == 1 and 0 in promise.shares:
            never = promise.arms[promise.shares.index(Fraction(0))]
            warnings.warn(
                f"the shares sum to 1 exactly and arm {never!r} has share 0: it will be pulled at most "
                f"{promise.slack * sum(share > 0 for share in promise.shares)} times, ever",
                stacklevel=2,
            )
        self._set_up(learner, promise, seed)

    def quota_parameters(self, learner: Any) -> DeadlineParams:
        owed = sum(share > 0 for share in self.promise.shares)
        numerators, denominator = self.promise.fixed_point()
        full = sum(numerators) == denominator
        return DeadlineParams(*self.promise.pace(), self.promise.floats(), full, self.promise.slack * owed, learner)

    def quota_memory(self, learner: Any) -> DeadlineState:
        whole, rest = self.promise.position(self.promise.slack + 1)
        arms = len(whole)
        return DeadlineState(
            np.zeros(arms, np.int64),
            whole,
            rest,
            np.zeros(3, np.int64),
            np.zeros(arms, np.int64),
            np.zeros(arms, np.int64),
            learner,
        )

    @classmethod
    def examples(cls) -> Iterator[tuple[DeadlineLearn, Any]]:
        yield cls(UCB1(), {"a": 0.7, "b": 0.1, "c": 0.1}), BernoulliArms({"a": 0.3, "b": 0.8, "c": 0.5})
        yield cls(Thompson(), ["1/2", "1/3", "1/6"], tolerance=1.5), BernoulliArms([0.1, 0.2, 0.9])
