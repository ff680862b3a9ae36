"""A Gaussian belief about the metric, updated by matching moments, with a rate of wrong verdicts.

A verdict that <G, u> lies on one side of a value is believed with probability 1 - q, whatever the truth: the likelihood is
q + (1 - 2q) 1{the verdict is right}. The posterior's mean and covariance are matched by a Gaussian (assumed-density filtering), a rank-one step.
With q = 0 the half-spaces are logged as well and linear programs over the log certify intervals, because the Gaussian alone
can become overconfident; with q > 0 no half-space is certain and the belief is all there is.

Source: T. Minka, "A family of algorithms for approximate Bayesian inference" (2001), Section 3.2: moment matching of step likelihoods.
"""

from __future__ import annotations

import math

from evenhand.kernels.compose import kernel
from evenhand.similarity.metric import (
    CONTRADICTED,
    CUT_ERROR,
    NOTHING,
    REACH,
    TAUGHT,
    append,
    opened,
    project,
    squeeze,
    width,
)

__all__ = ["cut"]

FAR = 8.0
"""A verdict that was this many standard deviations from being in doubt teaches nothing."""


@kernel
def cut(state, copy, value, sign, precision):
    error = state.options[CUT_ERROR]
    length = state.length[0]
    if error > 0.0:
        return believe(state, copy, value, sign, error)
    low, high = opened(state, copy)
    if sign * (low if sign > 0.0 else high) > sign * value + 1e-9:
        return CONTRADICTED
    reach = state.options[REACH]
    if width(low * length, high * length) <= precision:
        mid, half = project(state, copy)
        if width((mid - reach * half) * length, (mid + reach * half) * length) > precision:
            believe(state, copy, low, -1.0, 0.0)
            believe(state, copy, high, 1.0, 0.0)
        return NOTHING
    mid, half = project(state, copy)
    if reach * half < 0.25 * (high - low):
        squeeze(state, copy, half, 1.0 - ((high - low) / (4.0 * reach * half)) ** 2)
    if not low < value < high:
        return NOTHING
    append(state, copy, value, sign)
    believe(state, copy, value, sign, 0.0)
    return TAUGHT


@kernel
def believe(state, copy, value, sign, error):
    """Match the moments of the belief times the likelihood of the verdict."""
    mid, half = project(state, copy)
    doubt = sign * (value - mid) / half
    if doubt > FAR:
        return NOTHING
    if doubt < -25.0 and error == 0.0:
        pull, shrink = -doubt, 1.0 - 1.0 / (doubt * doubt)
    else:
        density = math.exp(-0.5 * doubt * doubt) * 0.3989422804014327
        mass = error + (1.0 - 2.0 * error) * 0.5 * math.erfc(-doubt * 0.7071067811865476)
        pull = (1.0 - 2.0 * error) * density / mass
        shrink = pull * (pull + doubt)
    for i in range(state.u.size):
        along = 0.0
        for j in range(state.u.size):
            along += state.factor[copy, i, j] * state.image[j]
        state.centre[copy, i] -= sign * pull * along / half
    squeeze(state, copy, half, min(shrink, 0.9999))
    return TAUGHT
