"""Snapshots: the fold of a log so far, kept so that nobody replays it from the start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select

from evenhand.errors import EvenhandError, ReplayError, StateFileError
from evenhand.state import from_bytes, to_bytes
from evenhand.studies.chain import Entry, linked
from evenhand.studies.fold import Arguments, Operation, replayed, taken
from evenhand.studies.records import revived
from evenhand.studies.schema import SNAPSHOTS
from evenhand.studies.versions import policy_version

__all__ = ["Fold", "first", "fold_at", "latest", "same_state", "write_snapshot"]

ENTRIES = 1_000
SECONDS = 0.5
LEAST = 10
"""A snapshot is due after so many entries; or after so much work, at least so many, that a replay would do again."""
KEPT = 2
"""How many snapshots stay beside the first of each version."""


class Fold:
    """A policy and how far into the log it has come.

    `version` is its code's, `writer` that of the last entry, `origin` that of the snapshot it began with.
    """

    def __init__(self, policy: Any, sequence: int, digest: str, writer: str) -> None:
        self.policy, self.sequence, self.digest, self.writer = policy, sequence, digest, writer
        self.origin = writer
        self.version = policy_version(policy)
        self.arguments = Arguments(policy)
        self._rehearsed: set[str] = set()
        self._rested()

    def take_in(self, entries: Iterable[Entry]) -> None:
        """Replay stored entries.

        Raises
        ------
        ReplayError
            If an entry is missing or was changed, or the policy decides otherwise than it did.
        """
        for entry in entries:
            linked(self.sequence, self.digest, entry)
            self.replay(entry)

    def replay(self, entry: Entry) -> None:
        """Replay the next entry.

        Raises
        ------
        ReplayError
            If the policy decides otherwise than it did.
        """
        started = perf_counter()
        try:
            replayed(self.policy, entry, self.version)
        except ReplayError as error:
            if entry.version == self.version:
                raise
            mend = f"take a snapshot with version {entry.version} first: `evenhand snapshot`, or Study.snapshot()"
            raise ReplayError(f"{error}; this is version {self.version}: {mend}") from error
        self.took(entry, started)

    def took(self, entry: Entry, started: float) -> None:
        """Note that the policy has taken an entry, and since when on the clock of `perf_counter`."""
        self.sequence, self.digest, self.writer = entry.sequence, entry.digest, entry.version
        self._entries += 1
        self._seconds += perf_counter() - started

    @property
    def wants_snapshot(self) -> bool:
        """Whether enough was taken since the last snapshot."""
        return self._entries >= ENTRIES or (self._entries >= LEAST and self._seconds >= SECONDS)

    def rehearse(self, operations: Sequence[Operation]) -> None:
        """Do one operation of each new kind on a copy, so that compiling does not keep others waiting for the log."""
        new = {operation.kind: operation for operation in operations if operation.kind not in self._rehearsed}
        if new:
            copy = self.copy()
            for kind, operation in new.items():
                with contextlib.suppress(EvenhandError):
                    taken(copy, kind, operation.ticket, revived(self.arguments.checked(kind, operation.given)))
            self._rehearsed.update(new)

    def cross(self, connection: Connection, study: int, at: int) -> None:
        """Where other code wrote the last entry, keep the state that this code begins with."""
        if self.writer != self.version:
            mine = SNAPSHOTS.c.study == study, SNAPSHOTS.c.version == self.version
            if connection.scalar(select(SNAPSHOTS.c.sequence).where(*mine).limit(1)) is None:
                self.keep(connection, study, at)
            self.writer = self.version

    def keep(self, connection: Connection, study: int, at: int) -> None:
        """Write a snapshot of where the fold is now."""
        write_snapshot(connection, study, self.sequence, self.digest, at, self.version, self.bytes())
        self._rested()

    def bytes(self) -> bytes:
        """Return the policy's state as a saved file; equal states are equal bytes."""
        return to_bytes(self.policy)

    def equals(self, state: Any) -> bool:
        """Return whether a stored state is the policy's; an older evenhand may have written it in another form."""
        try:
            return state == self.bytes() or to_bytes(from_bytes(state)) == self.bytes()
        except EvenhandError:
            return False

    def copy(self) -> Any:
        """Return a policy that goes on from here by itself."""
        return from_bytes(self.bytes())

    def _rested(self) -> None:
        self._entries, self._seconds = 0, 0.0


def write_snapshot(
    connection: Connection, study: int, sequence: int, digest: str, now: int, version: str, state: bytes
) -> None:
    """Keep a state; of those before it, each version's first and the last few stay."""
    row = {"study": study, "sequence": sequence, "at": now, "version": version, "digest": digest, "state": state}
    mine = SNAPSHOTS.c.study == study
    same = mine, SNAPSHOTS.c.sequence == sequence, SNAPSHOTS.c.version == version
    if connection.scalar(select(SNAPSHOTS.c.sequence).where(*same)) is None:
        connection.execute(insert(SNAPSHOTS).values(row))
    begun = select(func.min(SNAPSHOTS.c.sequence)).where(mine).group_by(SNAPSHOTS.c.version)
    last = select(SNAPSHOTS.c.sequence).where(mine).order_by(SNAPSHOTS.c.sequence.desc()).limit(KEPT)
    kept = [*connection.scalars(begun), *connection.scalars(last)]
    connection.execute(delete(SNAPSHOTS).where(mine, SNAPSHOTS.c.sequence.not_in(kept)))


def latest(connection: Connection, study: int) -> Fold:
    """Return the fold at the last snapshot."""
    last = SNAPSHOTS.c.sequence.desc(), SNAPSHOTS.c.at.desc()
    newest = select(SNAPSHOTS).where(SNAPSHOTS.c.study == study).order_by(*last).limit(1)
    return fold_at(connection.execute(newest).first())


def first(connection: Connection, study: int) -> Fold:
    """Return the fold before the first entry."""
    oldest = select(SNAPSHOTS).where(SNAPSHOTS.c.study == study).order_by(SNAPSHOTS.c.sequence, SNAPSHOTS.c.at).limit(1)
    return fold_at(connection.execute(oldest).first())


def same_state(policy: Any, state: bytes) -> bool:
    """Return whether a stored state is the policy's; one in an older form is read first."""
    mine = to_bytes(policy)
    try:
        return mine == state or mine == to_bytes(from_bytes(state, "snapshot"))
    except EvenhandError:
        return False


def fold_at(snapshot: Row[Any] | None) -> Fold:
    """Return the fold that a stored snapshot was taken of.

    Raises
    ------
    StateFileError
        If it is damaged.
    """
    if snapshot is None:
        raise StateFileError("the study has no snapshot left, not even its first: the store was tampered with")
    policy = from_bytes(snapshot.state, f"snapshot {snapshot.sequence}")
    return Fold(policy, int(snapshot.sequence), snapshot.digest, snapshot.version)
