"""Rows that belong to one person, shop or session: a unit. They resemble each other, and say less than as many rows of
different units.

A mean m of N rows has the standard error of its units (Bell and McCaffrey's CR2, here for a mean). With the sum S_u of
the n_u rows of unit u and h_u = n_u / N,

    z_u = (S_u - n_u m) / (N sqrt(1 - h_u))        V = sum_u z_u^2

For a difference of two means z_u is that of the one less that of the other, so that units with rows on both sides
count rightly. Of each side Student's quantile t has Satterthwaite's degrees of freedom for units that are alike,
1 / tr P^2, and of both that quantile is taken whose square is the mean of theirs, weighted by the sides' own V:

    P = diag(d) - v v'        d = h / (1 - h)        v = h / sqrt(1 - h)

Where every row is a unit this is Banerjee's interval: of means of normal values it holds at least as often as it says,
in samples of any size. Welch's does not: two rows that are alike by accident pass for a mean that is known.

Source: R. M. Bell, D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
Survey Methodology 28 (2002). S. K. Banerjee, "Approximate confidence interval for linear functions of means of k
populations when the population variances are not equal", Sankhya 22 (1960). W. G. Cochran,
"Sampling techniques", 3rd ed. (1977), 2.15.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.data.groupings import NAMED, Grouping, used_once
from evenhand.data.tables import check_column, column
from evenhand.errors import TableError, expected, first_few
from evenhand.kernels.arrays import Floats, Ints
from evenhand.rng import generator

if TYPE_CHECKING:
    import pandas as pd

Bars = tuple[str, str, float, list[tuple[str, str, float, float, float]]]
"""A title, what is measured, where a line is drawn, and of each bar its name, what is written beside it, its value and
the ends of its interval."""

COCHRAN = 25
"""How many rows a mean needs for each squared unit of skewness."""
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
    diagonals, squares = leverages / (1 - leverages), leverages**2 / (1 - leverages)
    traces = (diagonals**2 - 2 * squares * diagonals).sum(axis=1) + squares.sum(axis=1) ** 2
    if not variances.any():
        return 0.0
    quantiles = t.ppf(1 - error / 2, 1 / np.clip(traces, 1 / leverages.shape[1], 1))
    return math.sqrt(np.average(quantiles**2, weights=variances) * np.square(scores).sum())


def intervals_by_unit(codes: Ints, values: Floats, of: Ints, error: float, binary: bool) -> Floats:
    """Return the middle and half of the width of each group's interval for one look (2, n_groups)."""
    units, found = int(of.max()) + 1, []
    every = np.array([np.bincount(of, part) for part in (values, np.ones(len(of)))])
    for rows in np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1]):
        own = np.array([np.bincount(of[rows], part, units) for part in (values[rows], np.ones(len(rows)))])
        tallies = np.array([own, every - own])
        if binary:
            tallies = _with_zeros_and_ones(tallies)
        one, other = (UnitMean.of(*side) for side in tallies)
        found.append((one.mean - other.mean, half_width(error, one, other)))
    return np.array(found).T


def _with_zeros_and_ones(tallies: Floats) -> Floats:
    """Return the sums and sizes of units (2 sides, 2, n_units) with a unit of zeros and one of ones more on each side.
    They are as large as the design effect, how many rows of a unit say as much as one independent row, on the side
    where that is more; or as an average unit where that is less, or units are all alike, which shows no such effect."""
    sizes = tallies[:, 1]
    totals, present = sizes.sum(axis=1), sizes > 0
    one, other = sides = [UnitMean.of(*side) for side in tallies]
    alone = np.array([side.mean * (1 - side.mean) * side.leverages for side in sides]) / totals[:, None]
    observed, expected = present @ np.square(one.scores - other.scores), present @ alone.sum(axis=0)
    shown = observed > TINY * expected
    effect = (observed[shown] / expected[shown]).max(initial=1.0)
    average = totals / present.sum(axis=1)
    added, more = np.where(shown, np.minimum(effect, average), average), np.pad(tallies, ((0, 0), (0, 0), (0, 4)))
    for side, places in enumerate(([-4, -3], [-2, -1])):  # what is added to one is not the other's
        more[side, 1, places] = more[side, 0, places[1]] = added[side]
    return more


def means_by_unit(codes: Ints, values: Floats, of: Ints) -> tuple[Ints, Floats]:
    """Return the group and the mean of each unit, of one with rows in several groups those in each."""
    units = int(of.max()) + 1
    found, places = np.unique(codes * units + of, return_inverse=True)
    return found // units, np.bincount(places, values) / np.bincount(places)


def notes_on_skew(few: Grouping, codes: Ints, values: Floats, what: str) -> tuple[str, ...]:
    """Name the groups that can be judged, but have fewer rows, or units, or leave fewer to the others, than a mean of
    values so skewed needs for an interval that holds about as often as it says (Cochran's rule)."""
    values = values - (np.bincount(codes, values) / np.bincount(codes))[codes]
    scale = float(np.sqrt(np.mean(values**2)))
    skewness = float(np.mean((values / scale) ** 3)) if scale else 0.0
    needed = COCHRAN * skewness**2
    lacking = few.judged & (np.minimum(few.sizes, len(codes) - few.sizes) < needed)
    named = [repr(name) for name, short in zip(few.names, lacking, strict=True) if short]
    if not named:
        return ()
    return (
        f"The values are skewed ({skewness:.2g}): where a group, or all others, have fewer than {needed:,.0f} {what}, "
        f"intervals miss more often than they say; here {first_few(named, NAMED)}.",
    )


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
