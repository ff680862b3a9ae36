"""Keep shares of a weight, such as money or tokens: r_i W - W_i <= a for every arm at every moment, for every learner
and all weights up to w.

W and W_i are the weights told so far, of all decisions and of arm i's; W^i is that of the decisions with arm i on
offer; n arms have a share r_i > 0, and R is the sum of all shares, at most 1. All numbers are whole, r_i = p_i / q.

**Rule H**, where each weight is told before the next ask. Arm k can wait until d_k = (W_k + a) / r_k - W^k + w, in
weight of its own clock. A state is *safe* if for every k with r_k > 0

    sum over j with r_j > 0, d_j <= d_k (k included) of [r_j (d_k - d_j) + w]  <=  d_k

A proposal is granted iff the state after it is safe, with its weight where that is known, else with w; otherwise the
arm on offer with the least d_k is played. Theorem: if the start is safe, r_k W^k - W_k <= a always, for all arms,
weights, learners and offers. The start is safe iff a >= w max_k (k - 1) r_(k) / (k r_(k) + 1 - R_k), with r_(1) >=
r_(2) >= ... and R_k = r_(1) + ... + r_(k); no rule can promise less to equal shares.

Proof. With H(s) the sum over k of h_k(r_k (s - d_k)), h_k(y) = y + w if y > 0, else 0, safe means H(s) <= s for all s
>= 0, and then w <= d_k, which is the promise. Let i be forced with u <= w, and y_k = r_k (s + u - d_k) before. After it
arms on offer have y_k, i has y_i - u, absent ones have less than y_k. If y_i > u the sum falls by u, and if 0 < y_i <=
u by y_i + w >= u: H'(s) <= H(s + u) - u <= s. If y_i <= 0, no arm on offer has y > 0, as i is the earliest, and only
absent terms are left: H'(s) <= H(s) <= s. A state that is safe after a grant at w is so at u <= w: if y_j > 0 as just
now, else every term is at most that at w. At the start d_k = a / r_k + w, and the inequality of k is the bound.

**Rule P**, where up to f decisions are open, asked and not told yet, and every arm is always on offer. O decisions are
open, o_i of them arm i's; c is 1/2 or 1, fixed beforehand. With

    b_i = r_i (n - 1) + f * sum over k != i with r_k > 0 of max(c r_k, (1 - c) r_i),    A_i = a - w b_i >= 0

proposal j is granted iff r_i [W + w (O - o_i + 1{i != j})] - W_i <= A_i for every i with r_i > 0; otherwise the arm
with the least (W_i + c w o_i + A_i) / r_i is played. Theorem: r_i W - W_i <= A_i + w b_i = a at every moment, whatever
the learner, the weights and the order in which they are told; as to tell is always possible, also for every completion
of what is open, r_i [W + w (O - o_i)] - W_i <= a, which is what is shown and audited.

Proof. Fix a moment T and arm i. A decision asked before T counts its weight if told by T, else 0; U and U_k sum these
over the decisions asked before t, so U(T) = W(T), and the rule's V_k = W_k + c w o_k differs from U_k by at most c w
o_k upwards and (1 - c) w o_k downwards. Let t0 be just after the last grant before T, or the start: r_k U(t0) - U_k(t0)
<= A_k for all k. All later asks are forced; let D = (U_i(T) + A_i) / r_i >= U(t0). For an arm k != i forced after t0,
last at t_k, V_k + A_k <= (r_k / r_i)(V_i + A_i) there, hence U_k(T) + A_k <= r_k D + (w / r_i)(r_i + f max(c r_k, (1 -
c) r_i)). All other arms but i together have at most (1 - R_Z) D + A_Z, where Z is i and the arms forced after t0. The
sum is U(T) <= D + (w / r_i) sum over k of beta_k, so r_i W - W_i - A_i = r_i (U(T) - D) <= w b_i.

**Caps** W_i <= c_i W + b of K arms beside rule H, each weight known when asking, every arm on offer, r_i <= c_i, sum
c_i >= 1 (1 where there is none). Arm i has room for a weight u iff W_i + u <= c_i (W + u) + b. A proposal is granted
iff it has room and the state after it is safe; otherwise the arm with room that has the least d_k is played. Theorem:
both clauses always hold if a >= a*, the least of rule H, b >= (1 - 1/K) w, and a + b >= w + a*: with b = w caps cost
nothing.

Proof. Some arm has room: else sum W_i + K u > sum c_i (W + u) + K b, so (K - 1) u > K b. Only arms with room are
played, and c_i W grows otherwise. The floors as before; new is that the served i may have y_i <= 0 while arms without
room have y_k > 0. For these W_k > c_k (W + u) + b - u, so y_k < r_k (s - w) - g with g = a + b - w, and H'(s) is at
most the sum of r_k (s - w) - g + w over those with r_k (s - w) > g, and (s - w) + w = s: it is the inequality of the
start with g for a, and g >= a*.

Source: ours; the promise of rule H is that of packets against fluid shares, where one largest packet is known to be the
lag (A. K. Parekh, R. G. Gallager, IEEE/ACM Transactions on Networking 1, 1993), one-sided.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.promises.windows import best_of

AS_RANKED, BY_DEADLINE, BY_CAP = range(3)
"""As `evenhand.promises.allowed` has them."""


class WeightParams(NamedTuple):
    """The promise of a weight, in whole numbers of its unit's last digit."""

    numerators: Ints
    """p (n_arms,), 0 of an arm without a share."""
    denominator: int
    largest: int
    """w."""
    flight: int
    """f; 0 for rule H."""
    margins: Ints
    """(n_arms,): 2 q a for rule H, 2 q A_i for rule P."""
    halves: int
    """2 c."""
    cap_numerators: Ints
    cap_denominators: Ints
    """(n_arms,); 1/1 of an arm without a cap."""
    ahead: int
    """b."""
    learner: Any


