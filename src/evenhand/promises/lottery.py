"""Draw what is played by lottery, so that every arm that may be played keeps a known chance, under any promise.

The proposal is drawn first and then *spread* over what may be played. With f the floor, S on offer, and rho_Q the rate
of an owner (the largest of its share, its window's n / w and the sum of its children's rates):

    p_i = lots_i + (rest) q_i,        lots_i = sum over the owners around i of (f rho'_Q + tickets_Q) / |Q and S|,

where rho'_Q is what of rho_Q is not already its children's that are on offer, and q the learner's own distribution,
over the arms that may be played where the learner ranks them.
Tickets are those of one that is behind: of a floor r clamp(1 - f + (x - (a + 1 - 4)) / 2, 0, 3) with x = r A - N, of a
token 1 / left in the last third of its window, of a set what its children's are not; they are scaled down to what f
leaves.

One play a round. A proposal that may not be granted is drawn anew, up to T = 32 times, then the most urgent arm is
played:

    P_i = p_i (1 - (1 - Z)^T) / Z + (1 - Z)^T 1{i is the most urgent},      Z = sum of p over what may be played,

for the arms that may be played, 0 for all others. So P_i >= p_i, at least f r_i for an arm with a share r_i. An arm is
barred only where some clause could not be kept after its play, or it is off offer: no rule could play it.

Soft caps. An arm at its cap has chance 0, and weighting by chances is then biased. With x_i = b + c_i (t + 1) - N_i,
which must be above 0 for a play, and v_i = min(1, x_i / s_i), one mark U is drawn evenly a round, and the learner's
part goes to the open arms with U >= 1 - v_i / max v alone; the maximum is over the open arms, so one of them is always
heard. So q is a mixture over at most k + 1 sets of arms, and all chances stay exact. See `evenhand.quotas.soft_caps`.

Several plays. The inclusion chances are pi = lots + what the learner's ranking fills up to 1, with the sum of the
plays; systematic sampling (W. G. Madow, Annals of Mathematical Statistics 20, 1949) draws a slate with exactly these,
one of at most k + 1. Where clauses bind, the slate is turned by a place drawn evenly, and the best allowed slate in
that order is played. So an arm of any allowed slate keeps at least pi_i / m, as the first in the order always stays;
and all chances are sums over at most (k + 1) m slates. They are those given the learner's ranking.

How often a floor forces, one play a round. While a learner never plays an arm, x drifts by -r (x - (a + 1 - 4)) / 2 and
has the noise variance r (1 - r), so its stationary variance is 1 - r, and x comes 4 above its centre, to where a play
is forced, in about exp(-16 / (2 (1 - r))) of the rounds, however large a and the horizon are. The price against forcing
alone is about 4 plays an arm, once. With a < 4 arms are kept ahead of their shares. Where the shares sum to one they
cannot all be ahead: there force is rare only with a >= 4.

Source: ours.
"""

from __future__ import annotations

import numpy as np

from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.deadlines import NEVER
from evenhand.kernels.random import below, uniform
from evenhand.promises.allowed import (
    BY_LOT,
    choose_allowed,
    choose_ranked,
    comes_before,
    most_urgent,
    open_round,
    put_ahead,
    refusal,
)
from evenhand.promises.deadline_scan import close_barred, mark_served, next_urgent, pass_round
from evenhand.promises.laminar import look, open_arms, take
from evenhand.promises.rule_state import RuleParams, RuleState
from evenhand.promises.windows import soonest

TRIES = 32
MARGIN = 4.0
"""By how many plays an owner is kept away from where it would be forced."""
STEEPNESS = 0.5
MOST_TICKETS = 3.0


@kernel
def tickets_of(params: RuleParams, state: RuleState, owner: int, now: int) -> float:
    """Return the tickets of an owner by how far it is behind, those of its children included."""
    tickets = 0.0
    if state.whole[owner] < NEVER:
        due = state.whole[owner] + state.rest[owner] / params.numerators[owner]
        odds = 1.0 - params.floor + STEEPNESS * (MARGIN - params.rates[owner] * (due - now - 1))
        tickets = params.rates[owner] * min(MOST_TICKETS, max(0.0, odds))
    token = soonest(params, state.left, owner)
    if token >= 0 and 3 * state.left[token] <= params.windows[token] + 2:
        tickets = max(tickets, 1.0 / max(1, state.left[token]))
    return tickets


