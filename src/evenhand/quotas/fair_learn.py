"""Fair-Learn: whoever is behind by more than the tolerance goes first, otherwise the learner decides.

Before round t let A = { i : r_i (t-1) - N_i(t-1) > floor(alpha) }. If A is not empty its arm with the largest r_i (t-1)
- N_i(t-1) is pulled (ties: lowest index), else the learner's. With r_i <= 1/k every arm then has r_i t - N_i(t) <=
floor(alpha) + (k-1)/k < floor(alpha) + 1 at every t, hence floor(r_i t) - N_i(t) <= floor(alpha) <= alpha, whatever the
learner and the rewards.

The published rule compares with alpha itself and breaks its promise for alpha that is not whole: floor(r_i t) - N_i(t)
is a whole number, so with k = 2, r = (1/2, 1/2), alpha = 0.5 it lets a learner reach 1 > 0.5. With floor(alpha) the
promise holds for every real alpha >= 0.

Source: V. Patil, G. Ghalme, V. Nair, Y. Narahari, "Achieving Fairness in the Stochastic Multi-armed Bandit Problem",
Journal of Machine Learning Research 22 (2021), Algorithm 1 and Theorem 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import SharesError, figure
from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.due_times import NEVER, advance
from evenhand.promises.promise import Promise
from evenhand.protocol import Label
from evenhand.quotas.under_quota import Rule, Shares, UnderQuota, as_wished, promise_over
from evenhand.registry import register
from evenhand.rng import Seed


class FairParams(NamedTuple):
    numerators: Ints
    steps: Ints
    remainders: Ints
    learner: Any


class FairState(NamedTuple):
    pulls: Ints
    whole: Ints
    """The last time, whole + rest/R, at which the arm is not yet behind by more than the tolerance."""
    rest: Ints
    quiet: Ints
    """(1,): no arm is owed before this round."""
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
def count(params: FairParams, state: FairState, round: int, arm: int) -> None:
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
            raise SharesError(
                f"shares[{arm!r}]: wanted at most 1/{k}, one over the number of arms, got {figure(float(share))}; "
                "DeadlineLearn keeps the promise for any shares that sum to at most 1"
            )
    return promise


@register("quotas/fair-learn")
class FairLearn(UnderQuota):
    """Play any learner under guaranteed shares: N_i(t) >= floor(r_i t) - alpha for every arm at every round.

    Parameters
    ----------
    learner : one of `evenhand.learners`, a contextual policy, or any object with `choose()` and `update(index,
        reward)`; forced pulls feed it too.
    shares : the share r_i of the rounds owed to each arm, at most 1/n_arms: a list, a dict arm -> share, or one number
        with `arms`.
    tolerance : alpha >= 0, by how many pulls an arm may be behind.
    arms : labels, where `shares` has none.
    seed : seed of the learner's random choices.

    Raises
    ------
    SharesError
        If a share is not in [0, 1/n_arms], there is not one an arm, or they sum to more than one.
    ArgumentError
        If the tolerance is negative, or the learner has decided before or cannot choose and update.

    Examples
    --------
    >>> from evenhand.learners import KLUCB
    >>> policy = FairLearn(KLUCB(), {"ads": 0.5, "news": 0.1})
    >>> for _ in range(10):
    ...     decision = policy.ask()
    ...     policy.tell(decision, 1.0 if decision.arm == "news" else 0.0)
    >>> policy.pulls, policy.promise.kept(list(policy.pulls.values()), 10)
    ({'ads': 5, 'news': 5}, True)

    Source: Patil, Ghalme, Nair, Narahari (2021), Algorithm 1; proof of the promise at the head of this module.
    """

    rule = Rule(owed, as_wished, count, ("whole", "rest"))

    def __init__(
        self,
        learner: Any,
        shares: Shares | Any,
        tolerance: float = 0.0,
        *,
        arms: int | Sequence[Label] | None = None,
        seed: Seed = None,
    ) -> None:
        promise = at_most_equal_shares(promise_over(learner, shares, tolerance, arms))
        self._set_up(learner, promise, seed)

    def quota_parameters(self, learner: Any) -> FairParams:
        return FairParams(*self.promise.pace(), learner)

    def quota_memory(self, learner: Any) -> FairState:
        pulls, position = np.zeros(len(self.promise.arms), np.int64), self.promise.position(self.promise.slack)
        return FairState(pulls, *position, np.zeros(1, np.int64), learner)

    @classmethod
    def examples(cls) -> Iterator[tuple[FairLearn, Any]]:
        from evenhand.learners import UCB1, Thompson
        from evenhand.quotas.worlds import BernoulliArms

        yield cls(Thompson(), [0.2, 0.3, 0.25], tolerance=2.5), BernoulliArms([0.7, 0.5, 0.4])
        yield cls(UCB1(), {"a": "1/3", "b": 0.0}), BernoulliArms({"a": 0.2, "b": 0.9})
