"""Which arm may be played so that the floors of arms and of sets of arms can all be kept, where sets nest.

A set Q of arms is owed N_Q >= floor(r_Q t) - a plays of its arms together. Sets are nested or disjoint, so they and the
arms, call them owners, form a forest. With one play a round let

    need_Q(s) = max(floor(r_Q s) - a - N_Q, sum of need over the children of Q, 0),
    G(s) = s - t - sum of need over the roots,

the plays that fall due by round s, and those that are left over until then.

Theorem. All floors can be kept after round t iff G(s) >= 0 for every s >= t. Playing an arm inside the root that needs
a play first, inside its child that needs one first, and so on down, keeps G >= 0. At the start G >= 0 iff the sum of
e over the roots is at most 1, with e_Q = max(r_Q, sum of e over the children of Q).

Proof. Necessary: need_Q(s) plays must fall into Q by s. Sufficient: the vectors of plays x with x_Q >= need_Q(s) for
all owners form a contrapolymatroid, so a vector that is minimal for a later s dominates one that is minimal for an
earlier s; serving what is needed first therefore never takes a play from what is needed by a given s unless all of
that was served before, and then G(s) grows with s. QED.

So an arm may be played iff G >= 0 after it. G falls only at deadlines of owners; the look ahead walks them in order and
keeps, of each owner, how many of its own plays are due and how many its children need. It ends where G passes the least
so far by more than all rounding: need_Q falls short of its real-valued counterpart by less than one or, if that is
more, than its children together do, and that counterpart never outgrows the rounds.

A play of an arm takes one from what the roots need by round s iff it lies in an owner (or is one) whose own plays due
by s are more than its children need. No play makes that difference larger, and G(s) never grows. So an arm that may not
be played because of a round s, with G(s) = 0, may not be played until s, and `refused` keeps s. The play of such an arm
leaves no owner around it in which another play would take one, so the look that has tried it refuses all such arms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.deadlines import PATIENCE, deadline
from evenhand.kernels.due_times import NEVER, advance, fall_due, round_up
from evenhand.promises.slates import EVER

__all__ = ["Forest", "forest", "grant", "pick"]


class Forest(NamedTuple):
    """What it takes to pick an arm; the state of a rule has these fields, and `whole` and `rest` of all owners."""

    scores: Floats
    """(n_arms,): the learner's ranking, the highest first; -inf for an arm that it does not rank."""
    chosen: Ints
    """(1,): the arm of the last round."""
    spare: Ints
    """(1,): a lower bound of G over all rounds after the next."""
    due: Ints
    """(n_owners,): plays of its own that are due so far in a look ahead."""
    below: Ints
    """(n_owners,): what its children need so far in a look ahead."""
    refused: Ints
    """(n_owners,): the round until which the arm may not be played; of sets, 0."""
    ahead_whole: Ints
    ahead_rest: Ints


def forest(arms: int, owners: int) -> Forest:
    """Return the forest before the first round."""
    whole = [np.zeros(owners, np.int64) for _ in range(5)]
    return Forest(np.zeros(arms), np.full(1, -1, np.int64), np.zeros(1, np.int64), *whole)


@kernel
def play(params: Any, whole: Ints, rest: Ints, arm: int) -> None:
    """Move the positions of an arm and of all sets around it by one play."""
    owner = arm
    while owner >= 0:
        advance(params.numerators, params.steps, params.remainders, whole, rest, owner)
        owner = params.parents[owner]


@kernel
def refuse(params: Any, state: Any, s: int) -> None:
    """Note, in a look ahead that has come to round `s` with G(s) = 0, all arms that may not be played until then."""
    for arm in range(state.scores.size):
        owner, helps = arm, False
        while owner >= 0:
            helps = helps or state.due[owner] > state.below[owner]
            owner = params.parents[owner]
        if not helps:
            state.refused[arm] = s


@kernel
def refuse_for_urgent(params: Any, state: Any, now: int) -> None:
    """Refuse, where a play must come in the round after `now`, all arms that are not it."""
    needed = 0
    for owner in range(state.whole.size):
        state.below[owner] = 0
    for owner in range(state.whole.size):  # children stand before their parents
        state.due[owner] = deadline(state.whole, state.rest, owner) <= now + 1
        need, parent = max(state.due[owner], state.below[owner]), params.parents[owner]
        if parent >= 0:
            state.below[parent] += need
        else:
            needed += need
    if needed > 0:
        refuse(params, state, now + 1)


