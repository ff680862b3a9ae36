"""Which arms may be played so that every clause of a promise can still be kept: one test for floors of arms and of
nested sets, caps, windows, several plays a round, and arms that come and go.

Letters. S is what is on offer in the round after `now`, C the slate that is played, m the plays of a round. A set Q of
arms has a clock A_Q, the rounds in which one of its arms was on offer, and N_Q plays of its arms together. Sets are
nested or disjoint; they and the arms, call them owners, form a forest. Time is absolute: a play that an owner owes has
a deadline as in `evenhand.kernels.deadlines`, which a round without any of its arms on offer moves by one.

    dem_Q(s)  = floor(r_Q (A_Q + s)) - a - N_Q
    need_Q(s) = max(dem_Q(s), sum of need over the children of Q, 0)
    J(s)      = sum over tokens of windows of max(0, 1 + floor((s - c) / b))
    G(s)      = m s - sum of need over the roots - J(s)

Theorem 1 (floors). Let r_Q <= 1, or r_Q <= |Q| if nothing ever goes off offer, and no windows. All floors can be kept
against every learner and every choice of what is on offer iff G(s) >= 0 for every s >= 0.

Proof. Necessary: offer everything for s rounds. Sufficient: the vectors x >= 0 with x(Q) >= D_Q for all Q are a
contrapolymatroid: its minimal vectors have one sum, need(D), and "C lies below a minimal vector" is a matroid. Let C be
a basis of S for D_0, extended for D_1, D_2, ..., smaller sets first so that it stays independent; D_s demands dem(s +
1) of owners that meet S and dem(s) of the others, until |C| = min(m, |S|). If it is full with m arms by stage s, need
falls by m, from at most m (s + 1). Else C spans S at s, and need afterwards is at most what it was with one play of all
of S taken off, need(s) <= m s. QED.

Before the first round this says that the rates of the roots, each the larger of its share and the sum of the rates
inside it, add up to at most m. The forced play is that of the arms that are due first, smaller sets before larger ones.

Caps with m = 1 and everything on offer (r_i <= c_i, sum c >= 1 where an arm without a cap counts as 1, r_Q at most the
sum of its arms' caps): a proposal may be granted iff its cap has room and G >= 0 after it.

Proof. Some arm is below its cap. Play such an arm that lowers need(s) at the earliest s where any does. Before that s,
all of need(s) is due to disjoint sets Q of arms at their caps, whose plays are at least sum ceil(c_i (t + 1)) >= r_Q (t
+ 1), so that need(s) is at most the sum of their r_Q (s - 1), and that at most s - 1. QED.

With m > 1 also H(s) = sum_i min(s, U_i - N_i) - m s >= 0, where U_i is what the cap of i allows in s rounds, and
dem_Q(s) <= sum_{i in Q} min(s, U_i - N_i). This is not proved; it agreed with an exhaustive search in every case that
was tried. Where arms come and go the same rule holds if every offer has min(m, |S|) arms without caps and capped arms
have no share.

Caps with m = 1 while arms come and go. A round is excused if every arm on offer is at its cap: the play in it counts
for no cap. Both clocks of an arm go on, so that an excused round gives no room that plays were not kept from. Without a
share on a capped arm the test is the same. With one:

Theorem 2. Let arm i have a share r_i <= c_i of its own, R the largest rate of all that is owed, X the most that sets of
others, none inside another, can add up of 1 - 1/q, q the denominators of their shares, and

    (a + b + c_i) (1 + (1 - R) / r_i) + (1 - R) / r_i > X.

Then, in a round that is not excused, floors never force a play of arm i at its cap.

Proof. Say they did, and arm j on offer has room. It is refused because at some s the plays due by s, without one of
j, are s, and arm i is due by s. All D_k(s) = floor(r_k (A_k + s)) - a - N_k are at most r_k s + x_k, with x_k =
r_k A_k - a - N_k. As all floors were kept, x_k <= 1 - 1/q_k; as arm i is at its cap, N_i >= c_i (A_i + 1) + b, so
x_i <= -(a + b + c_i). So s <= R s + X - (a + b + c_i). And D_i(s) >= 1 says r_i (A_i + s) >= 1 + a + b + c_i (A_i + 1),
so r_i s >= 1 + a + b + c_i. Together they contradict the condition. QED.

In general such promises cannot be kept. Let "a" have a share and a cap of 1/2, "b" and "c" of 1/4 each, beside an arm
that is always on offer: by an exhaustive search some choice of what is on offer breaks the promise within 12 rounds,
whatever the rule does.

Windows. A token with c rounds left and window w is served once in every b <= w rounds, the b of a chain in which each
divides the next. If everything is on offer, m = 1 and s >= need(s) + J(s) for every s, the windows have a cyclic
schedule and the floors fit into the rounds that it leaves free.

Proof. Let x_i be the latest free residue up to c_i. All rounds in (x_i + j b_i, c_i + j b_i] are taken by windows. From
an s inside such an interval go to the end s* of the run of taken rounds; it ends if anything else is due. The rounds
that windows take by s are J(s*) - (s* - s), and need(s) <= need(s*) <= s* - J(s*). QED.

Where arms come and go and every window is at least as long as there are arms with windows, all windows can be kept iff
by every s at most m s tokens are due, each counted once. With m = 1 no shorter windows can be kept; with m > 1, windows
of at least ceil(k / m) rounds, for k windows, can.

Proof, necessary. Let w_1 be shorter than the number of arms. Offer arm 1 and one other arm. Either the other arm is
played and arm 1 loses a round, or arm 1 is played and the other arm loses a round for good. So w_1 - 1 other arms bring
arm 1 to its last round again and again, and each time one more arm, offered with it, loses a round. QED.

The look. G falls only at deadlines. With the floors r s - a - N in the place of whole plays G would be concave with a
slope of m - R >= 0 in the end, R the largest rate of all that is owed; it would never fall. G passes that by less than
`short`: a play for each root that owes something, or for its children if these are more, and one for each token. So
what is left over at any later s is at least G(s) - short, which ends the look. Where m - R is so small that this takes
long, it ends where all plays that are tried are needed: by there and by any later s they cost nothing.

Where only single arms are owed a share, one look tells all slates: see `evenhand.promises.deadline_scan`.

Refusals. With sets, a play that is needed by s need not be by a later round. But no play makes the difference of what
is due to a set itself and to its children larger, and G(s) never grows while everything is on offer. So an arm that may
not be played because of a round s with G(s) = 0 may not until s; a look that has tried it refuses all such arms.

Source: ours. The forced play is that of earliest-deadline-first scheduling, C. L. Liu, J. W. Layland, Journal of the
ACM 20 (1973); contrapolymatroids: J. Edmonds, "Submodular functions, matroids, and certain polyhedra" (1970); chains:
M. Y. Chan, F. Y. L. Chin, IEEE Transactions on Computers 41 (1992).
"""

