"""The distribution of a log, and distributions under guaranteed shares: what a promise costs in the long run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import as_float
from evenhand.data.probabilities import summed
from evenhand.data.tables import column
from evenhand.errors import ArgumentError, UnknownArmError, wanted, wanted_one_of
from evenhand.labels import by_label
from evenhand.promises.promise import read_promise
from evenhand.protocol import Label, find_label, places

if TYPE_CHECKING:
    import pandas as pd


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
    wish = np.array([as_float(chance) for chance in given.values()])
    if not ((wish >= 0) & (wish <= 1)).all():
        raise ArgumentError(wanted("distribution", "probabilities in [0, 1]", dict(distribution)))
    read = summed(wish[None, :])
    if read.wrong is not None:
        raise ArgumentError(wanted("distribution", "probabilities that sum to 1", dict(distribution), read.mend(0)))
    wish = read.rows[0]
    named = by_label(shares, "shares", "a dict arm -> share", given) if isinstance(shares, Mapping) else {}
    for label in named:
        if label not in given:
            raise UnknownArmError(wanted_one_of("shares", given, label, what="shares of the arms"))
    full = {label: dict(named).get(label, 0) for label in given} if named else shares
    least = read_promise(full, arms=list(given)).floats()
    held = np.zeros(len(least), np.bool_)
    found = wish
    while True:
        free = wish[~held].sum()
        found = np.where(held, least, wish * ((1 - least[held].sum()) / free if free else 0.0))
        below = found < least
        if not below.any():
            break
        held |= below
    if found.sum() < 1 - 1e-9:  # nothing is left to scale: the rest goes to all alike
        found = found + (1 - found.sum()) / len(found)
    return dict(zip(given, found.round(15).tolist(), strict=True))
