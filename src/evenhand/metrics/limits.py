"""How often promises beside the floors of single arms are broken: floors of sets, caps, and windows, round by round.

As in `evenhand.metrics.shares` an owner, an arm or a set of arms, is looked at when one of its arms is played, and once
at the end. In between its plays stand still, so that a floor or a window is broken from a round on, `due`, and a cap up
to one.

    floor    floor(r t) - a > N      from t = (N + a + 1) / r on
    cap      N > ceil(c t) + b       up to t = (N - b - 1) / c
    window   (n, w)                  from w rounds after the n-th last play on; time before the first round is played
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel
from evenhand.kernels.due_times import advance, pace, position
from evenhand.promises.promise import read_promise

__all__ = ["Limits", "enter", "enter_one", "limits", "rounds_broken"]

FLOOR, CAP, WINDOW = range(3)
KINDS = {"floor": FLOOR, "cap": CAP, "window": WINDOW}


class Limits(NamedTuple):
    """Running counts, an entry for each promise."""

    members: np.ndarray[Any, np.dtype[np.bool_]]
    """(n_promises, n_arms): whose plays count."""
    kinds: Ints
    numerators: Ints
    steps: Ints
    remainders: Ints
    whole: Ints
    """whole + rest/R is the first moment at which a floor, the last at which a cap is broken by the plays so far."""
    rest: Ints
    lengths: Ints
    """Of windows, in rounds."""
    counts: Ints
    """Of windows, the plays that are owed in each."""
    plays: Ints
    last: Ints
    """(n_promises, most): the rounds of a window's last plays, in a ring."""
    since: Ints
    """The round of the last play, from which on the plays so far count."""
    broken: Ints
    """Rounds in which the promise was broken, up to its last play."""


def limits(promise: Any, windows: Any, arms: Any) -> Limits:
    """Return the counts before the first round, for what is promised beside the floors of single arms."""
    place = {arm: i for i, arm in enumerate(arms)}
    if promise is None and windows:
        promise = read_promise(windows=windows, arms=arms, audited=True)
    clauses = () if promise is None else promise.clauses
    owed = [clause for clause in clauses if clause.kind != "floor" or len(clause.arms) > 1]
    n = len(owed)
    members, columns = np.zeros((n, len(arms)), np.bool_), [np.zeros(n, np.int64) for _ in range(10)]
    kinds, numerators, steps, remainders, whole, rest, lengths, counts, plays, since = columns
    for i, (kind, who, limit, slack) in enumerate(owed):
        members[i, [place[arm] for arm in who]], kinds[i] = True, KINDS[kind]
        if isinstance(limit, tuple):
            counts[i], lengths[i] = limit
            continue
        (numerators[i],), (steps[i],), (remainders[i],) = pace([limit.numerator], limit.denominator)
        if kind == "floor":
            (whole[i],), (rest[i],) = position([limit.numerator], limit.denominator, slack + 1)
        else:
            whole[i], rest[i] = divmod(-(slack + 1) * limit.denominator, limit.numerator)
    last = np.zeros((n, int(counts.max(initial=1))), np.int64)
    return Limits(
        members,
        kinds,
        numerators,
        steps,
        remainders,
        whole,
        rest,
        lengths,
        counts,
        plays,
        last,
        since,
        np.zeros_like(since),
    )


@kernel
def rounds_broken(limits: Limits, i: int, round: int) -> int:
    """Return at the end of how many rounds up to this one a promise was broken."""
    since = limits.since[i]
    if limits.kinds[i] == CAP:
        return limits.broken[i] + max(0, min(round, limits.whole[i]) - since + 1)
    due = limits.whole[i] + (1 if limits.rest[i] > 0 else 0)
    if limits.kinds[i] == WINDOW:
        due = limits.last[i, limits.plays[i] % limits.counts[i]] + limits.lengths[i]
    return limits.broken[i] + max(0, round + 1 - max(due, since))


@kernel
def enter(limits: Limits, arm: int, round: int) -> None:
    """Enter that `arm` is played in `round`."""
    for i in range(limits.kinds.size):
        if limits.members[i, arm]:
            enter_one(limits, i, round)


@kernel
def enter_one(limits: Limits, i: int, round: int) -> None:
    """Enter into one promise that an arm of its is played in `round`."""
    limits.broken[i] = rounds_broken(limits, i, round - 1)
    if limits.kinds[i] == WINDOW:
        limits.last[i, limits.plays[i] % limits.counts[i]] = round
    else:
        advance(limits.numerators, limits.steps, limits.remainders, limits.whole, limits.rest, i)
    limits.plays[i] += 1
    limits.since[i] = round
