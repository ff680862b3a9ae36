"""Intervals from regressions of arms and of groups.

Arm i has the interval beta_i'x +- w_i. An arm of a group P that is corrected has beta_i'x - psi_P'x + psi_target'x
+- (w_i + b_P + b_target), with

    w_i = |Phi^{-1}(delta / (2 n t))| sigma sqrt(x (X_i'X_i)^+ x'),
    b_P = |Phi^{-1}(delta / (2 (n/|P|) T))| sigma sqrt(x (X_P'X_P)^+ x'),

psi_P the regression over all pulls of the group, and the target either a reference group, or the regression over
all pulls, or a scalar rho for psi_target'x (then without a width). With probability t^(-p) a random arm is pulled
instead, p = 1/3 in the paper.

Source: Schumann, Lang, Mattei, Dickerson (2022), Algorithm 1. Printed there is the Gram matrix in b_P where its
inverse is meant.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from evenhand.kernels.arrays import Bools, Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.least_squares import Regressions, intercept, product, spread
from evenhand.kernels.normal import quantile

SAFE = 1.0 + 1e-9
"""By which factor a bound on a width is raised, far above its rounding."""


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
def width(params: IntervalParams, state: IntervalState, row: int, level: int, x: Floats) -> float:
    if state.fit.samples[row] < params.needed:
        return math.inf
    variance = spread(state.fit, row, x)
    return state.levels[level] * params.noise_scale * (math.sqrt(variance) if params.square_root else variance)


@kernel
def width_at_most(params: IntervalParams, state: IntervalState, row: int, level: int, length: float) -> float:
    if state.fit.samples[row] < params.needed:
        return math.inf
    deviation = state.fit.lengths[row] * length
    return state.levels[level] * params.noise_scale * (deviation if params.square_root else deviation * deviation)


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
def half(params: IntervalParams, state: IntervalState, contexts: Floats, arm: int) -> float:
    x, arms, groups = contexts[arm], state.middles.size, params.corrected.size
    total = width(params, state, arm, groups + 1, x)
    group = group_of(params, contexts, arm)
    if params.corrected[group]:
        total += width(params, state, arms + group, group, x)
        if params.target >= 0:
            total += width(params, state, arms + params.target, params.target, x)
    return total


@kernel
def half_at_most(params: IntervalParams, state: IntervalState, contexts: Floats, arm: int) -> float:
    arms, groups = state.middles.size, params.corrected.size
    length = float(intercept(state.fit))
    for j in range(params.dimension):
        length += contexts[arm, j] * contexts[arm, j]
    length = math.sqrt(length) * SAFE
    total = width_at_most(params, state, arm, groups + 1, length)
    group = group_of(params, contexts, arm)
    if params.corrected[group]:
        total += width_at_most(params, state, arms + group, group, length)
        if params.target >= 0:
            total += width_at_most(params, state, arms + params.target, params.target, length)
    return total
