"""The kernels that count plays against one clause, in whole numbers.

A clause has a clock of its own, which ticks in the rounds of its key in which one of its arms is on offer. With N plays
on that clock a floor is as many plays behind as were due and not played, a window as many as are missing in its last
rounds, a cap as many ahead as were played and not yet allowed. That number, `missed`, changes when an arm of the clause
is played, and else at one moment that is known beforehand:

    floor r, slack a    one more is missing   from the tick (max(N, due) + a + 1) / r on, `due` those due so far
    window (n, w)       one more is missing   w ticks after the oldest of its last n plays that is still inside
    cap c, slack b      one less is too many  after the tick (N - missed - b) / c

The first of the two positions is kept as whole + rest / p for a rate p / q, so that no product of a share and a round
is formed, and moves by q / p. Between these moments a round costs one comparison. r A - N is the largest just before a
play, and at the end.
"""

from __future__ import annotations

import math

from evenhand.kernels.compose import kernel
from evenhand.kernels.due_times import NEVER
from evenhand.promises.clause import Clause
from evenhand.promises.counts import Counts, Rates

FLOOR, CAP, WINDOW = range(3)
KINDS = {"floor": FLOOR, "cap": CAP, "window": WINDOW}


def position_of(clause: Clause, plays: int, clock: int, moments: list[int]) -> tuple[int, int, int]:
    """Return a clause's position, whole + rest / p, and how many plays are missing or too many, by its counts."""
    rate, slack = clause.rate, clause.slack
    if isinstance(rate, tuple):
        return 0, 0, sum(moment + rate[1] <= clock for moment in moments)
    if clause.kind == "cap":
        missed = max(0, plays - slack - math.ceil(rate * clock))
        enough = plays - missed - slack
    else:
        due = max(0, math.floor(rate * clock) - slack)
        missed, enough = max(0, due - plays), max(plays, due) + slack + 1
    if not rate:
        return NEVER, 0, missed
    whole, rest = divmod(enough * rate.denominator, rate.numerator)
    return max(-NEVER, min(whole, NEVER)), rest if whole < NEVER else 0, missed


@kernel
def due(rates: Rates, counts: Counts, q: int, at: int) -> int:
    """Return the tick of the clause's clock at which its number changes without a play."""
    missed = counts.missed[at]
    if rates.kinds[q] == WINDOW:
        if missed == rates.plays[q]:
            return NEVER
        return counts.recent[at, (counts.plays[at] + missed) % rates.plays[q]] + rates.lengths[q]
    if rates.kinds[q] == CAP:
        return counts.whole[at] + 1 if missed > 0 else NEVER
    return counts.whole[at] + (1 if counts.rest[at] > 0 else 0)


@kernel
def move(rates: Rates, counts: Counts, q: int, at: int) -> None:
    """Move the clause's position by one play."""
    if counts.whole[at] < NEVER:
        counts.whole[at] += rates.steps[q]
        counts.rest[at] += rates.remainders[q]
        if counts.rest[at] >= rates.numerators[q]:
            counts.rest[at] -= rates.numerators[q]
            counts.whole[at] += 1


@kernel
def worsen(counts: Counts, key: int, at: int, tick: int, round: int) -> None:
    if counts.missed[at] == 0:
        counts.since[at] = tick
        counts.wrong[key] += 1
    counts.missed[at] += 1
    missed = counts.missed[at]
    if counts.first[at] == 0 or counts.first[at] == round:
        counts.first[at], counts.first_by[at] = round, missed
    if missed > counts.most[at]:
        counts.most_at[at], counts.most[at] = round, missed


@kernel
def ease(counts: Counts, key: int, at: int, tick: int) -> None:
    counts.missed[at] -= 1
    if counts.missed[at] == 0:
        counts.times[at] += tick - counts.since[at]
        counts.wrong[key] -= 1


@kernel
def change(rates: Rates, counts: Counts, key: int, q: int, at: int, own: int, round: int) -> None:
    """Change the clause's number at the tick of its clock at which it changes without a play."""
    if rates.kinds[q] == CAP:
        ease(counts, key, at, own)
    else:
        worsen(counts, key, at, own, round)
    if rates.kinds[q] != WINDOW:
        move(rates, counts, q, at)


@kernel
def look(rates: Rates, counts: Counts, key: int, q: int, at: int, own: int, tick: int) -> None:
    """Note r A - N of a floor after so many ticks of its clock, at the end of a tick of its key."""
    behind = rates.shares[q] * max(own, 0) - counts.plays[at]
    if behind > counts.worst[at]:
        counts.worst[at] = behind
        counts.worst_at[at] = counts.before[at] if counts.paused[at] == tick else counts.round[key]


@kernel
def play(rates: Rates, counts: Counts, key: int, q: int, round: int) -> None:
    """Count a play of an arm of the clause in the tick that has begun."""
    at, tick = key * rates.kinds.size + q, counts.tick[key]
    if at < 0:  # never: it saves the compiler what Python's indices from the end would need
        return
    own, sooner = tick - counts.idle[at], False
    if rates.kinds[q] == FLOOR:
        look(rates, counts, key, q, at, own - 1, tick - 1)
        if counts.missed[at] > 0:
            ease(counts, key, at, own)
        else:
            move(rates, counts, q, at)
    elif rates.kinds[q] == CAP:
        while counts.missed[at] > 0 and counts.whole[at] < own:
            ease(counts, key, at, own)
            move(rates, counts, q, at)
        barred = counts.whole[at] >= own if rates.numerators[q] > 0 else counts.plays[at] >= rates.plays[q]
        if counts.missed[at] > 0 or barred:
            worsen(counts, key, at, own, round)
            sooner = True
        else:
            move(rates, counts, q, at)
    else:
        counts.recent[at, counts.plays[at] % rates.plays[q]] = own
        if counts.missed[at] > 0:
            ease(counts, key, at, own)
            sooner = True
    counts.plays[at] += 1
    if sooner:
        counts.next[key] = min(counts.next[key], due(rates, counts, q, at) + counts.idle[at])
