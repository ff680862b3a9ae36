"""The rows of a log that a policy learns from before its first decision, all of them checked first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenhand.data.contexts import LARGEST
from evenhand.data.tables import column, numbers
from evenhand.errors import TableError, expected_one_of
from evenhand.kernels.arrays import Floats
from evenhand.labels import Labels
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd


def rows_of(
    log: pd.DataFrame,
    arms: Sequence[Label],
    seen: Floats,
    arm: str,
    reward: str,
    probability: str | None,
    pays: tuple[float, float],
) -> Iterator[tuple[int, float, float, Floats]]:
    """Return the rows of a log, all of them checked: the arm's index, the reward, the probability, the contexts of all
    arms, zero but for the arm's own, which are `seen` (n_rows, d).

    Raises
    ------
    TableError
        If a column is missing or a cell is none of an arm, a reward within `pays`, a probability, or a number of at
        most `LARGEST`; its row is named.
    """
    known, labels = Labels(arms), column(log, arm).tolist()
    indexes = {label: known.place(label) for label in set(labels)}
    for row, label in enumerate(labels):
        if indexes[label] is None:
            where = f"column {arm!r}, row {row + 1}"
            raise TableError(expected_one_of(where, arms, label, what="one of the arms"))
    rewards = numbers(log, reward, low=max(pays[0], -LARGEST), high=min(pays[1], LARGEST))
    even = np.full(len(labels), 1.0 / len(arms))
    chances = even if probability is None else numbers(log, probability, low=1e-12, high=1.0)

    def rows() -> Iterator[tuple[int, float, float, Floats]]:
        for row, label in enumerate(labels):
            index = indexes[label]
            assert index is not None
            shown = np.zeros((len(arms) if seen.shape[1] else 0, seen.shape[1]))
            if seen.shape[1]:
                shown[index] = seen[row]
            yield index, float(rewards[row]), float(chances[row]), shown

    return rows()
