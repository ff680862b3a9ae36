"""Whether groups have the same mean, such as of rewards or of selections: a test that may be looked at at any time,
beside the plain difference and its interval for one look at one table.

The interval of one look is Banerjee's for two means (`evenhand.audit.units`); of zeros and ones after a 0 and a 1 were
added to each side: its level then holds for few rows and rare events as well, and values that are all alike do not make
it a point. Where units have several rows each, so many zeros and ones are added as say as much as one independent row.
Other numbers may lie far closer together than 0 and 1, and nothing is added to them; of three groups or more those with
too few rows then have no interval. The test for any number of looks takes one mean a unit, and needs values in [0, 1];
on any other scale there is one look.

Source: A. Agresti, B. Caffo, "Simple and effective confidence intervals for proportions and differences of proportions
result from adding two successes and two failures", The American Statistician 54 (2000).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.arguments import real, whole
from evenhand.audit.gaps import WITHIN, Gap, wealth_of
from evenhand.audit.similar import SimilarGap, all_at_once, check_varied, notes_on_overlap, similar_gaps, supposed
from evenhand.audit.units import (
    Bars,
    differences_by_unit,
    intervals_by_unit,
    means_by_unit,
    mixed_units,
    notes_on_skew,
    read_differently,
    units_as_rows,
    units_in,
)
from evenhand.data.encoding import fitted
from evenhand.data.groupings import Grouping, groups_in, least_rows, used_once, written_alike
from evenhand.data.tables import column, column_names, in_column_order, numbers, places_in
from evenhand.display.digits import as_written, between, way_of, with_signs
from evenhand.display.html import Card, HasCard, Table
from evenhand.errors import TableError, expected
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.protocol import Label
from evenhand.rng import Seed, draw_seed

if TYPE_CHECKING:
    import pandas as pd

FEW, TOO_FEW = 0.5, 0.1
"""Below which share of the rows that random order would compare a note says so, and nothing is found."""
WIDE = 2 / 3
"""From which width on the interval of a difference says too little: a third either way remains, where a mean in [0, 1]
differs from a known one by something in a range of width 1."""
CONSTANT = 1e-12
"""Which part of the mean square of all values is rounding in the variance of those of a side."""


@dataclass(frozen=True, eq=False, repr=False)
class Parity(HasCard):
    """The result of a test of parity.

    Attributes
    ----------
    rejected : whether the groups are shown to differ by more than the tolerance; with `given`, and for values outside
        [0, 1], by the one look that there is.
    round : the row, counted from 1, after which that was shown first, or with `unit` the unit; 0 if it was not.
    low, high : the interval of the difference between the first group's mean and that of the others, or with more than
        two groups of the one that differs most clearly, whose interval lies farthest from 0, for any number of looks.
    group : the group that `low` and `high` are about.
    difference, once_low, once_high : its plain difference in mean, and the interval for one look at one table.
    pairs : how many pairs of rows, or of units, were compared for it.
    enough : whether the log can say that groups do not differ: False where groups with more than half of the rows have
        intervals as wide as 2/3, a third either way; and where fewer than a tenth as many rows could be compared as if
        the groups came in random order, as in a log that is sorted by group.
    groups : one row per group: `group`, `rows`, `mean`, `difference` from the mean of all others, its interval for one
        look, `once_low` and `once_high`, `units` where they are named, each counted in one group, `pairs`, and the
        interval for any number of looks, `low` and `high`; those of all groups hold together. Infinite ends: not known.
    similar : with `given`, of two groups for the one with fewer rows, else for each, what the features explain.
    value, level, tolerance, unit, given : as they were given.
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
    value: str = ""
    given: tuple[str, ...] = ()
    similar: tuple[SimilarGap, ...] = ()

    @property
    def together(self) -> int:
        """How many intervals of one look hold together."""
        return int(np.isfinite(self.groups["once_high"]).sum()) if len(self.groups) > 2 else 1

    @property
    def supposed(self) -> str:
        """What the gap between similar people supposes; empty without `given`."""
        return supposed(self.unit, "name their column as the unit") if self.similar else ""

    def __str__(self) -> str:
        return f"{self.finding()} {self.supposed}".strip()

    def finding(self) -> str:
        """Return the answer in words."""
        if self.similar:
            return " ".join(one.sentences(self.value, self.level, self.tolerance) for one in self.similar)
        way, more = way_of(self.difference), f"more than {self.tolerance:g}"
        what, whose = ("row", "rows") if self.unit is None else ("unit", f"units ({self.unit})")
        apart = self.once_low > self.tolerance or self.once_high < -self.tolerance
        size, *_ = as_written(self.difference, self.once_low, self.once_high)
        interval = f"the {100 * self.level:g} % interval{all_at_once(self.together)} is"
        once = (
            f"The mean of group {self.group!r} is {size} {way} than that of the others. If this table is looked at "
            f"once and its {whose} are independent, {interval} {between(self.once_low, self.once_high)}, so the groups "
            f"{'' if apart else 'are not shown to '}differ by {more}."
        )
        if math.isinf(self.high):
            return once
        so = f"so they are not shown to differ by {more}."
        if self.rejected:
            so = f"so they differ by {more}, first shown after {what} {self.round}."
        elif not self.enough:
            so = f"which says little, as too few {what}s could be compared."
        return f"{once} If it grows and is looked at again and again, {interval} {between(self.low, self.high)}, {so}"

    def bars(self) -> Bars:
        """Return what a picture shows of the means."""
        title = f"Mean {self.value} of each group, less that of all others"
        columns = ["difference", "once_low", "once_high"]
        plain = dict(zip(self.groups["group"], self.groups[columns].to_numpy(float).tolist(), strict=True))
        rows = [(str(group), *numbers) for group, numbers in plain.items()]
        if self.similar:
            title, rows = "What the features explain of the difference, and what they do not", []
        for one in self.similar:
            rows += [
                (f"{one.group} less {one.reference}", *plain[one.group]),
                ("explained by the features", one.explained, math.nan, math.nan),
                ("not explained", one.gap, one.low, one.high),
            ]
        written = with_signs(*(value for _, value, _, _ in rows))
        each = [(name, text, *numbers) for (name, *numbers), text in zip(rows, written, strict=True)]
        return title, f"difference in mean {self.value}", 0.0, each

    def _card(self) -> Card:
        facts = {"finding": str(self), "level": self.level, "pairs compared": self.pairs}
        return Card("Parity", facts, [Table.of(self.groups, "Groups")])


