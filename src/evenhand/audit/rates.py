"""Rates of groups, and their ratios to the best group's rate: the four-fifths rule, and the table of New York's Local
Law 144.

A rate is the share of rows with a 1, or for scores the share strictly above the median of all rows. For one look at the
table the interval of a ratio of two rates is Koopman's; where units have several rows each it is that of the ratio's
logarithm, with the standard errors and degrees of freedom of `evenhand.audit.units`, or Koopman's with as many rows as
units where a rate is 0. As the best group is found in the same rows, a group's ratio is the smallest of its ratios to
all groups with 2 % of the rows, its interval from the least of the lower ends to the least of the upper ends, these at
(1 - level) / (groups - 1). A smaller group is not among those that may be the best, and its ratio may be above 1. The
intervals for any number of looks are those of `evenhand.audit.ratios`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import real
from evenhand.audit.ratios import FARTHEST, ends_to_best, evidence_below, koopman
from evenhand.audit.similar import check_varied
from evenhand.audit.units import Bars, UnitMean, half_width, units_in
from evenhand.data.groupings import NAMED, groups_in, used_once, written_alike
from evenhand.data.tables import check_column, column_names, in_column_order, numbers, places_in
from evenhand.display.digits import number
from evenhand.display.html import Card, HasCard, Table
from evenhand.errors import TableError, expected, first_few
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

SMALL = 0.02
"""Groups with a smaller part of the rows may be left out under Local Law 144; here they are no reference, and named."""
NEITHER = "not shown to be either"
"""Where an interval lies that holds the threshold."""
NOT_SAID = (
    "The four-fifths rule says where to look: not why rates differ, not whether similar people are treated alike, and "
    "not whether the law is kept."
)


@dataclass(frozen=True, eq=False, repr=False)
class Rates(HasCard):
    """The rates of groups, and their ratios to the best group's.

    Attributes
    ----------
    groups : a row for each group of each column, and of all columns together: `column`, `group`, `rows`, `above` (with
        a 1, or strictly above the median), `rate`, `ratio` to the best group's (above 1 only where a group has less
        than 2 % of the rows, and so is not the best), its interval `low` and `high`, and `where` that lies: "shown to
        be below 0.8", "shown not to be below 0.8" or "not shown to be either"; of the best group, which the others are
        compared with, "reference". Where groups are unknown, `least` and `most` are the sharp bounds of the ratio
        whatever these are.
    median : above which a score counts; None for values of 0 and 1.
    value, level, threshold, unit : as they were given.
    notes : what to know before trusting the result.
    """

    groups: pd.DataFrame
    rejected: bool
    evidence: dict[str, float]
    median: float | None
    value: str
    level: float
    threshold: float
    unit: str | None
    notes: tuple[str, ...]

    @property
    def supposed(self) -> str:
        """What the ratios suppose, and do not say."""
        apart = "the rows are independent" if self.unit is None else f"the units ({self.unit}) are independent"
        looks = ""
        if self.evidence:
            looks = ", and for many looks at a log that grows meanwhile, that rates do not change over time"
        many = " Each interval is for its group alone, so that one of many may miss."
        several = self.groups.groupby("column").size().max() > 2
        fixed = ""
        if self.median is not None:
            fixed = f" The interval is of the shares above {number(self.median)}, not above the median of other tables."
        return f"This supposes that {apart}{looks}.{fixed}{many if several else ''} {NOT_SAID}"

    def __str__(self) -> str:
        return f"{self.finding()} {self.supposed}"

    def finding(self) -> str:
        """Return for each column in words the group with the smallest ratio, of those that are shown to be below the
        threshold where some are, and these others."""
        said, what = [], "a rate" if self.median is None else f"a share above the median ({number(self.median)})"
        for name, rows in self.groups.groupby("column", sort=False):
            reference = rows["where"] == "reference"
            (best, *_), others = rows[reference].to_dict("records"), rows[~reference]
            below = others["once_high"] < self.threshold
            row, *more = (others[below] if below.any() else others).sort_values("ratio").to_dict("records")
            is_ = f"may be below {self.threshold:g} or not" if row["where"] == NEITHER else f"is {row['where']}"
            sentence = (
                f"By {name}, group {row['group']!r} has {what} of {row['rate']:.1%} ({row['above']:,} of "
                f"{row['rows']:,}), {row['ratio']:.3f} of that of group {best['group']!r} ({best['rate']:.1%}). If "
                f"this table is looked at once, the {100 * self.level:g} % interval of that ratio is "
                f"{row['once_low']:.3f} to {row['once_high']:.3f}, so it {is_}"
            )
            if below.any() and more:
                sentence += f", as is that of {first_few([repr(one['group']) for one in more], NAMED)}"
            if name in self.evidence:
                shown = "show" if self.evidence[str(name)] >= 1 / (1 - self.level) else "do not show"
                sentence += (
                    f". If it grows and is looked at again and again, the interval is {row['low']:.3f} to "
                    f"{row['high']:.3f}, and all groups together {shown} that some ratio is below {self.threshold:g}"
                )
            said.append(f"{sentence}.")
        return " ".join(said)

    def bars(self) -> Bars:
        """Return what a picture shows of the ratios."""
        known = self.groups[["ratio", "once_low", "once_high"]].to_numpy(float)
        known[self.groups["where"] == "reference", 1:] = math.nan
        several, named = self.groups["column"].nunique() > 1, self.groups[["column", "group"]].to_numpy().tolist()
        rows = [
            (f"{column}: " * several + str(group), "reference" if math.isnan(low) else f"{ratio:.3f}", ratio, low, high)
            for (column, group), (ratio, low, high) in zip(named, known.tolist(), strict=True)
        ]
        title = f"{self.value}: the rate of each group, divided by that of the best group"
        return title, f"ratio of rates; dashed: {self.threshold:g}", self.threshold, rows

    def _card(self) -> Card:
        return Card("Rates", {"finding": str(self), "level": self.level}, [Table.of(self.groups, "Groups")])


def rates(
    frame: pd.DataFrame,
    *,
    group: str | Sequence[str],
    value: str,
    level: float = 0.95,
    threshold: float = 0.8,
    unit: str | None = None,
) -> Rates:
    """Compare the rates of groups with that of the best group, as the four-fifths rule does.

    Parameters
    ----------
    frame : the table, one row per person or decision.
    group : the column of the groups, or several: each is compared, and all their combinations. An empty cell is an
        unknown group.
    value : 0 and 1, such as selected or not; or scores, of which the share strictly above the median is compared.
    level : the probability with which each interval holds, and that for any number of looks at every row at once.
    threshold : the ratio that intervals are compared with.
    unit : the column that says which rows belong together, such as those of one person or ad.

    Raises
    ------
    TableError
        If a column is missing, a value is empty or no number, all values are the same, no group holds 2 % of the rows,
        or there are fewer than two groups.
    ArgumentError
        If the level or the threshold is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"sex": ["f"] * 100 + ["m"] * 100, "hired": [1] * 24 + [0] * 76 + [1] * 48 + [0] * 52})
    >>> found = rates(log, group="sex", value="hired")
    >>> found.groups[["group", "ratio", "once_low", "once_high", "where"]].round(2).values.tolist()[0]
    ['f', 0.5, 0.33, 0.74, 'shown to be below 0.8']
    """
    import pandas as pd

    level = real("level", level, above=0, below=1)
    threshold = real("threshold", threshold, above=0, high=1)
    frame, columns = as_pandas(frame), column_names("group", group)
    values, taken = numbers(frame, value), {value: "the value"}
    used_once("group", columns, taken)
    taken |= dict.fromkeys(columns, "the group")
    check_varied("value", values)
    median = None if set(np.unique(values)) <= {0.0, 1.0} else float(np.median(values))
    counted = "a 1" if median is None else "a value above the median"
    above = (values > (0.5 if median is None else median)).astype(np.float64)
    of = None if unit is None else units_in(frame, unit, taken)
    repeated = median is None and of is None
    level_with = int((values == median).sum())
    tables, notes, evidence = [], [], {}
    if level_with >= max(2, SMALL * len(frame)):
        notes.append(f"{level_with:,} of {len(frame):,} rows are exactly at the median, and count as not above it.")
    for names in [[name] for name in columns] + ([columns] if len(columns) > 1 else []):
        table, said, against = _of_columns(frame, names, above, of, 1 - level, threshold, counted, repeated)
        if repeated:
            evidence[" & ".join(map(str, names))] = against
        tables.append(table)
        notes += said
    groups = pd.concat(tables, ignore_index=True)
    rejected = bool(groups["once_high"].min() < threshold)
    if repeated:
        rejected = max(evidence.values()) >= 1 / (1 - level)
    return Rates(groups, rejected, evidence, median, value, level, threshold, unit, tuple(notes))


def _of_columns(
    frame: pd.DataFrame,
    columns: list[str],
    above: Floats,
    of: Ints | None,
    error: float,
    threshold: float,
    counted: str,
    repeated: bool,
) -> tuple[pd.DataFrame, list[str], float]:
    """Return the rates of the groups that columns make together, what to know of them, and for any number of looks the
    e-value against all ratios being at least the threshold."""
    import pandas as pd

    for name in columns:
        check_column(frame, name, "group")
    known, what = frame[columns].notna().all(axis=1).to_numpy(), " & ".join(map(str, columns))
    if not known.any():
        raise TableError(expected(f"column {what!r}", "at least two groups", "empty cells only"))
    inside = frame[known]
    labels = groups_in(inside, columns)
    names = in_column_order(inside, columns, labels)
    if len(names) < 2:
        raise TableError(expected(f"column {what!r}", "at least two groups", names[0]))
    codes, values = places_in(labels, names), above[known]
    rows, hits = np.bincount(codes).astype(np.int64), np.bincount(codes, values).astype(np.float64)
    large = rows >= SMALL * len(frame)
    if not hits[large].any():
        hint = f"no larger group has {counted}, so that no ratio is defined"
        raise TableError(expected(f"column {what!r}", "a group with 2 % of the rows and a rate above 0", "none", hint))
    unknown = (float(above[~known].sum()), float((1 - above[~known]).sum()))
    table = pd.DataFrame({"column": what, "group": names, "rows": rows, "above": hits.astype(int)})
    table["rate"] = hits / rows
    table["ratio"] = table["rate"] / table["rate"][large].max()
    sides = None if of is None else _units(codes, values, of[known])
    table["once_low"], table["once_high"] = _intervals(rows, hits, large, error, sides)
    shown = [table["once_high"] < threshold, table["once_low"] >= threshold]
    said = [f"shown {be} below {threshold:g}" for be in ("to be", "not to be")]
    table["where"] = np.select(shown, said, NEITHER)
    table.loc[int(table["rate"].where(large).argmax()), "where"] = "reference"
    notes, evidence = [*written_alike(names)], 0.0
    if repeated:
        counts, own = np.column_stack([hits, rows]), np.arange(len(names))
        ends = [ends_to_best(counts[at], counts[large & (own != at)], error) for at in own]
        table[["low", "high"]] = np.minimum(ends, np.where(large, 1.0, math.inf)[:, None])
        evidence = evidence_below(counts[large], threshold)
    if sum(unknown):
        table["least"], table["most"] = _bounds(rows, hits, large, unknown)
        notes.append(
            f"{sum(unknown):,.0f} rows of an unknown group of {what!r}, {unknown[0]:,.0f} of them with {counted}, "
            "are in no group; least and most bound each ratio whatever their groups are, without chance."
        )
    if not large.all():
        small = ", ".join(f"{name!r} ({size:,})" for name, size, big in zip(names, rows, large, strict=True) if not big)
        notes.append(
            f"Groups of {what!r} with less than {SMALL:.0%} of the rows are shown, but are not the best group: {small}."
        )
    return table, notes, evidence


def _units(codes: Ints, values: Floats, of: Ints) -> list[UnitMean]:
    """Return the rate of each group by its units, scores relative to the rate: those of its logarithm."""
    count, found = int(of.max()) + 1, []
    for code in range(int(codes.max()) + 1):
        own = codes == code
        sums, sizes = np.bincount(of[own], values[own], count), np.bincount(of[own], minlength=count)
        mean = UnitMean.of(sums.astype(np.float64), sizes.astype(np.float64))
        found.append(mean._replace(scores=mean.scores / mean.mean) if mean.mean > 0 else mean)
    return found


def _intervals(
    rows: Ints, hits: Floats, large: Any, error: float, sides: list[UnitMean] | None
) -> tuple[list[float], list[float]]:
    """Return the ends of each group's ratio to the best group's rate, which is one of the large ones."""

    def interval(one: int, other: int, error: float) -> tuple[float, float]:
        if sides is None:
            return koopman(hits[one], rows[one], hits[other], rows[other], error)
        if not hits[one] or not hits[other]:  # a rate of 0 shows no variance between units: each counts as one row
            (mine, rate), (theirs, best) = (
                (float(np.count_nonzero(sides[at].leverages)), hits[at] / rows[at]) for at in (one, other)
            )
            return koopman(mine * rate, mine, theirs * best, theirs, error)
        ratio = hits[one] / rows[one] * rows[other] / hits[other]
        half = half_width(error, sides[one], sides[other])
        return ratio * math.exp(-half), ratio * math.exp(min(half, math.log(FARTHEST)))

    lows, highs, best = [], [], np.flatnonzero(large)
    for one in range(len(rows)):
        others, itself = best[best != one], [1.0] * bool(large[one])
        ends = [(interval(one, at, error)[0], interval(one, at, error / len(others))[1]) for at in others]
        lows.append(min([*itself, *(low for low, _ in ends)]))
        highs.append(min([*itself, *(high for _, high in ends)]))
    return lows, highs


def _bounds(rows: Ints, hits: Floats, large: Any, unknown: tuple[float, float]) -> tuple[list[float], list[float]]:
    """Return the sharp bounds of each group's ratio to the best group's rate, whatever group unknown rows are of;
    `unknown` are how many there are with a 1 and with a 0.

    The ratio is least if all ones are of one other group, and all zeros of the group itself. It is most if all ones are
    of the group, and zeros of the best others, which they level down to the largest rate of any first few together.
    """
    ones, zeros = unknown
    least, most, order = [], [], np.argsort(-hits / rows)
    for one in range(len(rows)):
        others, itself = order[large[order] & (order != one)], [1.0] * bool(large[one])
        highest = np.max((hits[others] + ones) / (rows[others] + ones), initial=0.0)
        level = np.max(np.cumsum(hits[others]) / (np.cumsum(rows[others]) + zeros), initial=0.0)
        least.append(min([*itself, *([hits[one] / (rows[one] + zeros) / highest] if highest else [])]))
        most.append(min([*itself, *([(hits[one] + ones) / (rows[one] + ones) / level] if level else [])]))
    return least, most
