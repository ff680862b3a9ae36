"""Erasure: the contexts of people made unreadable, while the log stays whole."""

from __future__ import annotations

from datetime import timedelta

from evenhand.errors import ArgumentError, wanted
from evenhand.studies.log.codec import now
from evenhand.studies.log.expiry import read_expiry
from evenhand.studies.log.log import Log
from evenhand.studies.log.snapshots import only_snapshot
from evenhand.studies.log.state import State
from evenhand.studies.log.subjects import Erasure, Subjects
from evenhand.studies.store.schema import SNAPSHOTS, SUBJECTS
from evenhand.studies.store.store import Store


def erase(
    store: Store, log: Log, state: State, subject: str | None, older_than: float | str | timedelta | None
) -> Erasure:
    """Delete the keys of a subject's contexts, or of all old ones; see `Study.erase`."""
    after = None if older_than is None else read_expiry(older_than, "older_than")
    if (subject is None) == (after is None) or (subject is not None and not isinstance(subject, str)):
        raise ArgumentError(wanted("subject, older_than", "one of them", subject if after is None else older_than))
    with state.turn, state.writing() as (connection, replay):
        before = None if after is None else now() - round(after * 1e6)
        found = Subjects(connection, log.study).find(name=subject, before=before)
        if not found:
            return Erasure(0, 0, True)
        transaction = state.transaction(connection, replay)
        forgotten = transaction.erase(list(found))
        # Snapshots may hold the contexts of open tickets unencrypted. Erased contexts could be read from one that stayed:
        # test_only_the_first_snapshot_and_the_last_are_left.
        only_snapshot(replay, connection, log.study, now())
        transaction.write()
    # After the commit: a transaction cannot clear the files of what it has just deleted.
    return Erasure(len(set(found.values())), forgotten, store.purge(SUBJECTS, SNAPSHOTS))
