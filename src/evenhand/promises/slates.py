"""Which arms may be played together so that every floor can still be kept, whichever arms are on offer later.

Arm i is owed N_i >= floor(r_i A_i) - a plays, where A_i counts the rounds in which it was on offer; m arms are played a
round. The theorem at the head of `evenhand.kernels.deadlines` says when all floors can be kept; from it follows

Corollary. Let S be the arms on offer, and

    room(s) = m s - sum_{i in S} J_i(s) - sum_{i not in S} J_i(s - 1),    s >= 1.

The arms C may be played iff #{i in C : d_i > s} <= room(s) for every s >= 1. These conditions are a chain of capacities
(a laminar matroid), so walking down any ranking and taking each arm that still fits finds the best slate of all that
may be played, in the order of its arms, and of the largest sum for scores that add up. It has min(m, |S|) arms, because
those with the earliest deadlines fit.

Proof. After C is played the plays left over in the s - 1 rounds that follow are room(s) - #{i in C : d_i > s}: an arm
of C with d_i <= s has one play fewer due by s, any other arm of C none. QED.

Caps. With m = 1 and every arm on offer an arm may also be held to N_i(t) <= ceil(c_i t) + b. If every r_i <= c_i and
the caps sum to at least one, all floors and caps can be kept, and an arm may be played iff its cap has room in this
round and the floors can be kept after it; among the arms whose cap has room the earliest deadline always may.

Here time is absolute: a position is whole + rest/R as in `evenhand.kernels.due_times`, and a round in which an arm is
not on offer moves its position by one round. `room` falls only at deadlines, so it is looked at there, and the least of
it from one deadline of `order` up to the next is kept. A look ends at the last of these deadlines, or where room >= n +
m, n being the number of arms that are owed a share: the plays due exceed r_i s - a - N_i by less than one an arm, and
sum_i r_i <= m, so room is at least m from there on.

Most rounds need no look. `spare` is a lower bound of G over all rounds to come: a slate lowers G by one at most for
each of its arms that is due later than the m of earliest deadline, as the theorem's proof shows, and by nothing else,
so it may be played while that many are spare and it holds every arm that is due now. A look finds room, which passes G
by one at most for each arm that is not on offer. It ends at the first round s in which room is 0: no arm that is due
later may be played until then, and as G(s) stays 0, `spare` keeps -s. Until then a slate of arms due by s may be played
without a look if it lowers G nowhere. Where an arm is not on offer G may rise, and another look is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.deadlines import PATIENCE, deadline
from evenhand.kernels.due_times import NEVER, advance

__all__ = ["BY_CAP", "BY_DEADLINE", "BY_NO_RANK", "EVER", "Slate", "can_be_kept", "grant", "pick", "slate"]

AS_RANKED, BY_DEADLINE, BY_CAP, BY_NO_RANK = range(4)
"""Why the arms of a round are those that are played: the first of the ranking; an arm of higher rank had to give way to
a deadline, or to its own cap alone; or an arm is not in the ranking at all, whose others are not on offer."""

EVER = 3 * NEVER
"""Later than any position."""


class Slate(NamedTuple):
    """What it takes to pick the arms of a round; the state of a rule has these fields, and `whole` and `rest`."""

    offered: Ints
    """(n_arms,): 1 for an arm that is on offer in this round, else 0."""
    scores: Floats
    """(n_arms,): the learner's ranking, the highest first; -inf for an arm that it does not rank."""
    chosen: Ints
    """(plays,): the arms of the last round, the best first; -1 where there are fewer."""
    spare: Ints
    """(1,): a lower bound of G over all rounds to come; below 0, -s for a round s in which G is 0."""
    cap_whole: Ints
    """cap_whole + cap_rest/C is the last round in which the arm's plays so far reach its cap."""
    cap_rest: Ints
    order: Ints
    """(n_arms,): the arms, the earliest deadline first, those last that may not be played in this round anyway."""
    room: Ints
    """(n_arms,): the least room up to the deadline of each of them, from that of the one before."""
    ahead_whole: Ints
    ahead_rest: Ints


def slate(arms: int, plays: int) -> Slate:
    """Return the slate of so many arms before the first round, without caps."""
    none, spare = np.full(plays, -1, np.int64), np.zeros(1, np.int64)
    uncapped, order = np.full(arms, -1, np.int64), np.arange(arms)
    rest, room, *ahead = [np.zeros(arms, np.int64) for _ in range(4)]
    return Slate(np.ones(arms, np.int64), np.zeros(arms), none, spare, uncapped, rest, order, room, *ahead)