from __future__ import annotations

from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.deadlines import NEVER, advance, deadline, fall_due, round_up
from evenhand.promises.rule_state import RuleParams, RuleState
from evenhand.promises.windows import in_list, is_listed, soonest

EVER = 3 * NEVER
"""Later than any position."""
NEAR = 256
"""After so many deadlines a look ahead that has found no end tries whether it may end for another reason."""
FARTHEST = 1 << 17
"""After so many, or in a scan after `evenhand.kernels.deadlines.PATIENCE`, a proposal is refused that could be
granted only if what follows were known too."""
ONCE = 1 << 40
"""The period of a token that is counted once."""


@kernel
def play(params: RuleParams, whole: Ints, rest: Ints, arm: int) -> None:
    """Move the positions of an arm and of all sets around it by one play."""
    owner = arm
    while owner >= 0:
        advance(params.numerators, params.steps, params.remainders, whole, rest, owner)
        owner = params.parents[owner]


@kernel
def begin_look(params: RuleParams, state: RuleState, now: int) -> tuple[int, int]:
    """Put the deadlines after `chosen` is played ahead; return `short`, see above, and the last first deadline."""
    whole, rest, owners, short, end = state.ahead_whole, state.ahead_rest, state.ahead_whole.size, 0, now
    for owner in range(owners):
        whole[owner], rest[owner] = state.whole[owner], state.rest[owner]
        state.due[owner] = state.below[owner] = 0
    for token in range(state.left.size):
        passes = state.ticks[params.token_owners[token]]
        # by its period, even where it has longer: a schedule that waits may find the slot of another token taken
        state.coming[token] = now + 1 + min(state.left[token] - passes, params.periods[token])
    for place in range(state.chosen.size):
        owner = state.chosen[place]
        if owner >= 0:
            play(params, whole, rest, owner)
        while owner >= 0 and state.left.size > 0:
            token = soonest(params, state.coming, owner)
            if token >= 0:
                state.coming[token] = now + 1 + min(params.windows[token], params.periods[token])
            owner = params.parents[owner]
    for owner in range(owners):  # children stand before their parents
        lacks, parent = max(int(whole[owner] < NEVER), state.below[owner]), params.parents[owner]
        if parent >= 0:
            state.below[parent] += lacks
        else:
            short += lacks
        round_up(params.numerators, whole, rest, owner)
        if whole[owner] < NEVER:
            end = max(end, whole[owner])
    for owner in range(owners):
        state.below[owner] = 0
    for token in range(state.left.size):
        short += 1
        end = max(end, state.coming[token])
    return max(0, short - 1), end


