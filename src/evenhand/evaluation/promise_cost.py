"""What keeping a promise costs, by the rewards of a log, compared with giving every play to the arms that earn most.

The best mixture of arms with the promise, and the one without it, are found in one half of each arm's rewards, and
compared by the other half, so that the luck of the arm that looks best is not counted as cost; then the halves change
places. The halves are drawn at random: every other reward would be all the good ones where rewards alternate.

Also here: the distribution of a log, and distributions under guaranteed shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import as_float
from evenhand.data.probabilities import summed
from evenhand.data.tables import column
from evenhand.errors import ArgumentError, UnknownArmError, wanted, wanted_one_of
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import by_label
from evenhand.promises.clause import AT_MOST, Clause
from evenhand.promises.promise import Promise, read_promise
from evenhand.protocol import Label, find_label, places
from evenhand.rng import generator

if TYPE_CHECKING:
    import pandas as pd


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


def shares_in(log: pd.DataFrame, arm: str, position: str | None, arms: Sequence[Label]) -> dict[Any, Any]:
    """Return the share of each arm in a log, of these arms and all others, at each position where a column is named.

    Raises
    ------
    TableError
        If a column is missing or has an empty cell.
    """
    import pandas as pd

    by, known = column(log, position) if position else np.zeros(len(log)), places(arms)
    shares = pd.crosstab(by, column(log, arm), normalize="index")
    labels = [label if (place := find_label(label, known)) is None else arms[place] for label in shares]
    rows = zip(shares.index, shares.to_numpy().tolist(), strict=True)
    found = {at: dict.fromkeys(arms, 0.0) | dict(zip(labels, row, strict=True)) for at, row in rows}
    return found if position else found[0.0]


def under_shares(distribution: Mapping[Label, float], shares: Any) -> dict[Label, float]:
    """Return max(r_i, c q_i), where q is the distribution, r the shares, and c makes the probabilities sum to 1: every
    arm has its share, and the others keep their proportions. Rounded probabilities are scaled to sum to 1 first.

    >>> under_shares({"a": 0.9, "b": 0.1, "c": 0.0}, 0.1)
    {'a': 0.8, 'b': 0.1, 'c': 0.1}

    Raises
    ------
    ArgumentError
        If these are no probabilities or no shares.
    UnknownArmError
        If an arm that is owed a share has no probability.
    """
    given = dict(by_label(distribution, "distribution", "a dict arm -> probability"))
    chances = np.array([as_float(chance) for chance in given.values()])
    if not ((chances >= 0) & (chances <= 1)).all():
        raise ArgumentError(wanted("distribution", "probabilities in [0, 1]", dict(distribution)))
    read = summed(chances[None, :])
    if read.wrong is not None:
        raise ArgumentError(wanted("distribution", "probabilities that sum to 1", dict(distribution), read.mend(0)))
    chances = read.rows[0]
    named = by_label(shares, "shares", "a dict arm -> share", given) if isinstance(shares, Mapping) else {}
    for label in named:
        if label not in given:
            raise UnknownArmError(wanted_one_of("shares", given, label, what="shares of the arms"))
    full = {label: dict(named).get(label, 0) for label in given} if named else shares
    least = read_promise(full, arms=list(given)).floats()
    raised = np.zeros(len(least), np.bool_)
    found = chances
    while True:
        free = chances[~raised].sum()
        found = np.where(raised, least, chances * ((1 - least[raised].sum()) / free if free else 0.0))
        below = found < least
        if not below.any():
            break
        raised |= below
    if found.sum() < 1 - 1e-9:  # nothing is left to scale: the rest goes to all alike
        found = found + (1 - found.sum()) / len(found)
    return dict(zip(given, found.round(15).tolist(), strict=True))
