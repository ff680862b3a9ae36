"""Snapshots: stored states, from which a replay continues instead of starting over."""

from __future__ import annotations

from typing import Any, Self

from sqlalchemy import Connection, Row, delete, func, insert, select

from evenhand.errors import EvenhandError, StateFileError
from evenhand.registry import register
from evenhand.state import from_bytes, to_bytes
from evenhand.studies.log import Log
from evenhand.studies.open_tickets import alone
from evenhand.studies.replay import Replay
from evenhand.studies.schema import SNAPSHOTS

__all__ = [
    "first_replay",
    "latest_replay",
    "mark_version",
    "only_snapshot",
    "replay_at",
    "same_state",
    "take_snapshot",
    "write_snapshot",
]

KEPT = 2
"""How many recent snapshots are kept beside the first of each version."""


@register("studies/state", kind="part")
class State:
    """The content of a snapshot: the policy without the tickets that the log holds, and the number before the first."""

    def __init__(self, policy: Any, floor: int) -> None:
        self.policy, self.floor = policy, floor

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs."""
        return {"policy": self.policy, "floor": self.floor}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the state that `snapshot` was taken of."""
        return cls(snapshot["policy"], int(snapshot["floor"]))

    @classmethod
    def read(cls, state: bytes, source: str) -> State:
        """Return the state from the contents of a snapshot; older versions wrote the policy with all its tickets.

        Raises
        ------
        StateFileError
            If it is damaged.
        """
        found = from_bytes(state, source)
        return found if isinstance(found, State) else State(found, 0)


def take_snapshot(replay: Replay, connection: Connection, study: int, at: int) -> None:
    """Write a snapshot of where a replay is now."""
    replay.tickets.rise(connection)
    with alone(replay.policy, replay.tickets.held):
        state = to_bytes(State(replay.policy, replay.tickets.floor))
    write_snapshot(connection, study, replay.sequence, replay.digest, at, replay.version, state)
    replay.reset_work()


def mark_version(replay: Replay, connection: Connection, study: int, at: int) -> None:
    """Take a snapshot if other code wrote the last entry: the first state of this code."""
    if replay.writer != replay.version:
        mine = SNAPSHOTS.c.study == study, SNAPSHOTS.c.version == replay.version
        if connection.scalar(select(SNAPSHOTS.c.sequence).where(*mine).limit(1)) is None:
            take_snapshot(replay, connection, study, at)
        replay.writer = replay.version


def only_snapshot(replay: Replay, connection: Connection, study: int, at: int) -> None:
    """Take a snapshot, and delete all others but the first: they may hold the contexts of open tickets."""
    take_snapshot(replay, connection, study, at)
    others = SNAPSHOTS.c.sequence > 0, SNAPSHOTS.c.sequence != replay.sequence
    connection.execute(delete(SNAPSHOTS).where(SNAPSHOTS.c.study == study, *others))


def write_snapshot(
    connection: Connection, study: int, sequence: int, digest: str, now: int, version: str, state: bytes
) -> None:
    """Store a state; of earlier ones, keep each version's first and the last few."""
    row = {"study": study, "sequence": sequence, "at": now, "version": version, "digest": digest, "state": state}
    mine = SNAPSHOTS.c.study == study
    same = mine, SNAPSHOTS.c.sequence == sequence, SNAPSHOTS.c.version == version
    if connection.scalar(select(SNAPSHOTS.c.sequence).where(*same)) is None:
        connection.execute(insert(SNAPSHOTS).values(row))
    begun = select(func.min(SNAPSHOTS.c.sequence)).where(mine).group_by(SNAPSHOTS.c.version)
    last = select(SNAPSHOTS.c.sequence).where(mine).order_by(SNAPSHOTS.c.sequence.desc()).limit(KEPT)
    kept = [*connection.scalars(begun), *connection.scalars(last)]
    connection.execute(delete(SNAPSHOTS).where(mine, SNAPSHOTS.c.sequence.not_in(kept)))


def latest_replay(connection: Connection, log: Log) -> Replay:
    """Return the replay at the last snapshot."""
    last = SNAPSHOTS.c.sequence.desc(), SNAPSHOTS.c.at.desc()
    newest = select(SNAPSHOTS).where(SNAPSHOTS.c.study == log.study).order_by(*last).limit(1)
    replay = replay_at(log, connection.execute(newest).first())
    replay.settle(log.setting(connection, replay.sequence))
    replay.moved = log.segments.last(connection) > 0
    return replay


def first_replay(connection: Connection, log: Log) -> Replay:
    """Return the replay before the first entry."""
    oldest = select(SNAPSHOTS).where(SNAPSHOTS.c.study == log.study).order_by(SNAPSHOTS.c.sequence, SNAPSHOTS.c.at)
    return replay_at(log, connection.execute(oldest.limit(1)).first())


def replay_at(log: Log, snapshot: Row[Any] | None) -> Replay:
    """Return the replay that begins at a stored snapshot.

    Raises
    ------
    StateFileError
        If it is damaged.
    """
    if snapshot is None:
        raise StateFileError("the study has no snapshot left, not even its first: the store was tampered with")
    state = State.read(snapshot.state, f"snapshot {snapshot.sequence}")
    return Replay(state.policy, log, int(snapshot.sequence), snapshot.digest, snapshot.version, floor=state.floor)


def same_state(policy: Any, state: bytes) -> bool:
    """Return whether a stored state is that of a policy that remembers all its open tickets."""
    try:
        stored = State.read(state, "snapshot")
        tickets = stored.policy.open_tickets if getattr(policy, "apart", False) else ()
        with alone(policy, tickets):
            same = to_bytes(policy) == to_bytes(stored.policy)
        return same and all(number > stored.floor for number in getattr(policy, "open_tickets", ()))
    except EvenhandError:
        return False
