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

Most rounds need no look. `spare` is a lower bound of G over all rounds to come: a slate lowers G by one for each of its
arms beyond the m of earliest deadline, as the theorem's proof shows, and by nothing else, so it may be played while
that many are spare and it holds every arm that is due now. A look finds room, which passes G by one at most for each
arm that is not on offer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.deadlines import PATIENCE, deadline
from evenhand.kernels.due_times import NEVER, advance

__all__ = ["Slate", "can_be_kept", "pick", "slate"]

EVER = 4 * NEVER
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
    """(1,): a lower bound of G over all rounds to come."""
    cap_whole: Ints
    """cap_whole + cap_rest/C is the last round in which the arm's plays so far reach its cap."""
    cap_rest: Ints
    order: Ints
    """(n_arms,): the arms that may be played if the floors allow it, the earliest deadline first."""
    room: Ints
    """(n_arms,): the least room up to the deadline of each of them, from that of the one before."""
    ahead_whole: Ints
    ahead_rest: Ints


def slate(arms: int, plays: int) -> Slate:
    """Return the slate of so many arms before the first round, without caps."""
    whole = [np.zeros(arms, np.int64) for _ in range(5)]
    none = np.full(plays, -1, np.int64)
    uncapped = np.full(arms, -1, np.int64)
    return Slate(np.ones(arms, np.int64), np.zeros(arms), none, np.zeros(1, np.int64), uncapped, *whole)


@kernel
def sort_by_deadline(state: Any, now: int) -> int:
    """Put the arms on offer whose cap has room into `order`; return how many there are."""
    count = 0
    for arm in range(state.whole.size):
        if state.offered[arm] == 1 and state.cap_whole[arm] <= now:
            due, place = deadline(state.whole, state.rest, arm), count
            while place > 0 and deadline(state.whole, state.rest, state.order[place - 1]) > due:
                state.order[place] = state.order[place - 1]
                place -= 1
            state.order[place] = arm
            count += 1
    return count


@kernel
def best_left(state: Any, count: int) -> int:
    """Return the place in `order` of the arm with the highest score that is not taken, ties by arm; -1 if none is."""
    best = -1
    for place in range(count):
        arm = state.order[place]
        if arm >= 0:
            score, highest = state.scores[arm], state.scores[state.order[max(best, 0)]]
            if best < 0 or score > highest or (score == highest and score > -np.inf and arm < state.order[best]):
                best = place
    return best


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
def rank(state: Any, now: int, count: int, plays: int) -> int:
    """Choose the best `plays` arms in `order`; return how many of them are beyond those of earliest deadline, NEVER if
    an arm is left out that must be played now."""
    beyond = 0
    for n in range(plays):
        place = best_left(state, count)
        state.chosen[n] = state.order[place]
        state.order[place] = -1 - state.order[place]
        if place >= plays:
            beyond += 1
    for place in range(plays):
        arm = state.order[place]
        if arm >= 0 and deadline(state.whole, state.rest, arm) <= now + 1:
            beyond = NEVER
    for place in range(count):
        if state.order[place] < 0:
            state.order[place] = -1 - state.order[place]
    return beyond


@kernel
def rank_what_fits(state: Any, count: int, plays: int) -> tuple[int, int]:
    """Choose as `rank` does among the slates that fit into `room`; return also how many arms had to give way."""
    beyond, refused, n = 0, 0, 0
    for _ in range(count):
        if n == plays:
            break
        place = best_left(state, count)
        fits = True
        for i in range(place + 1):
            fits = fits and state.room[i] > 0
        if fits:
            for i in range(place + 1):
                state.room[i] -= 1
            state.chosen[n] = state.order[place]
            n += 1
            if place >= plays:
                beyond += 1
        else:
            refused += 1
        state.order[place] = -1 - state.order[place]
    if n == plays:
        return beyond, refused
    for n in range(plays):  # the look ended early; those of earliest deadline always fit
        state.chosen[n] = max(state.order[n], -1 - state.order[n])
    return 0, plays


@kernel
def pick(params: Any, state: Any, now: int) -> bool:
    """Choose the arms of the round after `now` down the ranking in `scores` and enter their plays; return whether an
    arm of higher rank had to give way."""
    blocked, absent, refused = 0, 0, 0
    for arm in range(state.whole.size):
        if state.offered[arm] == 0:
            if state.whole[arm] < NEVER:
                state.whole[arm] += 1
                absent += 1
        elif state.cap_whole[arm] > now:
            blocked = 1
    count = sort_by_deadline(state, now)
    plays = min(state.chosen.size, count)
    for n in range(plays, state.chosen.size):
        state.chosen[n] = -1
    beyond = max(rank(state, now, count, plays), blocked)
    if beyond > state.spare[0]:
        look_ahead(params, state, now, count)
        beyond, refused = rank_what_fits(state, count, plays)
        beyond = max(beyond, blocked) + absent
    state.spare[0] = max(0, state.spare[0] - beyond)
    for n in range(plays):
        take(params, state, now, state.chosen[n])
    return refused > 0
