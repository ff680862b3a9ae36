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

__all__ = ["Tally", "behind", "count", "follow", "tally", "violations", "worst"]


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
        shares, pace, position = promise.floats(), promise.pace(), promise.position(promise.slack + 1)
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


@kernel
def follow(books: Tally, codes: Ints, start: int, worst_rounds: Ints, summary: Ints, now: Floats) -> None:
    """Enter the rounds start + 1, start + 2, ... of a log; `summary` gets the rounds in violation so far, the first of
    them (0: none) and an arm it hit, `now` (n_rounds,) the largest shortfall at each."""
    for n in range(codes.size):
        t = start + n + 1
        arm = codes[n]
        seen = books.worst[arm]
        count(books, arm, t)
        if books.worst[arm] > seen:
            worst_rounds[arm] = t - 1
        broken = False
        now[n] = -np.inf
        for i in range(books.pulls.size):
            now[n] = max(now[n], books.shares[i] * t - books.pulls[i])
            if behind(books, i, t):
                broken = True
                if summary[1] == 0:
                    summary[1], summary[2] = t, i
        if broken:
            summary[0] += 1
