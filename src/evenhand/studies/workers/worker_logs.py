"""The logs of workers: where they lie, who may decide in them, and how one is begun and closed.

On a server and in memory a worker's log lies in the study's store, under rows of its own. Beside a file it has a file
of its own, so that no worker waits for another. The process that claimed a worker last is the one that decides: each of
its transactions looks at the number of the claim while it holds the lock of the log, and stops where it is another's.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert

from evenhand import registry
from evenhand.errors import ArgumentError, FencedError, StoreError
from evenhand.saving.state import to_bytes
from evenhand.studies.log.chain import genesis
from evenhand.studies.log.codec import now
from evenhand.studies.log.log import Log
from evenhand.studies.log.operations import Operation
from evenhand.studies.log.replay import Replay
from evenhand.studies.log.snapshots import State, latest_replay, write_snapshot
from evenhand.studies.log.transaction import Transaction
from evenhand.studies.log.versions import policy_version
from evenhand.studies.store.schema import STUDIES, WORKERS
from evenhand.studies.store.statements import change, lock_study, read
from evenhand.studies.store.store import Store

__all__ = ["Claim", "begin_log", "claim", "close_log", "log_name", "place_of", "release", "renew", "row_of"]


class WorkerRow(NamedTuple):
    """The row of `workers` for a log; see `evenhand.studies.store.schema`."""

    claim: int
    holder: str | None
    claimed_at: int | None
    left_at: int | None
    reported: int
    reported_at: int | None
    report: str | None


ROW = f"SELECT {', '.join(WorkerRow._fields)} FROM workers WHERE study = ?"


def log_name(study: str, worker: str) -> str:
    """Return the name of the row of `studies` for a worker's log; no study can have such a name."""
    return f"{study}/{worker}"


def place_of(store: Store, study: str, worker: str) -> str | None:
    """Return the file of a worker's log; None where it lies in the study's store."""
    return f"{store.file}.{study}.{worker}" if worker and store.file is not None else None


def begin_log(connection: Connection, store: Store, name: str, policy: Any, secret: str, expire_after: Any) -> str:
    """Begin a log for a worker; return the digest before its first entry.

    One that was begun before and never used, by a process that was killed before it joined, is begun anew.

    Raises
    ------
    ArgumentError
        If there is a log of that name, and it holds decisions.
    """
    at = now()
    for (before,) in read(connection, "SELECT id FROM studies WHERE name = ?", name):
        if read(connection, "SELECT 1 FROM events WHERE study = ? AND kind = 'ask' LIMIT 1", before):
            raise ArgumentError(f"{store.url}: there is a log {name!r} with decisions of another study; move it away")
        for table in ("events", "snapshots", "workers"):
            change(connection, f"DELETE FROM {table} WHERE study = ?", before)
        change(connection, "DELETE FROM studies WHERE id = ?", before)
    row = {"name": name, "policy": registry.name_of(policy), "secret": secret, "created_at": at}
    number = connection.scalar(insert(STUDIES).values(row).returning(STUDIES.c.id))
    assert number is not None
    state, birth = to_bytes(State(policy, policy.first_ticket - 1)), genesis(row)
    write_snapshot(connection, number, 0, birth, at, policy_version(policy), state)
    connection.execute(insert(WORKERS).values(study=number, claim=0, reported=0))
    if expire_after is not None:
        log = Log(store, number)
        Transaction(connection, log, latest_replay(connection, log), int).set({"expire_after": expire_after})
    return birth


def row_of(connection: Connection, log: int, *, lock: bool = False) -> WorkerRow:
    """Return the row of `workers` for a log; with `lock` nobody else changes it or decides in this transaction."""
    if lock:
        lock_study(connection, log)
    found = read(connection, ROW, log)
    if not found:
        raise StoreError(f"log {log} lacks its row in the table of workers: the store was tampered with")
    return WorkerRow._make(found[0])


def claim(store: Store, log: int, worker: str, *, lease: float | None = None) -> Claim:
    """Claim a worker: from now on this process decides in its log, and no earlier one does.

    Parameters
    ----------
    lease : refuse if another live process holds the worker, one that claimed or renewed it in so many seconds.

    Raises
    ------
    FencedError
        If the worker has left, or is held.
    """
    machine = socket.gethostname()[:150]
    holder = f"{machine}:{os.getpid()}"
    with store.writing() as connection:
        row = row_of(connection, log, lock=True)
        if row.left_at is not None:
            raise FencedError(f"worker {worker!r} has left; study.join(NAME) adds a new one")
        if lease is not None and _held(row, lease, machine):
            raise FencedError(f"worker {worker!r} is held by {row.holder}")
        found = Claim(worker, log, int(row.claim) + 1)
        taken = "UPDATE workers SET claim = ?, holder = ?, claimed_at = ? WHERE study = ?"
        change(connection, taken, found.number, holder, now(), log)
    return found


def _held(row: Any, lease: float, machine: str) -> bool:
    """Say whether a live process holds a worker, as far as can be seen."""
    if row.holder is None or now() - (row.claimed_at or 0) > lease * 1e6:
        return False
    where, _, process = row.holder.rpartition(":")
    if where != machine:
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError):
        return True
    return True


def renew(store: Store, mine: Claim) -> bool:
    """Note that a claim is in use; return False where it is another's by now."""
    with store.writing() as connection:
        used = "UPDATE workers SET claimed_at = ? WHERE study = ? AND claim = ?"
        return change(connection, used, now(), mine.log, mine.number) > 0


def release(store: Store, mine: Claim) -> None:
    """Give a claim back, so that nobody waits for it."""
    with store.writing() as connection:
        freed = "UPDATE workers SET claim = claim + 1, holder = NULL WHERE study = ? AND claim = ?"
        change(connection, freed, mine.log, mine.number)


def close_log(store: Store, log: int) -> None:
    """Let nobody decide in a log any more; its open tickets may still be told."""
    with store.writing() as connection:
        row = row_of(connection, log, lock=True)
        closed = "UPDATE workers SET claim = ?, holder = NULL, left_at = ? WHERE study = ?"
        change(connection, closed, int(row.claim) + 1, row.left_at or now(), log)


class Claim(NamedTuple):
    """The right to decide in a log, as long as nobody else claims it."""

    worker: str
    log: int
    number: int

    def check(self, connection: Connection, replay: Replay, operations: Sequence[Operation]) -> None:
        """Refuse decisions of a process that has lost its claim; anybody may tell.

        Raises
        ------
        FencedError
            If another process has claimed the worker since, or it has left.
        """
        if any(operation.kind == "ask" for operation in operations):
            self.compare(*replay.log.claim)

    def compare(self, number: int | None, holder: str | None, left: int | None) -> None:
        """Refuse where the claim that stands now, with its holder, is another one, or the worker has left."""
        if number != self.number:
            gone = left is not None
            why = "it has left" if gone else f"it was opened again by {holder or 'nobody'}"
            mend = "join a new one" if gone else "let each process open a worker of its own"
            raise FencedError(f"worker {self.worker!r} is not this process's any more: {why}; {mend}")
