"""Which arm may be played so that every arm comes at least c times in any a consecutive rounds: pinwheel schedules.

A window (c, a) is c tokens of one play in any a rounds each, served in turn: play n + c of the arm then comes within a
rounds of play n. Of a token only its time left counts, the rounds within which it must come: a after it is served, one
less after any other round.

The exact test. Where the times left are few combinations, a table says of each whether all windows can be kept for
ever: those that cannot are removed until nothing changes. What remains is every state that any rule could hold.

The test by a chain. Otherwise let b_i <= a_i be periods each of which divides the next, b = x 2^j, with sum_i 1/b_i <=
1, and

    G(s) = s - sum_i max(0, 1 + floor((s - c_i) / b_i)),    c_i = min(left_i, b_i).

Theorem. If G(s) >= 0 for every s from 0 to 2 max b, all windows can be kept for ever.

Proof. In the order of b, give each token the latest round up to c_i that is free, and with it every b_i-th round from
there on. Say that none is free for token i: all rounds up to c_i are taken by tokens k of periods that divide b_i. The
rounds after that of k up to c_k were taken before it, by tokens whose periods divide b_k, so they are taken again every
b_k rounds: if all rounds up to s are taken, one of them by a play of k that is due after s only, all rounds up to when
it is due are taken too. Going on so, either every play up to some s is due by s and token i's is one more, G(s) < 0, or
these tokens take every round for ever, and with token i the sum of 1 / b passes one. Otherwise it is a cyclic schedule
in which token i comes every b_i <= a_i rounds, first within left_i. (With left_i in the place of c_i a class would take
rounds before its first play, which an other token may need.) QED.

So an arm may be played if G >= 0 after it, which allows more than the schedule itself. One look decides for all arms:
where G is that after a round that serves nobody, serving a token adds one at the rounds s by which one play fewer of it
is then due. So where G(s) = -1 only arms with such a token may be played, and where G(s) < -1 none. A play lowers G by
one at most, so `spare`, the least G over the rounds in which anything is due, is how many rounds need no further look.
After round s a token is due once every b_i rounds, and once more at most, so that G falls below G(s) by the number of
tokens at most, which ends a look where that is not below the least so far. Where no proposal may be played, the token
of the schedule's first slot is served. Serving whoever has the least time left is wrong here: with windows (2, 4, 4) it
fails after three rounds, because an early service is wasted.

Where there is neither a table nor a chain, the phases of a schedule list safe states; see
`evenhand.promises.window_schedules`.

Source: the chains are those of single-integer reduction, M. Y. Chan, F. Y. L. Chin, "General Schedulers for the
Pinwheel Problem Based on Double-Integer Reduction", IEEE Transactions on Computers 41 (1992); that every density up to
5/6 can be scheduled is A. Kawamura, "Proof of the Density Threshold Conjecture for Pinwheel Scheduling", STOC 2024.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel, routine
from evenhand.promises.rule_state import RuleParams, RuleState

MOST_STATES = 1 << 16


def chain(windows: Sequence[int]) -> list[int]:
    """Return periods b <= w, each of which divides the next larger, of the least density.

    They are x 2^j with one x for all. Raising x lowers the density until some period is a window, so that only the
    windows halved again and again are tried.

    >>> chain([2, 5, 9]), chain([3, 7])
    ([2, 4, 8], [3, 6])
    """
    x = _least_dense(tuple(windows))  # kept, as each policy asks again for its arrays, and fractions are slow
    return [_period(x, w) for w in windows]


@lru_cache(256)
def _least_dense(windows: tuple[int, ...]) -> int:
    """Return the x of the periods of least density."""
    times, shortest = Counter(windows), min(windows)
    tried = {w >> j for w in times for j in range(w.bit_length()) if 0 < w >> j <= shortest}

    def density(x: int) -> Fraction:
        return sum((Fraction(count, _period(x, w)) for w, count in times.items()), Fraction(0))

    return min(sorted(tried, reverse=True), key=density)


def _period(x: int, window: int) -> int:
    """Return the largest x 2^j up to a window."""
    return x << ((window // x).bit_length() - 1)


def safe_states(windows: list[int]) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """Return for every combination of times left, 1 .. a_i each, whether all windows can be kept from there on; None
    where there are too many of them."""
    if math.prod(windows) > MOST_STATES:
        return None
    safe = np.ones(windows, np.bool_)
    axes = np.indices(windows)  # times left less one
    while True:
        after = np.zeros(windows, np.bool_)
        for served in range(len(windows)):
            others = [axis for token, axis in enumerate(axes) if token != served]
            alive = np.all([axis > 0 for axis in others], axis=0) if others else np.ones(windows, np.bool_)
            later = tuple(
                np.full(windows, windows[token] - 1) if token == served else np.maximum(axis - 1, 0)
                for token, axis in enumerate(axes)
            )
            after |= alive & safe[later]
        free = np.all([axis > 0 for axis in axes], axis=0)  # a round that serves nobody
        after |= free & safe[tuple(np.maximum(axis - 1, 0) for axis in axes)]
        if (after & safe).sum() == safe.sum():
            return safe
        safe &= after


@kernel
def soonest(params: RuleParams, times: Ints, owner: int) -> int:
    """Return the owner's token of the least time, -1 where it has no window."""
    found = -1
    for token in range(times.size):
        if params.token_owners[token] == owner and (found < 0 or times[token] < times[found]):
            found = token
    return found


