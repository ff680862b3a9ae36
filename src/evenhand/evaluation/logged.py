"""Read a log that is to be evaluated: arms, rewards, the chances with which the arms were drawn, contexts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import as_floats
from evenhand.audit.units import units_in
from evenhand.data.encoding import Encoder
from evenhand.data.features import categories
from evenhand.data.probabilities import scaled_note, summed
from evenhand.data.rows import in_step
from evenhand.data.tables import (
    EACH,
    LEAST_CHANCE,
    LEFT_OUT,
    ROUNDING,
    column,
    in_column_order,
    numbers,
    order_is_known,
    places_in,
)
from evenhand.data.tables import chances as read_chances
from evenhand.errors import (
    ArgumentError,
    ContextError,
    TableError,
    UnknownArmError,
    Wording,
    argument,
    expected,
    expected_one_of,
    none_for,
)
from evenhand.frames import ENCODE, as_pandas, frame_or_value, is_frame
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.labels import Labels, in_order
from evenhand.protocol import Label, composed

if TYPE_CHECKING:
    import pandas as pd

MANY = 50
"""Rows per arm from which chances that were always the same are taken not to change."""
SAME = 1e-6
"""Relative difference up to which two columns state the same chance."""
SILENCE = "if silence means a reward, such as 0, fill it in: without its row the value stands for the other rows alone"


@dataclass(frozen=True)
class Logged:
    """A log, one row per decision.

    Attributes
    ----------
    arms, places : labels of the arms, and of the positions; one place where no column names any.
    codes, at : the arm (n_rows,) and the position (n_rows,) of each row.
    rewards, chances : the reward (n_rows,) in [0, 1], and the chance (n_rows,) of the arm that was drawn.
    rows : where each row stands in the log that was given (n_rows,), from 0.
    every : the chances of all arms, (n_places, n_arms) where they are `fixed`, else (n_rows, n_arms); None where the
        log does not say them all.
    fixed : whether the chances of an arm in a position never change.
    counted : whether they were not given, but are the arms' frequencies.
    contexts : what was shown (n_rows, dimension); None where nothing was named.
    frame : the log itself, as it was given.
    """

    arms: tuple[Label, ...]
    places: tuple[Label, ...]
    codes: Ints
    at: Ints
    rewards: Floats
    chances: Floats
    rows: Ints
    every: Floats | None
    fixed: bool
    counted: bool
    contexts: Floats | None
    frame: Any
    positions: bool
    """Whether a column names the positions."""
    notes: tuple[str, ...] = ()
    """What is to be known of the chances."""
    whole: Logged | None = None
    """The log before rows were left out, None if none were."""
    columns: list[str] | None = None
    """The names of the contexts, where they have any."""
    arm: str = ""
    reward: str = ""
    shown: tuple[str, ...] = ()
    """The columns of the arms, of the rewards, and those of the contexts."""
    ordered: bool = True
    """Whether it is known in which order its arms stand, so that what names none of them can be read by it."""
    unit: str | None = None
    """The column that says which rows belong together."""
    units: Ints | None = None
    """The unit of each row (n_rows,), numbered in the order of their first rows; None where no column names them."""

    def undecided(self) -> Any:
        """Return the log without the arms and rewards, which a policy does not know when it decides."""
        import narwhals as nw

        return nw.from_native(self.frame).drop([self.arm, self.reward]).to_native()

    def take(self, rows: Bools | Ints) -> Logged:
        """Return the log of some rows alone, or of all in another order."""
        columns = {
            name: getattr(self, name) for name in ("codes", "at", "rewards", "chances", "rows", "contexts", "units")
        }
        columns |= {} if self.fixed else {"every": self.every}
        taken: dict[str, Any] = {name: None if column is None else column[rows] for name, column in columns.items()}
        return replace(self, frame=as_pandas(self.frame, "log").iloc[rows], **taken)

    def by_unit(self, values: Floats) -> Floats:
        """Return the mean of values (n_rows,) over the rows of each unit; where none are named, the values."""
        if self.units is None:
            return values
        sizes = np.bincount(self.units)
        return np.bincount(self.units, values)[sizes > 0] / sizes[sizes > 0]

    def only(self, rows: Bools) -> Logged:
        """Return the log of some rows alone, whose chances are given row by row.

        Raises
        ------
        TableError
            If these are fewer than two.
        """
        if rows.all():
            return self
        if rows.sum() < 2:
            what = "at least two rows in which every arm of the policy had a chance"
            raise TableError(expected("log", what, int(rows.sum()), "run an experiment that tries them"))
        return replace(self.take(rows), whole=self)


def read_logged(
    frame: pd.DataFrame,
    *,
    arm: str,
    reward: str,
    propensity: str | Mapping[Label, str] | None,
    contexts: Any,
    position: str | None,
    order: str | Sequence[str] | None,
    unit: str | None,
) -> Logged:
    """Return the rows of a log.

    Raises
    ------
    TableError
        If a column is missing or a cell empty, there are fewer than two rows or arms, a reward is not in [0, 1], a
        propensity is not a chance above 0, or the rows are not in the order of the column `order`.
    UnknownArmError
        If propensities are given for an arm that is not in the log, or not for one that is.
    ContextError
        If the contexts are not numbers, a row for each row of the log.
    """
    given, frame = frame, as_pandas(frame, "log")
    _, contexts = in_step(("log", given), ("contexts", contexts), refusal=ContextError)
    rewards = numbers(frame, reward, low=0.0, high=1.0, empty=SILENCE)
    arms, codes = positions_in(frame, arm)
    if len(rewards) < 2:
        raise TableError(expected("log", "at least two rows", "one row"))
    if len(arms) < 2:
        only = f"{arms[0]!r} in every row"
        hint = "a log of one arm says nothing about others; run an experiment with DeadlineLearn(lottery=0.5)"
        raise TableError(expected(f"column {arm!r}", "at least two arms", only, hint))
    places: tuple[Label, ...] = (0,)
    at = np.zeros(len(codes), np.int64)
    if position is not None:
        places, at = positions_in(frame, position)
    every: Floats | None
    notes = () if order is None else _check_order(frame, order)
    named = columns_by_arm(frame, propensity, arms, codes)
    propensity = named if isinstance(named, Mapping) and len(named) == len(arms) else propensity
    if isinstance(propensity, Mapping):
        every, doubts = all_chances(frame, propensity, arms, codes)
        notes += doubts
        chances = every[np.arange(len(codes)), codes]
        _check_drawn(chances, next(iter(propensity.values())))
        fixed = bool((every == every[0]).all())
        every = np.repeat(every[:1], len(places), axis=0) if fixed else every
    elif propensity is not None:
        chances = read_chances(frame, propensity)
        _check_drawn(chances, propensity)
        every, fixed = _fixed_chances(chances, codes, at, arms, places, propensity)
    else:
        seen = np.zeros((len(places), len(arms)))
        np.add.at(seen, (at, codes), 1.0)
        every, fixed = seen / seen.sum(axis=1, keepdims=True), True
        chances = every[at, codes]
    shown, columns, named = _contexts(frame, frame_or_value(contexts, "contexts"), len(arms))
    rows = arms, places, codes, at, rewards, chances, np.arange(len(codes)), every, fixed, propensity is None
    logged = Logged(
        *rows,
        *(shown, given, position is not None, (*notes, *_left_out(frame))),
        columns=columns,
        arm=arm,
        reward=reward,
        shown=named,
        ordered=order_is_known(arms, frame[arm]),
        unit=unit,
        units=None if unit is None else units_in(frame, unit),
    )
    if logged.contexts is not None and logged.contexts.ndim == 3:
        check_order("contexts", logged.contexts, logged, "pass what all arms share (n_rows, d)")
    return logged


def check_columns(name: str, given: Any, logged: Logged) -> None:
    """Refuse a dict of columns, where a number for each arm is meant or a table.

    Raises
    ------
    ArgumentError
        If a value is a column with a number for each row of the log.
    """
    by_arm = isinstance(given, Mapping) and Labels(given).order(logged.arms) is not None
    values = given.values() if by_arm else ()
    if values and all(np.shape(one) == logged.codes.shape for one in values):
        hint = "pass a data frame of them"
        raise ArgumentError(expected(name, "a number for each arm", Wording("a column for each arm"), hint))


def check_order(name: str, values: Floats, logged: Logged, hint: str) -> None:
    """Refuse values (n, n_arms, ...) that differ by the position of the arm, where nothing states the arms' order.

    Raises
    ------
    ArgumentError
        If they are texts in a column without an order.
    """
    if not logged.ordered and np.ptp(values, axis=1).any():
        what = f"values by the names of the arms, as nothing states the order of {list(logged.arms)}"
        hint += ", or make the column a pandas.Categorical with its categories in your order"
        raise ArgumentError(f"{name}: expected {what}, got values by position; {hint}")


def row_table(given: Any, logged: Logged, name: str) -> Any:
    """Return a data frame with its rows in the order of the log's, and its columns in that of the arms; anything else
    as it is.

    Raises
    ------
    ArgumentError
        If its rows carry other labels than the log's.
    UnknownArmError
        If its columns are not the arms.
    """
    if not is_frame(given):
        return given
    _, table = in_step(("log", logged.frame), (name, as_pandas(given, name)))
    return in_order(table, [None, logged.arms], name, refusal=UnknownArmError)


def positions_in(frame: pd.DataFrame, name: str) -> tuple[tuple[Label, ...], Ints]:
    """Return the labels of a column in its order, see `in_column_order`, and the position of each row's among them
    (n_rows,)."""
    labels = column(frame, name)
    known = in_column_order(frame, [name], labels)
    return tuple(known), places_in(labels, known)


def _left_out(frame: pd.DataFrame) -> Iterator[str]:
    """Yield for which decisions a value stands, where the log says that others are not in it."""
    if LEFT_OUT in frame and (count := int(numbers(frame, LEFT_OUT, low=0.0).sum())):
        yield (
            f"The log leaves out {count:,} decisions, which have no reward: the value stands for the {len(frame):,} "
            "that have one, and is another where silence means a reward, such as 0."
        )


def _check_order(frame: pd.DataFrame, order: str | Sequence[str]) -> tuple[str, ...]:
    """Refuse a log that is not sorted; return what is to be said of rows with equal values."""
    from evenhand.audit.decision_log import read_order

    ordered = read_order(frame, order)
    late = np.flatnonzero(np.diff(ordered.place) < 0)
    if late.size:
        name = ordered.names[0]
        where = f"column {name!r}, row {late[0] + 2}"
        hint = "turn the log around, as its newest row comes first" if ordered.turned else "sort the log first"
        raise TableError(
            expected(where, "a value not below that of the row before", frame[name].iloc[late[0] + 1], hint)
        )
    same = np.bincount(ordered.place)
    return ordered.note(int(same[same > 1].sum()), len(frame), "rows", "another")


def _check_drawn(chances: Floats, name: str) -> None:
    """Refuse a log in which nothing was drawn."""
    if (chances == 1).all():
        what = "chances below 1, as of a rule that draws"
        hint = Wording(
            "a log without randomness cannot be weighted; leave ",
            argument("propensity"),
            " out and replay a policy that learns, or run an experiment with DeadlineLearn(lottery=0.5) first",
        )
        raise TableError(expected(f"column {name!r}", what, Wording("1 in every row"), hint))


def columns_by_arm(frame: pd.DataFrame, given: Any, arms: Sequence[Label], codes: Ints) -> Any:
    """Return the columns of the chances of all arms, `<column>_<arm>`, where a log has them beside the `column` of the
    drawn arm's that is given, or is named as an export names it, perhaps also of arms that were never drawn; else what
    is given.

    Raises
    ------
    TableError
        If the column that is given is another than that of the drawn arm in some row.
    """
    before, known = EACH if given is None else f"{given}_", Labels(arms)
    named = [] if isinstance(given, Mapping) else [name for name in map(str, frame.columns) if name.startswith(before)]
    found = {known.label(name.removeprefix(before)): name for name in named}
    if not found.keys() >= set(arms):
        return given
    if given in frame:
        drawn = np.column_stack([numbers(frame, found[arm]) for arm in arms])[np.arange(len(codes)), codes]
        other = np.flatnonzero(np.abs(numbers(frame, given) - drawn) > SAME * drawn)
        if other.size:
            row = other[0]
            what = f"{drawn[row]:.6g}, as column {found[arms[codes[row]]]!r} has it for the arm of the row"
            hint = "one of the columns is wrong: name the right ones, or leave the others out of the log"
            raise TableError(expected(f"column {given!r}, row {row + 1}", what, float(frame[given].iloc[row]), hint))
    return found


def all_chances(
    frame: pd.DataFrame, given: Mapping[Label, str], arms: Sequence[Label], codes: Ints
) -> tuple[Floats, tuple[str, ...]]:
    """Return the chances of all arms (n_rows, n_arms), scaled to sum to 1, and what is to be known of them."""
    columns = dict(Labels(arms).read(given, "propensity", "a column, or a dict arm -> column"))
    for label in columns:
        if label not in arms:
            raise UnknownArmError(expected_one_of("propensity", arms, label, what="arms of the log,"))
    for label in arms:
        if label not in columns:
            words = none_for(label, columns, arms)
            raise UnknownArmError(expected("propensity", "a column for every arm of the log", words))
    read = [numbers(frame, columns[label], low=0.0, high=1.0 + ROUNDING) for label in arms]
    found = summed(np.minimum(np.column_stack(read), 1.0))
    if (wrong := found.wrong) is not None:
        what, off = "chances of all arms that sum to 1", f"a sum of {found.sums[wrong]:.6g}"
        raise TableError(expected(f"propensity, row {wrong + 1}", what, off, found.hint(wrong)))
    every = found.rows
    none = np.flatnonzero(every[np.arange(len(codes)), codes] < LEAST_CHANCE)
    if none.size:
        where = f"column {columns[arms[codes[none[0]]]]!r}, row {none[0] + 1}"
        got = float(every[none[0], codes[none[0]]])
        hint = "a chance that was rounded to 0 needs more decimals"
        raise TableError(expected(where, "a propensity above 0, as the row has this arm", got, hint))
    return every, scaled_note("The chances of all arms", found.missed)


def _fixed_chances(
    chances: Floats, codes: Ints, at: Ints, arms: Sequence[Label], places: Sequence[Label], name: str
) -> tuple[Floats | None, bool]:
    """Return the chances of all arms in each position where they never change, and whether they never do.

    Raises
    ------
    TableError
        If they never change and cannot be chances: those of a position sum to more than 1.
    """
    cell = at * len(arms) + codes
    least, most = np.full(len(places) * len(arms), np.inf), np.full(len(places) * len(arms), -np.inf)
    np.minimum.at(least, cell, chances)
    np.maximum.at(most, cell, chances)
    tried = most >= 0
    if not (most[tried] - least[tried] <= 1e-12).all():
        return None, False
    every = np.where(tried, most, 0.0).reshape(len(places), len(arms))
    pulls = np.bincount(cell, minlength=every.size).reshape(every.shape)
    whole, fixed = True, True
    for place, (mine, times) in enumerate(zip(every, pulls, strict=True)):
        total, rows = float(mine.sum()), int(times.sum())
        if summed(mine[times > 0][None, :]).wrong is None:
            continue
        if total > 1 and rows >= MANY * (times > 0).sum():
            where = f"column {name!r}" + (f", position {places[place]!r}" if len(places) > 1 else "")
            hint = "the column must hold the probability of the arm in its row"
            raise TableError(
                expected(where, "chances of the arms that sum to 1", Wording(f"a sum of {total:.6g}"), hint)
            )
        whole, fixed = False, fixed and total < 1
    return (every if whole else None), fixed


def _contexts(frame: pd.DataFrame, given: Any, arms: int) -> tuple[Floats | None, list[str] | None, tuple[str, ...]]:
    """Return the contexts as numbers, with the names of these, and the columns of the log that they are. Text in
    columns is encoded one-hot."""
    if given is None:
        return None, None, ()
    names = [given] if isinstance(given, str) else given
    if isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names) and names:
        columns = tuple(map(composed, names))
        encoder = Encoder({name: categories(frame, name, "contexts") for name in columns})
        return encoder.transform(frame), encoder.names, columns
    shown = as_floats(given)
    named = list(map(composed, given.columns)) if is_frame(given) else []
    what = f"names of columns, or an array of numbers of shape ({len(frame)}, d) or ({len(frame)}, {arms}, d)"
    fits = shown is not None and shown.shape[:-1] in ((len(frame),), (len(frame), arms)) and shown.shape[-1] > 0
    if shown is None or not fits or not np.isfinite(shown).all():
        got = given if shown is None else f"an array of shape {shown.shape}"
        raise ContextError(expected("contexts", what, got, ENCODE if is_frame(given) else ""))
    return shown, named if named and all(isinstance(name, str) for name in named) else None, ()
