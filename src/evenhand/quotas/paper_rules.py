"""Fair-Learn, Fair-UCB and T-Fair-UCB: the three rules of Patil et al. (2021).

Fair-Learn: an arm that is behind by more than the tolerance goes first, otherwise the learner decides. Before round t
let A = { i : r_i (t-1) - N_i(t-1) > floor(alpha) }. If A is not empty its arm with the largest r_i (t-1) - N_i(t-1) is
pulled (ties: lowest index), else the learner's. With r_i <= 1/k every arm then has r_i t - N_i(t) <= floor(alpha) +
(k-1)/k < floor(alpha) + 1 at every t, hence floor(r_i t) - N_i(t) <= floor(alpha) <= alpha, whatever the learner and
the rewards.

The published rule compares with alpha itself and breaks its promise for alpha that is not whole: floor(r_i t) - N_i(t)
is a whole number, so with k = 2, r = (1/2, 1/2), alpha = 0.5 it lets a learner reach 1 > 0.5. With floor(alpha) the
promise holds for every real alpha >= 0.

T-Fair-UCB knows the horizon, serves every quota first, then plays UCB1; the promise holds only at the horizon. The
order inside the first phase is free. Here the quotas q_i = max(0, floor(r_i T) - floor(alpha)) are served by earliest
virtual deadline, the n-th pull of arm i at n (q_1 + ... + q_k) / q_i: a proportional round robin, so that no arm waits
for the quotas of the others.

Source: V. Patil, G. Ghalme, V. Nair, Y. Narahari, "Achieving Fairness in the Stochastic Multi-armed Bandit Problem",
Journal of Machine Learning Research 22 (2021), Algorithms 1 and 2, Theorems 1 and 8 (appendix C).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, SharesError, Wording, expected, figure
from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.deadlines import NEVER, advance, pace, position
from evenhand.learners.indices import UCB1
from evenhand.promises.promise import DEADLINE_LEARN, Promise
from evenhand.protocol import Label
from evenhand.quotas.quota_kernels import QuotaRule, accept_proposal
from evenhand.quotas.quota_policy import QuotaPolicy, Shares, promise_over
from evenhand.registry import register
from evenhand.rng import Seed


class FairParams(NamedTuple):
    numerators: Ints
    """Of the shares; of `HorizonFairUCB` the quotas."""
    steps: Ints
    remainders: Ints
    learner: Any


class FairState(NamedTuple):
    pulls: Ints
    whole: Ints
    """The last time, whole + rest/R, at which the arm is not yet behind by more than the tolerance."""
    rest: Ints
    quiet: Ints
    """(1,): no arm is owed before this round; `HorizonFairUCB` has no use for it."""
    learner: Any


@kernel
def owed(params: FairParams, state: FairState, round: int) -> int:
    if round < state.quiet[0]:
        return -1
    arm, owed, largest, quiet = -1, 0, 0, NEVER
    for i in range(state.whole.size):
        late = round - 1 - state.whole[i]
        if late > 0:
            owed += 1
            behind = params.numerators[i] * late - state.rest[i]
            if behind > largest:
                arm, largest = i, behind
        else:
            quiet = min(quiet, state.whole[i] + 2)
    if owed == 1:
        quiet = min(quiet, state.whole[arm] + params.steps[arm] + 2)
    if owed <= 1:
        state.quiet[0] = quiet
    return arm


@kernel
def count(params: FairParams, state: Any, round: int, arm: int) -> None:
    state.pulls[arm] += 1
    advance(params.numerators, params.steps, params.remainders, state.whole, state.rest, arm)


def at_most_equal_shares(promise: Promise) -> Promise:
    """Return the promise if no share is above 1/k.

    Raises
    ------
    SharesError
        If a share is above 1/k: the rule would break the promise, even where the shares sum to less than one.
    """
    k = len(promise.arms)
    for arm, share in zip(promise.arms, promise.shares, strict=True):
        if share.numerator * k > share.denominator:
            said = f"shares[{arm!r}]: expected at most 1/{k}, one over the number of arms, got {figure(float(share))}; "
            hint = " keeps the promise for any shares that sum to at most 1"
            raise SharesError(Wording(said, DEADLINE_LEARN, hint))
    return promise


FAIR_RULE = QuotaRule(owed, accept_proposal, count, ("whole", "rest"))


def fair_parameters(policy: QuotaPolicy, learner: object) -> FairParams:
    return FairParams(*pace(*policy.promise.fixed_point), learner)


def fair_memory(policy: QuotaPolicy, learner: object) -> FairState:
    pulls, promise = np.zeros(len(policy.promise.arms), np.int64), policy.promise
    return FairState(pulls, *position(*promise.fixed_point, promise.slack), np.zeros(1, np.int64), learner)


@register("quotas/fair-learn")
class FairLearn(QuotaPolicy):
    """Play any learner under guaranteed shares: N_i(t) >= floor(r_i t) - alpha for every arm at every round.

    Parameters
    ----------
    learner : one of `evenhand.learners`, a contextual policy, or any object with `choose()` and `update(index,
        reward)`; it learns from forced pulls too.
    shares : the share r_i of the rounds owed to each arm, at most 1/n_arms: a list, a dict arm -> share, or one number
        with `arms`.
    tolerance : alpha >= 0, by how many pulls an arm may be behind.
    arms : labels, where `shares` has none.
    seed : seed of the learner's random choices.

    Raises
    ------
    SharesError
        If a share is not in [0, 1/n_arms], there is not one share per arm, or they sum to more than one.
    ArgumentError
        If the tolerance is negative, or the learner has decided before or cannot choose and update.

    Examples
    --------
    >>> from evenhand.learners import KLUCB
    >>> policy = FairLearn(KLUCB(), {"ads": 0.5, "news": 0.1})
    >>> for _ in range(10):
    ...     decision = policy.ask()
    ...     policy.tell(decision, 1.0 if decision.arm == "news" else 0.0)
    >>> policy.pulls, policy.promise.is_kept(list(policy.pulls.values()), 10)
    ({'ads': 5, 'news': 5}, True)

    Source: Patil, Ghalme, Nair, Narahari (2021), Algorithm 1; proof of the promise at the head of this module.
    """

    _rule = FAIR_RULE

    def __init__(
        self,
        learner: object,
        shares: Shares | Any,
        tolerance: float = 0.0,
        *,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        promise = at_most_equal_shares(promise_over(learner, shares, tolerance, arms))
        self._set_up(learner, promise, seed)

    _quota_parameters, _quota_memory = fair_parameters, fair_memory

    @classmethod
    def _examples(cls) -> Iterator[tuple[FairLearn, Any]]:
        from evenhand.learners import UCB1, Thompson
        from evenhand.quotas.worlds import BernoulliArms

        yield cls(Thompson(seed=1), [0.2, 0.3, 0.25], tolerance=2.5, seed=1), BernoulliArms([0.7, 0.5, 0.4])
        yield cls(UCB1(seed=1), {"a": "1/3", "b": 0.0}, seed=2), BernoulliArms({"a": 0.2, "b": 0.9})


@register("quotas/fair-ucb")
class FairUCB(QuotaPolicy):
    """Play UCB1 under guaranteed shares, the paper's Fair-UCB: short for `FairLearn(UCB1(), shares, tolerance)`.

    Parameters
    ----------
    shares : the share r_i of the rounds owed to each arm, at most 1/n_arms: a list, a dict arm -> share, or one number
        with `arms`.
    tolerance : alpha >= 0, by how many pulls an arm may be behind.
    arms : labels, where `shares` has none.
    seed : unused by this rule, kept so that policies are interchangeable.

    Raises
    ------
    SharesError, ArgumentError
        As `FairLearn` does.

    Examples
    --------
    >>> policy = FairUCB({"a": 0.25, "b": 0.25, "c": 0.25})
    >>> policy.ask().reason, policy.ask().reason
    ('never tried before', 'owed its share')

    Source: Patil, Ghalme, Nair, Narahari (2021), Algorithm 1 with UCB1, Theorems 2 to 4. Its r-regret is at most
    (1 + pi^2/3) sum_i Delta_i + sum over { i : r_i T - alpha < 8 ln T / Delta_i^2 } of Delta_i (8 ln T / Delta_i^2 -
    (r_i T - alpha)).
    """

    _rule = FAIR_RULE

    def __init__(
        self,
        shares: Shares | Any,
        tolerance: float = 0.0,
        *,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        self._set_up(UCB1(), at_most_equal_shares(promise_over(None, shares, tolerance, arms)), seed)

    _quota_parameters, _quota_memory = fair_parameters, fair_memory

    @classmethod
    def _examples(cls) -> Iterator[tuple[FairUCB, Any]]:
        from evenhand.quotas.worlds import BernoulliArms

        yield cls([0.2, 0.3, 0.25], seed=1), BernoulliArms([0.7, 0.5, 0.4])
        yield cls([0.08] * 10, tolerance=3, seed=2), BernoulliArms([0.05 * i for i in range(10)])


@kernel
def unserved(params: FairParams, state: FairState, round: int) -> int:
    arm, soonest = -1, NEVER
    for i in range(state.pulls.size):
        if state.pulls[i] < params.numerators[i] and state.whole[i] < soonest:
            arm, soonest = i, state.whole[i]
    return arm


@register("quotas/horizon-fair-ucb", baseline=True)
class HorizonFairUCB(QuotaPolicy):
    """Serve every arm's quota of the known horizon first, in proportion, then play UCB1.

    The promise N_i(T) >= floor(r_i T) - alpha holds at the horizon T and not before. Past the horizon UCB1 plays on and
    nothing is promised.

    Parameters
    ----------
    shares : the share r_i of the rounds owed to each arm: a list, a dict arm -> share, or one number with `arms`.
    horizon : T, the number of rounds to come.
    tolerance : alpha >= 0, by how many pulls an arm may be behind at the end.
    arms : labels, where `shares` has none.
    seed : unused by this rule, kept so that policies are interchangeable.

    Raises
    ------
    SharesError
        If a share is not in [0, 1], there is not one share per arm, or they sum to more than one.
    ArgumentError
        If the tolerance is negative or the horizon is not a positive whole number.

    Examples
    --------
    >>> policy = HorizonFairUCB([0.2, 0.4], horizon=10)
    >>> [policy.choose() for _ in range(6)]
    [1, 0, 1, 1, 0, 1]

    Source: Patil, Ghalme, Nair, Narahari (2021), Algorithm 2; Theorem 8: r-regret O(log T).
    """

    _rule = QuotaRule(unserved, accept_proposal, count)
    _traits = replace(QuotaPolicy._traits, holds_when="at the horizon")
    horizon: int

    def __init__(
        self,
        shares: Shares | Any,
        horizon: int,
        *,
        tolerance: float = 0.0,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        if not is_whole(horizon) or not 1 <= horizon < NEVER:
            raise ArgumentError(expected("horizon", "a number of rounds >= 1, below 2^61", horizon))
        self.horizon = int(horizon)
        self._set_up(UCB1(), promise_over(None, shares, tolerance, arms), seed)

    def _quota_parameters(self, learner: object) -> FairParams:
        quotas = self.promise.owed(self.horizon)
        return FairParams(*pace(quotas, max(1, sum(quotas))), learner)

    def _quota_memory(self, learner: object) -> FairState:
        quotas = self.promise.owed(self.horizon)
        pulls, record = np.zeros(len(quotas), np.int64), position(quotas, max(1, sum(quotas)), 1)
        return FairState(pulls, *record, np.zeros(1, np.int64), learner)

    @classmethod
    def _examples(cls) -> Iterator[tuple[HorizonFairUCB, Any]]:
        from evenhand.quotas.worlds import BernoulliArms

        yield cls([0.2, 0.3, 0.25], 500, seed=1), BernoulliArms([0.7, 0.5, 0.4])
        yield cls({"a": 0.0, "b": 0.9}, 1000, tolerance=7.0, seed=2), BernoulliArms({"a": 0.2, "b": 0.1})
