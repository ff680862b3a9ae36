"""Count weights against clauses, in whole numbers, in the arrays of `evenhand.promises.round_kernels`; and note when a
clause begins to be broken and when it ends, of plays and of weights.

Where rounds have weights, A and N are sums of weights, and a promise is broken while

    floor p / q, slack a    p A - q N > q a    that is, A above q (N + a) / p, rounded down
    cap p / q, slack b      q N - p A > q b    that is, A below q (N - b) / p, rounded up

`whole` is this limit, `missed` 1 or 0, and `most` the largest left side. Nothing overflows where q (A + a) < 2^62.
"""

from __future__ import annotations

from evenhand.kernels.compose import kernel
from evenhand.kernels.deadlines import NEVER
from evenhand.promises.clause_counts import ClauseRates, Counts

WEIGHED_FLOOR, WEIGHED_CAP = -2, -1
WEIGHED = {"floor": WEIGHED_FLOOR, "cap": WEIGHED_CAP}


@kernel
def breach(counts: Counts, key: int, at: int, tick: int) -> None:
    """Note that the clause is broken from this tick of its clock on."""
    counts.since[at] = tick
    counts.wrong[key] += 1
    counts.stretches[at] += counts.over[at] != tick


@kernel
def last_round(counts: Counts, key: int, at: int, tick: int) -> int:
    """Return the round of the last tick of the clause's clock, at the end of a tick of its key."""
    return counts.before[at] if counts.paused[at] == tick else counts.round[key]


@kernel
def ease(counts: Counts, key: int, at: int, tick: int) -> None:
    counts.missed[at] -= 1
    if counts.missed[at] == 0:
        counts.times[at] += tick - counts.since[at]
        counts.over[at] = tick
        if tick > counts.since[at]:
            counts.last[at] = last_round(counts, key, at, counts.tick[key] - 1)
        counts.wrong[key] -= 1


@kernel
def beyond(rates: ClauseRates, counts: Counts, key: int, q: int, at: int) -> int:
    """Return p A - q N of a floor with weights, q N - p A of such a cap."""
    behind: int = rates.numerators[q] * (counts.total[key] - counts.away[at]) - rates.denominators[q] * counts.plays[at]
    return behind if rates.kinds[q] == WEIGHED_FLOOR else -behind


@kernel
def note_beyond(rates: ClauseRates, counts: Counts, key: int, q: int, at: int, round: int) -> None:
    by = beyond(rates, counts, key, q, at)
    if by > counts.most[at]:
        counts.most[at], counts.most_at[at] = by, round


@kernel
def set_limit(rates: ClauseRates, counts: Counts, q: int, at: int) -> None:
    """Set the weight up to which a floor is kept, or from which on a cap is."""
    p, denominator, plays = rates.numerators[q], rates.denominators[q], counts.plays[at]
    if rates.kinds[q] == WEIGHED_FLOOR:
        counts.whole[at] = denominator * (plays + rates.plays[q]) // p if p > 0 else NEVER
    elif p > 0:
        counts.whole[at] = -(-denominator * (plays - rates.plays[q]) // p)
    else:
        counts.whole[at] = NEVER if plays > rates.plays[q] else 0


@kernel
def judge(rates: ClauseRates, counts: Counts, key: int, q: int, at: int, own: int, round: int) -> int:
    """Note whether a clause with weights is broken at the end of a tick; return the weight of its clock at which that
    changes without a play."""
    clock, limit = counts.total[key] - counts.away[at], counts.whole[at]
    floor = rates.kinds[q] == WEIGHED_FLOOR
    broken = clock > limit if floor else clock < limit
    if broken and counts.missed[at] == 0:
        breach(counts, key, at, own)
        counts.missed[at] = 1
        if counts.first[at] == 0:
            counts.first[at] = round
            counts.first_by[at] = beyond(rates, counts, key, q, at) - rates.denominators[q] * rates.plays[q]
    elif not broken and counts.missed[at] > 0:
        ease(counts, key, at, own)
    if floor:
        return NEVER if broken else limit + 1
    return limit if broken else NEVER


@kernel
def weigh(rates: ClauseRates, counts: Counts, key: int, arm: int, weight: int, round: int) -> None:
    """Enter the play and the weight of a round whose tick has begun."""
    n, tick, first, end = rates.kinds.size, counts.tick[key], rates.first[arm], rates.first[arm + 1]
    for i in range(n if weight == 0 else end - first):  # without weight, the largest so far was reached before
        q = i if weight == 0 else rates.owners[first + i]
        at = key * n + q
        if rates.live[q] and rates.kinds[q] == WEIGHED_FLOOR and counts.paused[at] != tick:
            note_beyond(rates, counts, key, q, at, last_round(counts, key, at, tick - 1))
    counts.total[key] += weight
    for q in range(n):
        if counts.paused[key * n + q] == tick:
            counts.away[key * n + q] += weight
    for i in range(first, end):
        q = rates.owners[i]
        at = key * n + q
        if rates.live[q]:
            counts.plays[at] += weight
            set_limit(rates, counts, q, at)
            if rates.kinds[q] == WEIGHED_CAP:
                note_beyond(rates, counts, key, q, at, round)
            counts.next[key] = min(
                counts.next[key], judge(rates, counts, key, q, at, tick - counts.idle[at], round) + counts.away[at]
            )
