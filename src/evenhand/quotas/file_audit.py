"""Audit logs that are too large for memory, batch by batch, with the findings of all rows in memory.

Parquet files with one arm a row, all of which are on offer, are audited on all cores: each stretch of row groups is
counted from nothing first, so that every one knows the books at its start; then each is checked by itself and the
findings are joined. Either step is a `joblib.Parallel` of threads, or runs wherever `joblib.parallel_config` says, such
as on a Dask cluster. Any other log is read from its beginning to its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import EvenhandError, SharesError, UnknownArmError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.promises.counts import Counts, Rounds
from evenhand.promises.promise import Promise
from evenhand.promises.stretches import Standing, join
from evenhand.protocol import Label
from evenhand.quotas.audited_promise import AuditedPromise, read_audited
from evenhand.quotas.decision_log import MEND, read_log, read_plays, read_rounds
from evenhand.quotas.file_rows import Stretch, batches, is_list, numbered, placed, stretches
from evenhand.quotas.findings import Audit
from evenhand.quotas.verdicts import NONE, Entered, as_rounds, finding, looks_at, open_books
from evenhand.tables import in_natural_order

__all__ = ["audit_files", "labels_in_files"]


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


class Part(NamedTuple):
    """What rounds of a log add up to: the plays of each arm, the rounds in which it was on offer, and where books that
    were empty before them stand."""

    pulls: Ints
    on_offer: Ints
    standing: Standing


def labels_in_files(pattern: str, arm: str, jobs: int = -1, named: Mapping[Any, Any] | None = None) -> list[Label]:
    """Return the arms of a log in natural order, with those that a column of categories declares but never holds."""
    found = stretches(pattern, [arm])
    return in_natural_order(_survey(found, _columns(found, arm, None, None), jobs, named or {}).plays)


def audit_files(
    pattern: str,
    *,
    arm: str,
    shares: Any,
    promise: Promise | None,
    available: str | None,
    segment: str | None,
    jobs: int,
    **promised: Any,
) -> Audit:
    """Return the audit of the rows of files, the same as of all rows in memory.

    Raises
    ------
    TableError
        If there are no such files or no rows, a column is missing, or a cell is empty or not what it should be.
    SharesError, ArgumentError
        If the promises cannot be read, or shares change over time.
    UnknownArmError
        If the log decides for an arm that has no share.
    """
    parts = shares.values() if isinstance(shares, Mapping) else ()
    if hasattr(shares, "columns") or any(isinstance(part, Mapping) for part in parts):
        what = "shares that stay as they are, where files are audited"
        raise SharesError(wanted("shares", what, shares, "read the file with pandas"))
    found = stretches(pattern, [name for name in (arm, available, segment) if name is not None])
    columns = _columns(found, arm, available, segment)
    named = isinstance(shares, Mapping) or hasattr(shares, "to_dict")
    known = sum(one.rows for one in found)
    seen = Survey(Counter(), 1, known)
    if found[0].groups is None or (promise is None and not (named and _of_labels(found, arm))):
        seen = _survey(found, columns, jobs, shares if isinstance(shares, Mapping) else {})
    kinds = in_natural_order(seen.plays)
    owed = read_audited(kinds, None, shares=shares, promise=promise, plays=seen.most, available=available, **promised)
    if columns.plain:
        return _side_by_side(found, columns, owed, seen.rounds, jobs)
    return _in_turn(found, columns, owed, seen.rounds)


def _of_labels(found: list[Stretch], arm: str) -> bool:
    return found[0].groups is not None and not any(is_list(path, arm) for path in {one.path for one in found})


def _columns(found: list[Stretch], arm: str, available: str | None, segment: str | None) -> Columns:
    return Columns(arm, available, segment, available is None and segment is None and _of_labels(found, arm))


def _parallel(jobs: int, call: Callable[..., Any], each: list[tuple[Any, ...]]) -> list[Any]:
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=jobs, prefer="threads")(delayed(call)(*arguments) for arguments in each))


def _survey(found: list[Stretch], columns: Columns, jobs: int, named: Mapping[Any, Any]) -> Survey:
    parts = _parallel(jobs, _survey_one, [(one, columns, named) for one in found])
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


def _rounds(stretch: Stretch, columns: Columns, owed: AuditedPromise) -> Iterator[tuple[Rounds, tuple[Label, ...]]]:
    """Yield the rounds of each batch, and the labels that its keys stand for, () where there are no segments."""
    arms = owed.promise.arms
    if columns.plain:
        places, everything = {label: place for place, label in enumerate(arms)}, np.zeros((0, len(arms)), np.bool_)
        for numbers, labels in numbered(stretch, columns.arm):
            codes = np.array([places.get(label, -1) for label in labels], np.int64)
            strange = np.flatnonzero(codes < 0)
            if strange.size and (held := set(strange.tolist()) & set(np.unique(numbers).tolist())):
                label = in_natural_order(labels[code] for code in held)[0]
                raise UnknownArmError(wanted(f"column {columns.arm!r}", "an arm that has a share", label, MEND))
            yield Rounds(numbers, codes, NONE, NONE, everything), ()
        return
    named = dict.fromkeys(arms, 0)
    for frame, row in batches(stretch, columns.names):
        try:
            log = read_log(
                frame,
                read_plays(frame, columns.arm, named),
                read_rounds(frame, None, None),
                arms,
                arm=columns.arm,
                available=columns.available,
                segment=columns.segment,
            )
        except EvenhandError as error:
            raise placed(error, stretch.path, row) from error
        yield as_rounds(log, len(arms)), log.segments


def _added(pulls: Ints, on_offer: Ints, rounds: Rounds) -> None:
    """Add the plays of each arm and the rounds in which it was on offer."""
    met = np.bincount(rounds.codes, minlength=len(rounds.arms))
    np.add.at(pulls, rounds.arms[met > 0], met[met > 0])
    size = len(rounds.starts) - 1 if len(rounds.starts) else len(rounds.codes)
    on_offer += rounds.offers.sum(axis=0) if len(rounds.offers) else size


def _side_by_side(found: list[Stretch], columns: Columns, owed: AuditedPromise, rounds: int, jobs: int) -> Audit:
    """Audit Parquet files on all cores."""
    before = (np.cumsum([one.rows for one in found]) - [one.rows for one in found]).tolist()
    each = [(one, columns, owed, at) for one, at in zip(found, before, strict=True)]
    parts = _parallel(jobs, _count, each)
    empty, looks, starts = open_books(owed, 1), looks_at(rounds), []
    stand = empty.standing
    for part in parts:
        starts.append(stand)
        stand = stand.then(part.standing, empty.windows)
    shown = _parallel(jobs, _check, [(*one, start, looks) for one, start in zip(each, starts, strict=True)])
    entered = Entered(
        rounds,
        np.sum([part.pulls for part in parts], axis=0),
        np.sum([part.on_offer for part in parts], axis=0),
        {None: 0},
        looks,
        np.concatenate([now for _, now in shown]),
    )
    return finding(owed, join([counts for counts, _ in shown]), entered)


def _count(stretch: Stretch, columns: Columns, owed: AuditedPromise, before: int) -> Part:
    """Return what the rounds of a stretch add up to."""
    books = open_books(owed, 1, rounds=before)
    pulls, on_offer = np.zeros((2, len(owed.promise.arms)), np.int64)
    for rounds, _ in _rounds(stretch, columns, owed):
        _added(pulls, on_offer, rounds)
        if books.windows.any():
            books.follow(rounds)
    if books.windows.any():
        return Part(pulls, on_offer, books.standing)
    by_arm = dict(zip(owed.promise.arms, pulls.tolist(), strict=True))
    return Part(pulls, on_offer, Standing.of_floors(books.clauses, by_arm, stretch.rows, before + stretch.rows))


def _check(
    stretch: Stretch, columns: Columns, owed: AuditedPromise, before: int, start: Standing, looks: Ints
) -> tuple[Counts, Floats]:
    """Return what a stretch shows from its books on, and the largest shortfall at each of `looks` in it."""
    books = open_books(owed, 1, standing=start, rounds=before)
    now = [books.follow(rounds, looks)[1] for rounds, _ in _rounds(stretch, columns, owed)]
    books.close()
    return books.counts, np.concatenate(now)


def _in_turn(found: list[Stretch], columns: Columns, owed: AuditedPromise, size: int) -> Audit:
    """Audit files from the first row to the last."""
    books, looks, now = open_books(owed, 1), looks_at(size), []
    keys: dict[Label | None, int] = {}
    pulls, on_offer = np.zeros((2, len(owed.promise.arms)), np.int64)
    for stretch in found:
        for rounds, segments in _rounds(stretch, columns, owed):
            for segment in segments:
                if segment not in keys:
                    books.widen() if keys else None
                    keys[segment] = len(keys)
            if segments:
                mine = np.array([keys[segment] for segment in segments])
                rounds = rounds._replace(keys=mine[rounds.keys])
            now.append(books.follow(rounds, looks)[1])
            _added(pulls, on_offer, rounds)
    books.close()
    order = {segment: keys[segment] for segment in in_natural_order(keys)} or {None: 0}
    return finding(owed, books.counts, Entered(size, pulls, on_offer, order, looks, np.concatenate(now)))
