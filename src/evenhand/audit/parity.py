"""Whether groups have the same mean, such as of rewards or of selections: a test that may be looked at at any time,
beside the plain difference and its interval for one look at one table.

The interval of one look is that of Welch for two means, or of units with several rows each (`evenhand.audit.units`),
after a unit of zeros and one of ones were added to each side: its level then holds for few rows and rare events as
well, and values that are all alike do not make it a point. The test for any number of looks takes one mean a unit.

Source: A. Agresti, B. Caffo, "Simple and effective confidence intervals for proportions and differences of proportions
result from adding two successes and two failures", The American Statistician 54 (2000).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import real, whole
from evenhand.audit.gaps import WITHIN, Gap, wealth_of
from evenhand.audit.units import UnitMean, half_width, units_in
from evenhand.data.groupings import Grouping, groups_in, least_rows
from evenhand.data.tables import column, column_names, in_column_order, numbers, places_in
from evenhand.display.html import Card, HasCard, Table
from evenhand.errors import TableError, wanted
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Floats, Ints
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd

FEW, TOO_FEW = 0.5, 0.1
"""Below which share of the rows that random order would compare a note says so, and nothing is found."""
WIDE = 2 / 3
"""From which width on the interval of a difference says too little: a third either way remains, where a mean in [0, 1]
differs from a known one by something in a range of width 1."""


@dataclass(frozen=True, repr=False)
class Parity(HasCard):
    """The result of a test of parity.

    Attributes
    ----------
    rejected : whether the groups are shown to differ by more than the tolerance.
    round : the row, counted from 1, after which that was shown first, or with `unit` the unit; 0 if it was not.
    low, high : the interval of the difference between the first group's mean and that of the others, or with more than
        two groups of the group that differs most, for any number of looks.
    group : the group that `low` and `high` are about.
    difference, once_low, once_high : its plain difference in mean, and the interval for one look at one table.
    pairs : how many pairs of rows, or of units, were compared for it.
    enough : whether the log can say that groups do not differ: False where groups with more than half of the rows have
        intervals as wide as 2/3, a third either way; and where fewer than a tenth as many rows could be compared as if
        the groups came in random order, as in a log that is sorted by group.
    groups : one row per group: `group`, `rows`, `mean`, `difference` from the mean of all others, its interval for one
        look, `once_low` and `once_high`, `units` where they are named, `pairs`, and the interval for any number of
        looks, `low` and `high`; those of all groups hold together.
    level, tolerance, unit : as they were given.
    notes : what to know before trusting the result.
    """

    rejected: bool
    round: int
    low: float
    high: float
    group: Label
    pairs: int
    difference: float
    once_low: float
    once_high: float
    groups: pd.DataFrame
    level: float
    tolerance: float
    unit: str | None = None
    enough: bool = True
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        way, more = "lower" if self.difference < 0 else "higher", f"more than {self.tolerance:g}"
        what, whose = ("row", "rows") if self.unit is None else ("unit", f"units ({self.unit})")
        apart = self.once_low > self.tolerance or self.once_high < -self.tolerance
        many = f"so they are not shown to differ by {more}."
        if self.rejected:
            many = f"so they differ by {more}, first shown after {what} {self.round}."
        elif not self.enough:
            many = f"which says little, as too few {what}s could be compared."
        return (
            f"The mean of group {self.group!r} is {abs(self.difference):.4g} {way} than that of the others. One look at"
            f" this table, if its {whose} are independent: between {self.once_low:.4g} and {self.once_high:.4g}, so "
            f"the groups {'' if apart else 'are not shown to '}differ by {more}. Any number of looks: between "
            f"{self.low:.4g} and {self.high:.4g}, {many}"
        )

    def card(self) -> Card:
        facts = {"finding": str(self), "level": self.level, "pairs compared": self.pairs}
        return Card("Parity", facts, [Table.of(self.groups, "Groups")])


def parity(
    frame: pd.DataFrame, *, group: str | Sequence[str], value: str, level: float = 0.95, tolerance: float = 0.0,
    within: int = WITHIN, unit: str | None = None,
) -> Parity:  # fmt: skip
    """Test whether groups have the same mean of a value, after every row.

    While they do, the test rejects with a probability of at most 1 - level, however often it is looked at and whenever
    the log ends. Means may change over time or from batch to batch, as long as they change for all groups alike. Of
    consecutive rows of one group only the first is compared; see `evenhand.audit.gaps`.

    Rows of one person are not independent: groups that are alike are then said to differ far more often than 1 - level.
    Name the column of the people with `unit`.

    Parameters
    ----------
    frame : the log, one row per outcome, in the order in which they came.
    group : the column of the groups, or several columns, whose combinations are the groups ("F & old").
    value : the column that is compared, numbers in [0, 1], such as rewards, or 0 and 1 for selected or not.
    level : the probability with which groups that are alike are never said to differ.
    tolerance : by how much means may differ.
    within : how many rows apart the rows of a pair may lie; a longer span finds more pairs, and is wrong where means
        change faster.
    unit : the column that says which rows belong together, such as those of one person, ad or shop. The interval of one
        look is then robust to that; the test for any number of looks takes the mean of each unit, in the order of their
        first rows.

    Raises
    ------
    TableError
        If a column is missing, a cell is empty, a value is not in [0, 1], or there are fewer than two groups.
    ArgumentError
        If the level, the tolerance or the span is out of range.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> random = np.random.default_rng(1)
    >>> log = pd.DataFrame({"sex": random.choice(["f", "m"], size=4000)})
    >>> log["hired"] = (random.random(4000) < np.where(log["sex"] == "f", 0.3, 0.5)) * 1
    >>> found = parity(log, group="sex", value="hired")
    >>> found.rejected, found.round < 1000, round(found.high, 2)
    (True, True, -0.13)
    """
    level = real("level", level, above=0, below=1)
    tolerance = real("tolerance", tolerance, low=0, below=1)
    within = whole("within", within, low=1)
    frame = as_pandas(frame)
    values = numbers(frame, value, low=0.0, high=1.0)
    columns = column_names("group", group)
    labels = column(frame, columns[0]) if len(columns) == 1 else groups_in(frame, columns)
    names, grouped = in_column_order(frame, columns, labels), ", ".join(map(repr, columns))
    if len(names) < 2:
        raise TableError(wanted(f"column {grouped}", "at least two groups", names[0]))
    codes = places_in(labels, names)
    of = np.arange(len(codes)) if unit is None else units_in(frame, unit)
    once = _once(codes, values, of, (1 - level) / (len(names) if len(names) > 2 else 1))
    mixed = 0
    if unit is not None:
        codes, values, mixed = _units(codes, values, of)
        once["units"] = np.bincount(codes, minlength=len(names))
    sizes = np.bincount(codes, minlength=len(names))
    parts = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    gaps = [Gap(within) for _ in (names if len(names) > 2 else names[:1])]
    found = [_pairs(gap, mine, values) for gap, mine in zip(gaps, parts, strict=False)]
    table = _table(names, once, gaps, 1 - level)
    first = _first(found, tolerance, 1 - level, len(values))
    furthest = int(np.maximum(table["low"], -table["high"])[: len(gaps)].argmax())
    row = table.iloc[furthest]
    usual = 2 * sizes * (len(values) - sizes) / len(values) + 1
    thin = 2 * table["pairs"].to_numpy() / usual
    in_runs = (thin < FEW) & (np.minimum(sizes, len(values) - sizes) >= least_rows(len(gaps), 1 - level))
    known = Grouping(names, sizes, (table["high"] - table["low"]).to_numpy() < WIDE)
    few = known._replace(judged=known.judged | in_runs)
    what = "rows" if unit is None else "units"
    notes = few.note(f"groups of {grouped}", f"have too few {what} to be compared closely", what)
    if mixed:
        notes += (
            f"{mixed:,} units have rows in several groups: the test for any number of looks uses of each those in the "
            "group of its first row.",
        )
    if notes and len(gaps) > 1:
        notes += (f"All {len(gaps)} intervals hold together; without the rows of small groups others are narrower.",)
    if in_runs.any():
        least = int(np.where(in_runs, thin, np.inf).argmin())
        notes = (_in_runs(names[least], 2 * int(table["pairs"][least]), usual[least]), *notes)
    enough = first > 0 or (known.enough and bool(thin.max() >= TOO_FEW))
    named, pairs = names[furthest], gaps[furthest].pairs
    low, high, gap, near, far = (float(row[n]) for n in ("low", "high", "difference", "once_low", "once_high"))
    return Parity(
        first > 0, first, low, high, named, pairs, gap, near, far, table, level, tolerance, unit, enough, notes
    )


def _in_runs(group: Label, used: int, usual: float) -> str:
    """Say that few of the rows could be used that could be if the groups came in random order."""
    return (
        f"Only {used:,} rows could be compared for group {group!r}; in random order about {usual:,.0f} could. Rows of "
        "one group follow each other, as in batches or in a log that is sorted by group. Sort the log by time. If it "
        "is sorted so, a difference between the groups cannot be distinguished from a change over time."
    )


def _pairs(gap: Gap, mine: Ints, values: Floats) -> tuple[Floats, Ints]:
    """Return the difference of each pair of the group that has the rows `mine`, and the row, counted from 1, at which
    it was complete. The first row of each run is all that counts, so that many small groups take no time."""
    begins, ends = np.diff(mine, prepend=-2) > 1, np.diff(mine, append=len(values) + 1) > 1
    others = np.concatenate([[0] if mine[0] else [], mine[ends] + 1]).astype(np.int64)
    starts = [(row, True) for row in mine[begins].tolist()]
    starts += [(row, False) for row in others[others < len(values)].tolist()]
    differences, rows, passed = [], [], 0
    for row, inside in sorted(starts):
        gap.skip(row - passed)
        difference, passed = gap.take(inside, float(values[row])), row + 1
        if difference is not None:
            differences.append(difference)
            rows.append(passed)
    return np.array(differences), np.array(rows, np.int64)


def _once(codes: Ints, values: Floats, of: Ints, error: float) -> dict[str, Any]:
    """Return the columns of the table that one look at all rows gives; `of` (n_rows,) says of which unit they are."""
    found = []
    for group in range(int(codes.max()) + 1):
        inside = codes == group
        units = int(of.max()) + 1
        one, other = (_side(values[rows], of[rows], units, place) for place, rows in enumerate((inside, ~inside)))
        half, middle = half_width(error, one, other), one.mean - other.mean
        gap = values[inside].mean() - values[~inside].mean()
        found.append((inside.sum(), values[inside].mean(), gap, max(middle - half, -1.0), min(middle + half, 1.0)))
    names = "rows", "mean", "difference", "once_low", "once_high"
    return dict(zip(names, map(np.array, zip(*found, strict=True)), strict=True))


def _side(values: Floats, of: Ints, units: int, place: int) -> UnitMean:
    """Return the mean of the rows of one side, with a unit of zeros and one of ones, as large as its units are on
    average. They follow those of both sides, and are not those of the other."""
    sums, sizes = (np.bincount(of, part, units + 4).astype(np.float64) for part in (values, np.ones(len(of))))
    added = units + 2 * place
    sizes[added : added + 2] = sums[added] = len(values) / np.count_nonzero(sizes)
    return UnitMean.of(sums, sizes)


def _units(codes: Ints, values: Floats, of: Ints) -> tuple[Ints, Floats, int]:
    """Return the group and the mean of each unit, and how many have rows in several groups: of these, the rows in the
    group of the first one count, as a unit may be compared only once."""
    _, first = np.unique(of, return_index=True)
    mine = codes == codes[first][of]
    means = np.bincount(of[mine], values[mine]) / np.bincount(of[mine])
    return codes[first], means, len(np.unique(of[~mine]))


def _table(names: list[Label], once: dict[str, Any], gaps: list[Gap], error: float) -> pd.DataFrame:
    import pandas as pd

    least = least_rows(len(gaps), error)
    bounds = [gap.interval(error / len(gaps)) if gap.pairs >= least else (-1.0, 1.0) for gap in gaps]
    pairs = [gap.pairs for gap in gaps]
    if len(gaps) < len(names):
        bounds, pairs = [*bounds, (-bounds[0][1], -bounds[0][0])], pairs * 2
    ends = {"low": [low for low, _ in bounds], "high": [high for _, high in bounds]}
    return pd.DataFrame({"group": names} | once | {"pairs": pairs} | ends)


def _first(found: list[tuple[Floats, Ints]], tolerance: float, error: float, rows: int) -> int:
    """Return the row after which the mean wealth of the groups reached 1 / error first, 0 if it never did."""
    limit, gains = len(found) / error, np.zeros(rows + 1)
    for differences, at in found:
        if len(at):  # more wealth than the limit decides as the limit does, and does not overflow
            wealth = np.exp(np.minimum(np.concatenate(list(wealth_of(differences, tolerance))), math.log(limit) + 1))
            gains[at] += np.diff(wealth, prepend=1.0)
    reached = np.flatnonzero(len(found) + np.cumsum(gains) >= limit)
    return int(reached[0]) if reached.size else 0