@kernel
def weigh(params: RuleParams, state: RuleState, now: int, plays: int) -> float:
    """Fill `lots`, and return what is left of the plays of the next round for the learner's proposals."""
    owners, arms, floors, total = state.ticks.size, state.offered.size, 0.0, 0.0
    for owner in range(owners):
        state.within[owner] = state.offered[owner] if owner < arms else 0
        state.masses[owner] = state.extras[owner] = 0.0
    for owner in range(owners):  # children stand before their parents
        if state.ticks[owner] == 0:
            continue
        mass, parent = params.floor * params.rho[owner], params.parents[owner]
        tickets = max(state.extras[owner], tickets_of(params, state, owner, now))
        if parent >= 0:
            state.within[parent] += state.within[owner]
            state.masses[parent] += mass
            state.extras[parent] += tickets
        else:
            floors += mass
            total += tickets
        state.masses[owner] = max(0.0, mass - state.masses[owner])
        state.extras[owner] = tickets - state.extras[owner]
    free = max(0.0, plays - floors)
    # tickets share what the floors leave; unscaled, the lots of a round would sum to more than its plays
    scale = 1.0 if total <= free else free / total
    left = float(plays)
    for arm in range(arms):
        state.lots[arm], owner = 0.0, arm
        while owner >= 0 and state.offered[arm] == 1:
            state.lots[arm] += (state.masses[owner] + scale * state.extras[owner]) / state.within[owner]
            owner = params.parents[owner]
        state.lots[arm] = min(1.0, state.lots[arm])
        left -= state.lots[arm]
    return max(0.0, left)


@kernel
def is_plain(params: RuleParams, state: RuleState) -> bool:
    """Return whether there are neither sets nor windows."""
    return state.left.size == 0 and state.ticks.size == state.offered.size


@kernel
def open_what_may_be_played(params: RuleParams, state: RuleState, now: int) -> int:
    """Leave open the arms that may be played alone in the round after `now`, and return the most urgent of them;
    `room` says what each leaves over."""
    if is_plain(params, state):
        close_barred(params, state, now, -1)
        return next_urgent(state, now, 0)
    put_ahead(state)
    first = most_urgent(params, state, now)
    if state.spare[0] >= 1:
        for arm in range(state.open.size):
            state.room[arm] = state.spare[0] - 1
        return first
    for arm in range(state.open.size):
        if state.open[arm] == 1:
            state.chosen[0] = arm
            state.room[arm] = look(params, state, now)
            if state.room[arm] < 0:
                state.open[arm] = 0
    put_ahead(state)
    urgent = most_urgent(params, state, now)
    if urgent < 0:  # the look was cut off, see FARTHEST
        urgent, state.open[first], state.room[first] = first, 1, 0
    return urgent


@kernel
def soften_caps(params: RuleParams, state: RuleState, now: int) -> None:
    """Fill `inclusions` with the marks below which open arms are left out of the learner's part, see above."""
    most = 0.0
    for arm in range(params.soft_rounds.size):
        heard = 1.0
        if params.soft_rounds[arm] > 0.0:
            reached = state.cap_whole[arm] + state.cap_rest[arm] / params.cap_numerators[arm]
            heard = min(1.0, max(0.0, (now + 1 - reached) / params.soft_rounds[arm]))
        state.inclusions[arm] = heard
        if state.open[arm] == 1:
            most = max(most, heard)
    for arm in range(params.soft_rounds.size):
        state.inclusions[arm] = 1.0 - state.inclusions[arm] / most if state.open[arm] == 1 and most > 0.0 else 0.0


