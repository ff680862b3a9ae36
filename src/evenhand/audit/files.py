"""Audit logs that are too large for memory, batch by batch, with the same findings as if all rows were in memory.

Parquet files with one arm a row are audited on all cores, unless arms come and go: each stretch of row groups is
counted first, so that every one knows the books at its start; then each is checked by itself and the findings are
joined. Either step is a `joblib.Parallel` of threads, or runs wherever `joblib.parallel_config` says, such as on a Dask
cluster. Any other log is read from its beginning to its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.audit.audited_promise import AuditedPromise, check_constant, read_audited
from evenhand.audit.decision_log import MEND, NONE, offers_in, read_log, read_plays, read_rounds
from evenhand.audit.findings import Audit, Entered, finding, looks_at, open_books
from evenhand.audit.stretches import Stretch, batches, may_be_lists, names_in, numbered, placed, stretches
from evenhand.audit.weights import Weights, read_weights, sums_of
from evenhand.data.tables import in_natural_order, places_in
from evenhand.errors import EvenhandError, UnknownArmError, expected_label
from evenhand.jobs import run_all
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import Labels, is_by_label
from evenhand.promises.books import StretchCounts, join
from evenhand.promises.clause_counts import Counts
from evenhand.promises.promise import Promise
from evenhand.promises.round_kernels import Rounds
from evenhand.protocol import Label, first_named

Part = tuple[Rounds, tuple[Label, ...]]
"""Rounds, and the labels that their keys stand for, () where there are no segments."""


class Columns(NamedTuple):
    """The columns that an audit reads, and whether it reads a column of labels and one of weights at most, which goes
    fastest."""

    arm: str
    available: str | None
    segment: str | None
    weight: str | None
    plain: bool

    @property
    def names(self) -> list[str]:
        """The columns by name."""
        return [name for name in (self.arm, self.available, self.segment, self.weight) if name is not None]


class StretchSummary(NamedTuple):
    """The labels of a log, how often each was played, the most plays in a round, the rounds, and the sum of the weights
    of each label's plays, times 10^digits."""

    plays: Counter[Label]
    most: int
    rounds: int
    weights: Counter[Label]
    digits: int

    def among(self, arms: Sequence[Label]) -> StretchSummary:
        """Return it with the plays by these arms, which the labels of the log are; others are left out."""
        known, plays, weights = Labels(arms), Counter[Label](), Counter[Label]()
        for mine, given in ((plays, self.plays), (weights, self.weights)):
            for label, times in given.items():
                if label in known:
                    mine[known.label(label)] += times
        return self._replace(plays=plays, weights=weights)

    def scaled(self, digits: int) -> StretchSummary:
        """Return it with the sums times 10^digits."""
        more = 10 ** (digits - self.digits)
        return self._replace(weights=Counter({one: more * by for one, by in self.weights.items()}), digits=digits)


def labels_in_files(pattern: str, arm: str, named: Mapping[Any, Any] | None = None) -> list[Label]:
    """Return the arms of a log in natural order, with those that a column of categories declares but never holds."""
    found = stretches(pattern, [arm])
    parts = summarize_stretches(found, columns_of(found, arm, None, None, None), -1, named or {})
    return in_natural_order(together(parts).plays)


def holds_labels(found: list[Stretch], arm: str) -> bool:
    """Return whether a column of Parquet files holds labels alone, not lists of them."""
    return found[0].groups is not None and not any(may_be_lists(path, arm) for path in {one.path for one in found})


def columns_of(
    found: list[Stretch], arm: str, available: str | None, segment: str | None, weight: str | None
) -> Columns:
    """Return the columns of an audit of these stretches."""
    plain = available is None and segment is None and holds_labels(found, arm)
    return Columns(arm, available, segment, weight, plain)


def summarize_stretches(
    found: list[Stretch], columns: Columns, jobs: int, named: Mapping[Any, Any]
) -> list[StretchSummary]:
    """Return what each stretch holds; text that `named` has is a label."""
    return run_all(_summarize_stretch, [(one, columns, named) for one in found], jobs, "threads")


def together(parts: list[StretchSummary]) -> StretchSummary:
    """Return what stretches hold together."""
    plays, weights = Counter[Label](), Counter[Label]()
    digits = max(one.digits for one in parts)
    for one in parts:
        _add(plays, one.plays)
        _add(weights, one.scaled(digits).weights)
    return StretchSummary(plays, max(one.most for one in parts), sum(one.rounds for one in parts), weights, digits)


