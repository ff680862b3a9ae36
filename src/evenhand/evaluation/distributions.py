"""The distribution of a log, and distributions under guaranteed shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.arguments import as_float
from evenhand.data.probabilities import summed
from evenhand.data.tables import column
from evenhand.errors import ArgumentError, UnknownArmError, Wording, expected, expected_one_of
from evenhand.kernels.arrays import Floats
from evenhand.labels import Labels
from evenhand.promises.clause import in_words
from evenhand.promises.promise import Promise, read_promise
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd


NO_CHANCE, STEEPEST = 1e-200, 700.0
"""What stands for a probability of 0, so that arms without one share alike what no other may have; and the logarithm of
the largest scale, at which even these have all that they may."""


def shares_in(log: pd.DataFrame, arm: str, position: str | None, arms: Sequence[Label]) -> dict[Any, Any]:
    """Return the share of each arm in a log, of these arms and all others, at each position where a column is named.

    Raises
    ------
    TableError
        If a column is missing or has an empty cell.
    """
    import pandas as pd

    by, known = column(log, position) if position else np.zeros(len(log)), Labels(arms)
    shares = pd.crosstab(by, column(log, arm), normalize="index")
    labels = list(map(known.label, shares))
    rows = zip(shares.index, shares.to_numpy().tolist(), strict=True)
    found = {at: dict.fromkeys(arms, 0.0) | dict(zip(labels, row, strict=True)) for at, row in rows}
    return found if position else found[0.0]


def under_shares(distribution: Mapping[Label, float], shares: Any) -> dict[Label, float]:
    """Return what is left of a distribution under shares, those of a number, a dict arm -> share or a `Promise` with
    sets and caps: p_i = min(c_i, max(r_i, s q_i)), where q is the distribution, r the shares, c the caps, and s makes
    the probabilities sum to 1. The arms of a set that would have less than its share have an s of their own.

    So every promise is kept, and all else keeps its proportions. Rounded probabilities are scaled to sum to 1 first.

    >>> under_shares({"a": 0.9, "b": 0.1, "c": 0.0}, 0.1)
    {'a': 0.8, 'b': 0.1, 'c': 0.1}
    >>> promise = Promise({"a": 0, "b": 0, "c": 0, ("b", "c"): 0.2}, caps={"a": 0.7})
    >>> under_shares({"a": 0.9, "b": 0.06, "c": 0.04}, promise)
    {'a': 0.7, 'b': 0.18, 'c': 0.12}

    Raises
    ------
    ArgumentError
        If these are no probabilities or no shares, or the promise is about anything else.
    UnknownArmError
        If an arm that is owed a share has no probability.
    """
    what = "a dict arm -> probability"
    given = Labels().read(distribution, "distribution", what)
    if not isinstance(given, dict) or not given:
        raise ArgumentError(expected("distribution", what, distribution))
    chances = np.array([as_float(chance) for chance in given.values()])
    if not ((chances >= 0) & (chances <= 1)).all():
        raise ArgumentError(expected("distribution", "probabilities in [0, 1]", dict(distribution)))
    read = summed(chances[None, :])
    if read.wrong is not None:
        raise ArgumentError(expected("distribution", "probabilities that sum to 1", dict(distribution), read.hint(0)))
    named = Labels(given).read(shares, "shares", "a dict arm -> share") if isinstance(shares, Mapping) else {}
    owed = shares.arms if isinstance(shares, Promise) else named
    for label in owed:
        if label not in given:
            raise UnknownArmError(expected_one_of("shares", given, label, what="shares of the arms"))
    promise = shares
    if not isinstance(shares, Promise):
        full = {label: dict(named).get(label, 0) for label in given} if named else shares
        promise = read_promise(full, arms=list(given))
    if odd := [clause for clause in promise.clauses if clause.kind == "window"]:
        got = Wording("; ".join(in_words(odd)))
        raise ArgumentError(expected("shares", "only shares and caps, for a distribution", got))
    found = np.zeros(len(given))
    _fill(_parts_of(promise, list(given)), np.maximum(read.rows[0], NO_CHANCE), 1.0, found)
    return dict(zip(given, found.round(12).tolist(), strict=True))


class _Part(NamedTuple):
    """An arm, by its position, or a set of arms by what is inside; and the least and the most that it may have."""

    inside: int | list[_Part]
    low: float
    high: float

    def at(self, scale: float, chances: Floats) -> float:
        """Return what it has where probabilities are multiplied by `scale`."""
        if isinstance(self.inside, int):
            return float(min(max(scale * chances[self.inside], self.low), self.high))
        return max(sum(part.at(scale, chances) for part in self.inside), self.low)


def _parts_of(promise: Promise, labels: list[Label]) -> list[_Part]:
    """Return the sets that are in no other, and the arms that are in none."""
    shares = dict(zip(promise.arms, promise.floats(), strict=True))
    caps = dict(zip(promise.arms, promise.caps, strict=True)) if promise.caps else {}
    parts: dict[frozenset[Label], _Part] = {}
    for i, label in enumerate(labels):
        cap = caps.get(label)
        parts[frozenset([label])] = _Part(i, shares.get(label, 0.0), 1.0 if cap is None else float(cap))
    for members, share in sorted(promise.sets, key=lambda one: len(one[0])):  # what is inside a set is there before it
        inside = [one for one in parts if one <= set(members)]
        parts[frozenset(members)] = _Part([parts.pop(one) for one in inside], float(share), math.inf)
    return list(parts.values())


def _fill(parts: list[_Part], chances: Floats, total: float, found: Floats) -> None:
    """Write to `found` what each arm has where the parts have `total` together, all at one scale."""
    from scipy.optimize import brentq

    def excess(logarithm: float) -> float:
        return sum(part.at(math.exp(logarithm), chances) for part in parts) - total

    scale = math.exp(brentq(excess, -STEEPEST, STEEPEST, xtol=1e-14)) if excess(-STEEPEST) < 0 else 0.0
    for part in parts:
        if isinstance(part.inside, int):
            found[part.inside] = part.at(scale, chances)
        else:
            _fill(part.inside, chances, part.at(scale, chances), found)