@kernel
def prepare_one(params: RuleParams, state: RuleState, now: int) -> tuple[int, float]:
    """Begin a round with one play: fill `lots`, `open` and, with soft caps, `inclusions`; return the most urgent arm
    and what is left for proposals."""
    open_round(params, state, now)
    left = weigh(params, state, now, 1)
    urgent = open_what_may_be_played(params, state, now)
    soften_caps(params, state, now)
    return urgent, left


@kernel
def hear(params: RuleParams, state: RuleState) -> None:
    """Draw into `within` which open arms are heard in the learner's part of the round, all where caps are hard."""
    mark = uniform(state.stream) if params.soft_rounds.size > 0 else 1.0
    for arm in range(state.open.size):
        state.within[arm] = state.open[arm] == 1 and state.inclusions[arm] <= mark


@kernel
def chances_by_mark(state: RuleState) -> None:
    """Fill `chances` with how likely each open arm is the first in the ranking of those that are heard."""
    for arm in range(state.scores.size):
        below = 1.0  # the mark from which on an arm of higher rank is heard
        for other in range(state.scores.size):
            if state.open[other] == 1 and comes_before(state, other, arm):
                below = min(below, state.inclusions[other])
        heard = state.open[arm] == 1 and state.scores[arm] > -np.inf
        state.chances[arm] = max(0.0, below - state.inclusions[arm]) if heard else 0.0


@kernel
def lot(state: RuleState) -> int:
    """Return the arm that wins by lot, -1 where the learner's proposal decides."""
    mark = uniform(state.stream)
    for arm in range(state.lots.size):
        mark -= state.lots[arm]
        if mark < 0.0:
            return arm
    return -1


@kernel
def spread(state: RuleState, left: float, urgent: int) -> None:
    """Turn the distribution of proposals in `chances` into that of the arms that are played, see above."""
    total = 0.0
    for arm in range(state.lots.size):
        state.chances[arm] = (state.lots[arm] + left * state.chances[arm]) if state.open[arm] == 1 else 0.0
        total += state.chances[arm]
    # Rounding can lift the sum above 1, and a power of a negative number would put a chance below 0.
    total = min(1.0, total)
    # the draws end after so many tries; without this part the chances said would not be those of the arm played
    missed = (1.0 - total) ** TRIES
    scale = (1.0 - missed) / total if total > 0.0 else 0.0
    for arm in range(state.lots.size):
        state.chances[arm] *= scale
    state.chances[urgent] += missed


@kernel
def finish_one(params: RuleParams, state: RuleState, now: int, arm: int) -> None:
    """Play the arm in the round after `now`."""
    if is_plain(params, state):
        state.chosen[0] = arm
        mark_served(state, arm)
        pass_round(state)
    else:
        state.chosen[0], state.spare[0] = arm, max(0, state.room[arm])
    take(params, state, now)


# ---------------------------------------------------------------------- several plays


@kernel
def keep_ranks(state: RuleState) -> None:
    """Put into `ranks` how many arms come before each in the ranking."""
    for arm in range(state.scores.size):
        before = 0
        for other in range(state.scores.size):
            before += comes_before(state, other, arm)
        state.ranks[arm] = before


@kernel
def fill_inclusion(state: RuleState, left: float, plays: int) -> None:
    """Fill `inclusions` with inclusion chances that sum to the plays: the lots, and down the ranking up to 1;
    arms that are not ranked share the rank behind all others."""
    for arm in range(state.lots.size):
        state.inclusions[arm] = state.lots[arm]
    for rank in range(state.lots.size):
        for arm in range(state.lots.size):
            if state.ranks[arm] == rank and state.offered[arm] == 1:
                more = min(1.0 - state.inclusions[arm], left)
                state.inclusions[arm] += more
                left -= more


@kernel
def sample(state: RuleState, mark: float, plays: int) -> None:
    """Choose the slate whose prefix sums of inclusion chances pass mark, mark + 1, ..."""
    total, place = 0.0, 0
    for arm in range(state.inclusions.size):
        total += state.inclusions[arm]
        if place < plays and total > mark + place:
            state.chosen[place] = arm
            place += 1
    arm = state.inclusions.size - 1
    while place < plays:  # where rounding ends the sum a hair below the plays
        taken = state.offered[arm] == 0
        for before in range(place):
            taken = taken or state.chosen[before] == arm
        if not taken:
            state.chosen[place] = arm
            place += 1
        arm -= 1


