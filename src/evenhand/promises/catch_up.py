"""Shares of all rounds: arms that were away catch up, as far as any rule can that keeps shares on their own clocks.

x_i = r_i t - N_i counts all rounds, also those in which arm i was not on offer, which its own clock leaves out. Such an
arm is *behind* until its clock may count them too: until all floors can be kept from there on whatever is on offer
later. Then its clock is put forward. While arms on offer are behind, they are ranked alone, the furthest behind first;
else the learner ranks. So the rules are as they were, with another learner in some rounds. The clock of an arm with a
cap, which counts the rounds on offer, is never put forward: it is behind while it would be further behind than is
tolerated after a round without a play of it, and its cap has room.

Theorem. (1) Every clause holds on the arms' own clocks, as for every learner: an outage costs the other arms nothing
that they are promised. For an arm without a cap, (2) from when its clock is put forward until it is away again, N_i
>= floor(r_i t) - a, or r_i W - W_i <= a, counting everything. For shares of rounds alone, (3) while an arm is behind,
a play goes to one that is not only where no rule could do otherwise that keeps (1) whatever is on offer later; and
(4) while every arm is on offer and the same arms are behind, these have, together, the most plays that any such rule
can give them. So one arm that is behind by itself catches up as soon as it can.

Proof. (1) and (2) hold for every ranking, as the rules ask of a state only that it is safe. (3) By Theorem 1 of
`evenhand.promises.laminar` a play is refused only where (1) could then be broken. (4) Let D(s) be the plays of the
other arms that fall due by the round s, and L(s) the largest of 0 and D(u) - (u - s) over u >= s. Every rule has given
them L(s) plays by s, as they need D(u) by u and get at most one a round. L never falls and grows by at most one a
round. Here they get a play only where every arm that is behind is refused: the plays due by some u fill all rounds up
to u, and none of them is of an arm that is behind, as that could be played. So they had less than L(s) before it, and
have never more.

With several arms behind no rule has the most plays for each: two that return level, with every other arm ahead, get one
play a round between them, and each could have all. So their sum is what is promised, and the furthest behind goes
first. Nor can x_i be bounded: an arm that is away for good falls behind without end, and where the others are owed all
rounds, nothing is left to catch up with but what they are ahead by.

Source: ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.kernels.deadlines import NEVER, deadline
from evenhand.promises.laminar import look_uncapped
from evenhand.promises.rule_state import RuleParams, RuleState
from evenhand.promises.weight_rule import AS_RANKED, BY_DEADLINE, WeightParams, WeightState, is_safe
from evenhand.promises.windows import best_of

LEVEL = -np.inf
"""How far behind an arm is that is not."""
put_forward = lag = select_under = OPEN


@kernel
def forward_in_plays(params: RuleParams, state: RuleState, now: int) -> None:
    """Count the rounds away, and let the clock of each arm on offer count them where all floors can then be kept."""
    state.chosen[:] = -1
    state.ticks[:] = 1
    for arm in range(state.gone.size):
        state.gone[arm] += 1 - state.offered[arm]
        if state.offered[arm] == 1 and state.gone[arm] > 0 and params.cap_steps[arm] == 0 and state.whole[arm] < NEVER:
            state.whole[arm] -= state.gone[arm]
            if look_uncapped(params, state, now - 1)[0] >= 0:  # from a round before, in which nothing is played
                state.gone[arm] = state.tight[0] = state.spare[0] = 0
            else:
                state.whole[arm] += state.gone[arm]


@kernel
def forward_in_weight(params: WeightParams, state: WeightState, now: int) -> None:
    """Let the clock of each arm on offer count all weight where all shares can then be kept."""
    total = state.weights.sum()
    for arm in range(state.clocks.size):
        before = state.clocks[arm]
        state.clocks[arm] = total if state.offered[arm] == 1 else before
        if state.clocks[arm] > before and not is_safe(params, state, -1, 0):
            state.clocks[arm] = before


@kernel
def lag_in_plays(params: RuleParams, state: RuleState, now: int, arm: int) -> float:
    """Return by how many plays an arm is behind by all rounds, less what is tolerated; `LEVEL` if it is not behind."""
    late = deadline(state.whole, state.rest, arm) - state.gone[arm] <= now + 1 or params.cap_steps[arm] == 0
    if state.gone[arm] == 0 or state.whole[arm] >= NEVER or not late:
        return LEVEL
    rounds = now + state.gone[arm] - state.whole[arm]
    return float(params.rates[arm] * rounds - state.rest[arm] / params.denominator)


@kernel
def lag_in_weight(params: WeightParams, state: WeightState, now: int, arm: int) -> float:
    """Return by how much weight an arm is behind, times q; `LEVEL` if it is not behind."""
    total = state.weights.sum()
    if state.clocks[arm] == total or params.numerators[arm] == 0:
        return LEVEL
    return float(params.numerators[arm] * total - params.denominator * state.weights[arm])


@kernel
def select_behind(params: Any, state: Any, now: int) -> int:
    """Choose the arm of the round after `now` among those that are behind, else as the learner ranks, and play it."""
    put_forward(params, state, now)
    first, behind = best_of(state, state.offered), False
    for arm in range(state.offered.size):
        may = state.offered[arm] == 1 and state.cap_whole[arm] <= now
        behind = behind or (may and lag(params, state, now, arm) > LEVEL)
    if not behind:
        return int(select_under(params, state, now))
    for arm in range(state.offered.size):
        state.scores[arm] = lag(params, state, now, arm)
    select_under(params, state, now)
    return AS_RANKED if state.chosen[0] == first else BY_DEADLINE


@kernel
def grant_none(params: Any, state: Any, now: int, proposal: int) -> bool:
    """Leave it to `select_behind`."""
    return False


def catching_up(select: Any, *, weighed: bool) -> tuple[Any, Any]:
    """Return the kernels `select` and `is_grantable` of a rule under which arms that were away catch up."""
    forward, measure = (forward_in_weight, lag_in_weight) if weighed else (forward_in_plays, lag_in_plays)
    return bind(select_behind, put_forward=forward, lag=measure, select_under=select), grant_none
