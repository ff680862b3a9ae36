"""Floors of single arms, one a round, every arm on offer: the form of DeadlineLearn that costs the least.

The theorem, its proof and the search stand at the head of `evenhand.kernels.deadlines`.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np

from evenhand.errors import ArgumentError, expected
from evenhand.kernels.compose import kernel
from evenhand.kernels.deadlines import (
    EARLIEST,
    NEVER,
    PATIENCE,
    DeadlineParams,
    DeadlineState,
    deadline,
    may_play,
    only_one,
    outlook,
    pace,
    played,
    position,
)
from evenhand.promises.clause import Clause
from evenhand.promises.feasible import need_of
from evenhand.promises.promise import Promise
from evenhand.quotas.quota_kernels import QuotaRule

LEAST = Fraction(1, 1 << 200)
"""Less than any room that shares leave."""


@kernel
def must_play(params: DeadlineParams, state: DeadlineState, round: int) -> int:
    return only_one(params, state, round - 1)


@kernel
def granted(params: DeadlineParams, state: DeadlineState, round: int, proposal: int) -> int:
    if may_play(params, state, round - 1, deadline(state.whole, state.rest, proposal)):
        return proposal
    return state.memo[EARLIEST]


@kernel
def count(params: DeadlineParams, state: DeadlineState, round: int, arm: int) -> None:
    state.pulls[arm] += 1
    played(params, state, arm)


def is_plain(promise: Promise) -> bool:
    """Return whether nothing is promised but floors of single arms, one play a round."""
    beside = promise.sets or promise.windows or promise.caps is not None or promise.plays > 1 or promise.weight
    return not beside and isinstance(promise.offers, str)


def deadline_parameters(promise: Promise, learner: object) -> DeadlineParams:
    """Return the parameters of the rule."""
    return DeadlineParams(*pace(*promise.fixed_point), promise.fixed_point[1], learner)


def deadline_state(promise: Promise, learner: object) -> DeadlineState:
    """Return the state of the rule before the first round."""
    arms = len(promise.arms)
    begun = position(*promise.fixed_point, promise.slack + 1)
    return DeadlineState(np.zeros(arms, np.int64), *begun, *outlook(arms), learner)


def look_work(promise: Promise) -> int:
    """Return about how many array entries a look ahead touches."""
    numerators, denominator = promise.fixed_point
    narrowest = min(n for n in numerators if n) if any(numerators) else 1
    deadlines = len(numerators) * denominator // (narrowest + promise.plays * denominator - sum(numerators))
    return len(numerators) * min(deadlines, PATIENCE)


def check_tolerance(promise: Promise) -> None:
    """Check that the deadlines can be counted.

    Raises
    ------
    ArgumentError
        If the tolerance is too large to count.
    """
    if (promise.slack + 1) * len(promise.arms) >= NEVER:
        raise ArgumentError(expected("tolerance", f"less than 2^61 / {len(promise.arms)} plays", promise.tolerance))


def warn_of_idle_arms(promise: Promise) -> None:
    """Warn of an arm of share 0 that has no room for any share; the caller is a constructor."""
    around = [frozenset(members) for members, _ in promise.sets]
    owed = zip(promise.arms, promise.shares, strict=True)
    for arm in {tuple(arm in one for one in around): arm for arm, share in owed if not share}.values():
        if need_of([*promise.clauses, Clause("floor", (arm,), LEAST)], lambda clause: clause.rate) > promise.plays:
            most = promise.slack * need_of(promise.clauses, lambda clause: 1)
            how = f"have at most {most} {promise.weight}" if promise.weight else f"be played at most {most} times"
            warnings.warn(
                f"the shares sum to exactly {promise.plays} and arm {arm!r} has share 0: it will {how} in total",
                stacklevel=3,
            )
            return


DEADLINE_RULE = QuotaRule(must_play, granted, count, ("whole", "rest"))