def _add(to: Counter[Label], more: Mapping[Label, int]) -> None:
    """Add to the counts of labels, of which those of 0 stay."""
    for label, times in more.items():
        to[label] += times


def _summarize_stretch(stretch: Stretch, columns: Columns, named: Mapping[Any, Any]) -> StretchSummary:
    parts = [StretchSummary(Counter(), 1, 0, Counter(), 0)]
    if columns.plain:
        for numbers, labels, weights in numbered(stretch, columns.arm, columns.weight):
            whole, counts = labels == list(range(len(labels))), np.bincount(numbers, minlength=len(labels)).tolist()
            plays = Counter({one: times for one, times in zip(labels, counts, strict=True) if times or not whole})
            parts.append(StretchSummary(plays, 1, len(numbers), _sums(labels, numbers, weights), weights.digits))
        return together(parts)
    for frame, row in batches(stretch, [name for name in (columns.arm, columns.weight) if name is not None]):
        try:
            read = read_plays(frame, columns.arm, named)
            weights = read_weights(frame, columns.weight)
        except EvenhandError as error:
            raise placed(error, stretch.path, row) from error
        plays = Counter(dict.fromkeys(read.kinds, 0))
        plays.update(read.labels.tolist())
        most = int(np.bincount(read.rows).max())
        sums = _sums(read.kinds, places_in(read.labels, read.kinds), weights) if most == 1 else Counter[Label]()
        parts.append(StretchSummary(plays, most, len(frame), sums, weights.digits))
    return together(parts)


def _sums(labels: Sequence[Label], codes: NDArray[Any], weights: Weights) -> Counter[Label]:
    """Return the sum of the weights of each label's plays, by what each play's number stands for."""
    if not len(weights.whole):
        return Counter()
    return Counter(dict(zip(labels, sums_of(codes, weights.whole, len(labels)).tolist(), strict=True)))


