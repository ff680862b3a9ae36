"""Count plays against clauses, in whole numbers: the arrays of the books, and the kernels that enter rounds in them.

A clause has a clock of its own, which ticks in the rounds of its key in which one of its arms is on offer. With N plays
on that clock a floor is as many plays behind as were due and not played, a window as many as are missing in its last
rounds, a cap as many ahead as were played and not yet allowed. That number, `missed`, changes when an arm of the clause
is played, and else at one moment that is known beforehand:

    floor r, slack a    one more is missing   from the tick (max(N, due) + a + 1) / r on, `due` those due so far
    window (n, w)       one more is missing   w ticks after the oldest of its last n plays that is still inside
    cap c, slack b      one less is too many  after the tick (N - missed - b) / c

The first of the two positions is kept as whole + rest / p for a rate p / q, so that no product of a share and a round
is formed, and moves by q / p. Between these moments a round costs one comparison. r A - N is the largest just before a
play, and at the end; N - c A at a play.

Where rounds have weights, `evenhand.promises.weight_kernels` counts these.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.deadlines import NEVER
from evenhand.promises.clause import AT_MOST, Clause
from evenhand.promises.clause_counts import ClauseRates, Counts
from evenhand.promises.weight_kernels import (
    WEIGHED_CAP,
    WEIGHED_FLOOR,
    beyond,
    breach,
    ease,
    judge,
    last_round,
    note_beyond,
    weigh,
)

FLOOR, CAP, WINDOW = range(3)
KINDS = {"floor": FLOOR, "cap": CAP, "window": WINDOW}


class Rounds(NamedTuple):
    """Rounds that follow one another."""

    codes: NDArray[Any]
    """(n_plays,): what stands for the arms that were played."""
    arms: Ints
    """The arm that each code stands for, -1 for none."""
    starts: Ints
    """(n_rounds + 1,): where each round's plays begin; empty where each round has one."""
    keys: Ints
    """(n_rounds,): the key of each; empty where all have the first."""
    offers: Bools
    """(n_rounds, n_arms): what was on offer; without rows where everything was."""
    weights: Ints = np.zeros(0, np.int64)
    """(n_rounds,): the weight of each, which has one play; empty where they have none."""

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.starts) - 1 if len(self.starts) else len(self.codes)


def position_of(clause: Clause, plays: int, clock: int, moments: list[int]) -> tuple[int, int, int]:
    """Return a clause's position, whole + rest / p, and how many plays are missing or too many, by its counts."""
    rate, slack = clause.rate, int(clause.slack)
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


def excess_of(clause: Clause, plays: int, clock: int, scale: int) -> Fraction:
    """Return by how much more than its slack a clause with weights is missed, in the unit, which is so many whole
    numbers in which plays and the clock are counted; 0 or less where it is kept."""
    behind = (clause.share * clock - plays) / scale
    return (-behind if clause.kind in AT_MOST else behind) - clause.slack


@kernel
def due(rates: ClauseRates, counts: Counts, q: int, at: int) -> int:
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
def move(rates: ClauseRates, counts: Counts, q: int, at: int) -> None:
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
        breach(counts, key, at, tick)
    counts.missed[at] += 1
    missed = counts.missed[at]
    if counts.first[at] == 0 or counts.first[at] == round:
        counts.first[at], counts.first_by[at] = round, missed
    if missed > counts.most[at]:
        counts.most_at[at], counts.most[at] = round, missed


@kernel
def change(rates: ClauseRates, counts: Counts, key: int, q: int, at: int, own: int, round: int) -> None:
    """Change the clause's number at the tick of its clock at which it changes without a play."""
    if rates.kinds[q] == CAP:
        ease(counts, key, at, own)
    else:
        worsen(counts, key, at, own, round)
    if rates.kinds[q] != WINDOW:
        move(rates, counts, q, at)


@kernel
def look(rates: ClauseRates, counts: Counts, key: int, q: int, at: int, own: int, tick: int) -> None:
    """Note r A - N of a floor after so many ticks of its clock, at the end of a tick of its key."""
    behind = rates.shares[q] * max(own, 0) - counts.plays[at]
    if behind > counts.worst[at]:
        counts.worst[at] = behind
        counts.worst_at[at] = last_round(counts, key, at, tick)


