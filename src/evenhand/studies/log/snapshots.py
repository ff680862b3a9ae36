"""Snapshots: stored states, from which a replay continues instead of starting over."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select

from evenhand.errors import EvenhandError, StateFileError
from evenhand.learners.adapter import dumps_apart
from evenhand.policy.ask_tell import open_tickets_of
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies.log.log import Log
from evenhand.studies.log.open_tickets import is_apart, only_these_tickets
from evenhand.studies.log.replay import Replay
from evenhand.studies.log.subjects import has_subjects
from evenhand.studies.store.schema import SNAPSHOTS

NEWEST_KEPT = 2
"""How many recent snapshots are kept beside the first of each version."""
RELATIVE, NEAR_ZERO = 1e-6, 1e-9
"""By which part a number may differ that a learner from elsewhere remembers, and by how much one near zero may: in an
array as a part of its largest number, where that is above 1."""


class Snapshot(NamedTuple):
    """A stored state: after which entry it was taken, by which version of the policy's code, and when."""

    sequence: int
    version: str
    at: int
    digest: str
    state: bytes


MINE = SNAPSHOTS.c.study == bindparam("study")
FOUND = select(*(SNAPSHOTS.c[name] for name in Snapshot._fields)).where(MINE)
NEWEST = select(SNAPSHOTS.c.sequence).where(MINE).order_by(SNAPSHOTS.c.sequence.desc()).limit(NEWEST_KEPT)
FIRST = FOUND.order_by(SNAPSHOTS.c.sequence, SNAPSHOTS.c.at).limit(1)
LATEST = FOUND.order_by(SNAPSHOTS.c.sequence.desc(), SNAPSHOTS.c.at.desc()).limit(1)
FIRST_OF_VERSION = select(func.min(SNAPSHOTS.c.sequence)).where(MINE).group_by(SNAPSHOTS.c.version)


def _content_of(state: bytes, source: str) -> tuple[Any, int]:
    """Return what a snapshot holds: the policy without the tickets that the log holds, and the number before the first
    of these. The first snapshot of a study holds the policy alone."""
    found = from_bytes(state, source)
    return (found["policy"], found["lower_bound"]) if isinstance(found, dict) else (found, 0)


def take_snapshot(replay: Replay, connection: Connection, at: int) -> None:
    """Write a snapshot of where a replay is now."""
    _delete_latest(replay, connection)
    replay.tickets.advance_lower_bound(connection)
    write_snapshot(connection, replay.log.study, _snapshot_of(replay, at))
    replay.reset_work()


def save_latest(replay: Replay, connection: Connection, at: int) -> None:
    """Write a snapshot that lasts until the next one of this process, and takes the place of no other."""
    _delete_latest(replay, connection)
    _add(connection, replay.log.study, _snapshot_of(replay, at))
    replay.latest_saved = replay.sequence


def _delete_latest(replay: Replay, connection: Connection) -> None:
    if replay.latest_saved:
        mine = MINE, SNAPSHOTS.c.sequence == replay.latest_saved
        connection.execute(delete(SNAPSHOTS).where(*mine), {"study": replay.log.study})
        replay.latest_saved = 0


def _snapshot_of(replay: Replay, at: int) -> Snapshot:
    return Snapshot(replay.sequence, replay.version, at, replay.digest, _state_of(replay))


def _state_of(replay: Replay) -> bytes:
    with only_these_tickets(replay.policy, replay.tickets.not_in_log):
        state = to_bytes({"policy": replay.policy, "lower_bound": replay.tickets.lower_bound})
    replay.size = len(state)
    return state


def mark_version(replay: Replay, connection: Connection, at: int) -> None:
    """Take a snapshot if other code wrote the last entry: the first state of this code."""
    if replay.writer != replay.version:
        if not _has(connection, replay.log.study, SNAPSHOTS.c.version == replay.version):
            take_snapshot(replay, connection, at)
        replay.writer = replay.version


def only_snapshot(replay: Replay, connection: Connection, at: int) -> None:
    """Take a snapshot, and delete all others but the first: they may hold the contexts of open tickets."""
    take_snapshot(replay, connection, at)
    others = SNAPSHOTS.c.sequence.not_in((0, replay.sequence))
    connection.execute(delete(SNAPSHOTS).where(MINE, others), {"study": replay.log.study})