@kernel
def read_deadlines(state: Any, now: int) -> int:
    """Put the deadlines into `due`; return how many arms are on offer and have room under their caps."""
    count = 0
    for arm in range(state.whole.size):
        playable = state.offered[arm] == 1 and state.cap_whole[arm] <= now
        state.ahead_whole[arm] = deadline(state.whole, state.rest, arm) if playable else EVER
        count += playable
    return count


@kernel
def sort_by_deadline(state: Any) -> None:
    """Put `order` right, ties by arm."""
    due, order = state.ahead_whole, state.order
    for i in range(1, order.size):  # nearly sorted from the last time
        arm, place = order[i], i
        while place > 0 and (
            due[order[place - 1]] > due[arm] or (due[order[place - 1]] == due[arm] and order[place - 1] > arm)
        ):
            order[place] = order[place - 1]
            place -= 1
        order[place] = arm


@kernel
def precedes(state: Any, arm: int, other: int) -> bool:
    """Say whether an arm comes before another, which is not due later, in the ranking."""
    score, beside = state.scores[arm], state.scores[other]
    return score > beside or (score == beside and arm < other and score > -np.inf)


@routine
def look_ahead(params: Any, state: Any, now: int, count: int) -> None:
    """Find `room` for the arms in `order`, and `spare` where the look shows all rounds to come."""
    whole, rest, plays = state.ahead_whole, state.ahead_rest, state.chosen.size
    s, owed, end = EVER, 0, now
    for arm in range(whole.size):
        whole[arm], rest[arm] = state.whole[arm], state.rest[arm]
        if whole[arm] < NEVER:
            owed += 1
            s, end = min(s, deadline(whole, rest, arm)), max(end, whole[arm] + 1)
    end += params.denominator
    place, due, least = 0, 0, NEVER
    for i in range(count):
        state.room[i] = plays
    for _ in range(PATIENCE):
        while place < count and deadline(state.whole, state.rest, state.order[place]) <= s:
            place += 1
        if place == count:
            state.spare[0] = 0
            return
        if s > end:
            state.spare[0] = least
            return
        following = EVER
        for arm in range(whole.size):
            if deadline(whole, rest, arm) == s:
                due += 1
                advance(params.numerators, params.steps, params.remainders, whole, rest, arm)
            if whole[arm] < NEVER:
                following = min(following, deadline(whole, rest, arm))
        left = plays * (s - now) - due
        least = min(least, left)
        state.room[place] = min(state.room[place], left)
        if left <= 0:
            state.spare[0] = -s
            for i in range(place, count):
                state.room[i] = 0
            return
        if left >= owed + plays:
            state.spare[0] = min(least, left - owed)
            return
        s = following
    state.spare[0] = 0
    for i in range(place, count):
        state.room[i] = 0


@routine
def can_be_kept(params: Any, state: Any, now: int) -> bool:
    """Say whether every floor can be kept after round `now`: whether G >= 0, up to where that is certain for ever."""
    whole, rest, plays = state.ahead_whole, state.ahead_rest, state.chosen.size
    s, owed, end, due = EVER, 0, now, 0
    for arm in range(whole.size):
        whole[arm], rest[arm] = state.whole[arm], state.rest[arm]
        if whole[arm] < NEVER:
            owed += 1
            s, end = min(s, deadline(whole, rest, arm)), max(end, whole[arm] + 1)
    for _ in range(PATIENCE):
        left = plays * (s - now) - due
        if s > end + params.denominator or left >= 2 * owed + plays:
            return True
        following = EVER
        for arm in range(whole.size):
            if deadline(whole, rest, arm) == s:
                due += 1
                advance(params.numerators, params.steps, params.remainders, whole, rest, arm)
            if whole[arm] < NEVER:
                following = min(following, deadline(whole, rest, arm))
        if plays * (s - now) < due:
            return False
        s = following
    return False


@kernel
def take(params: Any, state: Any, now: int, arm: int) -> None:
    """Enter that the arm is played in the round after `now`."""
    state.pulls[arm] += 1
    advance(params.numerators, params.steps, params.remainders, state.whole, state.rest, arm)
    advance(params.cap_numerators, params.cap_steps, params.cap_remainders, state.cap_whole, state.cap_rest, arm)