@kernel
def begin_look(params: Any, state: Any, arm: int) -> int:
    """Put the positions after a play of `arm` ahead, as deadlines and what is left of a round before them, and return
    by how much G may fall short of its real-valued counterpart."""
    whole, rest, owners, short = state.ahead_whole, state.ahead_rest, state.ahead_whole.size, 0
    for owner in range(owners):
        whole[owner], rest[owner] = state.whole[owner], state.rest[owner]
        state.due[owner] = state.below[owner] = 0
    play(params, whole, rest, arm)
    for owner in range(owners):
        lacks, parent = max(int(whole[owner] < NEVER), state.below[owner]), params.parents[owner]
        if parent >= 0:
            state.below[parent] += lacks
        else:
            short += lacks
        round_up(params.numerators, whole, rest, owner)
    for owner in range(owners):
        state.below[owner] = 0
    return max(0, short - 1)


@kernel
def need_one_more(params: Any, state: Any, owner: int) -> int:
    """Enter that another play of an owner is due in a look ahead; return by how many the roots need more."""
    inside = owner
    fall_due(params.numerators, params.steps, params.remainders, state.ahead_whole, state.ahead_rest, owner)
    state.due[owner] += 1
    if state.due[owner] <= state.below[owner]:
        return 0
    while params.parents[inside] >= 0:
        inside = params.parents[inside]
        state.below[inside] += 1
        if state.below[inside] <= state.due[inside]:
            return 0
    return 1


@routine
def left_over(params: Any, state: Any, now: int, arm: int) -> int:
    """Return the least G over the rounds after the next if `arm` is played in it, or less; below 0, it may not be."""
    coming, short = state.ahead_whole, begin_look(params, state, arm)
    s, end = EVER, now
    for owner in range(coming.size):
        s = min(s, coming[owner])
        if coming[owner] < NEVER:
            end = max(end, coming[owner])
    needed, least = 0, NEVER
    for _ in range(PATIENCE):
        if s > end + params.denominator:
            return least
        for owner in range(coming.size):
            if coming[owner] == s:
                needed += need_one_more(params, state, owner)
        left = s - now - 1 - needed
        least = min(least, left)
        if left < 0:
            refuse(params, state, s)
            return left
        if left - short >= min(least, short):
            return min(least, left - short)
        s = EVER
        for owner in range(coming.size):
            s = min(s, coming[owner])
    return -1


@kernel
def needed_first(params: Any, state: Any) -> int:
    """Return the arm that is inside the root that needs a play first, inside its child that does, and so on."""
    owners, first = state.whole.size, state.below
    for owner in range(owners):
        first[owner] = deadline(state.whole, state.rest, owner)
    for owner in range(owners):  # children stand before their parents
        parent = params.parents[owner]
        if parent >= 0:
            first[parent] = min(first[parent], first[owner])
    inside, owner = -1, owners
    while owner >= state.scores.size:
        owner = -1
        for child in range(owners):
            if params.parents[child] == inside and (owner < 0 or first[child] < first[owner]):
                owner = child
        inside = owner
    return owner


@kernel
def enter(params: Any, state: Any, arm: int) -> None:
    """Enter that the arm is played in the next round."""
    state.chosen[0] = arm
    state.pulls[arm] += 1
    play(params, state.whole, state.rest, arm)


@kernel
def grant(params: Any, state: Any, now: int, wish: int) -> bool:
    """Play the arm in the round after `now` if it may be for certain without a look; return whether it was."""
    if state.spare[0] <= 0:
        return False
    state.spare[0] -= 1
    enter(params, state, wish)
    return True


@kernel
def best_kept(params: Any, state: Any, now: int) -> int:
    """Return the arm that is first in the ranking among those that may be played in the round after `now`."""
    while True:
        arm = -1
        for other in range(state.scores.size):
            kept = state.scores[other] > -np.inf and state.refused[other] <= now
            if kept and (arm < 0 or state.scores[other] > state.scores[arm]):
                arm = other
        if arm < 0:
            return needed_first(params, state)
        least = left_over(params, state, now, arm)
        if least >= 0:
            state.spare[0] = least
            return arm
        state.scores[arm] = -np.inf


@kernel
def pick(params: Any, state: Any, now: int) -> bool:
    """Choose the arm of the round after `now` down the ranking in `scores` and enter its play; return whether an arm of
    higher rank had to give way."""
    wish = -1
    for arm in range(state.scores.size):
        if state.scores[arm] > -np.inf and (wish < 0 or state.scores[arm] > state.scores[wish]):
            wish = arm
    if state.spare[0] > 0:
        state.spare[0] -= 1
        arm = wish if wish >= 0 else needed_first(params, state)
    else:
        refuse_for_urgent(params, state, now)
        arm = best_kept(params, state, now)
    enter(params, state, arm)
    return arm != wish
