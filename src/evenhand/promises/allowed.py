"""Choose the arms of a round: the best ranked of all slates after which every clause can still be kept.

The slates that may be played are the bases of a matroid (proved for floors of arms, where they are a chain of
capacities; found so for sets and caps in every case that was searched). So the best one is found from any other: down
the ranking, each arm takes the place of an arm of lower rank wherever the slate that results may be played.

Most rounds need no look: a slate of m arms lowers what is left over at any later round by m at most, so while `spare`,
the least that is left over, is at least m, every slate of arms with room under their caps may be played.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.kernels.compose import OPEN, bind, kernel, routine
from evenhand.kernels.deadlines import NEVER, deadline
from evenhand.promises import windows
from evenhand.promises.deadline_scan import can_join, is_scanned, mark_served, pass_round, select_scanned
from evenhand.promises.feasible import spaced_alone
from evenhand.promises.laminar import EVER, close_refused, look, look_uncapped, open_arms, play, refuse_for_urgent, take
from evenhand.promises.promise import Promise
from evenhand.promises.rule_state import RuleParams, RuleState
from evenhand.promises.windows import best_of, soonest

AS_RANKED, BY_DEADLINE, BY_CAP, BY_NO_RANK, BY_ABSENCE, BY_LOT = range(6)
"""Why the arms of a round are those that are played: the first of the ranking; the first of it would break a floor or a
window, even without caps; they would not, but a cap bars them; no more arms on offer are ranked; none that is ranked is
on offer; or a lot was drawn."""

choose_slate = OPEN
MOST_SLATES = 10_000
"""How many slates are tried where the most urgent arms may not be played together, as a cap or a window forbids it."""


@kernel
def open_round(params: RuleParams, state: RuleState, now: int) -> int:
    """Pause clauses without an arm on offer, mark arms below their cap as playable, and return how many are."""
    arms, owners = state.offered.size, state.ticks.size
    for owner in range(owners):
        state.ticks[owner] = 0
    for arm in range(arms):
        owner = arm
        while owner >= 0 and state.offered[arm] == 1:
            state.ticks[owner] = 1
            owner = params.parents[owner]
        if state.offered[arm] == 0 and params.cap_steps[arm] > 0:
            state.cap_whole[arm] += 1
    for owner in range(owners):
        # a clock that stands still moves its deadline; otherwise an arm that was away would be overdue when it returns
        if state.ticks[owner] == 0 and state.whole[owner] < NEVER:
            state.whole[owner] += 1
            state.tight[0] = 0
            state.refused[:] = 0
    return open_arms(state, now)


@kernel
def comes_before(state: RuleState, arm: int, other: int) -> bool:
    """Return whether an arm comes before another in the ranking, ties by index; of two that are not ranked none
    does."""
    score, beside = state.scores[arm], state.scores[other]
    return score > beside or (score == beside and arm < other and score > -np.inf)


@kernel
def most_urgent(params: RuleParams, state: RuleState, now: int) -> int:
    """Return the open arm inside the root that needs a play first by the positions ahead, inside its child that does,
    and so on, ties by index; -1 where no arm is open."""
    arms, owners, first = state.open.size, state.within.size, state.within
    for owner in range(owners):
        first[owner] = EVER
    for owner in range(owners):  # children stand before their parents
        if owner >= arms or state.open[owner] == 1:
            # an open arm that owes nothing comes last, but it counts: a set of such arms would seem to have no open arm
            inside = min(first[owner], EVER - 1) if owner < arms else first[owner]
            if inside < EVER:
                inside = min(inside, deadline(state.ahead_whole, state.ahead_rest, owner))
                token = soonest(params, state.left, owner)
                first[owner] = inside if token < 0 else min(inside, now + state.left[token])
                parent = params.parents[owner]
                if parent >= 0:
                    first[parent] = min(first[parent], first[owner])
    inside = -1
    while True:
        best = -1
        for child in range(owners):
            if params.parents[child] == inside and first[child] < EVER and (best < 0 or first[child] < first[best]):
                best = child
        if best < 0:
            return -1
        if best < arms:
            return best
        inside = best


@kernel
def put_ahead(state: RuleState) -> None:
    """Put the present positions ahead."""
    for owner in range(state.whole.size):
        state.ahead_whole[owner], state.ahead_rest[owner] = state.whole[owner], state.rest[owner]


@kernel
def pick_urgent(params: RuleParams, state: RuleState, now: int) -> None:
    """Choose the most urgent arm that may be played, whatever the ranking."""
    first = -1
    open_arms(state, now)
    while True:
        put_ahead(state)
        arm = most_urgent(params, state, now)
        if arm < 0:
            break
        first = arm if first < 0 else first
        state.chosen[0] = arm
        state.spare[0] = look(params, state, now)
        if state.spare[0] >= 0:
            return
        state.open[arm] = 0
    state.chosen[0], state.spare[0] = first, 0  # the look was cut off, see FARTHEST; by the theorem this one does


@kernel
def pick_one(params: RuleParams, state: RuleState, now: int, plays: int) -> None:
    """Choose the best ranked open arm that may be played, with a look for each; where no ranked one may, the most
    urgent that may."""
    if state.spare[0] >= 1 and choose_ranked(state, plays):
        state.spare[0] -= 1
        return
    if state.left.size == 0:
        refuse_for_urgent(params, state, now)
        close_refused(state, now)
    arm = best_of(state, state.open)
    while arm >= 0:
        state.chosen[0] = arm
        state.spare[0] = look(params, state, now)
        if state.spare[0] >= 0:
            return
        state.open[arm] = 0
        arm = best_of(state, state.open)
    pick_urgent(params, state, now)
    if state.left.size == 0:  # the next round looks anew
        state.spare[0] = 0


@kernel
def choose_urgent(params: RuleParams, state: RuleState, now: int, plays: int) -> None:
    """Choose the slate of the most urgent open arms, one after another."""
    put_ahead(state)
    for place in range(plays):
        arm = most_urgent(params, state, now)
        state.chosen[place], state.open[arm] = arm, 0
        play(params, state.ahead_whole, state.ahead_rest, arm)
    for place in range(plays):
        state.open[state.chosen[place]] = 1


@kernel
def choose_ranked(state: RuleState, plays: int) -> bool:
    """Choose the slate of the best ranked open arms; return whether so many are ranked."""
    found = 0
    for place in range(plays):
        arm = best_of(state, state.open)
        if arm < 0:
            break
        state.chosen[place], state.open[arm] = arm, 0
        found += 1
    for place in range(found):
        state.open[state.chosen[place]] = 1
    return found == plays


@kernel
def choose_next(state: RuleState, plays: int, place: int) -> bool:
    """Choose the next slate of open arms in the order of their indices that changes at `place` or before, with -1 in
    all places the first one; return False after the last."""
    while place >= 0:
        arm = state.chosen[place]
        for later in range(place, plays):
            arm += 1
            while arm < state.open.size and state.open[arm] == 0:
                arm += 1
            state.chosen[later] = arm
        if arm < state.open.size:
            return True
        place -= 1
    return False


@routine
def find_slate(params: RuleParams, state: RuleState, now: int, plays: int) -> int:
    """Choose a slate that may be played and return what it leaves over; -1 where none was found.

    Without caps and windows the most urgent arms are such a slate, by Theorem 1.
    """
    choose_urgent(params, state, now, plays)
    least = look(params, state, now)
    if least >= 0:
        return least
    for place in range(plays):
        state.chosen[place] = -1
    for _ in range(MOST_SLATES):
        if not choose_next(state, plays, 0 if state.chosen[0] < 0 else plays - 1):
            break
        least = look(params, state, now)
        if least >= 0:
            return least
    choose_urgent(params, state, now, plays)
    return -1


@kernel
def sort_by_rank(state: RuleState, first: int, plays: int) -> None:
    """Put the places of the slate from `first` on into the order of the ranking."""
    chosen = state.chosen
    for place in range(first + 1, plays):
        arm, at = chosen[place], place
        while at > first and comes_before(state, arm, chosen[at - 1]):
            chosen[at] = chosen[at - 1]
            at -= 1
        chosen[at] = arm


@routine
def improve(params: RuleParams, state: RuleState, now: int, plays: int, least: int) -> int:
    """Exchange arms of a slate that may be played for better ranked ones; return what is left over."""
    sort_by_rank(state, 0, plays)
    for fixed in range(plays):
        while True:  # the best arm that comes before the one in this place, and has not been tried
            arm = -1
            for other in range(state.open.size):
                if state.open[other] == 1 and comes_before(state, other, state.chosen[fixed]):
                    arm = other if arm < 0 or comes_before(state, other, arm) else arm
            if arm < 0:
                break
            state.open[arm] = 0
            # the arm of the lowest rank gives way where it can; to give up a higher one would miss the best slate
            for place in range(plays - 1, fixed - 1, -1):
                gone = state.chosen[place]
                state.chosen[place] = arm
                left = look(params, state, now)
                if left >= 0:
                    least = left
                    break
                state.chosen[place] = gone
            sort_by_rank(state, fixed, plays)
        state.open[state.chosen[fixed]] = 0
    return least


@kernel
def choose_allowed(params: RuleParams, state: RuleState, now: int, plays: int, ranked: bool) -> int:
    """Choose the best slate that may be played, the present one if it is `ranked`; return what is left over."""
    least = look(params, state, now) if ranked else -1
    if least < 0:
        least = find_slate(params, state, now, plays)
        if least >= 0:
            least = improve(params, state, now, plays, least)
    return max(0, least)


@kernel
def pick_slate(params: RuleParams, state: RuleState, now: int, plays: int) -> None:
    """Choose the slate of several arms by looking ahead for each that is tried."""
    ranked = choose_ranked(state, plays)
    if ranked and state.spare[0] >= state.chosen.size and params.capped_slates == 0:
        state.spare[0] -= state.chosen.size
        return
    state.spare[0] = choose_allowed(params, state, now, plays, ranked)


@kernel
def best_after(state: RuleState, before: int, absent: bool) -> int:
    """Return the first ranked arm on offer, or any where they may be `absent`, that comes after `before` in the
    ranking; -1 for none."""
    best = -1
    for arm in range(state.scores.size):
        ranked = state.scores[arm] > -np.inf and (absent or state.offered[arm] == 1)
        if ranked and (before < 0 or comes_before(state, before, arm)):
            best = arm if best < 0 or comes_before(state, arm, best) else best
    return best


@routine
def refusal(params: RuleParams, state: RuleState, now: int) -> int:
    """Return why `chosen`, which may not be played in the round after `now`, may not: a floor or a window forbids it,
    even with all caps and absences taken away, or else what does."""
    found = BY_CAP if params.capped_slates > 0 else BY_DEADLINE
    for place in range(state.chosen.size):
        arm = state.chosen[place]
        if arm >= 0 and state.offered[arm] == 0:
            found = BY_ABSENCE
        elif arm >= 0 and found == BY_DEADLINE and (state.cap_whole[arm] > now or state.inclusions[arm] > 0.0):
            found = BY_CAP
    # where nothing but floors and windows bars anything, it was they, without a look
    if found != BY_DEADLINE and look_uncapped(params, state, now)[0] < 0:
        found = BY_DEADLINE
    return found


@routine
def cause(params: RuleParams, state: RuleState, now: int, plays: int) -> int:
    """Return why the slate is played and not the first arms of the ranking, as many as there are on offer."""
    played, wished, granted, arm = state.ranks, 0, True, best_after(state, -1, False)
    nothing = arm < 0
    if nothing:
        arm = best_after(state, -1, True)
    for place in range(plays):
        played[place] = state.chosen[place]
    while wished < plays and arm >= 0:
        state.chosen[wished] = arm
        found = False
        for place in range(plays):
            found = found or played[place] == arm
        granted = granted and found
        wished += 1
        arm = -1 if nothing else best_after(state, arm, False)
    why = AS_RANKED if wished == plays else BY_NO_RANK
    if not granted:
        for place in range(wished, plays):  # others that are played fill up
            for other in range(wished):
                if state.chosen[place] == state.chosen[other]:
                    state.chosen[place] = -1
        why = refusal(params, state, now)
    for place in range(plays):
        state.chosen[place] = played[place]
    return why


@kernel
def is_grantable(params: RuleParams, state: RuleState, now: int, proposal: int) -> bool:
    """Play the arm in the round after `now` if one is played a round and it may be for certain without a look; return
    whether it was."""
    if state.cap_whole[proposal] > now or not is_scanned(state, now):
        return False
    if state.spare[0] < 1 and not can_join(state, proposal):
        return False
    for arm in range(state.offered.size):
        if state.offered[arm] == 0:
            return False
    for owner in range(state.ticks.size):
        state.ticks[owner] = 1
    state.chosen[0] = proposal
    mark_served(state, proposal)
    pass_round(state)
    take(params, state, now)
    return True


@kernel
def select_slate(params: RuleParams, state: RuleState, now: int) -> int:
    """Choose the arms of the round after `now` down the ranking in `scores` and enter their plays; return why it is
    these."""
    plays = min(state.chosen.size, open_round(params, state, now))
    for place in range(plays, state.chosen.size):
        state.chosen[place] = -1
    choose_slate(params, state, now, plays)
    why = cause(params, state, now, plays)
    take(params, state, now)
    return why


PICK_SCANNED = bind(select_slate, choose_slate=select_scanned)
PICK_ONE = bind(select_slate, choose_slate=pick_one)
PICK_SLATE = bind(select_slate, choose_slate=pick_slate)


def selection_kernels(promise: Promise) -> tuple[Any, Any]:
    """Return the kernels `select_slate` and `is_grantable` for a promise, which decide by a scan of all rounds to
    come wherever one tells."""
    if spaced_alone(promise):
        return windows.select_slate, windows.is_grantable
    if promise.windows or promise.sets or (promise.plays > 1 and promise.caps is not None):
        return PICK_ONE if promise.plays == 1 else PICK_SLATE, is_grantable
    return PICK_SCANNED, is_grantable
