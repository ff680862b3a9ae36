"""How far decisions are behind guaranteed shares: at every round, in one pass, one definition for a stream and for a
log.

An arm's shortfall at the end of round t is r_i t - N_i(t). It rises with t and drops only when the arm is pulled, so
the worst over all rounds is found by looking at an arm just before each of its pulls, and once at the end: one
comparison a round, nothing missed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.due_times import advance

__all__ = ["Tally", "behind", "count", "tally", "violations", "worst"]


class Tally(NamedTuple):
    """Running counts of one sequence of decisions; every array is (n_arms,)."""

    pulls: Ints
    shares: Floats
    worst: Floats
    """Largest shortfall seen just before a pull."""
    broken: Ints
    """Rounds at whose end the arm had fewer pulls than promised, up to its last pull."""
    numerators: Ints
    steps: Ints
    remainders: Ints
    whole: Ints
    """whole + rest/R is the first moment at which the present pulls break the promise."""
    rest: Ints
    since: Ints
    """The round of the arm's last pull, from which on its present pulls count."""


def tally(promise: Any, arms: int) -> Tally:
    """Return an empty tally for a promise, or for no promise at all (None: nobody is owed anything)."""
    if promise is None:
        none = np.zeros(arms, np.int64)
        shares, pace = np.zeros(arms), (none, none, none)
        position = (np.full(arms, np.iinfo(np.int64).max >> 1), none.copy())
    else:
        shares, pace, position = promise.floats(), promise.pace(), promise.start()
    since = np.zeros(arms, np.int64)
    return Tally(
        np.zeros(arms, np.int64), shares, np.full(arms, -np.inf), np.zeros(arms, np.int64), *pace, *position, since
    )


@kernel
def due(tally: Tally, arm: int) -> int:
    """Return the first round at whose end the present pulls break the promise to the arm."""
    return tally.whole[arm] + (1 if tally.rest[arm] > 0 else 0)


@kernel
def count(tally: Tally, arm: int, round: int) -> None:
    """Enter that `arm` is pulled in `round`."""
    before = tally.shares[arm] * (round - 1) - tally.pulls[arm]
    if before > tally.worst[arm]:
        tally.worst[arm] = before
    overdue = round - max(due(tally, arm), tally.since[arm])
    if overdue > 0:
        tally.broken[arm] += overdue
    tally.since[arm] = round
    tally.pulls[arm] += 1
    advance(tally.numerators, tally.steps, tally.remainders, tally.whole, tally.rest, arm)


@kernel
def worst(tally: Tally, arm: int, round: int) -> float:
    """Return the arm's largest shortfall at the end of any round up to this one."""
    return max(tally.worst[arm], tally.shares[arm] * round - tally.pulls[arm])


@kernel
def behind(tally: Tally, arm: int, round: int) -> bool:
    """Say whether the promise to the arm is broken at the end of this round."""
    return round >= due(tally, arm)


@kernel
def violations(tally: Tally, arm: int, round: int) -> int:
    """Return at the end of how many rounds up to this one the promise to the arm was broken."""
    return tally.broken[arm] + max(0, round + 1 - max(due(tally, arm), tally.since[arm]))