def audit_files(
    pattern: str,
    *,
    arm: str,
    shares: Any,
    promise: Promise | None,
    available: str | None,
    segment: str | None,
    weight: str | None,
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
    found = stretches(pattern, [name for name in (arm, available, segment, weight) if name is not None])
    available = available or offers_in(names_in(found[0].path))
    columns = columns_of(found, arm, available, segment, weight)
    by_stretch = [StretchSummary(Counter(), 1, one.rows, Counter(), 0) for one in found]
    named = is_by_label(shares)
    known = promise is not None or (named and holds_labels(found, arm))
    if columns.plain or weight is not None or found[0].groups is None or not known:
        by_stretch = summarize_stretches(found, columns, jobs, shares if isinstance(shares, Mapping) else {})
    seen = together(by_stretch)
    kinds = in_natural_order(seen.plays)
    promised |= {"weight": weight, "digits": seen.digits, "plays": seen.most}
    owed = read_audited(kinds, None, shares=shares, promise=promise, **promised)
    owed.check(sum(seen.weights.values()), seen.digits)
    if not columns.plain:
        return in_turn(lambda: (part for one in found for part in _rounds(one, columns, owed)), owed, seen.rounds)
    arms = owed.promise.arms
    mine = Labels(arms)
    strange = in_natural_order(label for label, times in seen.plays.items() if times and label not in mine)
    if strange:
        raise UnknownArmError(expected_label(f"column {arm!r}", "an arm that has a share", arms, strange[0], MEND))
    digits = owed.unit.digits if owed.unit else 0
    return _side_by_side(found, columns, owed, [one.among(arms).scaled(digits) for one in by_stretch], jobs)


def _rounds(stretch: Stretch, columns: Columns, owed: AuditedPromise) -> Iterator[Part]:
    """Yield the rounds of each batch."""
    arms = owed.promise.arms
    if columns.plain:
        known, everything = Labels(arms), np.zeros((0, len(arms)), np.bool_)
        for numbers, labels, weights in numbered(stretch, columns.arm, columns.weight):
            places = np.array(known.places(labels), np.int64)
            yield Rounds(numbers, places, NONE, NONE, everything, owed.scaled(weights)), ()
        return
    named = dict.fromkeys(arms, 0)
    for frame, row in batches(stretch, columns.names, warns=True):
        try:
            plays, rows = read_plays(frame, columns.arm, named), read_rounds(frame, None, None)
            own = owed.scaled(read_weights(frame, columns.weight))
            segment, available = columns.segment, columns.available
            log = read_log(frame, plays, rows, arms, arm=columns.arm, available=available, segment=segment, weights=own)
        except EvenhandError as error:
            raise placed(error, stretch.path, row) from error
        yield log


def _side_by_side(
    found: list[Stretch], columns: Columns, owed: AuditedPromise, seen: list[StretchSummary], jobs: int
) -> Audit:
    """Audit Parquet files on all cores."""
    sizes, arms = [one.rows for one in found], owed.promise.arms
    ends, empty = np.cumsum(sizes).tolist(), open_books(owed, 1)
    each = [(one, columns, owed, end - one.rows) for one, end in zip(found, ends, strict=True)]
    if empty.windows.any():
        parts = run_all(_count, each, jobs, "threads")
    else:
        weighed = [(one.weights, sum(one.weights.values())) if owed.unit else (one.plays, 0) for one in seen]
        parts = [
            StretchCounts.of_floors(empty.clauses, plays, size, end, weight)
            for (plays, weight), size, end in zip(weighed, sizes, ends, strict=True)
        ]
    starts, stand = [], empty.standing
    for part in parts:
        starts.append(stand)
        stand = stand.then(part, empty.windows)
    pulls, weights = (
        np.array([sum(counts[arm] for counts in given) for arm in arms], np.int64)
        for given in ([one.plays for one in seen], [one.weights for one in seen])
    )
    clock = np.full(len(arms), weights.sum() if owed.unit else ends[-1])

    def checked(looks: Ints) -> Audit:
        again = [(*one, start, looks) for one, start in zip(each, starts, strict=True)]
        shown = run_all(_check, again, jobs, "threads")
        before = np.cumsum([0, *(counts.broken[0] for counts, _ in shown[:-1])])
        now = np.concatenate([own + np.array([0, 0, broken]) for (_, own), broken in zip(shown, before, strict=True)])
        entered = Entered(ends[-1], pulls, clock, {None: 0}, looks, now, weights)
        return finding(owed, join([counts for counts, _ in shown]), entered)

    return _closely(checked, ends[-1])


def _count(stretch: Stretch, columns: Columns, owed: AuditedPromise, before: int) -> StretchCounts:
    """Return the counts after a stretch that starts from zero."""
    books = open_books(owed, 1, rounds=before)
    for rounds, _ in _rounds(stretch, columns, owed):
        books.follow(rounds)
    return books.standing


def _check(
    stretch: Stretch, columns: Columns, owed: AuditedPromise, before: int, start: StretchCounts, looks: Ints
) -> tuple[Counts, Floats]:
    """Return what a stretch shows from its books on, and what is seen after each of the rounds `looks` in it."""
    books = open_books(owed, 1, standing=start, rounds=before)
    now = [books.follow(rounds, looks)[1] for rounds, _ in _rounds(stretch, columns, owed)]
    books.close()
    return books.counts, np.concatenate(now)


def in_turn(parts: Callable[[], Iterable[Part]], owed: AuditedPromise, total: int) -> Audit:
    """Audit rounds, so many in all, from the first to the last."""
    return _closely(lambda looks: _in_turn(parts(), owed, looks), total)


def _closely(audited: Callable[[Ints], Audit], total: int) -> Audit:
    """Return the finding about a log, with more looks about a breach that is short beside it."""
    looks = looks_at(1, total)
    found = audited(looks)
    return found if found.view == (1, total) else audited(np.union1d(looks, looks_at(*found.view)))


def _in_turn(parts: Iterable[Part], owed: AuditedPromise, looks: Ints) -> Audit:
    books, now = open_books(owed, 1), []
    keys: dict[Label | None, int] = {}
    names: dict[Any, Label] = {}
    pulls, weights, on_offer = np.zeros((3, len(owed.promise.arms)), np.int64)
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
        ticks = np.ones(rounds.size, np.int64)
        if owed.unit:
            ticks = rounds.weights
            weights += sums_of(rounds.codes, ticks, len(weights))
        on_offer += ticks @ rounds.offers if len(rounds.offers) else ticks.sum()
    books.close()
    order = {segment: keys[segment] for segment in in_natural_order(keys)} or {None: 0}
    entered = Entered(books.rounds, pulls, on_offer, order, looks, np.concatenate(now), weights)
    return finding(owed, books.counts, entered)
