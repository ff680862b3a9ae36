"""Whom to choose: the people with the largest recorded outcomes, and with the largest once the gap between similar
people is taken out of the records of one group.

A member of that group with the features x and the record y counts with y + x'(b_r - b_s): what all others have by these
features, by their least squares b_r, instead of what the group has, b_s. On average over the group this adds what
`evenhand.audit.parity` with `given` finds as the gap. Applicants without a record count with x'b_s or x'b_r, and once
the gap is taken out all with x'b_r. Where the gap is at an end of its interval, each correction is larger or smaller by
as much as that end is from the gap.

Source: R. Oaxaca, "Male-female wage differentials in urban labor markets", International Economic Review 14 (1973), for
the regressions; the choice is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import real, whole
from evenhand.audit.similar import Sides, SimilarGap, check_varied, notes_on_overlap, similar_gaps, spanned, supposed
from evenhand.data.encoding import check_columns, fitted
from evenhand.data.groupings import used_once
from evenhand.data.tables import check_column, column, column_names, in_column_order, numbers, places_in
from evenhand.display.digits import as_written, in_words
from evenhand.display.html import Card, HasCard, Table
from evenhand.errors import ArgumentError, TableError, Wording, expected, expected_one_of, first_few
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Bools, Floats
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd

MARKS = ("by_record", "after_correction", "at_gap_low", "at_gap_high")
ADDED = ("record", "corrected", *MARKS)
"""The columns that a table of people gets."""
STEPS = 101
"""At so many gaps across its interval the cost is computed."""
ROUNDING = 1e-13
"""Differences of means that are a smaller part of the largest record are rounding."""
NAMED = 10
"""How many rows a sentence names."""


@dataclass(frozen=True, eq=False, repr=False)
class Chosen(HasCard):
    """Who has the places by the records, and who once the gap between similar people is taken out.

    Attributes
    ----------
    people : the table as it was given, with `record` and `corrected`, what each counts with, and whether each has a
        place `by_record`, `after_correction`, and with the gap at the ends of its interval, `at_gap_low` and
        `at_gap_high`.
    enter, leave : the rows, counted from 0, that the correction gives and takes a place.
    cost, cost_low, cost_high : by how much the mean of `record` among those with a place falls, and the least and the
        most of that over the gap's interval.
    gap : the gap between similar people, see `evenhand.audit.parity`.
    group : the group that is corrected; of two by default the one with fewer rows.
    column : the column of the groups.
    reward, features, places, level : as they were given.
    predicted : whether `record` is what the regressions predict for applicants.
    notes : what to know before trusting the result.
    """

    people: pd.DataFrame
    enter: list[int]
    leave: list[int]
    cost: float
    cost_low: float
    cost_high: float
    gap: SimilarGap
    group: Label
    column: str
    reward: str
    features: tuple[str, ...]
    places: int
    level: float
    predicted: bool
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([self.finding(), self.gap.sentences(self.reward, self.level), supposed()])

    def finding(self) -> str:
        """Return whom the correction changes, and what that costs, in words."""
        (gap,) = in_words(self.gap.gap)
        cost, least, most = as_written(self.cost, self.cost_low, self.cost_high)
        what = f"{'predicted ' * self.predicted}{self.reward}"
        mine = (self.people[self.column] == self.group).to_numpy()
        counts = [int((mine & self.people[name]).sum()) for name in MARKS[:2]]
        before, after = (f"{count} {'is' if count == 1 else 'are'}" for count in counts)
        said = f"Of the {self.places} people with the largest {what}, {before} in group {self.group!r}. "
        said += f"Its records are on average {gap} than those of similar people; "
        said += f"with this gap taken out of each by its own features, {after}. "
        new = [int((self.people[name] & ~self.people["by_record"]).sum()) for name in MARKS[2:]]
        if self.cost_high == 0 and not (self.enter or any(new)):
            return f"{said}Nothing changes, and it costs nothing, wherever in its interval the gap is."
        fall = f"{cost} ({least} to {most} over the interval of the gap)"
        changed = f"Nothing changes; the mean {what} of those chosen falls by {fall}."
        if self.enter:
            changed = f"Enter: {_rows(self.enter)}. Leave: {_rows(self.leave)}. The mean {what} falls by {fall}."
        low, high = in_words(self.gap.low, self.gap.high)
        ends = f"if its records are {low}, {new[0]} enter; if {high}, {new[1]}"
        return f"{said}{changed} At the ends of the gap's {100 * self.level:g} % interval: {ends}."

    def listed(self) -> tuple[pd.DataFrame, int]:
        """Return everybody who has a place by any of the four, those first who do not have it by all, and of whom more
        is recorded after the correction; and how many have it by all."""
        people = self.people.sort_values("corrected", ascending=False, kind="stable")
        shown = people[people[list(MARKS)].any(axis=1)]
        stays = shown[list(MARKS)].all(axis=1).to_numpy()
        return shown.iloc[np.argsort(stays, kind="stable")], int(stays.sum())

    def _card(self) -> Card:
        shown, _ = self.listed()
        return Card("Chosen", {"finding": str(self), "level": self.level}, [Table.of(shown, "People")])


def choose(
    frame: pd.DataFrame,
    *,
    group: str,
    reward: str,
    features: Sequence[str],
    places: int,
    sensitive: Label | None = None,
    applicants: pd.DataFrame | None = None,
    level: float = 0.95,
) -> Chosen:
    """Choose people by their records, and once the gap between similar people is taken out of those of one group.

    This is one choice among people who are all there. For people who come one after another, and whose outcomes are
    learned from, use a policy such as `GroupFairTopInterval`.

    Parameters
    ----------
    frame : the people with a record, one per row.
    group, reward, features : the columns of the groups, of the records, and in which people are alike; see
        `evenhand.audit.parity` with `given`.
    places : how many people are chosen.
    sensitive : the group whose records the gap is taken out of; of two groups by default the one with fewer rows.
    applicants : people without a record, with the columns of group and features: these are chosen from instead, by what
        the regressions of `frame` predict for them.
    level : the probability with which the interval of the gap holds.

    Raises
    ------
    TableError
        As `evenhand.audit.parity` with `given`; if a column that is added is there already, or an applicant is of a
        group without a record.
    ArgumentError
        If there are fewer people than places, or `sensitive` is none of the groups, or missing for more than two.

    Examples
    --------
    >>> import pandas as pd
    >>> staff = pd.DataFrame({"sex": list("fmfmfmfmfm"), "years": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]})
    >>> staff["pay"] = 10 * staff["years"] - 14 * (staff["sex"] == "f") + [0, 1, 1, 0, 0, 1, 1, 0, 1, 0]
    >>> found = choose(staff, group="sex", reward="pay", features=["years"], places=3, sensitive="f")
    >>> found.enter, found.leave, round(found.cost, 1)
    ([6], [7], 4.3)
    """
    level = real("level", level, above=0, below=1)
    frame, used = as_pandas(frame), column_names("features", features)
    check_column(frame, group, "group")
    values, labels = numbers(frame, reward), column(frame, group)
    used_once("group", [group], {reward: "the reward"})
    used_once("features", used, {group: "the group", reward: "the reward"})
    check_varied("reward", values)
    names = in_column_order(frame, [group], labels)
    codes = places_in(labels, names)
    code = _compared(names, codes, sensitive)
    encoder, rows = fitted(frame, used)
    (gap,) = similar_gaps(rows, values, codes, names, encoder, compared=[code], level=level)
    if math.isinf(gap.low):
        got = Wording("some that determine all of one side")
        raise TableError(expected("features", "some that leave a part of the records to chance", got))
    notes = notes_on_overlap(rows, codes, names, encoder.sources)
    if gap.low <= 0 <= gap.high:
        notes += (
            "The interval of the gap holds 0: the gap may be chance, and then the correction takes places by chance.",
        )
    own, rows = codes == code, _with_intercept(rows)
    sides = Sides.of(rows, own, encoder.sources)
    (of_own, of_others), compared = sides.kept, rows[sides.others]
    mine = np.linalg.lstsq(rows[sides.members][:, of_own], values[sides.members], rcond=None)[0]
    others = np.linalg.lstsq(compared[:, of_others], values[sides.others], rcond=None)[0]
    people, record = frame, values
    if applicants is not None:
        people = as_pandas(applicants, "applicants")
        check_columns("applicants", people, [group, *used])
        try:
            met, rows = column(people, group), _with_intercept(encoder.transform(people.rename(columns=str)))
        except TableError as error:
            raise TableError(Wording("applicants, ", error.args[0])) from error
        own = (at := places_in(met, names)) == code
        if at.min() < 0:
            raise TableError(expected_one_of(f"applicants, row {at.argmin() + 1}", names, met[at.argmin()]))
        record = np.where(own, rows[:, of_own] @ mine, rows[:, of_others] @ others)
    if taken := [name for name in ADDED if name in people]:
        what = "a table without the columns that are added"
        raise TableError(expected("frame" if applicants is None else "applicants", what, taken[0], "rename it"))
    places = whole("places", places, low=1, high=len(people))
    moved = own & spanned(rows, compared)
    notes += _unmoved(int((own & ~moved).sum()), names[code], gap.lacking or used)
    corrected = record + np.where(moved, rows[:, of_others] @ others - rows[:, of_own] @ mine, 0.0)
    by_record, after, low, high = (
        _largest(record, places),
        *(_largest(corrected + (gap.gap - end) * moved, places) for end in (gap.gap, gap.low, gap.high)),
    )
    ends = (gap.gap, *np.linspace(gap.low, gap.high, STEPS))
    means = [record[_largest(corrected + (gap.gap - end) * moved, places)].mean() for end in ends]
    costs = record[by_record].mean() - np.array(means)
    costs[np.abs(costs) <= ROUNDING * np.abs(record).max()] = 0.0
    table = people.assign(**dict(zip(ADDED, (record, corrected, by_record, after, low, high), strict=True)))
    notes += _ties(record, by_record, "by the records") + _ties(corrected, after, "after the correction")
    enter, leave = (np.flatnonzero(one).tolist() for one in (after & ~by_record, by_record & ~after))
    cost, least, most = float(costs[0]), float(costs.min()), float(costs.max())
    named, predicted = tuple(map(str, used)), applicants is not None
    return Chosen(
        table, enter, leave, cost, least, most, gap, names[code], group, reward, named, places, level, predicted, notes
    )


def _compared(names: list[Label], codes: Any, sensitive: Label | None) -> int:
    """Return the place of the group whose records are corrected."""
    if len(names) < 2:
        raise TableError(expected("group", "a column with at least two groups", names[0]))
    if sensitive is None:
        if len(names) == 2:
            return int(np.bincount(codes).argmin())
        what = Wording("the name of the group whose records are corrected, as there are several: ", names[:NAMED])
        raise ArgumentError(expected("sensitive", what, Wording("none")))
    place = int(places_in(np.array([sensitive], object), names)[0])
    if place < 0:
        raise ArgumentError(expected_one_of("sensitive", names, sensitive))
    return place


def _unmoved(count: int, group: Label, features: Sequence[Any]) -> tuple[str, ...]:
    """Return a note where nobody in the other groups is like some people of the group in these features."""
    what = f"{count:,} people in group {group!r}, whom nobody in the other groups is like in"
    return (f"{what} {first_few(features, NAMED)}, keep their record.",) if count else ()


def _with_intercept(rows: Floats) -> Floats:
    return np.column_stack([rows, np.ones(len(rows))])


def _largest(values: Floats, places: int) -> Bools:
    """Return whether each value (n,) is among the largest; of equal ones those that come first."""
    chosen = np.zeros(len(values), np.bool_)
    chosen[np.argsort(-values, kind="stable")[:places]] = True
    return chosen


def _ties(values: Floats, chosen: Bools, how: str) -> tuple[str, ...]:
    """Return a note where people with and without a place count alike."""
    last = values == values[chosen].min()
    if not (last & ~chosen).any():
        return ()
    count = (last & chosen).sum()
    have = f"{count:,} have a place: those who come" if count > 1 else "1 has a place: the one who comes"
    return (f"{last.sum():,} people are level at the last place {how}. Of these {have} first in the table.",)


def _rows(rows: list[int]) -> str:
    """Return rows as a sentence names them, counted from 1.

    >>> _rows([4]), _rows([0, 2])
    ('row 5', 'rows 1, 3')
    """
    return f"row{'s' * (len(rows) > 1)} {first_few([row + 1 for row in rows], NAMED)}"