def write_snapshot(connection: Connection, study: int, snapshot: Snapshot) -> None:
    """Store a state; of earlier ones, keep each version's first and the last few."""
    _add(connection, study, snapshot)
    # New code may decide otherwise than the code before it. It can verify the log only from the first state of its own
    # version, so that one must stay: test_snapshots_of_each_version_s_beginning_stay.
    old = SNAPSHOTS.c.sequence.not_in(FIRST_OF_VERSION), SNAPSHOTS.c.sequence.not_in(NEWEST)
    connection.execute(delete(SNAPSHOTS).where(MINE, *old), {"study": study})


def _add(connection: Connection, study: int, snapshot: Snapshot) -> None:
    """Store a snapshot, unless there is one of this entry and version: both hold the same state."""
    same = SNAPSHOTS.c.sequence == snapshot.sequence, SNAPSHOTS.c.version == snapshot.version
    if not _has(connection, study, *same):
        connection.execute(insert(SNAPSHOTS), {"study": study, **snapshot._asdict()})


def _has(connection: Connection, study: int, *conditions: ColumnElement[bool]) -> bool:
    found = select(SNAPSHOTS.c.sequence).where(MINE, *conditions).limit(1)
    return connection.execute(found, {"study": study}).first() is not None


def snapshots(connection: Connection, study: int, after: int) -> list[Snapshot]:
    """Return the snapshots of a study that were taken after this entry or later ones."""
    found = connection.execute(FOUND.where(SNAPSHOTS.c.sequence >= after), {"study": study})
    return list(map(Snapshot._make, found))


def latest_replay(connection: Connection, log: Log) -> Replay:
    """Return the replay at the last snapshot."""
    replay = replay_at(log, connection.execute(LATEST, {"study": log.study}).first())
    replay.apply_setting(log.setting(connection, replay.sequence))
    replay.sealed = has_subjects(connection, log.study)
    return replay


def first_replay(connection: Connection, log: Log) -> Replay:
    """Return the replay before the first entry."""
    return replay_at(log, connection.execute(FIRST, {"study": log.study}).first())


def replay_at(log: Log, snapshot: Any) -> Replay:
    """Return the replay that begins at a snapshot, or at its row.

    Raises
    ------
    StateFileError
        If it is damaged.
    """
    if snapshot is None:
        raise StateFileError("the study has no snapshot left, not even its first: the store was tampered with")
    policy, lower_bound = _content_of(snapshot.state, f"snapshot {snapshot.sequence}")
    return Replay(policy, log, int(snapshot.sequence), snapshot.digest, snapshot.version, lower_bound=lower_bound)


def same_state(policy: Any, state: bytes) -> Literal["same", "nearly", "other"]:
    """Return whether a stored state is that of a policy that remembers all its open tickets, or is so nearly: but for
    the last digits of what a learner from elsewhere remembers."""
    try:
        stored, lower_bound = _content_of(state, "snapshot")
        if not all(number > lower_bound for number in open_tickets_of(policy)):
            return "other"
        with only_these_tickets(policy, stored.open_tickets if is_apart(policy) else ()):
            if to_bytes(policy) == to_bytes(stored):
                return "same"
            with dumps_apart() as ours:
                own = to_bytes(policy)
            with dumps_apart() as theirs:
                alike = own == to_bytes(stored)
        return "nearly" if alike and _nearly(ours, theirs) else "other"
    except EvenhandError:
        return "other"


def _nearly(one: Any, other: Any) -> bool:
    """Return whether two dumps are the same but for the last digits of numbers."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return False
        if one.dtype.kind == "f":
            most = max(1.0, float(np.max(np.abs(one), initial=0.0, where=np.isfinite(one))))
            return bool(np.allclose(one, other, rtol=RELATIVE, atol=NEAR_ZERO * most, equal_nan=True))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=NEAR_ZERO) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_nearly, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return [*one] == [*other] and all(map(_nearly, one.values(), other.values()))
    return to_bytes(one) == to_bytes(other)
