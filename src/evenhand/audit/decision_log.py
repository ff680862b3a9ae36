"""Read a log of decisions: its rounds, the arms of each, those that were on offer, and the segment it belongs to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.data.csv_cells import DATE
from evenhand.data.tables import (
    OFFERED,
    cells,
    check_column,
    check_digits,
    column,
    column_names,
    in_natural_order,
    levels_of,
    named_alike,
    places_in,
)
from evenhand.errors import TableError, UnknownArmError, expected, expected_label
from evenhand.kernels.arrays import Bools, Ints
from evenhand.labels import Labels
from evenhand.promises.round_kernels import Rounds
from evenhand.protocol import Label, label_of, writing

if TYPE_CHECKING:
    import pandas as pd

SEVERAL = (list, tuple, np.ndarray)
MEND = "give it a share, 0 if it is owed nothing"
NONE = np.zeros(0, np.int64)


class Plays(NamedTuple):
    """The arms that were played, an entry for each: its label and its row (n_plays,).

    Attributes
    ----------
    kinds : the labels in natural order, with those that a categorical column declares but never holds.
    """

    labels: NDArray[Any]
    rows: Ints
    kinds: list[Label]


class Ordered(NamedTuple):
    """The rows of a log in the order of some columns.

    Attributes
    ----------
    names : the columns.
    rows : the rows in their order (n_rows,). Those with equal values are in that of the log, and turned around in a log
        whose newest rows come first.
    place : of each row (n_rows,), the same for rows with equal values.
    moments : the values of the first column (n_rows,).
    turned : whether the newest rows of the log come first.
    """

    names: list[Any]
    rows: Ints
    place: Ints
    moments: NDArray[Any]
    turned: bool

    def note(self, tied: int, total: int, what: str, others: str, sure: str = "") -> tuple[str, ...]:
        """Return what is to be said where so many rows or rounds have the same values as `others`; `sure` says it where
        another order of these changes nothing."""
        names = ",".join(map(str, self.names))
        way = ", from its end, as its newest rows come first" if self.turned else ""
        hint = f"Another order of them may change the answer: name a further column, such as {names},id."
        equal = (
            f"{tied:,} of {total:,} {what} have the same {names} as {others}, and are taken as the log has them{way}"
        )
        return (f"{equal}. {sure or hint}",) if tied else ()


class Numbered(NamedTuple):
    """The round of each row, counted from 0 (n_rows,), the first row of each round (n_rounds,), and the order that the
    rows have by some columns, None where none is named."""

    of_row: Ints
    first_row: Ints
    ordered: Ordered | None = None

    @property
    def moments(self) -> NDArray[Any] | None:
        """The moments of the rounds, in the first column that orders them."""
        return None if self.ordered is None else self.ordered.moments[self.first_row]

    def notes(self, log: Rounds, sure: str = "") -> tuple[str, ...]:
        """Return what is to be said of rounds that differ and have the same place in the order."""
        if self.ordered is None:
            return ()
        place, total = self.ordered.place[self.first_row], len(self.first_row)
        kinds: Ints = np.arange(total) if len(log.starts) else log.codes.astype(np.int64)
        for other in (place, *([log.keys] if len(log.keys) else ()), *(log.offers.T if len(log.offers) else ())):
            kinds = np.unique(kinds * (other.max() + 1) + other, return_inverse=True)[1]
        same = np.bincount(place)
        differ = np.bincount(place[np.unique(kinds, return_index=True)[1]], minlength=len(same)) > 1
        return self.ordered.note(int(same[differ].sum()), total, "rounds", "another that differs", sure)


def read_plays(frame: pd.DataFrame, arm: str, owed: Any = None) -> Plays:
    """Return the arms of a column of labels, or of lists of labels, which may be written as JSON. Text that `owed`
    promises a share to is a label.

    Raises
    ------
    TableError
        If there is no such column, or a cell is empty, neither an arm nor a list of arms, or names an arm twice.
    """
    given = cells(frame, arm)
    given = _lists_in(given, owed if isinstance(owed, Mapping) else {})
    if not isinstance(given.iloc[0], SEVERAL):
        labels = column(frame, arm)
        return Plays(labels, np.arange(len(labels)), levels_of(labels, given))
    flat: list[Label] = []
    sizes = []
    for row, cell in enumerate(given):
        read = [label for label in map(label_of, cell) if label is not None] if isinstance(cell, SEVERAL) else []
        if not read or len(read) < len(cell):
            what = "a list of arms in every row, as in the first"
            raise TableError(expected(f"column {arm!r}, row {row + 1}", what, cell))
        flat += read
        sizes.append(len(read))
    labels = np.empty(len(flat), dtype=object)
    labels[:] = flat
    return Plays(labels, np.repeat(np.arange(len(given)), sizes), in_natural_order(flat))


def _lists_in(given: pd.Series[Any], labels: Container[Any] = ()) -> pd.Series[Any]:
    """Return a column of lists as JSON, as exports hold them, as one of lists; another column, such as one of these
    labels, as it is."""
    import pandas as pd

    first = given.iloc[0]
    if not (isinstance(first, str) and first.startswith("[")) or first in labels:
        return given
    try:
        found = [json.loads(cell) for cell in given]
    except (ValueError, TypeError, RecursionError):
        return given
    return pd.Series(found) if all(isinstance(cell, list) for cell in found) else given


def read_rounds(frame: pd.DataFrame, order: str | Sequence[str] | None, round: str | None) -> Numbered:
    """Return the rounds of a log, a row each, or a value of the column `round` each.

    Raises
    ------
    TableError
        If a column is missing or has an empty cell, or `order` is neither numbers nor times.
    """
    import pandas as pd

    ordered = None if order is None else read_order(frame, order)
    sequence = np.arange(len(frame)) if ordered is None else ordered.rows
    numbers, first = np.arange(len(frame)), sequence
    if round is not None:
        check_column(frame, round, "round")
        numbers, names = pd.factorize(cells(frame, round).take(sequence))
        first = sequence[np.searchsorted(np.maximum.accumulate(numbers), np.arange(len(names)))]
    of_row = np.empty(len(frame), np.int64)
    of_row[sequence] = numbers
    return Numbered(of_row, first, ordered)


def read_order(frame: pd.DataFrame, order: str | Sequence[str]) -> Ordered:
    """Return the order of the rows by a column, or by several: by the next one where values of one are equal.

    Raises
    ------
    TableError
        If a column is missing or has an empty cell, or is neither numbers nor times.
    """
    names = column_names("order", order)
    for name in names:
        check_column(frame, name, "order")
    values = [moments_of(cells(frame, name), name) for name in names]
    codes = [np.unique(each, return_inverse=True)[1] for each in values]
    rows = np.lexsort(codes[::-1])
    later = np.any([each[rows][1:] != each[rows][:-1] for each in codes], axis=0)
    place = np.empty(len(rows), np.int64)
    place[rows] = np.cumsum([0, *later])
    steps = np.diff(place)
    turned = bool((steps <= 0).all() and (steps < 0).any())
    if turned:
        rows = np.arange(len(rows))[::-1]
    return Ordered(names, rows, place, values[0], turned)


def moments_of(given: pd.Series[Any], name: str) -> NDArray[Any]:
    """Return a column of numbers, or of times in UTC (n_rows,).

    Raises
    ------
    TableError
        If a cell is neither, some are numbers and some are times, or floats stand for whole numbers that they cannot
        tell apart, such as nanoseconds since 1970.
    """
    import pandas as pd

    read: Any = given
    if given.dtype.kind not in "iufM":
        values = given.astype(object)
        read = pd.to_numeric(values, errors="coerce")
        if read.isna().any():
            read = pd.to_datetime(values.where(read.isna()), format="ISO8601", errors="coerce", utc=True)
        bad = np.flatnonzero(read.isna().to_numpy())
        if bad.size:
            first, what = _first_unlike(values.tolist(), int(bad[0]))
            where, hint = f"column {name!r}, row {first + 1}", "write times as 2026-11-21 09:30:00"
            raise TableError(expected(where, what, given.iloc[first], hint))
    if read.dtype.kind == "f":
        check_digits(read.to_numpy(), name, "values")
    if read.dtype.kind == "M":
        read = pd.to_datetime(read, utc=True).dt.tz_convert(None)
    moments: NDArray[Any] = read.to_numpy()
    return moments


def _first_unlike(moments: list[Any], unread: int) -> tuple[int, str]:
    """Return the first row whose moment is written otherwise than most, if these are days such as 31.12.2025, else the
    first that cannot be read; and what was expected of it."""
    days = [DATE.fullmatch(str(moment).strip()) for moment in moments]
    marks = [day[2] if day else "" for day in days]
    usual, count = Counter(marks).most_common(1)[0]
    if not usual or not len(moments) < 2 * count < 2 * len(moments):
        return unread, "only numbers or only times"
    other = next(row for row, mark in enumerate(marks) if mark != usual)
    return other, f"a time written as in most rows, such as {moments[marks.index(usual)]!r}"


def times_of(frame: pd.DataFrame, name: str) -> NDArray[Any]:
    """Return a column of times in UTC (n_rows,).

    Raises
    ------
    TableError
        If a cell is no time.
    """
    found = moments_of(cells(frame, name), name)
    if found.dtype.kind != "M":
        hint = "write times as 2026-11-21 09:30:00"
        raise TableError(expected(f"column {name!r}", "times", cells(frame, name).iloc[0], hint))
    return found


def read_log(
    frame: pd.DataFrame,
    plays: Plays,
    rounds: Numbered,
    arms: Sequence[Label],
    *,
    arm: str,
    available: str | None,
    segment: str | None,
    weights: Ints = NONE,
) -> tuple[Rounds, tuple[Label, ...]]:
    """Return the decisions round by round, with the weights of the rows (n_rows,) if they have some, and the segments
    that their keys stand for, () where there are none.

    Raises
    ------
    TableError
        If a column is missing or has an empty cell, an arm is played twice in a round or was not on offer in it, or the
        rows of a round name different segments or different arms on offer.
    UnknownArmError
        If an arm is none of `arms`.
    """
    codes = places_in(plays.labels, arms)
    unknown = set(plays.labels[codes < 0].tolist())
    if unknown:
        first = in_natural_order(unknown)[0]
        row = int(plays.rows[np.flatnonzero(plays.labels == first)[0]]) + 1
        raise UnknownArmError(
            expected_label(f"column {arm!r}, row {row}", "an arm that has a share", arms, first, MEND)
        )
    at, n_rounds = rounds.of_row[plays.rows], len(rounds.first_row)
    if n_rounds < len(codes):
        _check_once(at * len(arms) + codes, plays, arm)
    offers = np.zeros((0, len(arms)), np.bool_)
    if available is not None:
        by_row = _offers(frame, available, arms)
        _check_same(by_row, rounds, available)
        offers = by_row[rounds.first_row]
        absent = np.flatnonzero(~offers[at, codes])
        if absent.size:
            where = f"column {available!r}, row {plays.rows[absent[0]] + 1}"
            raise TableError(expected(where, "the arm that was played among those on offer", plays.labels[absent[0]]))
    names: list[Label] = []
    keys = NONE
    if segment is not None:
        labels = named_alike(column(frame, segment))
        _check_same(labels, rounds, segment)
        names = in_natural_order(labels.tolist())
        keys = places_in(labels[rounds.first_row], names)
    if (at[1:] < at[:-1]).any():
        sequence = np.argsort(at, kind="stable")
        codes, at = codes[sequence], at[sequence]
    starts = NONE if n_rounds == len(codes) else np.searchsorted(at, np.arange(n_rounds + 1))
    weights = weights[rounds.first_row] if len(weights) else weights
    return Rounds(codes.astype(np.int32), np.arange(len(arms)), starts, keys, offers, weights), tuple(names)


def _check_once(numbers: Ints, plays: Plays, arm: str) -> None:
    """Refuse an arm that is played twice in a round; `numbers` (n_plays,) tell the pairs of round and arm apart."""
    _, first = np.unique(numbers, return_index=True)
    if len(first) < len(numbers):
        again = int(np.setdiff1d(np.arange(len(numbers)), first)[0])
        where = f"column {arm!r}, row {plays.rows[again] + 1}"
        raise TableError(expected(where, "each arm once in a round", plays.labels[again]))


def _check_same(values: NDArray[Any], rounds: Numbered, name: str) -> None:
    """Refuse a column that differs between the rows of a round."""
    if len(rounds.first_row) < len(values):
        first = values[rounds.first_row][rounds.of_row]
        other = np.flatnonzero((values != first).reshape(len(values), -1).any(axis=1))
        if other.size:
            where = f"column {name!r}, row {other[0] + 1}"
            raise TableError(expected(where, "the same in all rows of a round", values[other[0]]))


def offers_in(names: Iterable[str]) -> str | None:
    """Return the column of offers that a study's log has, None where there is none, or the log is another one."""
    return OFFERED if {OFFERED, "given", "told_at"} <= set(names) else None


def _offers(frame: pd.DataFrame, name: str, arms: Sequence[Label]) -> Bools:
    """Return whether each arm was on offer in each row (n_rows, n_arms)."""
    import pandas as pd

    known, numbers = Labels(arms), {writing(arm) for arm in arms} <= {"0", "1"}
    given = _lists_in(cells(frame, name))
    held = given.to_numpy(dtype=object, copy=True)
    for row, cell in enumerate(held):
        if isinstance(cell, SEVERAL):
            held[row] = tuple(cell)
    codes, kinds = pd.factorize(held)
    offers = np.zeros((len(kinds), len(arms)), np.bool_)
    for code, kind in enumerate(kinds):
        parts = kind if isinstance(kind, tuple) else [kind]
        parts = [part.strip() for part in kind.split(",")] if isinstance(kind, str) else parts
        for part in parts:
            mask = numbers and isinstance(part, (bool, np.bool_))  # [true, false] says which of two arms, not 1 and 0
            place = None if mask else known.place(part)
            if place is None:
                where = f"column {name!r}, row {int(np.argmax(codes == code)) + 1}"
                raise UnknownArmError(expected_label(where, "arms that have a share", arms, part, MEND))
            offers[code, place] = True
    found: Bools = offers[codes]
    return found
