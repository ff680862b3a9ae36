"""Snapshots: the fold of a log so far, kept so that nobody replays it from the start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, delete, insert, select

from evenhand.errors import EvenhandError, ReplayError
from evenhand.state import from_bytes, to_bytes
from evenhand.studies.fold import Arguments, digest_of, replayed, taken
from evenhand.studies.records import policy_version
from evenhand.studies.schema import SNAPSHOTS

if TYPE_CHECKING:
    from evenhand.studies.transaction import Operation

__all__ = ["Fold", "first", "latest", "write_snapshot"]

ENTRIES = 1_000
SECONDS = 0.5
LEAST = 10
"""A snapshot is due after so many entries; or after so much work, at least so many, that a replay would do again."""
KEPT = 2
"""How many snapshots stay beside the first."""


class Fold:
    """A policy and how far into the log it has come."""

    def __init__(self, policy: Any, sequence: int, digest: str) -> None:
        self.policy, self.sequence, self.digest = policy, sequence, digest
        self.version = policy_version(policy)
        self.arguments = Arguments(policy)
        self._rehearsed: set[str] = set()
        self._rested()

    def take_in(self, rows: Iterable[Row[Any]]) -> None:
        """Replay stored entries.

        Raises
        ------
        ReplayError
            If an entry is missing or was changed, or the policy decides otherwise than it did.
        """
        for row in rows:
            if row.sequence != self.sequence + 1:
                raise ReplayError(f"entry {self.sequence + 1} is missing from the log")
            if digest_of(self.digest, row) != row.digest:
                raise ReplayError(f"entry {row.sequence} was changed after it was written: its digest does not fit")
            started = perf_counter()
            replayed(self.policy, row)
            self.took(row.sequence, row.digest, perf_counter() - started)

    def took(self, sequence: int, digest: str, seconds: float) -> None:
        """Note that the policy has taken an entry."""
        self.sequence, self.digest = sequence, digest
        self._entries += 1
        self._seconds += seconds

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
                    taken(copy, kind, operation.ticket, self.arguments.checked(kind, operation.given))
            self._rehearsed.update(new)

    def keep(self, connection: Connection, study: int, at: int) -> None:
        """Write a snapshot of where the fold is now."""
        write_snapshot(connection, study, self.sequence, self.digest, at, self.version, self.bytes())
        self._rested()

    def bytes(self) -> bytes:
        """Return the policy's state as a saved file; equal states are equal bytes."""
        return to_bytes(self.policy)

    def copy(self) -> Any:
        """Return a policy that goes on from here by itself."""
        return from_bytes(self.bytes())

    def _rested(self) -> None:
        self._entries, self._seconds = 0, 0.0


def write_snapshot(
    connection: Connection, study: int, sequence: int, digest: str, now: int, version: str, state: bytes
) -> None:
    """Keep a state; of those before it, the first and the last stay."""
    row = {"study": study, "sequence": sequence, "at": now, "version": version, "digest": digest, "state": state}
    connection.execute(insert(SNAPSHOTS).values(row))
    mine = SNAPSHOTS.c.study == study
    kept = select(SNAPSHOTS.c.sequence).where(mine).order_by(SNAPSHOTS.c.sequence.desc()).limit(KEPT)
    sequences = [0, *connection.scalars(kept)]
    connection.execute(delete(SNAPSHOTS).where(mine, SNAPSHOTS.c.sequence.not_in(sequences)))


def latest(connection: Connection, study: int) -> Fold:
    """Return the fold at the last snapshot."""
    return _at(connection, select(SNAPSHOTS).where(SNAPSHOTS.c.study == study).order_by(SNAPSHOTS.c.sequence.desc()))


def first(connection: Connection, study: int) -> Fold:
    """Return the fold before the first entry."""
    return _at(connection, select(SNAPSHOTS).where(SNAPSHOTS.c.study == study).order_by(SNAPSHOTS.c.sequence))


def _at(connection: Connection, which: Any) -> Fold:
    row = connection.execute(which.limit(1)).one()
    return Fold(from_bytes(row.state, f"snapshot {row.sequence}"), int(row.sequence), row.digest)
