"""Audit logs that are too large for memory, batch by batch, with the findings of all rows in memory.

Parquet files with one arm a row are audited on all cores, unless arms come and go: each stretch of row groups is
counted first, so that every one knows the books at its start; then each is checked by itself and the findings are
joined. Either step is a `joblib.Parallel` of threads, or runs wherever `joblib.parallel_config` says, such as on a Dask
cluster. Any other log is read from its beginning to its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from evenhand.audit.audited_promise import AuditedPromise, check_constant, read_audited
from evenhand.audit.decision_log import MEND, NONE, read_log, read_plays, read_rounds
from evenhand.audit.file_rows import (
    Columns,
    Stretch,
    Survey,
    batches,
    columns_of,
    holds_labels,
    numbered,
    parallel,
    placed,
    stretches,
    survey,
    together,
)
from evenhand.audit.findings import Audit
from evenhand.audit.verdicts import Entered, finding, looks_at, open_books
from evenhand.data.tables import in_natural_order
from evenhand.errors import EvenhandError, UnknownArmError, wanted_label
from evenhand.kernels.arrays import Floats, Ints
from evenhand.promises.books import Standing, join
from evenhand.promises.promise import Promise
from evenhand.promises.round_kernels import Counts, Rounds
from evenhand.protocol import Label, find_label, first_named, places

Part = tuple[Rounds, tuple[Label, ...]]
"""Rounds, and the labels that their keys stand for, () where there are no segments."""


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
    check_constant(shares)
    found = stretches(pattern, [name for name in (arm, available, segment) if name is not None])
    columns = columns_of(found, arm, available, segment)
    by_stretch = [Survey(Counter(), 1, one.rows) for one in found]
    named = isinstance(shares, Mapping) or hasattr(shares, "to_dict")
    if columns.plain or found[0].groups is None or (promise is None and not (named and holds_labels(found, arm))):
        by_stretch = survey(found, columns, jobs, shares if isinstance(shares, Mapping) else {})
    seen = together(by_stretch)
    kinds = in_natural_order(seen.plays)
    owed = read_audited(kinds, None, shares=shares, promise=promise, plays=seen.most, available=available, **promised)
    if not columns.plain:
        return in_turn((part for one in found for part in _rounds(one, columns, owed)), owed, seen.rounds)
    arms = owed.promise.arms
    played = [label for label, times in seen.plays.items() if times]
    strange = in_natural_order(label for label in played if find_label(label, arms) is None)
    if strange:
        raise UnknownArmError(wanted_label(f"column {arm!r}", "an arm that has a share", arms, strange[0], MEND))
    return _side_by_side(found, columns, owed, [one.among(arms) for one in by_stretch], jobs)


def _rounds(stretch: Stretch, columns: Columns, owed: AuditedPromise) -> Iterator[Part]:
    """Yield the rounds of each batch."""
    arms = owed.promise.arms
    if columns.plain:
        known, everything = places(arms), np.zeros((0, len(arms)), np.bool_)
        for numbers, labels in numbered(stretch, columns.arm):
            at = [find_label(label, known) for label in labels]
            codes = np.array([-1 if place is None else place for place in at], np.int64)
            yield Rounds(numbers, codes, NONE, NONE, everything), ()
        return
    named = dict.fromkeys(arms, 0)
    for frame, row in batches(stretch, columns.names):
        try:
            plays, rows = read_plays(frame, columns.arm, named), read_rounds(frame, None, None)
            log = read_log(
                frame, plays, rows, arms, arm=columns.arm, available=columns.available, segment=columns.segment
            )
        except EvenhandError as error:
            raise placed(error, stretch.path, row) from error
        yield log


def _side_by_side(found: list[Stretch], columns: Columns, owed: AuditedPromise, seen: list[Survey], jobs: int) -> Audit:
    """Audit Parquet files on all cores."""
    sizes, arms = [one.rows for one in found], owed.promise.arms
    ends, empty = np.cumsum(sizes).tolist(), open_books(owed, 1)
    each = [(one, columns, owed, end - one.rows) for one, end in zip(found, ends, strict=True)]
    if empty.windows.any():
        parts = parallel(jobs, _count, each)
    else:
        counted = zip(seen, sizes, ends, strict=True)
        parts = [Standing.of_floors(empty.clauses, one.plays, size, end) for one, size, end in counted]
    looks, starts, stand = looks_at(ends[-1]), [], empty.standing
    for part in parts:
        starts.append(stand)
        stand = stand.then(part, empty.windows)
    shown = parallel(jobs, _check, [(*one, start, looks) for one, start in zip(each, starts, strict=True)])
    before = np.cumsum([0, *(counts.broken[0] for counts, _ in shown[:-1])])
    now = np.concatenate([own + np.array([0, 0, broken]) for (_, own), broken in zip(shown, before, strict=True)])
    pulls = np.array([sum(one.plays[arm] for one in seen) for arm in arms])
    entered = Entered(ends[-1], pulls, np.full(len(arms), ends[-1]), {None: 0}, looks, now)
    return finding(owed, join([counts for counts, _ in shown]), entered)


def _count(stretch: Stretch, columns: Columns, owed: AuditedPromise, before: int) -> Standing:
    """Return where books that were empty before a stretch stand after it."""
    books = open_books(owed, 1, rounds=before)
    for rounds, _ in _rounds(stretch, columns, owed):
        books.follow(rounds)
    return books.standing


def _check(
    stretch: Stretch, columns: Columns, owed: AuditedPromise, before: int, start: Standing, looks: Ints
) -> tuple[Counts, Floats]:
    """Return what a stretch shows from its books on, and what is seen after each of the rounds `looks` in it."""
    books = open_books(owed, 1, standing=start, rounds=before)
    now = [books.follow(rounds, looks)[1] for rounds, _ in _rounds(stretch, columns, owed)]
    books.close()
    return books.counts, np.concatenate(now)


def in_turn(parts: Iterable[Part], owed: AuditedPromise, total: int) -> Audit:
    """Audit rounds, so many in all, from the first to the last."""
    books, looks, now = open_books(owed, 1), looks_at(total), []
    keys: dict[Label | None, int] = {}
    names: dict[Any, Label] = {}
    pulls, on_offer = np.zeros((2, len(owed.promise.arms)), np.int64)
    for rounds, segments in parts:
        named = [first_named(segment, names) for segment in segments]
        fresh = [segment for segment in dict.fromkeys(named) if segment not in keys]
        if (more := len(keys) + len(fresh) - len(books.counts.tick)) > 0:
            books.widen(more)
        keys |= {segment: len(keys) + n for n, segment in enumerate(fresh)}
        if named:
            mine = np.array([keys[segment] for segment in named])
            rounds = rounds._replace(keys=mine[rounds.keys])
        now.append(books.follow(rounds, looks)[1])
        pulls += np.bincount(rounds.codes, minlength=len(pulls))
        on_offer += rounds.offers.sum(axis=0) if len(rounds.offers) else rounds.size
    books.close()
    order = {segment: keys[segment] for segment in in_natural_order(keys)} or {None: 0}
    return finding(owed, books.counts, Entered(total, pulls, on_offer, order, looks, np.concatenate(now)))
