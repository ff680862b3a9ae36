"""Scan the deadlines once for all slates: which arms may be played where only single arms are owed shares.

In the letters of `evenhand.promises.laminar`. For floors of single arms one look tells all slates. Let d_i be the
deadline of arm i and room(s) what is left over by s before C is played. A play of an arm lowers what is needed by s iff
d_i <= s; so C may be played iff #{i in C: d_i > s} <= room(s) for every s, a chain of capacities: down any ranking,
each arm that still fits is in the best slate. Of these s only the first for each room below m counts, and after the
plays it still does: room falls by one for each arm that is due later. So they are kept from round to round, until the
first of them passes, room before it might fall below m, or an arm that is owed something is off offer. With m = 1 an
arm under a cap must have room there as well.
"""

from __future__ import annotations

from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.deadlines import NEVER, deadline, fall_due, round_up
from evenhand.promises.laminar import EVER, NEAR, open_arms
from evenhand.promises.rule_state import RuleParams, RuleState
from evenhand.promises.windows import best_of


@kernel
def note_tight(state: RuleState, row: int, s: int, left: int) -> None:
    """Keep what is due by round `s`, by which so many plays are left over."""
    state.tight[row], state.loose[row] = s, left
    for arm in range(state.offered.size):
        state.tight_due[row, arm] = state.due[arm]


@kernel
def is_settled(state: RuleState, proposal: int) -> bool:
    """Return whether a play of the proposal, or of every open arm where there is none, is due by the round that a
    scan came to."""
    settled = proposal < 0 or state.due[proposal] > 0
    for arm in range(state.open.size):
        settled = settled and (proposal >= 0 or state.open[arm] == 0 or state.due[arm] > 0)
    return settled


@routine
def scan_deadlines(params: RuleParams, state: RuleState, now: int, proposal: int) -> None:
    """Look for the rounds in `tight`, by which fewer plays are left over than a round has, where there are no sets, no
    windows, and no caps beside several plays.

    By every round at most as many arms of the slate may be due later as plays are left over by it. So of rounds by
    which as many are left over the first decides, and none counts after one by which none is. Where there are none,
    `spare` says what is left over by any round.
    """
    whole, rest, plays = state.ahead_whole, state.ahead_rest, state.chosen.size
    s, end, short, needed, row, least = EVER, now, -1, 0, 0, NEVER
    for place in range(plays):
        state.chosen[place], state.tight[place] = -1, 0
    for arm in range(whole.size):
        state.due[arm], whole[arm], rest[arm] = 0, state.whole[arm], state.rest[arm]
        round_up(params.numerators, whole, rest, arm)
        if whole[arm] < NEVER:
            s, end = min(s, whole[arm]), max(end, whole[arm])
            short += 1
    short = max(0, short)
    state.spare[0] = state.before[0] = 0
    for looked in range(params.farthest):
        if s > end + params.horizon:
            state.spare[0] = least
            return
        following = EVER
        for arm in range(whole.size):
            while whole[arm] == s:
                fall_due(params.numerators, params.steps, params.remainders, whole, rest, arm)
                state.due[arm] += 1
                needed += 1
            following = min(following, whole[arm])
        left = max(0, plays * (s - now) - needed)
        if left < min(plays, least):
            state.before[0] = least if row == 0 else state.before[0]
            note_tight(state, row, s, left)
            row += 1
        least = min(least, left)
        if left == 0:
            return
        # whole plays are less than `short` ahead of shares in real numbers, so no later round leaves less than this
        if left - short >= min(least, short):
            state.spare[0] = min(least, left - short)
            return
        # what is due by `s` can be played whatever follows; shares that sum to the plays would be scanned for very long
        if looked > NEAR and is_settled(state, proposal):
            break
        s = following
    note_tight(state, row, s, 0)  # of this round alone
    state.before[0] = 0


@kernel
def can_join(state: RuleState, arm: int) -> bool:
    """Return whether the arm may be played beside those that `mark_served` entered, as far as `tight` tells."""
    for row in range(state.tight.size):
        if state.tight[row] > 0 and state.loose[row] < 1 and state.tight_due[row, arm] < 1:
            return False
    return True


@kernel
def mark_served(state: RuleState, arm: int) -> None:
    """Enter a play of the arm in what is known by `tight`."""
    for row in range(state.tight.size):
        if state.tight_due[row, arm] > 0:
            state.tight_due[row, arm] -= 1
        else:
            state.loose[row] -= 1


@kernel
def is_scanned(state: RuleState, now: int) -> bool:
    """Return whether what is known of the rounds to come decides the slate of the round after `now`."""
    plays = state.chosen.size
    return state.spare[0] >= plays or (state.tight[0] > now and state.before[0] >= plays)


@kernel
def close_barred(params: RuleParams, state: RuleState, now: int, proposal: int) -> None:
    """Close the arms that may not be played in the round after `now`, where no sets, windows, or caps
    beside several plays forbid it."""
    if not is_scanned(state, now):
        scan_deadlines(params, state, now, proposal)
    if state.spare[0] >= state.chosen.size:
        return
    for arm in range(state.open.size):
        if state.open[arm] == 1:
            state.open[arm] = can_join(state, arm)


@kernel
def pass_round(state: RuleState) -> None:
    """Enter in what is known of the rounds to come that one is played."""
    state.spare[0] = max(0, state.spare[0] - state.chosen.size)
    state.before[0] -= state.chosen.size


@kernel
def select_scanned(params: RuleParams, state: RuleState, now: int, plays: int) -> None:
    """Choose the best ranked slate that may be played, filled with the most urgent arms where too few are ranked."""
    if plays == state.chosen.size:
        close_barred(params, state, now, best_of(state, state.open) if plays == 1 else -1)
    else:  # all that are on offer
        state.tight[:] = 0
    for place in range(plays):
        arm = best_of(state, state.open)
        while arm >= 0 and not can_join(state, arm):
            state.open[arm] = 0
            arm = best_of(state, state.open)
        if arm < 0:
            arm = next_urgent(state, now, place)
        state.chosen[place], state.open[arm] = arm, 0
        mark_served(state, arm)
    pass_round(state)


@kernel
def earliest(state: RuleState, fitting: bool) -> int:
    """Return the open arm of earliest deadline, of those that fit if `fitting`; -1 where there is none."""
    best = -1
    for arm in range(state.open.size):
        if state.open[arm] == 1 and (not fitting or can_join(state, arm)):
            due = deadline(state.whole, state.rest, arm)
            if best < 0 or due < deadline(state.whole, state.rest, best):
                best = arm
    return best


@kernel
def next_urgent(state: RuleState, now: int, place: int) -> int:
    """Return the open arm of earliest deadline that may be played beside those in the places before, where no sets nor
    windows say more. Where a look was cut off, see FARTHEST, none may be seen to; then the theorem says that the
    earliest of all may."""
    best = earliest(state, True)
    if best >= 0:
        return best
    open_arms(state, now)
    for before in range(place):
        state.open[state.chosen[before]] = 0
    best = earliest(state, False)
    for arm in range(state.open.size):
        state.open[arm] = arm == best
    return best
