"""What keeping a promise costs, by the rewards of a log: against giving every play to the arms that earn most.

The best mixture of arms with the promise, and the one without it, are found in one half of each arm's rewards, and
compared by the other half, so that the luck of the arm that looks best is not counted as cost; then the halves change
places. The halves are drawn: every other reward would be all the good ones where rewards come in turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.promises.clause import AT_MOST, Clause
from evenhand.promises.promise import Promise
from evenhand.rng import generator

ERRORS = 1.96
"""Standard errors on each side of an interval that holds with probability 95 %."""


def price_of(promise: Promise, codes: Ints, rewards: Floats) -> tuple[float, float, float] | None:
    """Return what a promise costs in reward a play, and its 95 % interval; None where an arm has less than two, or
    no mixture of arms keeps the promise in the long run.

    Parameters
    ----------
    codes : the position of the arm of each play in `promise.arms` (n_plays,).
    rewards : the reward of each (n_plays,).

    Examples
    --------
    >>> price_of(Promise({"a": 0, "b": 0.25}), np.tile([0, 1], 500), np.tile([1.0, 0.0], 500))[0]
    0.25
    """
    import pandas as pd

    order, arms = generator(0).permutation(len(codes)), len(promise.arms)
    codes, rewards = codes[order], rewards[order]
    half = pd.Series(codes).groupby(codes).cumcount().to_numpy() % 2
    counts = np.array([np.bincount(codes[half == side], minlength=arms) for side in (0, 1)])
    if not counts.all():
        return None
    means = np.array([np.bincount(codes[half == s], rewards[half == s], arms) for s in (0, 1)]) / counts
    spread = np.bincount(codes, (rewards - means[half, codes]) ** 2, arms) / counts.sum(axis=0)
    mixed = [_mixture(one, (), promise) - _mixture(one, promise.clauses, promise) for one in means[::-1]]
    given_up = np.array(mixed) / (2 * promise.plays)
    value = float((given_up * means).sum())
    room = ERRORS * math.sqrt((given_up**2 * np.maximum(spread, rewards.var()) / counts).sum())
    return None if math.isnan(value) else (value, value - room, value + room)


def _mixture(means: Floats, clauses: Sequence[Clause], promise: Promise) -> Any:
    """Return the shares of the arms that earn most of all that keep these clauses in the long run, nan for none."""
    from scipy.optimize import linprog

    signs = [1 if clause.kind in AT_MOST else -1 for clause in clauses]
    rates = [c.rate[0] / c.rate[1] if isinstance(c.rate, tuple) else float(c.rate) for c in clauses]
    rows = [[sign * (arm in c.arms) for arm in promise.arms] for sign, c in zip(signs, clauses, strict=True)]
    limits = [sign * rate for sign, rate in zip(signs, rates, strict=True)]
    every = np.ones((1, len(means)))
    found = linprog(-means, rows or None, limits or None, A_eq=every, b_eq=[promise.plays], bounds=(0, 1))
    return np.array(found.x, np.float64)