def parity(
    frame: pd.DataFrame,
    *,
    group: str | Sequence[str],
    value: str,
    level: float = 0.95,
    tolerance: float = 0.0,
    within: int = WITHIN,
    unit: str | None = None,
    seed: Seed = 0,
    given: Sequence[str] | None = None,
) -> Parity:
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
    value : the column that is compared, such as salaries or rewards, or 0 and 1 for selected or not. Only numbers in
        [0, 1] can be looked at any number of times; for others there is one look.
    level : the probability with which groups that are alike are never said to differ.
    tolerance : by how much means may differ.
    within : how many rows, or units, apart those of a pair may lie; a longer span finds more pairs, and is wrong where
        means change faster.
    unit : the column that says which rows belong together, such as those of one person, ad or shop. The interval of one
        look is then robust to that, and still of the mean over rows. The test for any number of looks is of the mean
        over units: each counts once, by the mean of its rows, in the order of their first rows. It holds if a unit
        gets no more rows once it was looked at. A unit with rows in several groups counts there in the group of one of
        its rows, drawn at random, by the mean of its rows in that group.
    seed : seed of that draw; choose it before you look at the table.
    given : columns of features. The difference is then split into what they explain and the gap between similar people,
        which is that of the average member of the group to all others with the same features, by linear regressions
        of both sides; text becomes a column of zeros and ones for each category but the first. Its interval is for one
        look: the standard error is HC2, by units with `unit` (CR2), with Bell and McCaffrey's degrees of freedom.
        Intervals of three groups or more hold together.

    Raises
    ------
    TableError
        If a column is missing, a cell is empty or no number, or there are fewer than two groups; with `given`, if all
        values are the same, a group has as few rows as there are columns, a feature is the group under another name,
        or a unit alone shows a feature.
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
    within = whole("within", within, low=1)
    frame, columns = as_pandas(frame), column_names("group", group)
    names, codes, values, of = read = _read(frame, columns, value, unit)
    ranged = bool(values.min() >= 0 and values.max() <= 1)
    tolerance = real("tolerance", tolerance, low=0, below=1 if ranged else math.inf)
    if given is not None or not ranged:
        check_varied("value", values)
    means = (codes, values) if of is None else means_by_unit(codes, values, of)
    what = "rows" if unit is None else "units"
    few = Grouping.of_rows(names, np.bincount(means[0]), 1 - level)
    once = _once(codes, values, of, 1 - level, 1.0 if ranged else math.inf, few.judged)
    asked: dict[str, Any] = {"value": value, "level": level, "tolerance": tolerance, "unit": unit}
    if given is not None or not ranged:
        notes = few.note("groups", f"have too few {what} to be compared closely", what)
        notes += notes_on_skew(few, *means, what) + written_alike(names)
        one_look = _one_look(names, once, few.enough, notes, **asked)
        return one_look if given is None else _given(one_look, frame, columns, given, read)
    mixed, by_unit = 0, once["difference"]
    if of is not None:
        by_unit = differences_by_unit(codes, values, of)
        codes, values, mixed = units_as_rows(codes, values, of, draw_seed(seed))
        once["units"] = np.bincount(codes, minlength=len(names))
    sizes = np.bincount(codes, minlength=len(names))
    parts = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    gaps = [Gap(within) for _ in (names if len(names) > 2 else names[:1])]
    found = [_pairs(gap, mine, values) for gap, mine in zip(gaps, parts, strict=False)]
    table = _table(names, once, gaps, 1 - level)
    first = _first(found, tolerance, 1 - level, len(values))
    again, once_apart = (
        np.maximum(table[low], -table[high])[: len(gaps)] for low, high in (("low", "high"), ("once_low", "once_high"))
    )
    furthest = int((once_apart if again.max() <= tolerance < once_apart.max() else again).argmax())
    row = table.iloc[furthest]
    usual = 2 * sizes * (len(values) - sizes) / len(values) + 1
    thin = 2 * table["pairs"].to_numpy() / usual
    in_runs = (thin < FEW) & (np.minimum(sizes, len(values) - sizes) >= least_rows(len(gaps), 1 - level))
    known = Grouping(names, sizes, (table["high"] - table["low"]).to_numpy() < WIDE)
    few = known._replace(judged=known.judged | in_runs)
    notes = few.note(f"groups of {', '.join(map(repr, columns))}", f"have too few {what} to be compared closely", what)
    if notes and len(gaps) > 1:
        notes += (f"All {len(gaps)} intervals hold together; without the rows of small groups others are narrower.",)
    if in_runs.any():
        least = int(np.where(in_runs, thin, np.inf).argmin())
        notes = (_in_runs(names[least], 2 * int(table["pairs"][least]), usual[least], what), *notes)
    enough = first > 0 or (known.enough and bool(thin.max() >= TOO_FEW))
    named, pairs = names[furthest], gaps[furthest].pairs
    low, high, gap, near, far = (float(row[n]) for n in ("low", "high", "difference", "once_low", "once_high"))
    notes += (*_of_units(named, gap, float(by_unit[furthest]), mixed), *written_alike(names))
    asked |= {"enough": enough, "notes": notes}
    return Parity(first > 0, first, low, high, named, pairs, gap, near, far, table, **asked)