@kernel
def has_room(rates: ClauseRates, counts: Counts, key: int, q: int) -> bool:
    """Return whether a play in the tick that has begun keeps a cap."""
    at = key * rates.kinds.size + q
    own = counts.tick[key] - counts.idle[at]
    while counts.missed[at] > 0 and counts.whole[at] < own:
        ease(counts, key, at, own)
        move(rates, counts, q, at)
    barred = counts.whole[at] >= own if rates.numerators[q] > 0 else counts.plays[at] >= rates.plays[q]
    return bool(counts.missed[at] == 0 and not barred)


@kernel
def is_excused(rates: ClauseRates, counts: Counts, key: int, offer: Bools) -> bool:
    """Return whether arms are away in the tick that has begun, and every one on offer is at a cap."""
    away = False
    for arm in range(offer.size):
        room = bool(offer[arm])
        away = away or not room
        for j in range(rates.first[arm], rates.first[arm + 1]):
            q = rates.owners[j]
            if room and rates.live[q] and rates.kinds[q] == CAP:
                room = has_room(rates, counts, key, q)
        if room:
            return False
    return away


@kernel
def excuse(counts: Counts, at: int, offer: Bools, round: int) -> None:
    """Note that a play does not count for a cap, and which arms were away."""
    counts.excused[at] += 1
    counts.excused_last[at] = round
    if counts.excused_first[at] == 0:
        counts.excused_first[at] = round
    for arm in range(offer.size):
        counts.absent[arm] += not offer[arm]


@kernel
def play(rates: ClauseRates, counts: Counts, key: int, q: int, round: int) -> None:
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
        if has_room(rates, counts, key, q):
            move(rates, counts, q, at)
        else:
            worsen(counts, key, at, own, round)
            sooner = True
    else:
        counts.recent[at, counts.plays[at] % rates.plays[q]] = own
        if counts.missed[at] > 0:
            ease(counts, key, at, own)
            sooner = True
    counts.plays[at] += 1
    if rates.kinds[q] == CAP:
        ahead = counts.plays[at] - rates.numerators[q] / rates.denominators[q] * own
        if ahead > counts.worst[at]:
            counts.worst[at], counts.worst_at[at] = ahead, round
    if sooner:
        counts.next[key] = min(counts.next[key], due(rates, counts, q, at) + counts.idle[at])


@routine
def fall_due(rates: ClauseRates, counts: Counts, key: int, round: int) -> None:
    """Enter all that changes by this tick, and when something does so next."""
    n, tick, coming = rates.kinds.size, counts.tick[key], NEVER
    for q in range(n):
        at = key * n + q
        if rates.live[q]:
            own = tick - counts.idle[at]
            if counts.begun[at] == 0 and counts.paused[at] != tick:
                counts.begun[at] = round
            begun = counts.begun[at] != 0
            if rates.kinds[q] < FLOOR:
                moment = judge(rates, counts, key, q, at, own, round)
                coming = min(coming, moment + counts.away[at] if begun else counts.total[key])
                continue
            moment = due(rates, counts, q, at)
            while moment <= own:
                change(rates, counts, key, q, at, own, round)
                moment = due(rates, counts, q, at)
            coming = min(coming, moment + counts.idle[at] if begun else tick + 1)
    counts.next[key] = coming


@routine
def pause(rates: ClauseRates, counts: Counts, key: int, offer: Bools, round: int) -> int:
    """Stop the clocks of the clauses without an arm on offer; return how many of them are broken."""
    n, tick, broken = rates.kinds.size, counts.tick[key], 0
    for arm in range(offer.size):
        if offer[arm]:
            for j in range(rates.first[arm], rates.first[arm + 1]):
                counts.offered[rates.owners[j]] = round
        else:
            counts.gone[arm, 1] = round if counts.gone[arm, 0] == 0 else counts.gone[arm, 1]
            counts.gone[arm, 0] += 1
            counts.gone[arm, 2] = round
    for q in range(n):
        at = key * n + q
        if counts.offered[q] != round and rates.live[q]:
            if counts.paused[at] != tick - 1:
                counts.before[at] = counts.round[key]
            counts.paused[at] = tick
            counts.idle[at] += 1
            broken += counts.missed[at] > 0
    return broken


