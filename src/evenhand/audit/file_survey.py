"""What logs in files hold: their labels, their rounds, and the most plays in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.audit.decision_log import read_plays
from evenhand.audit.file_rows import Stretch, batches, may_be_lists, numbered, placed, stretches
from evenhand.data.tables import in_natural_order
from evenhand.errors import EvenhandError
from evenhand.protocol import Label, find_label, places


class Columns(NamedTuple):
    """The columns that an audit reads, and whether it reads a column of labels alone, which goes fastest."""

    arm: str
    available: str | None
    segment: str | None
    plain: bool

    @property
    def names(self) -> list[str]:
        """The columns by name."""
        return [name for name in (self.arm, self.available, self.segment) if name is not None]


class Survey(NamedTuple):
    """The labels of a log, how often each was played, the most plays in a round, and the rounds."""

    plays: Counter[Label]
    most: int
    rounds: int

    def among(self, arms: Sequence[Label]) -> Survey:
        """Return it with the plays by these arms, which the labels of the log are; others are left out."""
        known, plays = places(arms), Counter[Label]()
        for label, times in self.plays.items():
            place = find_label(label, known)
            if place is not None:
                plays[arms[place]] += times
        return self._replace(plays=plays)


def labels_in_files(pattern: str, arm: str, jobs: int = -1, named: Mapping[Any, Any] | None = None) -> list[Label]:
    """Return the arms of a log in natural order, with those that a column of categories declares but never holds."""
    found = stretches(pattern, [arm])
    return in_natural_order(together(survey(found, columns_of(found, arm, None, None), jobs, named or {})).plays)


def holds_labels(found: list[Stretch], arm: str) -> bool:
    """Return whether a column of Parquet files holds labels alone, not lists of them."""
    return found[0].groups is not None and not any(may_be_lists(path, arm) for path in {one.path for one in found})


def columns_of(found: list[Stretch], arm: str, available: str | None, segment: str | None) -> Columns:
    """Return the columns of an audit of these stretches."""
    return Columns(arm, available, segment, available is None and segment is None and holds_labels(found, arm))


def parallel(jobs: int, call: Callable[..., Any], each: list[tuple[Any, ...]]) -> list[Any]:
    """Return what the calls return, made side by side."""
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=jobs, prefer="threads")(delayed(call)(*arguments) for arguments in each))


def survey(found: list[Stretch], columns: Columns, jobs: int, named: Mapping[Any, Any]) -> list[Survey]:
    """Return what each stretch holds; text that `named` has is a label."""
    return parallel(jobs, _survey_one, [(one, columns, named) for one in found])


def together(parts: list[Survey]) -> Survey:
    """Return what stretches hold together."""
    total: Counter[Label] = Counter()
    for one, _, _ in parts:
        for label, times in one.items():
            total[label] += times
    return Survey(total, max(most for _, most, _ in parts), sum(rounds for _, _, rounds in parts))


def _survey_one(stretch: Stretch, columns: Columns, named: Mapping[Any, Any]) -> Survey:
    plays: Counter[Label] = Counter()
    most, rounds = 1, 0
    if columns.plain:
        for numbers, labels in numbered(stretch, columns.arm):
            whole = labels == list(range(len(labels)))
            for label, times in zip(labels, np.bincount(numbers, minlength=len(labels)).tolist(), strict=True):
                if times or not whole:
                    plays[label] += times
            rounds += len(numbers)
        return Survey(plays, most, rounds)
    for frame, row in batches(stretch, [columns.arm]):
        try:
            read = read_plays(frame, columns.arm, named)
        except EvenhandError as error:
            raise placed(error, stretch.path, row) from error
        plays.update(dict.fromkeys(read.kinds, 0))
        plays.update(read.labels.tolist())
        most, rounds = max(most, int(np.bincount(read.rows).max())), rounds + len(frame)
    return Survey(plays, most, rounds)
