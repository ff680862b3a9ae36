"""Intervals from regressions of arms and of groups, and who is pulled by them: the arm with the top interval, or one
of a chain that starts there.

Arm i has the interval beta_i'x +- w_i. An arm of a group P that is corrected has beta_i'x - psi_P'x + psi_target'x
+- (w_i + b_P + b_target), with

    w_i = |Phi^{-1}(delta / (2 n t))| sigma sqrt(x (X_i'X_i)^+ x'),
    b_P = |Phi^{-1}(delta / (2 (n/|P|) T))| sigma sqrt(x (X_P'X_P)^+ x'),

psi_P the regression over all pulls of the group, and the target either a reference group, or the regression over
all pulls, or a scalar rho for psi_target'x (then without a width). With probability t^(-p) a random arm is pulled
instead, p = 1/3 in the paper; t counts rounds and rows that were learned before.

Sources: Schumann, Lang, Mattei, Dickerson (2022), Algorithm 1, where the Gram matrix in b_P is printed and its inverse
is meant; Joseph, Kearns, Morgenstern, Roth (2016) for the chain.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from evenhand.kernels.arrays import Bools, Floats, Ints, Words
from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.kernels.linear import Regressions, intercept, learn, product, spread
from evenhand.kernels.normal import quantile
from evenhand.kernels.random import below, uniform
from evenhand.policy.kernel_set import Kernels, reason, unknown_probability

SAFE = 1.0 + 1e-9
"""By which factor a bound on a width is raised, far above its rounding."""
EXACTLY = -1.0
"""In place of a length: the width itself, not a bound."""
EXPLORED = reason("explored at random", "explored")
HIGHEST = reason("highest upper end of its interval", "optimistic")
UNKNOWN = reason("no interval yet", "untried")
CHAINED = reason("drawn from intervals that overlap in a chain", "drawn")
TOP, CHAIN, CHAIN_WITHIN, TWO_SWEEPS = 0, 1, 2, 3
"""Who is pulled: the top interval; one of its chain; one of its chain inside its group; one of the authors' program's
two sweeps."""


class IntervalParams(NamedTuple):
    dimension: int
    delta: float
    noise_scale: float
    exploration: float
    horizon: int
    """T, 0 for none."""
    anytime: bool
    """Whether an arm's level has t (the paper) or T (the authors' program)."""
    square_root: bool
    """Whether a width takes the root of the variance (the paper) or the variance itself (the authors' program)."""
    needed: int
    """From how many samples on a regression counts."""
    fewest: bool
    """Whether of several arms without an interval the one with fewest samples goes first, or the first."""
    pick: int
    groups: Ints
    sizes: Floats
    """(n_groups + 1,): arms of each group, and of all."""
    corrected: Bools
    """(n_groups,)"""
    target: int
    """Among the groups' regressions that towards which arms are corrected, n_groups for the pooled one, -1 for the
    scalar `shift`."""
    shift: float


class IntervalState(NamedTuple):
    stream: Words
    eligible: Bools
    """(n_arms,): which arms may be pulled; all, unless another rule has decided for a group."""
    middles: Floats
    halves: Floats
    chained: Bools
    levels: Floats
    """(n_groups + 2,): |Phi^{-1}| at the level of each group, of the pooled regression, and of an arm."""
    until: Ints
    """(1,): the round, or the horizon, for which the groups' levels hold."""
    fit: Regressions
    """The arms' regressions, and where arms are corrected the groups' after them and the pooled one."""


@kernel
def group_of(params: Any, contexts: Floats, arm: int) -> int:
    """Return the arm's group: contexts of rounds with another membership carry it in a last column."""
    if contexts.shape[1] > params.dimension:
        return int(contexts[arm, params.dimension])
    return params.groups[arm]


@kernel
def set_levels(params: IntervalParams, state: IntervalState, round: int) -> None:
    groups, arms = params.corrected.size, state.middles.size
    latest = max(params.horizon, round)
    state.levels[groups + 1] = abs(quantile(params.delta / (2.0 * arms * (round if params.anytime else latest))))
    if state.until[0] != latest and state.fit.ranks.size > arms:
        state.until[0] = latest
        for group in range(groups + 1):
            state.levels[group] = abs(quantile(params.delta * params.sizes[group] / (2.0 * arms * latest)))


@kernel
def width(params: IntervalParams, state: IntervalState, row: int, level: int, x: Floats, length: float) -> float:
    """Return what a regression adds to the half width at x; with |x| as `length` >= 0, a quick bound on it."""
    if state.fit.samples[row] < params.needed:
        return math.inf
    scale = state.levels[level] * params.noise_scale
    if length >= 0.0:
        deviation = state.fit.lengths[row] * length
        return scale * (deviation if params.square_root else deviation * deviation)
    variance = spread(state.fit, row, x)
    return scale * (math.sqrt(variance) if params.square_root else variance)


@kernel
def middle(params: IntervalParams, state: IntervalState, contexts: Floats, arm: int) -> float:
    x, fit, arms = contexts[arm], state.fit, state.middles.size
    centre = product(fit, fit.coefficients[arm], x)
    group = group_of(params, contexts, arm)
    if params.corrected[group]:
        centre -= product(fit, fit.coefficients[arms + group], x)
        centre += params.shift if params.target < 0 else product(fit, fit.coefficients[arms + params.target], x)
    return centre


@kernel
def half(params: IntervalParams, state: IntervalState, contexts: Floats, arm: int, length: float) -> float:
    x, arms, groups = contexts[arm], state.middles.size, params.corrected.size
    total = width(params, state, arm, groups + 1, x, length)
    group = group_of(params, contexts, arm)
    if params.corrected[group]:
        total += width(params, state, arms + group, group, x, length)
        if params.target >= 0:
            total += width(params, state, arms + params.target, params.target, x, length)
    return total


@kernel
def half_at_most(params: IntervalParams, state: IntervalState, contexts: Floats, arm: int) -> float:
    length = float(intercept(state.fit))
    for j in range(params.dimension):
        length += contexts[arm, j] * contexts[arm, j]
    # Without the factor a bound that rounding put below the width would drop an arm that ties with the best.
    return half(params, state, contexts, arm, math.sqrt(length) * SAFE)


choose_eligible = OPEN


@kernel
def rank_again(params: object, state: Any, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    """Rank the arms by choosing again and again, each time among those that were not chosen yet."""
    why = 0
    for place in range(scores.size):
        arm, reason_of_arm = choose_eligible(params, state, contexts, round, waiting)
        why = reason_of_arm if place == 0 else why
        scores[arm], state.eligible[arm] = -place, False
    state.eligible[:] = True
    return why


@kernel
def any_of(stream: Words, expected: Bools) -> int:
    """Return one of the arms that are wanted, each equally likely."""
    count = 0
    for arm in range(expected.size):
        if expected[arm]:
            count += 1
    left = below(stream, count)
    for arm in range(expected.size):
        if expected[arm]:
            if left == 0:
                return arm
            left -= 1
    return 0


@kernel
def ahead(params: IntervalParams, state: IntervalState, waiting: Ints, arm: int, best: int) -> bool:
    """Return whether the arm's upper end is above that of the best so far; among infinite ends the fewest samples
    win."""
    if best < 0:
        return True
    if state.halves[arm] == math.inf and state.halves[best] == math.inf:
        mine, theirs = waiting[arm], waiting[best]
        if params.fewest:
            mine += state.fit.samples[arm]
            theirs += state.fit.samples[best]
        return mine < theirs
    return state.middles[arm] + state.halves[arm] > state.middles[best] + state.halves[best]


@kernel
def highest_of_all(params: IntervalParams, state: IntervalState, contexts: Floats, waiting: Ints) -> int:
    """Set the intervals of all eligible arms and return the arm with the largest upper end."""
    best = -1
    for arm in range(state.middles.size):
        if state.eligible[arm]:
            state.middles[arm] = middle(params, state, contexts, arm)
            state.halves[arm] = half(params, state, contexts, arm, EXACTLY)
            if ahead(params, state, waiting, arm, best):
                best = arm
    return best


@kernel
def highest(params: IntervalParams, state: IntervalState, contexts: Floats, waiting: Ints) -> int:
    """Return the arm with the largest upper end, finding widths only of arms that a quick bound leaves in the race."""
    leader = -1
    for arm in range(state.middles.size):
        if state.eligible[arm]:
            state.middles[arm] = middle(params, state, contexts, arm)
            state.halves[arm] = half_at_most(params, state, contexts, arm)
            if leader < 0 or state.middles[arm] > state.middles[leader]:
                leader = arm
    state.halves[leader] = half(params, state, contexts, leader, EXACTLY)
    best, reach = leader, state.middles[leader] + state.halves[leader]
    for arm in range(state.middles.size):
        if state.eligible[arm] and arm != leader and state.middles[arm] + state.halves[arm] >= reach:
            state.halves[arm] = half(params, state, contexts, arm, EXACTLY)
            if ahead(params, state, waiting, arm, best) or (
                arm < best and not ahead(params, state, waiting, best, arm)
            ):
                best = arm
                reach = state.middles[best] + state.halves[best]
    return best


@kernel
def chain(params: IntervalParams, state: IntervalState, contexts: Floats, top: int) -> None:
    """Mark the arms whose intervals overlap with that of `top`, or with one that is marked: the transitive closure."""
    low = state.middles[top] - state.halves[top]
    group = group_of(params, contexts, top)
    for arm in range(state.middles.size):
        state.chained[arm] = arm == top
    grown = True
    while grown:
        grown = False
        for arm in range(state.middles.size):
            joins = state.eligible[arm] and not state.chained[arm] and state.middles[arm] + state.halves[arm] >= low
            if joins and (params.pick == CHAIN or group_of(params, contexts, arm) == group):
                state.chained[arm] = grown = True
                low = min(low, state.middles[arm] - state.halves[arm])


@kernel
def two_sweeps(state: IntervalState, top: int) -> None:
    """Mark what the authors' program marks: two sweeps, and a lower end that moves to an upper one."""
    low, high = state.middles[top] - state.halves[top], state.middles[top] + state.halves[top]
    for arm in range(state.middles.size):
        state.chained[arm] = arm == top
    for _ in range(2):
        for arm in range(state.middles.size):
            lower, upper = state.middles[arm] - state.halves[arm], state.middles[arm] + state.halves[arm]
            if state.eligible[arm]:
                if low <= lower <= high:
                    high = max(high, upper)
                    state.chained[arm] = True
                elif low <= upper <= high:
                    low = upper
                    state.chained[arm] = True
                elif upper >= high and lower <= low:
                    low, high = lower, upper
                    state.chained[arm] = True


@kernel
def choose(
    params: IntervalParams, state: IntervalState, contexts: Floats, round: int, waiting: Ints
) -> tuple[int, int]:
    seen = 1  # rows that were learned before the first round count as rounds
    for arm in range(state.middles.size):
        seen += state.fit.samples[arm]
    if uniform(state.stream) < max(round, seen) ** -params.exploration:
        return any_of(state.stream, state.eligible), EXPLORED
    set_levels(params, state, round)
    if params.pick == TOP:
        top = highest(params, state, contexts, waiting)
        return top, HIGHEST if state.halves[top] < math.inf else UNKNOWN
    top = highest_of_all(params, state, contexts, waiting)
    if params.pick == TWO_SWEEPS:
        two_sweeps(state, top)
    else:
        chain(params, state, contexts, top)
    return any_of(state.stream, state.chained), CHAINED


@kernel
def update(params: IntervalParams, state: IntervalState, contexts: Floats, index: int, reward: float) -> None:
    x, fit = contexts[index], state.fit
    learn(fit, index, x, reward)
    arms, groups = state.middles.size, params.corrected.size
    if fit.ranks.size > arms:
        learn(fit, arms + group_of(params, contexts, index), x, reward)
    if fit.ranks.size > arms + groups:
        learn(fit, arms + groups, x, reward)


INTERVALS = Kernels(choose, update, unknown_probability, bind(rank_again, choose_eligible=choose))
