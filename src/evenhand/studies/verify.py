"""Verification: the whole log replayed from its first entry, and all that was promised checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, func, select

from evenhand.errors import EvenhandError, ReplayError
from evenhand.protocol import Label
from evenhand.studies.fold import genesis, linked
from evenhand.studies.schema import EVENTS, SNAPSHOTS, STUDIES
from evenhand.studies.snapshots import Fold, first, fold_at
from evenhand.studies.trail import Trail

if TYPE_CHECKING:
    from evenhand.studies.study import Study

__all__ = ["Verification", "verify"]


@dataclass(frozen=True)
class Verification:
    """The finding about a study's log.

    Attributes
    ----------
    ok : whether nothing is wrong: the log is whole, replays to the same decisions and states, and the promise held.
    problems, notes : what is wrong, and what could not be looked at, in words.
    entries, decisions, told, forgotten, open : what the log holds.
    digest : the last entry's; kept elsewhere, it shows later that nothing before it was cut off or written anew.
    replayed : how many entries this version of the code replayed; fewer than there are only where `notes` say why.
    versions : the versions of the policy's code that wrote it.
    promise : when the policy keeps its promise, None where it makes none that a log can show.
    promise_kept : whether it held; None where there is none, or it is not due yet.
    worst_shortfall, worst_arm, worst_round : the largest r_i t - N_i(t), whose and when; None without a promise.
    rounds_in_violation, first_violation : how often it was broken, and first (round, arm).
    """

    entries: int
    digest: str
    replayed: int
    decisions: int
    told: int
    forgotten: int
    open: int
    versions: tuple[str, ...]
    promise: str | None
    promise_kept: bool | None
    worst_shortfall: float | None
    worst_arm: Label | None
    worst_round: int | None
    rounds_in_violation: int
    first_violation: tuple[int, Label] | None
    problems: tuple[str, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(study: Study, *, known: str | None = None, progress: bool = False) -> Verification:
    """Replay a study's log from the start; see `Verification`.

    What is checked: every entry is there and is what was written (a chain of digests); the policy, started from the
    first snapshot, decides as the log says, entry by entry; every snapshot on the way, and the state that the study
    works with now, equal the state of the replay, bit by bit; the promise held at every round at which it is to hold.
    Entries that were cut off the end leave a sound log behind and, where no snapshot was taken after them, cannot be
    missed here; nor can what was rewritten with all its digests and still replays: whoever must notice that keeps the
    last `digest` elsewhere and gives it as `known`.
    """
    problems: list[str] = []
    notes: list[str] = []
    found = known is None
    with study.store.reading() as connection:
        last, digest = study._log.last(connection)
        replay, trail = None, Trail(None)
        try:
            replay = _Replay(connection, study, notes)
            trail = Trail(replay.policy)
            replay.check_end(last)
        except EvenhandError as error:
            problems.append(str(error))
        for row in _shown(study._log.rows(connection, up_to=last), last, progress):
            try:
                if replay is not None and not problems:
                    replay.take(row)
            except EvenhandError as error:
                problems.append(str(error))
            found = found or row.digest == known
            try:
                trail.take(row)
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                problems.append(f"entry {row.sequence} cannot be read: {error}")
        by_version = select(EVENTS.c.version).where(EVENTS.c.study == study._number).group_by(EVENTS.c.version)
        written = tuple(connection.scalars(by_version.order_by(func.min(EVENTS.c.sequence))))
    if replay is not None:
        replay.remark()
        problems += [] if problems else replay.compared(study)
    if not found:
        problems.append(f"no entry has the digest {known}: entries were cut off, or written anew")
    if trail.kept is False:
        at = "" if trail.first_violation is None else " first at round {} to {!r}".format(*trail.first_violation)
        problems.append(f"the promise was broken:{at} ({trail.violations} rounds in all)")
    worst = trail.worst or (None, None, None)
    return Verification(
        entries=trail.sequence,
        digest=digest,
        replayed=0 if replay is None else replay.count,
        decisions=trail.rounds,
        told=trail.told,
        forgotten=trail.forgotten,
        open=len(trail.open),
        versions=written,
        promise=trail.when,
        promise_kept=trail.kept,
        worst_shortfall=worst[0],
        worst_arm=worst[1],
        worst_round=worst[2],
        rounds_in_violation=trail.violations,
        first_violation=trail.first_violation,
        problems=tuple(problems),
        notes=tuple(notes),
    )


class _Replay:
    """The log taken in again, from the first snapshot on.

    Entries that other versions of the code wrote and this one decides otherwise are not judged: the replay is taken up
    again where this version began.
    """

    def __init__(self, connection: Connection, study: Study, notes: list[str]) -> None:
        self._fold: Fold | None = first(connection, study._number)
        self.policy, self.version = self._fold.policy, self._fold.version
        own = SNAPSHOTS.c.study == study._number, SNAPSHOTS.c.version == self.version
        self._kept = {row.sequence: row for row in connection.execute(select(SNAPSHOTS).where(*own))}
        self._before, self._digest = self._fold.sequence, self._fold.digest
        born = connection.execute(select(STUDIES).where(STUDIES.c.id == study._number)).one()
        if self._before or genesis(born) != self._digest:
            parts = "the study's name, policy, secret and time of creation"
            raise ReplayError(f"{parts} are not those that the first snapshot was taken with: one of them was changed")
        self._notes, self.count = notes, 0

    def check_end(self, last: int) -> None:
        """See that no snapshot was taken of more than the log's entries."""
        after = max(self._kept, default=0)
        if after > last:
            raise ReplayError(f"the log ends with entry {last}, but a snapshot was taken after entry {after}")

    def take(self, row: Row[Any]) -> None:
        linked(self._before, self._digest, row)
        self._before, self._digest = row.sequence, row.digest
        if self._fold is not None:
            try:
                self._fold.take_in([row])
                self.count += 1
            except ReplayError:
                if row.version == self.version:
                    raise
                self._fold = None
                self._notes.append(
                    f"entries from {row.sequence} on were written by version {row.version}, and version {self.version} "
                    "would decide otherwise: verify them with the version that wrote them"
                )
        kept = self._kept.get(row.sequence)
        if kept is not None and self._fold is None:
            self._fold = fold_at(kept)
            self._notes.append(f"version {self.version} began after entry {row.sequence}: replayed from there")
        elif kept is not None and self._fold is not None and not self._fits(kept):
            raise ReplayError(f"the snapshot after entry {row.sequence} is not the state that replay comes to")

    def _fits(self, kept: Row[Any]) -> bool:
        return self._fold is not None and self._digest == kept.digest and self._fold.equals(kept.state)

    def remark(self) -> None:
        """Note what was replayed in other words."""
        if self._fold is not None and self._fold.reworded:
            self._notes.append(f"{self._fold.reworded} reasons were worded otherwise by the version that wrote them")

    def compared(self, study: Study) -> list[str]:
        """Compare the replay's state with the one that the study works with, if nothing was added meanwhile."""
        with study._turn:
            try:
                live = study._now()
            except EvenhandError as error:
                return [str(error)]
            if self._fold is None or live.sequence != self._fold.sequence or live.bytes() == self._fold.bytes():
                return []
        return ["the state that the study works with is not the replay's"]


def _shown(rows: Iterable[Row[Any]], total: int, progress: bool) -> Iterator[Row[Any]]:
    if not progress:
        yield from rows
        return
    from rich.progress import track

    yield from track(rows, description="replaying", total=total)