@kernel
def enter(rates: ClauseRates, counts: Counts, rounds: Rounds, t: int, round: int) -> bool:
    """Enter the t-th of these rounds; return whether all that was played is known."""
    key = rounds.keys[t] if rounds.keys.size else 0
    if key < 0:
        return False
    counts.tick[key] += 1
    paused, excused = 0, False
    if rounds.offers.shape[0]:
        paused = pause(rates, counts, key, rounds.offers[t], round)
        excused = rates.excuses and is_excused(rates, counts, key, rounds.offers[t])
    start, end = (rounds.starts[t], rounds.starts[t + 1]) if rounds.starts.size else (t, t + 1)
    for j in range(start, end):
        arm = rounds.arms[rounds.codes[j]]
        if arm < 0:
            return False
        if rounds.weights.size:
            weigh(rates, counts, key, arm, rounds.weights[t], round)
            continue
        for i in range(rates.first[arm], rates.first[arm + 1]):
            q = rates.owners[i]
            if rates.live[q] and excused and rates.kinds[q] == CAP:
                excuse(counts, key * rates.kinds.size + q, rounds.offers[t], round)
            elif rates.live[q]:
                play(rates, counts, key, q, round)
    if rounds.weights.size and counts.total[key] >= counts.next[key]:
        fall_due(rates, counts, key, round)
    settle(rates, counts, key, paused, round)
    return True


@kernel
def settle(rates: ClauseRates, counts: Counts, key: int, paused: int, round: int) -> None:
    """End a round, in which so many of the broken clauses had no arm on offer."""
    if counts.tick[key] >= counts.next[key]:
        fall_due(rates, counts, key, round)
    counts.round[key] = round
    counts.broken[1] = counts.wrong[key] > paused
    counts.broken[0] += counts.broken[1]
    if counts.broken[1] > 0:
        counts.broken[2] += counts.broken[4] == 0
        counts.broken[3] = round
    counts.broken[4] = counts.wrong[key] > 0


@kernel
def look_around(rates: ClauseRates, counts: Counts, key: int, now: Floats) -> None:
    """Write to `now` (3,) the largest r A - N of the floors and the largest N - c A of the caps whose clocks have just
    ticked, -inf where none has, and after how many rounds so far a clause was broken."""
    n = rates.kinds.size
    now[0], now[1], now[2] = -np.inf, -np.inf, counts.broken[0]
    for q in range(n):
        at, p = key * n + q, rates.numerators[q]
        if rates.live[q] and counts.paused[at] != counts.tick[key]:
            clock = counts.tick[key] - counts.idle[at]
            if rates.kinds[q] == FLOOR and p > 0:
                now[0] = max(now[0], rates.shares[q] * clock - counts.plays[at])
            elif rates.kinds[q] == CAP:
                now[1] = max(now[1], counts.plays[at] - p / rates.denominators[q] * clock)
            elif rates.kinds[q] == WEIGHED_CAP or (rates.kinds[q] == WEIGHED_FLOOR and p > 0):
                side = rates.kinds[q] - WEIGHED_FLOOR
                now[side] = max(now[side], beyond(rates, counts, key, q, at) / rates.denominators[q])


@kernel
def follow(
    rates: ClauseRates, counts: Counts, rounds: Rounds, first: int, last: int, before: int, looks: Ints, now: Floats
) -> int:
    """Enter the rounds `first` .. `last` - 1 of these, of which there were so many before; `now` (n_looks, 3) gets
    what `look_around` sees after each of the rounds `looks`. Return the first that plays what is not known, or -1."""
    i = 0
    for t in range(first, last):
        round = before + t + 1
        if not enter(rates, counts, rounds, t, round):
            return t
        while i < looks.size and looks[i] <= round:
            if looks[i] == round:
                look_around(rates, counts, rounds.keys[t] if rounds.keys.size else 0, now[i])
            i += 1
    return -1


@kernel
def close(rates: ClauseRates, counts: Counts, ends: Bools) -> None:
    """Note what the rounds up to now have shown of the clauses that end (n_clauses,)."""
    n = rates.kinds.size
    for key in range(counts.tick.size):
        for q in range(n):
            at, tick = key * n + q, counts.tick[key]
            if ends[q] and rates.live[q]:
                own = tick - counts.idle[at]
                counts.clock[at] = own
                if rates.kinds[q] == FLOOR:
                    look(rates, counts, key, q, at, own, tick)
                elif rates.kinds[q] < FLOOR:
                    counts.clock[at] = counts.total[key] - counts.away[at]
                    note_beyond(rates, counts, key, q, at, last_round(counts, key, at, tick))
                if counts.missed[at] > 0:
                    counts.times[at] += own - counts.since[at] + 1
                    counts.last[at] = last_round(counts, key, at, tick)
                    counts.wrong[key] -= 1
    for q in range(n):
        rates.live[q] = rates.live[q] and not ends[q]