@kernel
def is_listed(params: RuleParams) -> bool:
    """Return whether a table or a schedule lists the safe states, where no chain decides."""
    return params.safe.size > 0 or params.phases.size > 0


@kernel
def in_list(params: RuleParams, state: RuleState, served: int) -> bool:
    """Return whether the table, or a phase of the schedule, allows that a token is served next."""
    place = 0
    for token in range(state.left.size):
        left = params.windows[token] if token == served else state.left[token] - 1
        if left < 1:
            return False
        place = place * params.windows[token] + left - 1
        at = token  # tokens of one arm are alike: a phase lists the soonest of them first
        while at > 0 and params.token_owners[at - 1] == params.token_owners[token] and state.coming[at - 1] > left:
            state.coming[at] = state.coming[at - 1]
            at -= 1
        state.coming[at] = left
    return params.safe[place] if params.safe.size > 0 else fits_a_phase(params, state.coming)


@kernel
def fits_a_phase(params: RuleParams, left: Ints) -> bool:
    """Return whether from some round of the schedule on every token comes within its time left."""
    for round in range(params.phases.shape[0]):
        fits = True
        for token in range(left.size):
            fits = fits and params.phases[round, token] <= left[token]
        if fits:
            return True
    return False


@kernel
def keep_helpful(params: RuleParams, state: RuleState, s: int) -> None:
    """Take from the ranking, in a look ahead that has come to `s`, all arms whose play now is none that is due by
    `s`."""
    for arm in range(state.scores.size):
        if state.scores[arm] > -np.inf:
            token = soonest(params, state.left, arm)
            if token < 0 or state.coming[token] - min(state.left[token] - 1, params.periods[token]) <= s:
                state.scores[arm] = -np.inf


