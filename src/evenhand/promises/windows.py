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

So an arm may be played if G >= 0 after it, which allows more than the schedule itself. A play lowers G by one at most,
so `spare`, the least G over the rounds in which anything is due, is how many rounds need no further look. After round s
a token is due once every b_i rounds, and once more at most, so that G falls below G(s) by the number of tokens at most,
which ends a look where that is not below the least so far. Where no wish
may be played, the token of the schedule's first slot is served. Serving whoever has the least time left is wrong here:
with windows (2, 4, 4) it fails after three rounds, because an early service is wasted.

Source: the chains are those of single-integer reduction, M. Y. Chan, F. Y. L. Chin, "General Schedulers for the
Pinwheel Problem Based on Double-Integer Reduction", IEEE Transactions on Computers 41 (1992); that every density up to
5/6 can be scheduled is A. Kawamura, "Proof of the Density Threshold Conjecture for Pinwheel Scheduling", STOC 2024.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel, routine

__all__ = ["chain", "grant", "pick", "safe_states"]

MOST_STATES = 1 << 16


def chain(windows: list[int]) -> list[int] | None:
    """Return periods, each dividing the next larger, that keep windows of one play each; None where the best chain is
    denser than one.

    >>> chain([2, 5, 9]), chain([2, 3])
    ([2, 4, 8], [2, 2])
    """
    found: list[int] | None = None
    for x in range(1, min(windows) + 1):
        periods = [x << int(math.log2(window // x)) for window in windows]
        if found is None or sum(1 / b for b in periods) < sum(1 / b for b in found) - 1e-12:
            found = periods
    assert found is not None
    common = max(found)
    return found if sum(common // b for b in found) <= common else None


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
def soonest(params: Any, state: Any, arm: int) -> int:
    """Return the arm's token with the least time left, -1 where it has no window."""
    found = -1
    for token in range(params.owners.size):
        if params.owners[token] == arm and (found < 0 or state.left[token] < state.left[found]):
            found = token
    return found


@kernel
def pass_round(params: Any, left: Ints, served: int) -> None:
    """Let a round go by in which a token is served (-1: none)."""
    for token in range(left.size):
        left[token] -= 1
    if served >= 0:
        left[served] = params.windows[served]


@routine
def spare_after(params: Any, state: Any, served: int) -> int:
    """Return how many rounds are spare if a token is served next; below 0, it may not be."""
    left = state.ahead
    for token in range(left.size):
        left[token] = state.left[token]
    pass_round(params, left, served)
    if params.safe.size > 0:
        place = 0
        for token in range(left.size):
            if left[token] < 1:
                return -1
            place = place * params.windows[token] + left[token] - 1
        return 0 if params.safe[place] else -1
    end, least = 0, 1 << 60
    for token in range(left.size):
        if left[token] < 1:
            return -1
        left[token] = min(left[token], params.periods[token])
        end = max(end, left[token])
    due = 0
    for s in range(1, end + params.periods[params.periods.size - 1] + 1):
        for token in range(left.size):
            if left[token] == s:
                due += 1
                left[token] += params.periods[token]
        if due > 0:
            least = min(least, s - due)
            if least < 0 or s - due - left.size >= least:
                return least
    return least


@kernel
def first_slot(params: Any, state: Any) -> int:
    """Return the token that a schedule from here serves first, -1 where its first slot is free."""
    if params.safe.size > 0:
        best = -1
        for token in range(state.left.size):
            sooner = best < 0 or state.left[token] < state.left[best]
            if sooner and spare_after(params, state, token) >= 0:
                best = token
        return best
    slots, first = state.ahead, -1
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
def enter(params: Any, state: Any, arm: int, served: int) -> None:
    """Enter that the arm is played in the next round, for a token or for none (-1)."""
    state.chosen[0] = arm
    state.pulls[arm] += 1
    pass_round(params, state.left, served)


@kernel
def grant(params: Any, state: Any, now: int, wish: int) -> bool:
    """Play the arm in the round after `now` if it may be for certain without a look; return whether it was."""
    if state.spare[0] <= 0:
        return False
    state.spare[0] -= 1
    enter(params, state, wish, soonest(params, state, wish))
    return True


@kernel
def pick(params: Any, state: Any, now: int) -> bool:
    """Choose the arm of the next round down the ranking in `scores` and enter its play; return whether an arm of higher
    rank had to give way."""
    gave_way, arm, served = False, -1, -1
    while True:
        arm = -1
        for other in range(state.scores.size):
            if state.scores[other] > -np.inf and (arm < 0 or state.scores[other] > state.scores[arm]):
                arm = other
        if arm < 0:
            gave_way, served = True, first_slot(params, state)
            arm = params.owners[max(served, 0)]
            state.spare[0] = 0
            break
        served = soonest(params, state, arm)
        if state.spare[0] > 0:
            state.spare[0] -= 1
            break
        least = spare_after(params, state, served)
        if least >= 0:
            state.spare[0] = least
            break
        state.scores[arm] = -np.inf
        gave_way = True
    enter(params, state, arm, served)
    return gave_way