class _Rows(NamedTuple):
    """The groups' names, and of each row (n_rows,) its group, its value and its unit, where units are named."""

    names: list[Label]
    codes: Ints
    values: Floats
    of: Ints | None


def _read(frame: pd.DataFrame, columns: list[str], value: str, unit: str | None) -> _Rows:
    values, taken = numbers(frame, value), {value: "the value"}
    used_once("group", columns, taken)
    taken |= dict.fromkeys(columns, "the group")
    labels = column(frame, columns[0]) if len(columns) == 1 else groups_in(frame, columns)
    names, grouped = in_column_order(frame, columns, labels), ", ".join(map(repr, columns))
    if len(names) < 2:
        raise TableError(expected(f"column {grouped}", "at least two groups", names[0]))
    return _Rows(names, places_in(labels, names), values, None if unit is None else units_in(frame, unit, taken))


def _one_look(names: list[Label], once: dict[str, Any], enough: bool, notes: tuple[str, ...], **asked: Any) -> Parity:
    """Return what one look shows: of two groups that with fewer rows, else the one that differs most clearly."""
    import pandas as pd

    table = pd.DataFrame({"group": names} | once)
    clearest = np.maximum(table["once_low"], -table["once_high"]).argmax()
    at = int(table["rows"].argmin() if len(names) == 2 else clearest)
    gap, near, far = (float(table[name][at]) for name in ("difference", "once_low", "once_high"))
    rejected, low, high = max(near, -far) > asked["tolerance"], -math.inf, math.inf
    asked |= {"enough": enough and math.isfinite(far - near), "notes": notes}
    return Parity(rejected, 0, low, high, names[at], 0, gap, near, far, table, **asked)