@routine
def spare_after(params: RuleParams, state: RuleState, served: int) -> int:
    """Return how many rounds are spare if a token (-1: none) is served next; below 0, it may not be.

    Where it may not, no arm that may not be played either is left in the ranking, and `spare` is a lower bound for
    those that are left.
    """
    coming, size, s, end = state.coming, state.left.size, 1 << 60, 0
    for token in range(size):
        coming[token] = min(state.left[token] - 1, params.periods[token])
        s, end = min(s, coming[token]), max(end, coming[token])
    end += params.periods[params.periods.size - 1]
    start, period = coming[max(served, 0)], params.periods[max(served, 0)]
    due, least, spare, again, urgent = 0, 1 << 60, 1 << 60, period, 0
    while s <= end:
        following = 1 << 60
        for token in range(size):
            if coming[token] == s:
                coming[token] += params.periods[token]
                due += 1
            following = min(following, coming[token])
        if s == again:  # the play after the one that is served now
            again += period
        left = s - due
        if left < -1:
            state.scores[:] = -np.inf
        elif left < 0:
            keep_helpful(params, state, s)
        # the token that is served was counted as due by `s`, but its next play is due only later
        helps = served >= 0 and coming[served] - start > s
        if due > helps:
            least = min(least, left + helps)
        if s == 0:  # those that are left in the ranking must be played now, and help at every s
            urgent = 1
        if due > urgent:
            spare = min(spare, max(left + urgent, 0))
        state.spare[0] = spare
        if left < -1 or (left + helps - size >= least >= 0) or (least < 0 and left + urgent - size >= spare):
            break
        s = min(following, again)
    return least


@kernel
def first_slot(params: RuleParams, state: RuleState) -> int:
    """Return the token that a schedule from here serves first, -1 where its first slot is free."""
    if is_listed(params):
        best = -1
        for token in range(state.left.size):
            sooner = best < 0 or state.left[token] < state.left[best]
            if sooner and in_list(params, state, token):
                best = token
        return best
    # by the schedule's slots, not by the least time left: that serves some token too early, and windows (2, 4, 4) fail
    slots, first = state.coming, -1
    for token in range(slots.size):  # periods ascend
        slots[token] = 0
        for slot in range(min(state.left[token], params.periods[token]), 0, -1):
            free = True
            for other in range(token):
                if (slot - slots[other]) % params.periods[other] == 0:
                    free = False
            if free:
                slots[token] = slot
                break
        if (slots[token] - 1) % params.periods[token] == 0:
            first = token
    return first


@kernel
def best_of(state: RuleState, allowed: Ints) -> int:
    """Return the arm of those with a 1 in `allowed` that is first in the ranking, -1 where none is ranked."""
    best = -1
    for arm in range(state.scores.size):
        ranked = allowed[arm] == 1 and state.scores[arm] > -np.inf
        if ranked and (best < 0 or state.scores[arm] > state.scores[best]):
            best = arm
    return best


@kernel
def enter(params: RuleParams, state: RuleState, arm: int) -> None:
    """Enter that the arm is played in the next round, for its token of the least time."""
    state.chosen[0] = arm
    state.pulls[arm] += 1
    served, least = -1, 0
    for token in range(state.left.size):
        left = state.left[token] - 1
        state.left[token] = left
        if params.token_owners[token] == arm and (served < 0 or left < least):
            served, least = token, left
    if served >= 0:
        state.left[served] = params.windows[served]


@kernel
def is_grantable(params: RuleParams, state: RuleState, now: int, proposal: int) -> bool:
    """Play the arm in the round after `now` if it may be for certain without a look; return whether it was."""
    if state.offered[proposal] == 0:
        return False
    if state.spare[0] > 0:
        state.spare[0] -= 1
    elif params.safe.size == 0 or not in_list(params, state, soonest(params, state.left, proposal)):
        return False
    enter(params, state, proposal)
    return True


@kernel
def select_slate(params: RuleParams, state: RuleState, now: int) -> bool:
    """Choose the arm of the next round down the ranking in `scores` and enter its play; return whether an arm of higher
    rank had to give way."""
    proposal = best_of(state, state.offered)
    arm = proposal
    if state.spare[0] > 0:
        state.spare[0] -= 1
    elif is_listed(params):
        while arm >= 0 and not in_list(params, state, soonest(params, state.left, arm)):
            state.scores[arm] = -np.inf
            arm = best_of(state, state.offered)
    else:
        least = spare_after(params, state, soonest(params, state.left, proposal))
        if least >= 0:
            state.spare[0] = least
        else:
            arm = best_of(state, state.offered)
    if arm < 0:
        arm, state.spare[0] = params.token_owners[max(first_slot(params, state), 0)], 0
    enter(params, state, arm)
    return arm != proposal