@kernel
def need_one_more(params: RuleParams, state: RuleState, owner: int) -> int:
    """Enter that another play of an owner is due in a look ahead; return by how many the roots need more."""
    inside = owner
    fall_due(params.numerators, params.steps, params.remainders, state.ahead_whole, state.ahead_rest, owner)
    state.due[owner] += 1
    # a set needs what it owes or what its children need, whichever is more; both together would count a play twice
    if state.due[owner] <= state.below[owner]:
        return 0
    while params.parents[inside] >= 0:
        inside = params.parents[inside]
        state.below[inside] += 1
        if state.below[inside] <= state.due[inside]:
            return 0
    return 1


@kernel
def next_due(state: RuleState) -> int:
    """Return the next deadline of a look ahead."""
    s = EVER
    for owner in range(state.ahead_whole.size):
        s = min(s, state.ahead_whole[owner])
    for token in range(state.coming.size):
        s = min(s, state.coming[token])
    return s


@kernel
def needed_by(params: RuleParams, state: RuleState, s: int) -> tuple[int, int]:
    """Enter all plays that are due at `s`; return by how many the roots and the tokens need more, and the next
    deadline."""
    more, following = 0, EVER
    for owner in range(state.ahead_whole.size):
        while state.ahead_whole[owner] == s:
            more += need_one_more(params, state, owner)
        following = min(following, state.ahead_whole[owner])
    for token in range(state.coming.size):
        if state.coming[token] == s:
            state.coming[token] += params.periods[token]
            more += 1
        following = min(following, state.coming[token])
    return more, following


@kernel
def reduces_demand(params: RuleParams, state: RuleState, arm: int) -> bool:
    """Return whether a play of the arm lowers what is needed by the round that a look ahead came to."""
    owner, found = arm, False
    while owner >= 0 and not found:
        found = state.due[owner] > state.below[owner]
        owner = params.parents[owner]
    return found


@kernel
def refuse(params: RuleParams, state: RuleState, s: int) -> None:
    """Note, in a look ahead that has come to a round `s` by which every play is needed, all arms that may not be played
    until then: those whose play is not."""
    for arm in range(state.refused.size):
        if not reduces_demand(params, state, arm):
            state.refused[arm] = s


@kernel
def refuse_for_urgent(params: RuleParams, state: RuleState, now: int) -> None:
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
def close_useless(params: RuleParams, state: RuleState, now: int, s: int) -> None:
    """Close, in a look ahead that came to a round `s` by which too much is due, all arms whose play is not needed by
    `s`: they would leave as little. A play of the arm that was looked at takes nothing from what others would help."""
    if state.left.size == 0:  # beside windows a play may help by a later round, so nothing is refused for longer
        refuse(params, state, s)
        close_refused(state, now)
        return
    for arm in range(state.open.size):
        owner, needed = arm, reduces_demand(params, state, arm)
        while owner >= 0:
            needed = needed or covers(params, state, owner, s - now - 1)
            owner = params.parents[owner]
        if not needed:
            state.open[arm] = 0


@kernel
def open_arms(state: RuleState, now: int) -> int:
    """Open the arms on offer whose cap has room, or where none has, all that are on offer; return how many are."""
    count = 0
    for arm in range(state.open.size):
        state.open[arm] = state.offered[arm] == 1 and state.cap_whole[arm] <= now
        count += state.open[arm]
    if count == 0:
        for arm in range(state.open.size):
            state.open[arm] = state.offered[arm]
            count += state.open[arm]
    return count


@kernel
def close_refused(state: RuleState, now: int) -> None:
    """Close the arms that may not be played in the round after `now`, as a look ahead before has shown."""
    for arm in range(state.open.size):
        if state.refused[arm] > now:
            state.open[arm] = 0


@kernel
def are_all_needed(params: RuleParams, state: RuleState) -> bool:
    """Return whether `chosen` is as many plays as a round has and each lowers what is needed by the round that a look
    ahead came to, and so by every later one: from there on as much is left over as before. A play lowers what a window
    needs in the last round for it; earlier it may be due as often afterwards."""
    needed = True
    for place in range(state.chosen.size):
        owner, lowers = state.chosen[place], False
        while owner >= 0:
            token = soonest(params, state.left, owner)
            last = token >= 0 and min(state.left[token], params.periods[token]) <= 1
            lowers = lowers or last or state.due[owner] >= max(1, state.below[owner])
            owner = params.parents[owner]
        needed = needed and lowers
    return bool(needed)


@kernel
def covers(params: RuleParams, state: RuleState, owner: int, rounds: int) -> bool:
    """Return whether fewer tokens of an owner are due in so many rounds after the next if it is played in the next."""
    token = soonest(params, state.left, owner)
    if token < 0:
        return False
    period = params.periods[token]
    unserved = rounds - min(state.left[token] - 1, period)
    served = rounds - min(params.windows[token], period)
    return unserved >= 0 and unserved // period > served // period


