"""Audit logs that are too large for memory: Parquet files, row group by row group, on all cores.

The plays are counted first, so that every row group knows the exact books at its start; then each is checked by itself
and the findings are joined. Either step is a `joblib.Parallel` of threads, or runs wherever `joblib.parallel_config`
says, such as on a Dask cluster.
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import SharesError, TableError, UnknownArmError, wanted, wanted_one_of
from evenhand.extras import optional
from evenhand.kernels.arrays import Floats, Ints
from evenhand.promises.promise import Promise, read_promise
from evenhand.protocol import Label
from evenhand.quotas.findings import Audit, Breach
from evenhand.quotas.scan import Floors, Found, begin, finish, follow, join, read_floors
from evenhand.tables import column, in_natural_order

__all__ = ["audit_files", "files_named", "labels_in_files"]

BATCH = 1 << 20
"""Rows that a worker holds at once."""
MOST_WHOLE = 1 << 12
"""Whole numbers from 0 up to this are their own dictionary."""


class Stretch(NamedTuple):
    """Row groups of a file that follow one another, and the rows of the file before them."""

    path: str
    groups: list[int]
    rows: int
    before: int


def files_named(pattern: str) -> list[str]:
    """Return the Parquet files of a name such as logs/*.parquet, sorted by name, which is the order of their rows.

    Raises
    ------
    TableError
        If there are none, or one has another ending.
    """
    found = sorted(glob.glob(pattern, recursive=True))
    if not found:
        raise TableError(f"{pattern}: no such files")
    other = [path for path in found if not path.lower().endswith((".parquet", ".pq"))]
    if other:
        raise TableError(wanted(pattern, "Parquet files alone", other[0], "read other files with pandas first"))
    return found


def labels_in_files(pattern: str, arm: str, jobs: int = -1) -> list[Label]:
    """Return the arms of a log in natural order, with those that a column of categories declares but never holds."""
    return in_natural_order(_count(_stretches(pattern, arm), arm, jobs)[0])


def audit_files(pattern: str, arm: str, shares: Any, tolerance: Any, jobs: int) -> Audit:
    """Return the audit of the floors of single arms, the same as of all rows in memory.

    Raises
    ------
    TableError
        If there are no such files or no rows, the column is missing, or a cell is empty.
    SharesError, ArgumentError
        If the shares cannot be read, or are no single arms' that stay the same.
    UnknownArmError
        If the log decides for an arm that has no share.
    """
    by_arm = isinstance(shares, Mapping) or hasattr(shares, "to_dict")
    parts = shares.values() if isinstance(shares, Mapping) else ()
    if shares is None or hasattr(shares, "columns") or any(isinstance(part, Mapping) for part in parts):
        raise SharesError(wanted("shares", "a dict arm -> share, or one number, where files are audited", shares))
    if by_arm and any(isinstance(key, (tuple, frozenset)) for key in shares.keys()):  # noqa: SIM118
        raise SharesError(wanted("shares", "shares of single arms, where files are audited", "shares of sets of arms"))
    stretches = _stretches(pattern, arm)
    counts, by_stretch = _count(stretches, arm, jobs)
    promise = read_promise(shares, tolerance, arms=None if by_arm else in_natural_order(counts))
    places = {label: place for place, label in enumerate(promise.arms)}
    for label in in_natural_order(counts):
        if label not in places and counts[label]:
            mend = "give it a share, 0 if it is owed nothing"
            raise UnknownArmError(wanted(f"column {arm!r}", "an arm that has a share", label, mend))
    plays = np.array([[each.get(label, 0) for label in promise.arms] for each in by_stretch])
    before = np.cumsum(plays, axis=0) - plays
    rounds = int(plays.sum())
    floors = read_floors(promise, rounds)
    looks = np.unique(np.linspace(1, rounds, min(rounds, 1000)).astype(np.int64))
    found = _parallel(
        jobs, [(_check, one, arm, floors, places, mine, looks) for one, mine in zip(stretches, before, strict=True)]
    )
    whole = join([part for part, _ in found])
    return _audit(promise, whole, plays.sum(axis=0), rounds, looks, np.concatenate([now for _, now in found]))


def _parallel(jobs: int, calls: list[tuple[Any, ...]]) -> list[Any]:
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=jobs, prefer="threads")(delayed(call)(*arguments) for call, *arguments in calls))


def _stretches(pattern: str, arm: str) -> list[Stretch]:
    pa, pq = optional("pyarrow", "a Parquet file"), optional("pyarrow.parquet", "a Parquet file")
    found: list[Stretch] = []
    for path in files_named(pattern):
        try:
            file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            raise TableError(f"{path}: cannot be read as Parquet: {str(error).strip()}") from error
        with file:
            if arm not in file.schema_arrow.names:
                raise TableError(wanted_one_of(f"{path}: column", file.schema_arrow.names, arm))
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            found += _of_file(path, sizes)
    if not sum(one.rows for one in found):
        raise TableError(f"{pattern}: no rows")
    return [one for one in found if one.rows]


def _of_file(path: str, sizes: Sequence[int]) -> Iterator[Stretch]:
    """Yield the stretches of a file: as many row groups as a batch has room for, at least one."""
    start, before = 0, 0
    while start < len(sizes):
        end, rows = start + 1, sizes[start]
        while end < len(sizes) and rows + sizes[end] <= BATCH:
            rows += sizes[end]
            end += 1
        yield Stretch(path, list(range(start, end)), rows, before)
        start, before = end, before + rows


def _batches(stretch: Stretch, arm: str) -> Iterator[tuple[NDArray[Any], list[Label]]]:
    """Yield of each batch the numbers that its rows hold (n_rows,), and the label that each number stands for."""
    pa, pq = optional("pyarrow", "a Parquet file"), optional("pyarrow.parquet", "a Parquet file")
    row = stretch.before
    with pq.ParquetFile(stretch.path, read_dictionary=[arm]) as file:
        declared = pa.types.is_dictionary(file.schema_arrow.field(arm).type)
        for batch in file.iter_batches(BATCH, row_groups=stretch.groups, columns=[arm], use_threads=False):
            values = batch.column(0)
            if values.null_count:
                empty = row + int(np.argmax(values.is_null().to_numpy(zero_copy_only=False))) + 1
                raise TableError(
                    f"{stretch.path}, column {arm!r}, row {empty}: the cell is empty; fill it or drop the row"
                )
            yield _numbered(values, arm, declared)
            row += len(values)


def _numbered(values: Any, arm: str, declared: bool) -> tuple[NDArray[Any], list[Label]]:
    import pandas as pd

    pa = optional("pyarrow", "a Parquet file")
    if pa.types.is_integer(values.type):
        numbers = values.to_numpy()
        if len(numbers) and numbers.min() >= 0 and numbers.max() < MOST_WHOLE:
            return numbers.astype(np.int32), list(range(int(numbers.max()) + 1))
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    held = values.dictionary.to_pandas()
    text = pd.Series(held, dtype="category") if declared and held.dtype != object else pd.Series(held)
    indices = values.indices.to_numpy().astype(np.int32)
    return indices, column(pd.DataFrame({arm: text}), arm).tolist() if len(held) else []


def _count(stretches: list[Stretch], arm: str, jobs: int) -> tuple[Counter[Label], list[Counter[Label]]]:
    by_stretch = _parallel(jobs, [(_count_stretch, one, arm) for one in stretches])
    total: Counter[Label] = Counter()
    for one in by_stretch:
        for label, times in one.items():
            total[label] += times
    return total, by_stretch


def _count_stretch(stretch: Stretch, arm: str) -> Counter[Label]:
    found: Counter[Label] = Counter()
    for numbers, labels in _batches(stretch, arm):
        whole = labels == list(range(len(labels)))
        for label, times in zip(labels, np.bincount(numbers, minlength=len(labels)).tolist(), strict=True):
            if times or not whole:
                found[label] += times
    return found


def _check(
    stretch: Stretch, arm: str, floors: Floors, places: dict[Label, int], plays: Ints, looks: Ints
) -> tuple[Found, Floats]:
    """Return what a row group shows from its books on, and the largest shortfall at each of `looks` in it."""
    books, found = begin(floors, plays, int(plays.sum()))
    now = []
    for numbers, labels in _batches(stretch, arm):
        codes = np.array([places.get(label, -1) for label in labels], np.int64)
        start, end = int(books.now[0]), int(books.now[0]) + len(numbers)
        for look in looks[(looks > start) & (looks <= end)].tolist():
            follow(floors, numbers[int(books.now[0]) - start : look - start], codes, books, found)
            now.append(float((floors.shares * look - books.plays).max()))
        follow(floors, numbers[int(books.now[0]) - start :], codes, books, found)
    finish(floors, books, found)
    return found, np.array(now, np.float64)


def _audit(promise: Promise, found: Found, pulls: Ints, rounds: int, looks: Ints, now: Floats) -> Audit:
    import pandas as pd

    labels = promise.arms
    table = pd.DataFrame(
        {
            "arm": labels,
            "owed": promise.floats(),
            "share": pulls / rounds,
            "pulls": pulls,
            "worst_shortfall": found.worst,
            "worst_round": found.worst_at,
            "rounds_in_violation": found.times,
        }
    )
    promises = pd.DataFrame(
        {
            "promise": "floor",
            "arm": labels,
            "segment": None,
            "since": 1,
            "limit": [str(share) for share in promise.shares],
            "first_broken": found.first,
            "broken_by": found.most,
            "worst_round": found.most_at,
            "rounds_in_violation": found.times,
        }
    )
    broken = np.flatnonzero(found.times)
    breach = None
    if broken.size:
        first = int(broken[found.first[broken].argmin()])
        breach = Breach("floor", (labels[first],), promise.shares[first], int(found.first[first]), 1)
    worst = int(found.worst.argmax())
    return Audit(
        kept=breach is None,
        rounds=rounds,
        worst_shortfall=float(found.worst[worst]),
        worst_arm=labels[worst],
        worst_round=int(found.worst_at[worst]),
        rounds_in_violation=int(found.broken[0]),
        first_violation=None if breach is None else (breach.round, labels[first]),
        arms=table,
        timeline=pd.DataFrame({"round": looks, "shortfall": now}),
        promise=promise,
        first_breach=breach,
        promises=promises,
    )