@kernel
def rank(state: Any, now: int, plays: int, until: int) -> tuple[int, bool]:
    """Choose the best `plays` ranked arms that are due by `until`; return how many of them are due later than those of
    earliest deadline, NEVER if there are too few or an arm is left out that must be played now, and whether one of
    higher rank had to give way."""
    due, scores, chosen = state.ahead_whole, state.scores, state.chosen
    found, passed = 0, -1
    for arm in range(due.size):
        if due[arm] == EVER:
            continue
        if due[arm] > until:
            if passed < 0 or scores[arm] > scores[passed]:
                passed = arm
        elif scores[arm] > -np.inf and (found < plays or scores[arm] > scores[chosen[plays - 1]]):
            n = min(found, plays - 1)
            while n > 0 and scores[arm] > scores[chosen[n - 1]]:
                chosen[n] = chosen[n - 1]
                n -= 1
            chosen[n] = arm
            found += 1
    if found < plays:
        return NEVER, True
    beyond, urgent = 0, 0
    for arm in range(due.size):
        if due[arm] <= now + 1:
            urgent += 1
    for n in range(plays):
        earlier = 0
        for arm in range(due.size):
            if due[arm] < due[chosen[n]]:
                earlier += 1
        if earlier >= plays:
            beyond += 1
        if due[chosen[n]] <= now + 1:
            urgent -= 1
    return NEVER if urgent > 0 else beyond, passed >= 0 and precedes(state, passed, chosen[plays - 1])


@kernel
def rank_what_fits(state: Any, count: int, plays: int) -> tuple[int, bool]:
    """Choose as `rank` does among the slates that fit into `room`."""
    order, end, beyond, gave_way = state.order, count, 0, False
    for n in range(plays):
        best, passed = -1, -1
        for place in range(count):
            if place < end and state.room[place] <= 0:
                end = place
            arm = order[place]
            if arm < 0:
                continue
            if place < end:
                if best < 0 or precedes(state, arm, order[best]):
                    best = place
            elif passed < 0 or precedes(state, arm, passed):
                passed = arm
        if best < 0:  # the look ended early; those of earliest deadline always fit
            beyond, gave_way = -1, True
            break
        gave_way = gave_way or (passed >= 0 and precedes(state, passed, order[best]))
        for place in range(best + 1):
            state.room[place] -= 1
        state.chosen[n] = order[best]
        order[best] = -1 - order[best]
        if best >= plays:
            beyond += 1
    for place in range(count):
        if order[place] < 0:
            order[place] = -1 - order[place]
    if beyond < 0:
        for n in range(plays):
            state.chosen[n] = order[n]
    return max(0, beyond), gave_way


@kernel
def cause(state: Any, now: int, plays: int, gave_way: bool) -> int:
    """Return why the chosen arms are played, given whether one of higher rank had to give way to a deadline."""
    if gave_way:
        return BY_DEADLINE
    last = state.chosen[plays - 1]
    for arm in range(state.scores.size):
        if state.offered[arm] == 1 and state.cap_whole[arm] > now and precedes(state, arm, last):
            return BY_CAP
    return BY_NO_RANK if state.scores[last] == -np.inf else AS_RANKED


@kernel
def grant(params: Any, state: Any, now: int, wish: int) -> bool:
    """Play the arm in the round after `now` if one is played a round and it may be for certain without a look; return
    whether it was."""
    if state.offered[wish] == 0 or state.cap_whole[wish] > now:
        return False
    earliest = EVER
    for arm in range(state.whole.size):
        if state.offered[arm] == 1:
            earliest = min(earliest, deadline(state.whole, state.rest, arm))
        elif state.whole[arm] < NEVER:
            return False
    if deadline(state.whole, state.rest, wish) > earliest:
        if state.spare[0] <= 0:
            return False
        state.spare[0] -= 1
    state.chosen[0] = wish
    take(params, state, now, wish)
    return True


@kernel
def pick(params: Any, state: Any, now: int) -> int:
    """Choose the arms of the round after `now` down the ranking in `scores` and enter their plays; return why it is
    these."""
    blocked, absent, until = 0, 0, EVER
    for arm in range(state.whole.size):
        if state.offered[arm] == 0:
            if state.whole[arm] < NEVER:
                state.whole[arm] += 1
                absent += 1
        elif state.cap_whole[arm] > now:
            blocked = 1
    if state.spare[0] < 0:
        if absent > 0 or -state.spare[0] <= now:
            state.spare[0] = 0
        else:
            until = -state.spare[0]
    count = read_deadlines(state, now)
    plays = min(state.chosen.size, count)
    for n in range(plays, state.chosen.size):
        state.chosen[n] = -1
    beyond, gave_way = rank(state, now, plays, until)
    if until == EVER:
        beyond = max(beyond, blocked)
    if beyond > max(0, state.spare[0]):
        sort_by_deadline(state)
        look_ahead(params, state, now, count)
        beyond, gave_way = rank_what_fits(state, count, plays)
        beyond = max(beyond, blocked) + absent
    if state.spare[0] > 0:
        state.spare[0] = max(0, state.spare[0] - beyond)
    why = cause(state, now, plays, gave_way)
    for n in range(plays):
        take(params, state, now, state.chosen[n])
    return why