def _given(found: Parity, frame: pd.DataFrame, columns: list[str], given: Sequence[str], read: _Rows) -> Parity:
    """Return the finding with what the features explain; of many groups, those with too few rows are named."""
    import pandas as pd

    names, codes, values, of = read
    used = column_names("given", given)
    used_once("given", used, dict.fromkeys(columns, "the group") | {found.value: "the value"})
    encoder, rows = fitted(frame, used, "given")
    sizes, notes = np.bincount(codes), found.notes
    compared = [names.index(found.group)]
    if len(names) > 2:
        compared = np.flatnonzero(sizes > rows.shape[1] + 1).tolist() or compared
        few = Grouping(names, sizes, np.isin(np.arange(len(names)), compared))
        notes = few.note("groups", f"have too few rows for {rows.shape[1]} columns of features")
    settings: dict[str, Any] = {"compared": compared, "level": found.level, "of": of, "argument": "given"}
    similar = similar_gaps(rows, values, codes, names, encoder, **settings)
    if of is not None and (mixed := mixed_units(codes, of)):
        notes += (f"{mixed:,} units have rows in several groups; the interval counts all rows of a unit together.",)
    said = ["difference", "reference", "together", "features", "left_out", "lacking", "combined"]
    gaps = pd.DataFrame([one._asdict() for one in similar]).drop(columns=said)
    table = found.groups.merge(gaps.rename(columns={"low": "gap_low", "high": "gap_high"}), on="group", how="left")
    least = max(similar, key=lambda one: max(one.low, -one.high))
    return replace(
        found,
        rejected=max(least.low, -least.high) > found.tolerance,
        groups=table,
        similar=tuple(similar),
        enough=found.enough and math.isfinite(least.low),
        given=tuple(map(str, used)),
        notes=notes + notes_on_overlap(rows, codes, names, encoder.sources),
    )


def _in_runs(group: Label, used: int, usual: float, what: str) -> str:
    """Say that few of the rows or units could be used that could be if the groups came in random order."""
    return (
        f"Only {used:,} {what} could be compared for group {group!r}; in random order about {usual:,.0f} could. Those "
        "of one group follow each other, as in batches or in a log that is sorted by group. Sort the log by time. If "
        "it is sorted so, a difference between the groups cannot be distinguished from a change over time."
    )


def _of_units(group: Label, by_row: float, by_unit: float, mixed: int) -> Iterator[str]:
    """Say which mean each interval is of where that makes a difference, and in which group units count that have rows
    in several."""
    if read_differently(by_row, by_unit):
        yield (
            f"Units have different numbers of rows. For one look the means over rows count, in which group {group!r} "
            f"differs by {by_row:.4g}; for many looks those over units, in which it differs by {by_unit:.4g}."
        )
    if mixed:
        yield (
            f"{mixed:,} units have rows in several groups. For many looks each counts in the group of one of its rows, "
            "drawn at random with the seed, by the mean of its rows in that group."
        )


def _pairs(gap: Gap, mine: Ints, values: Floats) -> tuple[Floats, Ints]:
    """Return the difference of each pair of the group that has the rows `mine`, and the row, counted from 1, at which
    it was complete. The first row of each run is all that counts, so that many small groups take no time."""
    begins, ends = np.diff(mine, prepend=-2) > 1, np.diff(mine, append=len(values) + 1) > 1
    others = np.concatenate([[0] if mine[:1].any() else [], mine[ends] + 1]).astype(np.int64)
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


def _once(codes: Ints, values: Floats, of: Ints | None, error: float, largest: float, judged: Bools) -> dict[str, Any]:
    """Return the columns of the table that one look at all rows gives; `of` (n_rows,) says of which unit they are, None
    that each is one, `largest` how far means may differ, and `judged` which groups have rows enough."""
    from scipy.stats import t

    binary = set(np.unique(values)) <= {0.0, 1.0}
    if len(judged) > 2:
        judged = judged | binary
        error /= max(int(judged.sum()), 1)
    middle_value = 0.0 if binary else float(values.mean())
    values = values - middle_value  # squares of large numbers that hardly differ lose their digits
    own = np.array([np.bincount(codes, values**power) for power in (0, 1, 2)])
    rows, sums, squares = np.array([own, own.sum(axis=1, keepdims=True) - own]).swapaxes(0, 1)
    means = sums / rows
    if of is None:
        n, middles = rows + 2 * binary, (sums + binary) / (rows + 2 * binary)
        variances = np.maximum((squares + binary) / n - middles**2, 0) / np.maximum(n - 1, 1)
        half = np.sqrt((t.ppf(1 - error / 2, np.maximum(n - 1, 1)) ** 2 * variances).sum(axis=0))
        middle = middles[0] - middles[1]
    else:
        middle, half = intervals_by_unit(codes, values, of, error, binary)
    found = {"rows": rows[0].astype(np.int64), "mean": means[0] + middle_value, "difference": means[0] - means[1]}
    if not binary:  # a side whose rows are all the same does not show how much is chance
        scatter = (squares / rows - means**2).min(axis=0)
        known = (rows.min(axis=0) > 1) & (scatter > CONSTANT * np.mean(values**2))
        half = np.where(known & (judged | (len(judged) == 2)), half, np.inf)
    return found | {"once_low": np.maximum(middle - half, -largest), "once_high": np.minimum(middle + half, largest)}


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
