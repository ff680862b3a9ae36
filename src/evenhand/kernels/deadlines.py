"""When is an arm owed its next pull, and which arms may be played so that every floor can still be kept: exact, in
integers that never overflow, one addition a pull.

With a share r = R/D (a fraction in lowest common terms) and whole tolerance a, the position (N + a) D / R is the time
up to which N pulls are enough. It is kept as whole + rest/R: a pull moves it by D/R, that is by `step` and
`remainder`/R. No product of a share and a round is ever formed, so there is no horizon at which 64 bits end.

Arm i is owed N_i >= floor(r_i A_i) - a plays, where A_i counts the rounds in which it was on offer; m arms are played a
round. Let

    J_i(s) = max(0, floor(r_i (A_i + s)) - a - N_i)    the plays that fall due if arm i is on offer s more rounds,
    G(s) = m s - sum_i J_i(s)                          the plays that are left over in these rounds.

Theorem. All floors can be kept, whatever is on offer later, iff G(s) >= 0 for every s >= 0. Playing the m arms on offer
with the earliest deadlines d_i = ceil((N_i + 1 + a) / r_i) - A_i keeps G >= 0. Before the first round G >= 0 iff sum_i
r_i <= m, given that every r_i <= 1.

Proof. Necessary: if all arms are on offer for s rounds, sum_i J_i(s) of the m s plays are owed. Sufficient: G(0) >= 0
says that nothing is overdue, so it is enough that G' >= 0 after the round. Fix s and let p arms with d_i <= s + 1 be
played. If p = m, then G'(s) >= G(s + 1) - m + m >= 0. If p < m, every arm on offer with d_i <= s + 1 was played; J_i(s
+ 1) <= J_i(s) + 1 because r_i <= 1, so no J_i'(s) exceeds J_i(s), and G'(s) >= G(s) >= 0. At the start G(s) >= m s -
sum_i r_i s. QED.

Here m = 1 and every arm is always on offer: A_i = t, and g(s) = G(s - t) for rounds s > t. A play of arm j takes one
from g(s) before j's deadline and changes nothing from there on. Hence **j may be played iff g(s) >= 1 for every s with
t < s < its deadline**. The arm with the earliest deadline always may: before it nothing is due and g(s) = s - t.

The search. g falls only at deadlines. `look` walks them in order, as far as it is asked, and keeps in `memo`: how far
it came (CLEAR), t plus the plays due until there (DUE), the least g on the way (LEAST), and a round in which g is zero
(ZERO). A play of an arm whose deadline lies on the way leaves CLEAR, DUE and ZERO true, so a later walk goes on from
there. Only plays of arms other than the earliest lower g on the way: after LEAST of them there may be a new zero, and
the walk starts anew.

The end of the search. Let x_i = max(0, r_i s - a - N_i) and h(s) = sum_i x_i - (s - t). Then g >= -h, and -h never
falls because sum_i r_i <= 1: once -h(s) > 0, no zero follows. As x_i exceeds the plays due by a fraction f_i < 1, -h(s)
= g(s) - sum_i f_i, in integers over the common denominator. -h is concave and no play raises it: where it is not
positive yet, a straight line of its slope 1 - sum_i r_i, over the arms with r_i s >= a + N_i, tells until when it
cannot be (DOUBT). If the slope is 0, so is -h, and the next multiple of the common denominator is a zero.

The length of the search. While arm j is not due, g(s) > (s - t) (r_j + 1 - sum_i r_i) - k. So a proposal of j is
settled within k / (r_j + 1 - sum_i r_i) rounds (for a share r_j = 0 beside a sum of one the least other share counts),
and j is granted only about that seldom: on average a walk is short. One walk ends after PATIENCE deadlines. A proposal
that needs more is refused, and the walk goes on in the next round.

Source: theorem and search are ours; for m = 1 and no rounds missed, the deadlines are those of earliest-deadline-first
scheduling, C. L. Liu, J. W. Layland, "Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment",
Journal of the ACM 20 (1973).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel, routine

NEVER = 1 << 61
"""Stands for a time that no conversation reaches."""
PATIENCE = 1 << 20
BEYOND = 3 * NEVER
"""Later than any deadline: as CLEAR, g >= 1 for ever."""
MEMO = 6
CLEAR, DUE, LEAST, ZERO, DOUBT, EARLIEST = range(MEMO)


class Pace(NamedTuple):
    """The shares in integers, each (n_arms,): numerators R over the common D, D // R and D % R."""

    numerators: Ints
    steps: Ints
    remainders: Ints


