"""The kernels that enter rounds into the books: what was played, what was on offer, and by which key."""

from __future__ import annotations

import numpy as np

from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.due_times import NEVER
from evenhand.promises.counting import CAP, FLOOR, change, due, look, play
from evenhand.promises.counts import Counts, Rates, Rounds


@routine
def fall_due(rates: Rates, counts: Counts, key: int, round: int) -> None:
    """Enter all that changes by this tick, and when something does so next."""
    n, tick, coming = rates.kinds.size, counts.tick[key], NEVER
    for q in range(n):
        at = key * n + q
        if rates.live[q]:
            own = tick - counts.idle[at]
            if counts.begun[at] == 0 and counts.paused[at] != tick:
                counts.begun[at] = round
            while due(rates, counts, q, at) <= own:
                change(rates, counts, key, q, at, own, round)
            coming = min(coming, tick + 1 if counts.begun[at] == 0 else due(rates, counts, q, at) + counts.idle[at])
    counts.next[key] = coming


@routine
def pause(rates: Rates, counts: Counts, key: int, offer: Bools, round: int) -> int:
    """Stop the clocks of the clauses without an arm on offer; return how many of them are broken."""
    n, tick, broken = rates.kinds.size, counts.tick[key], 0
    for arm in range(offer.size):
        if offer[arm]:
            for j in range(rates.first[arm], rates.first[arm + 1]):
                counts.offered[rates.owners[j]] = round
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
def enter(rates: Rates, counts: Counts, rounds: Rounds, t: int, round: int) -> bool:
    """Enter the t-th of these rounds; return whether all that was played is known."""
    key = rounds.keys[t] if rounds.keys.size else 0
    if key < 0:
        return False
    counts.tick[key] += 1
    paused = pause(rates, counts, key, rounds.offers[t], round) if rounds.offers.shape[0] else 0
    start, end = (rounds.starts[t], rounds.starts[t + 1]) if rounds.starts.size else (t, t + 1)
    for j in range(start, end):
        arm = rounds.arms[rounds.codes[j]]
        if arm < 0:
            return False
        play_all(rates, counts, key, arm, round)
    settle(rates, counts, key, paused, round)
    return True


@kernel
def play_all(rates: Rates, counts: Counts, key: int, arm: int, round: int) -> None:
    """Count a play of an arm for every clause that it belongs to."""
    for i in range(rates.first[arm], rates.first[arm + 1]):
        q = rates.owners[i]
        if rates.live[q]:
            play(rates, counts, key, q, round)


@kernel
def settle(rates: Rates, counts: Counts, key: int, paused: int, round: int) -> None:
    """End a round, in which so many of the broken clauses had no arm on offer."""
    if counts.tick[key] >= counts.next[key]:
        fall_due(rates, counts, key, round)
    counts.round[key] = round
    counts.broken[1] = counts.wrong[key] > paused
    counts.broken[0] += counts.broken[1]


@kernel
def look_around(rates: Rates, counts: Counts, key: int, now: Floats) -> None:
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
                cap = p / (float(p) * rates.steps[q] + rates.remainders[q]) if p > 0 else 0.0
                now[1] = max(now[1], counts.plays[at] - cap * clock)


@kernel
def follow(
    rates: Rates, counts: Counts, rounds: Rounds, first: int, last: int, before: int, looks: Ints, now: Floats
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
def close(rates: Rates, counts: Counts, ends: Bools) -> None:
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
                if counts.missed[at] > 0:
                    counts.times[at] += own - counts.since[at] + 1
                    counts.wrong[key] -= 1
    for q in range(n):
        rates.live[q] = rates.live[q] and not ends[q]
