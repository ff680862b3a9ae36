"""Soft caps: a lottery that draws an arm less often when it nears its cap, so that its chance is hardly ever 0.

How they are drawn stands in `evenhand.promises.lottery`. An arm is drawn less often from s plays below its cap on,

    s = max(6, ceil(5.5 q c (1 - c) / (c - f r)^2)),     q = 1 - f (sum of all shares), the part of the learner,

with c its cap, r its share and f the lottery's floor. Found by simulation: with s the plays of an arm that the learner
always wants are c t - N away from the cap by a few standard deviations of what one round changes. A cap tolerance
below 4 leaves too little room, and a cap close to f r too little to steer by.

Source: ours.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.errors import figure
from evenhand.kernels.arrays import Floats
from evenhand.promises.promise import Promise

LEAST_TOLERANCE, LEAST_ROOM, LEAST_PLAYS = 4, 0.05, 6


def capped_arms(promise: Promise) -> dict[int, float]:
    """Return the cap of each arm, by position, that has one which it can reach."""
    return {arm: float(cap) for arm, cap in enumerate(promise.caps or ()) if cap is not None and cap < 1}


def why_hard(promise: Promise, floor: float, *, hard_caps: bool, among: bool) -> str | None:
    """Return what a promise lacks for soft caps under a lottery, None where it lacks nothing, "" without caps.

    Parameters
    ----------
    hard_caps : whether caps are to be hard.
    among : whether the learner can choose among some of the arms.
    """
    if not capped_arms(promise):
        return ""
    if hard_caps:
        return "hard_caps=False"
    if not among:
        return "a learner of evenhand that can choose among some of the arms, such as Thompson"
    if promise.plays > 1 or promise.sets or promise.windows:
        return "one play a round, and no sets or windows"
    if promise.cap_tolerance < LEAST_TOLERANCE:
        return f"a cap tolerance of at least {LEAST_TOLERANCE}"
    for arm, cap in capped_arms(promise).items():
        least = floor * float(promise.shares[arm]) + LEAST_ROOM
        if cap <= least:
            return f"a cap above {figure(least)} for arm {promise.arms[arm]}"
    return None


def soft_rounds(promise: Promise, floor: float) -> Floats:
    """Return within how many rounds of its cap each arm (n_arms,) is drawn less often, s / c; 0 without a cap."""
    rounds, rest = np.zeros(len(promise.arms)), 1.0 - floor * float(sum(promise.shares))
    for arm, cap in capped_arms(promise).items():
        spread = 5.5 * rest * cap * (1.0 - cap) / (cap - floor * float(promise.shares[arm])) ** 2
        rounds[arm] = max(LEAST_PLAYS, math.ceil(spread)) / cap
    return rounds