@routine
def look_uncapped(params: RuleParams, state: RuleState, now: int) -> tuple[int, int]:
    """Return the least that is left over at any round if `chosen` is played in the round after `now`, or a lower bound
    of it; below 0, some floor or window could then not be kept, whatever the caps. And the round by which too much is
    then due, 0 where none was found."""
    if is_listed(params):
        return (0 if in_list(params, state, soonest(params, state.left, state.chosen[0])) else -1), 0
    short, end = begin_look(params, state, now)
    plays, needed, least = state.chosen.size, 0, NEVER
    s = next_due(state)
    for looked in range(params.farthest):
        if looked > NEAR and are_all_needed(params, state):
            return 0, 0
        if s > end + params.horizon:
            return least, 0
        more, following = needed_by(params, state, s)
        needed += more
        left = plays * (s - now - 1) - needed
        least = min(least, left)
        if left < 0:
            return left, s
        if left - short >= min(least, short):
            return min(least, left - short), 0
        s = following
    return -1, 0  # cut off: to grant a play that nobody has checked might break a promise, to refuse it does not


@routine
def look(params: RuleParams, state: RuleState, now: int) -> int:
    """Do what `look_uncapped` does, for all clauses, and close the arms that it shows to be barred."""
    least, s = look_uncapped(params, state, now)
    if s > 0 and state.chosen.size == 1:
        close_useless(params, state, now, s)
    if least >= 0 and params.capped_slates > 0 and not caps_can_be_kept(params, state, now):
        return -1
    return least


@kernel
def allow_by(params: RuleParams, state: RuleState, now: int, s: int) -> int:
    """Enter what the caps allow in the rounds after the next up to `s`; return that of all arms together."""
    whole, rest, total = state.cap_ahead_whole, state.cap_ahead_rest, 0
    for owner in range(state.within.size):
        state.within[owner] = 0
    for owner in range(state.within.size):  # children stand before their parents
        if owner < state.room.size:
            # no arm is played twice in a round, so a cap that was saved up allows one play for each round
            while state.room[owner] < s - now - 1 and whole[owner] < s:
                state.room[owner] += 1
                advance(params.cap_numerators, params.cap_steps, params.cap_remainders, whole, rest, owner)
            state.within[owner] = state.room[owner]
            total += state.room[owner]
        if params.parents[owner] >= 0:
            state.within[params.parents[owner]] += state.within[owner]
    return total


@routine
def caps_can_be_kept(params: RuleParams, state: RuleState, now: int) -> bool:
    """Return whether, after `chosen` is played, the caps leave enough arms for every slate, and every owner its plays.

    With real numbers in the place of whole plays, what the caps allow less the plays, and less what an owner is owed,
    is concave in s and never falls, as its slope is at least 0 in the end. Counted in whole plays it is larger by one
    for each arm at most, and for an owner by one more; so it stays at least 0 from where it is that large.
    """
    _, end = begin_look(params, state, now)
    plays, arms = state.chosen.size, state.room.size
    for arm in range(arms):
        state.cap_ahead_whole[arm], state.cap_ahead_rest[arm] = state.cap_whole[arm], state.cap_rest[arm]
        state.room[arm] = 0
    for place in range(plays):
        arm = state.chosen[place]
        if arm >= 0:
            whole, rest = state.cap_ahead_whole, state.cap_ahead_rest
            advance(params.cap_numerators, params.cap_steps, params.cap_remainders, whole, rest, arm)
    for s in range(now + 2, end + params.capped_slates + 2):
        needed_by(params, state, s)
        least = allow_by(params, state, now, s) - plays * (s - now - 1)
        for_ever = least >= arms
        for owner in range(state.due.size):
            if state.ahead_whole[owner] < NEVER:
                left = state.within[owner] - state.due[owner]
                least = min(least, left)
                for_ever = for_ever and left > params.sizes[owner]
        if least < 0:
            return False
        if for_ever:
            return True
    return True


@kernel
def take(params: RuleParams, state: RuleState, now: int) -> None:
    """Enter that `chosen` is played in the round after `now`; no cap counts the play of an arm that stands at it."""
    for token in range(state.left.size):
        state.left[token] -= state.ticks[params.token_owners[token]]
    for place in range(state.chosen.size):
        owner = state.chosen[place]
        if owner >= 0:
            state.pulls[owner] += 1
            play(params, state.whole, state.rest, owner)
            whole, rest = state.cap_whole, state.cap_rest
            if whole[owner] <= now:
                advance(params.cap_numerators, params.cap_steps, params.cap_remainders, whole, rest, owner)
        while owner >= 0 and state.left.size > 0:
            token = soonest(params, state.left, owner)
            if token >= 0:
                state.left[token] = params.windows[token]
            owner = params.parents[owner]