class WeightState(NamedTuple):
    """Where the promise of a weight stands."""

    pulls: Ints
    weights: Ints
    """W_i (n_arms,)."""
    clocks: Ints
    """W^i (n_arms,)."""
    flying: Ints
    """o_i (n_arms,)."""
    ticking: Ints
    """(n_arms,): 1 for an arm whose clock counts the weight that is told next: it was on offer then."""
    weight: Ints
    """(1,): that of the decision to be taken, -1 where it is not known."""
    offered: Ints
    """(n_arms,): 1 for an arm that is on offer, else 0."""
    scores: Floats
    """(n_arms,): the learner's ranking, the highest first; -inf for an arm that it does not rank."""
    chosen: Ints
    """(1,): the arm that was played."""
    open: Ints
    """(n_arms,): 1 for an arm that may be played as far as is known in this round."""
    cap_whole: Ints
    """(n_arms,): -1, as no arm has a cap."""
    learner: Any


def least_tolerance(shares: Sequence[Fraction], largest: Fraction, flight: int) -> tuple[Fraction, int]:
    """Return the least tolerance for which the rules are proved, and 2 c."""
    owed = sorted((share for share in shares if share), reverse=True)
    if not flight:
        sums = [sum(owed[: k + 1]) for k in range(len(owed))]
        parts = [k * r / ((k + 1) * r + 1 - sums[k]) for k, r in enumerate(owed)]
        return largest * max(parts, default=Fraction(0)), 0
    return min((largest * max(_lags(owed, flight, halves), default=Fraction(0)), halves) for halves in (2, 1))


def _lags(shares: Sequence[Fraction], flight: int, halves: int) -> list[Fraction]:
    """Return b_i of each arm, of those without a share 0."""
    owed = [share for share in shares if share]
    return [
        r * (len(owed) - 1)
        + Fraction(flight, 2)
        * (sum(max(halves * other, (2 - halves) * r) for other in owed) - max(halves, 2 - halves) * r)
        if r
        else Fraction(0)
        for r in shares
    ]


def weight_parameters(
    numerators: Sequence[int],
    denominator: int,
    tolerance: int,
    largest: int,
    flight: int,
    learner: Any,
    caps: Sequence[Fraction] = (),
    ahead: int = 0,
) -> WeightParams:
    """Return the parameters of the rule that keeps the shares within this tolerance, which is at least the least, and
    the caps, if there are any, within `ahead`."""
    shares = [Fraction(p, denominator) for p in numerators]
    halves = least_tolerance(shares, Fraction(largest), flight)[1]
    lags = _lags(shares, flight, halves) if flight else [Fraction(0)] * len(shares)
    margins = np.array([int(2 * denominator * (tolerance - largest * lag)) for lag in lags], np.int64)
    p, q = np.array([cap.as_integer_ratio() for cap in caps or [Fraction(1)] * len(shares)], np.int64).T.copy()
    whole = np.array(numerators, np.int64)
    return WeightParams(whole, denominator, largest, flight, margins, halves, p, q, ahead, learner)


def weight_state(arms: int, learner: Any) -> WeightState:
    """Return the state before the first round."""
    pulls, weights, clocks, flying, open = (np.zeros(arms, np.int64) for _ in range(5))
    ticking, offered = np.ones((2, arms), np.int64)
    known, chosen, scores, capped = np.full(1, -1), np.full(1, -1), np.zeros(arms), np.full(arms, -1)
    books = pulls, weights, clocks, flying, ticking, known
    return WeightState(*books, offered, scores, chosen, open, capped, learner)


