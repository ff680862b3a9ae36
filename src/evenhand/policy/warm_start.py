"""Learn from a log before the first decision: its rows are checked first, then all of them are learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.data.contexts import LARGEST, feature_columns
from evenhand.data.tables import column, numbers
from evenhand.errors import NOTHING, ContextError, TableError, Wording, wanted, wanted_one_of
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import flat
from evenhand.labels import Labels
from evenhand.policy.all_or_none import all_or_none
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd


def learn(
    policy: Any, log: Any, arm: str, reward: str, contexts: Sequence[str] | None, probability: str | None
) -> None:
    """Have a policy learn from every row of a log, or from none where one is refused; see `KernelPolicy.learn`."""
    encoder, frame = policy.encoder, as_pandas(log)
    dimension, known = (policy._numbers, policy._columns) if encoder is None else (None, None)
    columns = _columns_of(contexts, policy.contextual, dimension, known)
    arms = policy._labels if policy.arms is None else policy.arms
    seen = feature_columns(frame, columns, -LARGEST, LARGEST) if encoder is None else encoder.transform(frame)
    rows = _rows_of(frame, arms, seen, arm, reward, probability, policy.reward_range)
    if columns:
        policy.begin(seen.shape[1])
        policy._name_columns(policy._columns or (columns if encoder is None else None))
    with all_or_none(policy):
        for index, paid, chance, shown in rows:
            policy._update(shown, index, paid, (policy.round, chance))
    policy._told = True


def has_learned(policy: Any) -> bool:
    """Return whether what a policy knows differs from what it knew when it was made."""
    fresh = policy.fresh()
    fresh.begin(policy.dimension or 0)
    return any(a.tobytes() != b.tobytes() for a, b in zip(flat(policy._state), flat(fresh._state), strict=True))


def _columns_of(names: Any, contextual: bool, dimension: int | None, known: list[str] | None) -> list[str]:
    """Return the names of the columns with contexts, in the order that is known; none for a policy that sees none.

    Raises
    ------
    ContextError
        If they are missing, not wanted, not names, not as many as the contexts have numbers, or others than are known.
    """
    if names is None and not contextual:
        return []
    if not contextual:
        raise ContextError(wanted("contexts", Wording(NOTHING, ": this policy sees no contexts"), names))
    what = f"a list of {dimension or 'column'} column names, for the contexts of the arm that was played"
    listed = list(names) if isinstance(names, Sequence) and not isinstance(names, str) else []
    if not listed or not all(isinstance(name, str) for name in listed) or len(listed) != (dimension or len(listed)):
        raise ContextError(wanted("contexts", what, names))
    if known is None:
        return listed
    if set(listed) != set(known):
        what = Wording("the columns ", known, ", as before")
        raise ContextError(wanted("contexts", what, names, "rename the log's columns"))
    return known


def _rows_of(
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
            raise TableError(wanted_one_of(where, arms, label, what="one of the arms"))
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