@routine
def allow(params: RuleParams, state: RuleState, now: int, turn: int, plays: int) -> int:
    """Exchange the slate for the best allowed one in its own order, turned by so many places, the other arms by
    their ranks; return what is left over."""
    arms = state.scores.size
    for arm in range(arms):
        state.scores[arm] = -state.ranks[arm]
    for place in range(plays):
        state.scores[state.chosen[place]] = arms + (place + turn) % plays
    open_arms(state, now)
    return choose_allowed(params, state, now, plays, choose_ranked(state, plays))


@kernel
def marks_around(state: RuleState, mark: float) -> tuple[float, float]:
    """Return between which marks systematic sampling draws the same slate as at `mark`."""
    low, high, total = 0.0, 1.0, 0.0
    for arm in range(state.inclusions.size):
        total += state.inclusions[arm]
        part = total - np.floor(total)
        if part <= mark:
            low = max(low, part)
        else:
            high = min(high, part)
    return low, high


@kernel
def draws_the_same(state: RuleState, plays: int) -> bool:
    """Return whether the slate holds the arms whose mass is 1."""
    same = True
    for place in range(plays):
        same = same and state.masses[state.chosen[place]] > 0.0
    return same


@kernel
def mark_slate(state: RuleState, plays: int) -> None:
    """Give the arms of the slate the mass 1, all others 0."""
    for arm in range(state.masses.size):
        state.masses[arm] = 0.0
    for place in range(plays):
        state.masses[state.chosen[place]] = 1.0


@routine
def add_up_chances(params: RuleParams, state: RuleState, now: int, plays: int) -> float:
    """Add up in `chances` with which probability each arm is in the slate; return the chance of that of mass 1."""
    low, slate_chance = 0.0, 0.0
    while low < 1.0:
        high = marks_around(state, low)[1]
        for turn in range(plays):
            # at the middle: at the ends rounding might draw the slate of the next interval
            sample(state, 0.5 * (low + high), plays)
            allow(params, state, now, turn, plays)
            for place in range(plays):
                state.chances[state.chosen[place]] += (high - low) / plays
            if draws_the_same(state, plays):
                slate_chance += (high - low) / plays
        low = high
    return slate_chance


@routine
def draw_slate(params: RuleParams, state: RuleState, now: int) -> int:
    """Draw the slate of the round after `now` by the ranking in `scores` and play it, with the inclusion chances in
    `chances`; return why it is this slate: the lot, or what the drawn slate had to give way to."""
    plays = min(state.chosen.size, open_round(params, state, now))
    for place in range(plays, state.chosen.size):
        state.chosen[place] = -1
    keep_ranks(state)
    fill_inclusion(state, weigh(params, state, now, plays), plays)
    mark, turn = uniform(state.stream), below(state.stream, plays)
    for arm in range(state.chances.size):
        state.chances[arm] = 0.0
    if state.spare[0] >= state.chosen.size and params.capped_slates == 0:
        sample(state, mark, plays)
        low, high = marks_around(state, mark)
        state.slate_chance[0] = high - low
        for arm in range(state.chances.size):
            state.chances[arm] = state.inclusions[arm]
        state.spare[0] -= state.chosen.size
        take(params, state, now)
        return BY_LOT
    sample(state, mark, plays)
    mark_slate(state, plays)
    least = allow(params, state, now, turn, plays)
    gave_way = not draws_the_same(state, plays)
    mark_slate(state, plays)
    state.slate_chance[0] = add_up_chances(params, state, now, plays)
    sample(state, mark, plays)
    why = refusal(params, state, now) if gave_way else BY_LOT
    allow(params, state, now, turn, plays)
    state.spare[0] = least
    take(params, state, now)
    return why