@kernel
def slack_of(params: WeightParams, state: WeightState, arm: int, played: int, weight: int) -> int:
    """Return p_k times d_k of rule H, q (W_k + a) + p_k w - p_k W^k, after `played` has been played with a weight."""
    clock = state.clocks[arm] + (weight if state.offered[arm] == 1 else 0)
    got = state.weights[arm] + (weight if arm == played else 0)
    p, q = params.numerators[arm], params.denominator
    slack: int = q * got + params.margins[arm] // 2 + p * (params.largest - clock)
    return slack


@kernel
def is_safe(params: WeightParams, state: WeightState, played: int, weight: int) -> bool:
    """Return whether the state is safe after `played` has been played with a weight."""
    for k in range(params.numerators.size):
        p = params.numerators[k]
        if p == 0:
            continue
        slack, need = slack_of(params, state, k, played, weight), 0
        for j in range(params.numerators.size):
            other = params.numerators[j]
            if other > 0:
                early = other * slack - p * slack_of(params, state, j, played, weight)
                if early >= 0:
                    need += early + params.denominator * p * params.largest
        if need > params.denominator * slack:
            return False
    return True


@kernel
def is_within(params: WeightParams, state: WeightState, played: int, weight: int) -> bool:
    """Return whether every arm is within its margin of rule P, however heavy what is open turns out to be, once
    `played` has been asked; with its weight where that is known, else -1."""
    total, open = max(weight, 0) + state.weights.sum(), state.flying.sum()
    for k in range(params.numerators.size):
        others = open - state.flying[k] + (1 if weight < 0 and k != played else 0)
        got = state.weights[k] + (weight if k == played and weight >= 0 else 0)
        behind = params.numerators[k] * (total + params.largest * others) - params.denominator * got
        if params.numerators[k] > 0 and 2 * behind > params.margins[k]:
            return False
    return True


@kernel
def has_room(params: WeightParams, state: WeightState, arm: int) -> bool:
    """Return whether the arm's cap allows the weight to come."""
    p, q, weight = params.cap_numerators[arm], params.cap_denominators[arm], state.weight[0]
    total = state.weights.sum() + weight
    return bool(p == q or q * (state.weights[arm] + weight) <= p * total + q * params.ahead)


@kernel
def is_allowed(params: WeightParams, state: WeightState, arm: int) -> bool:
    """Return whether an arm may be played, as the learner wishes."""
    weight = state.weight[0]
    if params.flight > 0:
        return is_within(params, state, arm, weight)
    return has_room(params, state, arm) and is_safe(params, state, arm, weight if weight >= 0 else params.largest)


@kernel
def earliest(params: WeightParams, state: WeightState) -> int:
    """Return the arm on offer, with room, that needs weight first, the best ranked one where none is owed any."""
    found, least = -1, 0
    for arm in range(params.numerators.size):
        p = params.numerators[arm]
        state.open[arm] = state.offered[arm] == 1 and has_room(params, state, arm)
        if p > 0 and state.open[arm] == 1:
            due = 2 * (params.denominator * state.weights[arm] - p * state.clocks[arm]) + params.margins[arm]
            due += params.denominator * params.halves * params.largest * state.flying[arm]
            if found < 0 or due * params.numerators[found] < least * p:
                found, least = arm, due
    if found < 0:
        found = best_of(state, state.open)
    for arm in range(state.open.size):
        if found < 0 and state.open[arm] == 1:
            found = arm
    return found


@kernel
def enter_weight(state: WeightState, arm: int, weight: int) -> None:
    """Count the weight of a decision, on the clocks of the arms that were on offer then."""
    state.weights[arm] += weight
    for other in range(state.ticking.size):
        state.clocks[other] += weight * state.ticking[other]


@kernel
def _play(state: WeightState, arm: int) -> None:
    """Enter that an arm is played, with its weight where that is known."""
    state.chosen[0] = arm
    state.pulls[arm] += 1
    for other in range(state.offered.size):
        state.ticking[other] = state.offered[other]
    if state.weight[0] < 0:
        state.flying[arm] += 1
    else:
        enter_weight(state, arm, state.weight[0])


@kernel
def grant_weighed(params: WeightParams, state: WeightState, now: int, proposal: int) -> bool:
    """Play a proposal in the round after `now` if it may be; return whether it was."""
    granted = state.offered[proposal] == 1 and is_allowed(params, state, proposal)
    if granted:
        _play(state, proposal)
    return granted


@kernel
def select_weighed(params: WeightParams, state: WeightState, now: int) -> int:
    """Choose the arm of the round after `now` down the ranking in `scores`, and play it; return why it is this."""
    for arm in range(state.offered.size):
        state.open[arm] = state.offered[arm]
    first = arm = best_of(state, state.open)
    while arm >= 0 and not is_allowed(params, state, arm):
        state.open[arm] = 0
        arm = best_of(state, state.open)
    if arm < 0:
        arm = earliest(params, state)
    barred = first >= 0 and not has_room(params, state, first)
    _play(state, arm)
    return AS_RANKED if arm == first else BY_CAP if barred else BY_DEADLINE