def pace(numerators: list[int], denominator: int) -> Pace:
    """Return the shares numerators / denominator, ready for kernels."""
    steps = [min(denominator // n, NEVER) if n else NEVER for n in numerators]
    remainders = [denominator % n if n else 0 for n in numerators]
    return Pace(np.array(numerators, np.int64), np.array(steps, np.int64), np.array(remainders, np.int64))


def position(numerators: list[int], denominator: int, enough: int) -> tuple[Ints, Ints]:
    """Return for each arm the time up to which `enough` pulls are enough, as whole and rest, each (n_arms,)."""
    whole = [min(enough * denominator // n, NEVER) if n else NEVER for n in numerators]
    rest = [enough * denominator % n if n else 0 for n in numerators]
    return np.array(whole, np.int64), np.array(rest, np.int64)


@kernel
def advance(numerators: Ints, steps: Ints, remainders: Ints, whole: Ints, rest: Ints, arm: int) -> None:
    """Move the arm's position by one pull."""
    if whole[arm] < NEVER:
        whole[arm] += steps[arm]
        rest[arm] += remainders[arm]
        if rest[arm] >= numerators[arm]:
            rest[arm] -= numerators[arm]
            whole[arm] += 1


@kernel
def round_up(numerators: Ints, whole: Ints, rest: Ints, arm: int) -> None:
    """Make the arm's position a deadline: `whole` rounded up, and rest/R <= 0 what it was rounded by."""
    if rest[arm] > 0:
        whole[arm] += 1
        rest[arm] -= numerators[arm]


@kernel
def fall_due(numerators: Ints, steps: Ints, remainders: Ints, whole: Ints, rest: Ints, arm: int) -> None:
    """Move a position that `round_up` has made a deadline by one pull."""
    whole[arm] += steps[arm]
    rest[arm] += remainders[arm]
    if rest[arm] > 0:
        rest[arm] -= numerators[arm]
        whole[arm] += 1


class DeadlineParams(NamedTuple):
    """The parameters of a rule: its shares in the integers that kernels use, around those of a learner."""

    numerators: Ints
    steps: Ints
    remainders: Ints
    denominator: int
    learner: Any


class DeadlineState(NamedTuple):
    """The state of a rule: its positions, and what is known of the rounds to come, around that of a learner."""

    pulls: Ints
    whole: Ints
    """whole + rest/R is when the arm's next owed pull falls due; rounded up it is the deadline."""
    rest: Ints
    memo: Ints
    """(6,): see the head of this module; CLEAR = 0 if nothing is known; EARLIEST is an arm."""
    soonest: Ints
    """The earliest deadline in each block of arms, at the place of the walk."""
    ahead_whole: Ints
    """Positions (n_arms,) of the arms at the place of the walk, as `whole` and `rest` are now."""
    ahead_rest: Ints
    learner: Any


def outlook(arms: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return what is known of the rounds to come before the first: the fields `memo`, `soonest`, `ahead_whole` and
    `ahead_rest` of the state of a rule."""
    blocks = math.ceil(arms / max(16, math.isqrt(arms)))
    memo, soonest, whole, rest = (np.zeros(size, np.int64) for size in (MEMO, blocks, arms, arms))
    return memo, soonest, whole, rest


@kernel
def deadline(whole: Ints, rest: Ints, arm: int) -> int:
    """Return the round by whose end the arm's next owed play must have come."""
    return whole[arm] + (rest[arm] > 0)


@kernel
def conclude(params: DeadlineParams, state: DeadlineState, s: int, left: int) -> None:
    """Note at the deadline `s`, with g(s) = `left` > 0, what is certain of all later rounds."""
    memo, whole, rest = state.memo, state.ahead_whole, state.ahead_rest
    gap, fractions, part = params.denominator, 0, 0
    for arm in range(whole.size):
        distance = whole[arm] - s
        if params.numerators[arm] > 0 and distance <= params.steps[arm]:
            fraction = params.denominator - params.numerators[arm] * distance - rest[arm]
            if fraction >= 0:
                gap -= params.numerators[arm]
                part += fraction
                if part >= params.denominator:
                    part -= params.denominator
                    fractions += 1
    # Both are integers: an equality that floats take for `>` would clear all rounds to come and break the promise.
    if left > fractions:
        memo[CLEAR], memo[LEAST] = BEYOND, min(memo[LEAST], left - fractions)
    elif gap > 0:
        lacking = (fractions - left) * float(params.denominator) + part
        memo[DOUBT] = s + int(min(lacking / gap, float(NEVER)))
    else:
        memo[DOUBT] = min(s + params.denominator - s % params.denominator, NEVER - 1)
        if memo[ZERO] <= s:
            memo[ZERO] = memo[DOUBT]


@routine
def look(params: DeadlineParams, state: DeadlineState, now: int, until: int) -> None:
    """Walk the deadlines after round `now` up to `until`, a zero before it, or the proof that no zero follows."""
    memo, soonest, whole, rest = state.memo, state.soonest, state.ahead_whole, state.ahead_rest
    arms = whole.size
    width = (arms - 1) // soonest.size + 1
    anew, s = memo[CLEAR] == 0, NEVER
    if anew:
        memo[CLEAR] = memo[DUE] = now
        for arm in range(arms):
            whole[arm], rest[arm] = state.whole[arm], state.rest[arm]
    if memo[CLEAR] <= now:
        memo[LEAST] = NEVER
    for block in range(soonest.size):
        if anew:
            soonest[block] = due_next(params, whole, rest, block * width, min((block + 1) * width, arms), 0)[0]
        s = min(s, soonest[block])
    for _ in range(PATIENCE):
        if memo[CLEAR] >= until or now < memo[ZERO] < until:
            return
        if s >= NEVER:
            memo[CLEAR] = BEYOND
            return
        following = NEVER
        for block in range(soonest.size):
            if soonest[block] == s:
                soonest[block], due = due_next(params, whole, rest, block * width, min((block + 1) * width, arms), s)
                memo[DUE] += due
            following = min(following, soonest[block])
        memo[CLEAR] = s
        left = s - memo[DUE]
        if left <= 0:
            memo[ZERO] = s
        else:
            memo[LEAST] = min(memo[LEAST], left)
            if s >= memo[DOUBT]:
                conclude(params, state, s, left)
        s = following


@kernel
def due_next(params: DeadlineParams, whole: Ints, rest: Ints, first: int, end: int, s: int) -> tuple[int, int]:
    """Serve the arms first .. end - 1 that are due at `s`; return their earliest deadline now and how many were due."""
    soonest, due = NEVER, 0
    for arm in range(first, end):
        if arm < 0:  # never; so told, the compiler leaves out Python's indices from the end
            break
        if deadline(whole, rest, arm) == s:
            due += 1
            advance(params.numerators, params.steps, params.remainders, whole, rest, arm)
        soonest = min(soonest, deadline(whole, rest, arm))
    return soonest, due


@kernel
def may_play(params: DeadlineParams, state: DeadlineState, now: int, due: int) -> bool:
    """Return whether an arm with the deadline `due` may be played in the round after `now`."""
    if due > state.memo[CLEAR] and not now < state.memo[ZERO] < due:
        look(params, state, now, due)
    return due <= state.memo[CLEAR]


@kernel
def only_one(params: DeadlineParams, state: DeadlineState, now: int) -> int:
    """Return the arm that must be played in the round after `now` where no other may, else -1; call it every round."""
    if state.memo[CLEAR] == BEYOND:
        return -1
    earliest, first, second = 0, BEYOND, BEYOND
    for arm in range(state.whole.size):
        due = deadline(state.whole, state.rest, arm)
        if due < first:
            earliest, first, second = arm, due, first
        elif due < second:
            second = due
    state.memo[EARLIEST] = earliest
    return -1 if may_play(params, state, now, second) else earliest


@kernel
def played(params: DeadlineParams, state: DeadlineState, arm: int) -> None:
    """Enter a play of the arm, after `only_one` in the same round."""
    memo = state.memo
    due = deadline(state.whole, state.rest, arm)
    if memo[CLEAR] == BEYOND or due > deadline(state.whole, state.rest, memo[EARLIEST]):
        memo[LEAST] -= 1
    # The play may have used up the last spare round on the way: what the walk found is then no longer true.
    if memo[LEAST] <= 0 or due > memo[CLEAR]:
        memo[CLEAR] = 0
    advance(params.numerators, params.steps, params.remainders, state.whole, state.rest, arm)
