"""Verification: the whole log replayed from its first entry, and all that was promised checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, func, select

from evenhand.errors import EvenhandError, ReplayError
from evenhand.protocol import Label
from evenhand.studies.schema import EVENTS, SNAPSHOTS
from evenhand.studies.snapshots import Fold, first
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
    problems : what is wrong, in words.
    entries, decisions, told, forgotten, open : what the log holds.
    versions : the versions of the policy's code that wrote it.
    promise : when the policy keeps its promise, None where it makes none that a log can show.
    promise_kept : whether it held; None where there is none, or it is not due yet.
    worst_shortfall, worst_arm, worst_round : the largest r_i t - N_i(t), whose and when; None without a promise.
    rounds_in_violation, first_violation : how often it was broken, and first (round, arm).
    """

    entries: int
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

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(study: Study, *, progress: bool = False) -> Verification:
    """Replay a study's log from the start; see `Verification`.

    What is checked: every entry is there and is what was written (a chain of digests); the policy, started from the
    first snapshot, decides as the log says, entry by entry; every snapshot on the way, and the state that the study
    works with now, equal the state of the replay, bit by bit; the promise held at every round at which it is to hold.
    """
    problems: list[str] = []
    live = study.policy
    trail = Trail(live)
    with study.store.reading() as connection:
        fold = first(connection, study._number)
        last, _ = study._log.last(connection)
        rows = _shown(study._log.rows(connection, up_to=last), last, progress)
        try:
            _replay(connection, study, fold, trail, rows)
        except EvenhandError as error:
            problems.append(str(error))
            trail.advance(rows)
        versions = connection.scalars(
            select(EVENTS.c.version).where(EVENTS.c.study == study._number).group_by(EVENTS.c.version)
            .order_by(func.min(EVENTS.c.sequence))
        )  # fmt: skip
        written = tuple(versions)
    if not problems and fold.sequence == study.sequence and fold.bytes() != study._now().bytes():
        problems.append("the state that the study works with is not the replay's")
    if trail.kept is False:
        at = "" if trail.first_violation is None else " first at round {} to {!r}".format(*trail.first_violation)
        problems.append(f"the promise was broken:{at} ({trail.violations} rounds in all)")
    worst = trail.worst or (None, None, None)
    return Verification(
        entries=trail.sequence,
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
    )


def _replay(connection: Connection, study: Study, fold: Fold, trail: Trail, rows: Iterator[Row[Any]]) -> None:
    """Take rows in up to each snapshot, and compare."""
    taken = select(SNAPSHOTS.c.sequence, SNAPSHOTS.c.state).where(SNAPSHOTS.c.study == study._number)
    states = {row.sequence: row.state for row in connection.execute(taken)}
    for row in rows:
        trail.take(row)
        fold.take_in([row])
        if row.sequence in states and fold.bytes() != states[row.sequence]:
            raise ReplayError(f"the snapshot after entry {row.sequence} is not the state that replay comes to")


def _shown(rows: Iterable[Row[Any]], total: int, progress: bool) -> Iterator[Row[Any]]:
    if not progress:
        yield from rows
        return
    from rich.progress import track

    yield from track(rows, description="replaying", total=total)
