"""Read a log whose arms were drawn with known chances: a study, its exports, or a table with a column for each arm."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from evenhand.data.probabilities import by_arm
from evenhand.data.tables import EACH, cells, check_column, numbers
from evenhand.errors import TableError, expected, expected_one_of
from evenhand.evaluation.logged import all_chances, columns_by_arm, positions_in
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.labels import Labels
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd

OF_STUDY = {"probabilities", "index", "propensity"}
"""Columns of the log of a study."""
STATUSES = ["open", "told", "forgotten", "expired"]
NUMERIC = "effects of outcomes on another scale are not measured yet; make them 0 and 1, such as above a limit"


class Drawn(NamedTuple):
    """The arms that were drawn, their labels, codes (n_rows,) and chances (n_rows, n_arms), the outcomes (n_rows,), nan
    where none is known, whether one may still come, whether one is missing, as far as the log tells these apart, and
    what is to be known of the chances."""

    arms: tuple[Label, ...]
    codes: Ints
    chances: Floats
    outcomes: Floats
    open: Bools
    missing: Bools
    notes: tuple[str, ...]


def read_drawn(log: Any, arm: str, reward: str, propensity: Any) -> tuple[Drawn, pd.DataFrame]:
    """Return what was drawn, and the table of the decisions.

    Raises
    ------
    TableError
        If the log does not state the chances of all arms, a decision is for several arms, or an outcome is neither 0
        nor 1.
    """
    frame = log.frame() if "frame" in dir(type(log)) else as_pandas(log, "log")
    if "arms" in frame:
        raise TableError(expected("log", "decisions for one arm each", "a column 'arms' of several"))
    arms, codes = positions_in(frame, arm)
    if len(arms) < 2:
        raise TableError(expected(f"column {arm!r}", "at least two arms", f"{arms[0]!r} in every row"))
    if propensity is None and set(frame.columns) >= OF_STUDY:
        frame = _of_study(frame, arms, codes)
    columns = columns_by_arm(frame, propensity, arms, codes)
    if not isinstance(columns, Mapping):
        stated = [label for label in arms if f"{EACH}{label}" in frame]
        if propensity is None and stated:
            odd = next(label for label in arms if label not in stated)
            raise TableError(expected_one_of(f"column {arm!r}", stated, odd, what=f"an arm with a column {EACH}ARM:"))
        what = "a column of the chance of each arm, whichever was drawn"
        hint = "that of the drawn arm alone hides where others could not be drawn; an export with form bandit has all"
        raise TableError(expected("propensity", what, propensity, hint))
    known = (*arms, *(label for label in columns if label not in Labels(arms)))
    every, notes = all_chances(frame, columns, known, codes)
    outcomes = _outcomes(frame, reward)
    open_ = missing = np.isnan(outcomes)
    if "status" in frame and frame["status"].isin(STATUSES).all():
        waiting = frame["status"].eq("open").to_numpy()
        open_, missing = open_ & waiting, missing & ~waiting
    return Drawn(arms, codes, every[:, : len(arms)], outcomes, open_, missing, notes), frame


def _of_study(frame: pd.DataFrame, arms: tuple[Label, ...], codes: Ints) -> pd.DataFrame:
    """Return the log of a study with a column for the chance of each arm."""
    import pandas as pd

    indexes = numbers(frame, "index", low=0.0).astype(np.int64)
    lists = list(map(_stated, frame["probabilities"]))
    certain = frame["propensity"].eq(1.0).tolist()
    if unsaid := [row for row, one in enumerate(lists) if one is None and not certain[row]]:
        where, got = f"column 'probabilities', row {unsaid[0] + 1}", frame["probabilities"].iloc[unsaid[0]]
        raise TableError(expected(where, "the chances of all arms", got, "its policy draws without stating them"))
    count = max(int(indexes.max()) + 1, *(len(one or ()) for one in lists))
    names = {int(index): f"{EACH}{arms[code]}" for index, code in zip(indexes, codes, strict=True)}
    columns = [names.get(index, f"{EACH}{index}, never drawn") for index in range(count)]
    return frame.join(pd.DataFrame(by_arm(lists, indexes, count), columns=columns, index=frame.index))


def _stated(cell: Any) -> list[float] | None:
    """Return the chances in a cell, None where it states none."""
    with suppress(ValueError):
        cell = orjson.loads(cell) if isinstance(cell, str) else cell
        if isinstance(cell, list) and all(isinstance(one, (int, float)) for one in cell):
            return cell
    return None


def _outcomes(frame: pd.DataFrame, reward: str) -> Floats:
    """Return the outcomes (n_rows,), nan where the cell is empty."""
    check_column(frame, reward, "reward")
    empty = frame[reward].isna().to_numpy()
    if empty.ndim > 1 or empty.all():
        cells(frame, reward)
    filled = [0 if gap else one for gap, one in zip(empty, frame[reward], strict=True)]
    read = numbers(frame.assign(**{reward: filled}), reward)
    if (bad := np.flatnonzero((read != 0) & (read != 1))).size:
        where = f"column {reward!r}, row {bad[0] + 1}"
        raise TableError(expected(where, "an outcome of 0 or 1", float(read[bad[0]]), NUMERIC))
    return np.where(empty, np.nan, read)
