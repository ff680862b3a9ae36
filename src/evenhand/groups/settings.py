"""What the interval policies can be told, read once, and the arrays that their kernels make of it.

Two readings of the paper are offered. `preset="paper"`: N(0, v) has variance v, so a width is z sqrt(v); an arm's
level is delta / (2 n t); a regression counts from d samples on, before that its width is infinite. `preset="authors"`,
the program published with the paper: a width is z v; every level has the horizon T; a regression counts from its first
sample on, by the least squares solution of smallest norm; ties go to the first arm.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from evenhand.arguments import real, whole, yes_or_no
from evenhand.errors import ArgumentError, wanted
from evenhand.groups.intervals import IntervalParams, IntervalState
from evenhand.groups.picking import TOP
from evenhand.groups.problem import Groups
from evenhand.kernels.least_squares import regressions

__all__ = ["ColdStart", "Preset", "interval_memory", "interval_parameters", "settle"]

Preset = Literal["paper", "authors"]
ColdStart = Literal["infinite", "minimum_norm"]


def settle(
    policy: Any,
    groups: Any,
    delta: float,
    noise_scale: float,
    horizon: int | None,
    preset: str,
    exploration: float,
    cold_start: str | None,
    intercept: bool,
) -> None:
    """Check the settings that the interval policies share and keep each on the policy under its own name.

    Raises
    ------
    ArgumentError
        If one of them cannot be; it is named.
    """
    policy.membership = Groups.read(groups)
    policy.groups = policy.membership.as_dict()
    policy.delta = real("delta", delta, above=0, below=1)
    policy.noise_scale = real("noise_scale", noise_scale, above=0)
    policy.horizon = None if horizon is None else whole("horizon", horizon, low=1, high=2**53)
    if preset not in ("paper", "authors"):
        raise ArgumentError(wanted("preset", "'paper' or 'authors'", preset))
    if preset == "authors" and horizon is None:
        raise ArgumentError(
            wanted("horizon", "a number of rounds, as the authors' program has it in every width", horizon)
        )
    policy.preset = preset
    never = isinstance(exploration, float) and exploration == math.inf
    policy.exploration = math.inf if never else real("exploration", exploration, above=0)
    if cold_start not in (None, "infinite", "minimum_norm"):
        raise ArgumentError(wanted("cold_start", "'infinite', 'minimum_norm' or None for the preset's", cold_start))
    policy.cold_start = cold_start
    policy.intercept = yes_or_no("intercept", intercept)


def interval_parameters(
    policy: Any,
    *,
    pick: int = TOP,
    corrected: list[bool] | None = None,
    target: int = -1,
    shift: float = 0.0,
) -> IntervalParams:
    """Return the parameters of the kernels for a settled policy."""
    membership: Groups = policy.membership
    start = policy.cold_start or ("infinite" if policy.preset == "paper" else "minimum_norm")
    return IntervalParams(
        int(policy.dimension),
        policy.delta,
        policy.noise_scale,
        policy.exploration,
        policy.horizon or 0,
        policy.preset == "paper",
        policy.preset == "paper",
        int(policy.dimension) + policy.intercept if start == "infinite" else 1,
        policy.preset == "paper",
        pick,
        np.array(membership.codes, np.int64),
        np.append(membership.sizes(), float(len(membership.arms))),
        np.array(corrected or [False] * len(membership.names)),
        target,
        shift,
    )


def interval_memory(policy: Any, extra: int = 0) -> IntervalState:
    """Return the state before the first round, with `extra` regressions of groups after those of the arms."""
    arms, groups = len(policy.membership.arms), len(policy.membership.names)
    return IntervalState(
        policy.stream(),
        np.ones(arms, np.bool_),
        np.zeros(arms),
        np.zeros(arms),
        np.zeros(arms, np.bool_),
        np.zeros(groups + 2),
        np.zeros(1, np.int64),
        regressions(arms + extra, policy.dimension, intercept=policy.intercept),
    )
