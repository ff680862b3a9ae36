"""Rows that belong to one person, shop or session: a unit. They resemble each other, and say less than as many rows of
different units.

A mean m of N rows has the standard error of its units (Bell and McCaffrey's CR2, here for a mean). With the sum S_u of
the n_u rows of unit u and h_u = n_u / N,

    z_u = (S_u - n_u m) / (N sqrt(1 - h_u))        V = sum_u z_u^2

For a difference of two means z_u is that of the one less that of the other, so that units with rows on both sides
count rightly. Student's quantile has Satterthwaite's degrees of freedom for units that are alike on each side,
(tr P)^2 / tr P^2 with

    P = sum over the sides g of V_g (diag(d_g) - v_g v_g')        d = h / (1 - h)        v = h / sqrt(1 - h)

Where every row is a unit this is Welch's interval.

Source: R. M. Bell, D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
Survey Methodology 28 (2002).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.data.groupings import used_once
from evenhand.data.tables import check_column, column
from evenhand.errors import TableError, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.rng import generator

if TYPE_CHECKING:
    import pandas as pd

Bars = tuple[str, str, float, list[tuple[str, str, float, float, float]]]
"""A title, what is measured, where a line is drawn, and of each bar its name, what is written beside it, its value and
the ends of its interval."""

TINY = 1e-12
"""A unit with all rows but so many is all that a mean is of."""


def units_in(frame: pd.DataFrame, name: str, taken: Mapping[Any, str] = {}) -> Ints:
    """Return the unit of each row (n_rows,), numbered in the order of their first rows; `taken` says for what columns
    are used already.

    Raises
    ------
    TableError
        If there is no such column, it is used already, a cell of it is empty, or all rows are of one unit.
    """
    import pandas as pd

    check_column(frame, name, "unit")
    used_once("unit", [name], taken)
    found = np.asarray(pd.factorize(column(frame, name))[0], np.int64)
    if not found.any():
        hint = "it says which rows belong together"
        raise TableError(expected(f"column {name!r}", "at least two units", "the same one in every row", hint))
    return found


def read_differently(one: float, other: float) -> bool:
    """Return whether two numbers differ in four digits, in which notes show them."""
    return abs(one - other) > 1e-9 + 1e-3 * max(abs(one), abs(other))


class UnitMean(NamedTuple):
    """A mean, and of each unit (n_units,) its score z and its leverage h."""

    mean: float
    scores: Floats
    leverages: Floats

    @classmethod
    def of(cls, sums: Floats, sizes: Floats) -> UnitMean:
        """Return the mean of units by their sums and sizes."""
        total = sizes.sum()
        mean, leverages = float(sums.sum() / total), sizes / total
        return cls(mean, (sums - sizes * mean) / (total * np.sqrt(np.maximum(1 - leverages, TINY))), leverages)


def half_width(error: float, one: UnitMean, other: UnitMean | None = None) -> float:
    """Return half of the width of the interval of a mean, or of one mean less another, for one look; infinite where one
    unit is all that a mean is of.

    Parameters
    ----------
    error : the probability with which it misses.
    """
    from scipy.stats import t

    sides = [one] if other is None else [one, other]
    scores = one.scores if other is None else one.scores - other.scores
    variances = np.array([np.square(side.scores).sum() for side in sides])
    leverages = np.array([side.leverages for side in sides])
    if leverages.max() > 1 - TINY:
        return math.inf
    diagonals, vectors = leverages / (1 - leverages), leverages / np.sqrt(1 - leverages)
    diagonal = variances @ diagonals
    products = vectors @ vectors.T
    trace = float(np.square(diagonal).sum() - 2 * variances @ (vectors**2 @ diagonal))
    trace += float(variances @ products**2 @ variances)
    if trace <= 0:
        return 0.0
    return float(t.ppf(1 - error / 2, variances.sum() ** 2 / trace)) * math.sqrt(np.square(scores).sum())


def intervals_by_unit(codes: Ints, values: Floats, of: Ints, error: float, binary: bool) -> Floats:
    """Return the middle and half of the width of each group's interval for one look (2, n_groups)."""

    def side(tallies: Floats, place: int) -> UnitMean:
        sums, sizes = np.pad(tallies, ((0, 0), (0, 4)))
        if not binary:
            return UnitMean.of(sums, sizes)
        added = units + 2 * place  # those of both sides come first, and what is added to one is not the other's
        sizes[added : added + 2] = sums[added] = sizes.sum() / np.count_nonzero(sizes)
        return UnitMean.of(sums, sizes)

    units, found = int(of.max()) + 1, []
    every = np.array([np.bincount(of, part) for part in (values, np.ones(len(of)))])
    for rows in np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1]):
        own = np.array([np.bincount(of[rows], part, units) for part in (values[rows], np.ones(len(rows)))])
        one, other = side(own, 0), side(every - own, 1)
        found.append((one.mean - other.mean, half_width(error, one, other)))
    return np.array(found).T


def differences_by_unit(codes: Ints, values: Floats, of: Ints) -> Floats:
    """Return by how much each group's mean differs from that of the others (n_groups,), where units count once."""
    shares = 1 / np.bincount(of)[of]
    own = np.array([np.bincount(codes, part) for part in (shares * values, shares)])
    (sums, sizes), (others, other_sizes) = own, own.sum(axis=1, keepdims=True) - own
    return np.asarray(sums / sizes - others / other_sizes)


def units_as_rows(codes: Ints, values: Floats, of: Ints, seed: int) -> tuple[Ints, Floats, int]:
    """Return the group and the mean of each unit, and how many have rows in several groups. As a unit may be compared
    only once, these count by their rows in the group of one row, which is drawn whatever their order and values are:
    each group then gets, on average, the part of the unit that is in it. Units that follow do not change the draw."""
    sizes = np.bincount(of)
    drawn = np.cumsum(sizes) - 1 - generator(seed).integers(sizes)
    groups = codes[np.argsort(of, kind="stable")[drawn]]
    mine = codes == groups[of]
    return groups, np.bincount(of[mine], values[mine]) / np.bincount(of[mine]), mixed_units(codes, of)


def mixed_units(codes: Ints, of: Ints) -> int:
    """Return how many units have rows in several groups."""
    first = codes[np.unique(of, return_index=True)[1]]
    return len(np.unique(of[codes != first[of]]))
