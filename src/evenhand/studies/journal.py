"""The journal of a store: every change of its keys and monitors, chained by digests.

Keys, roles and monitors belong to a store and not to one study, so they stand outside the logs. The journal says who
changed them and when; its first entry says what was there before it began. Verification follows it, and compares what
it leads to with the tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Literal

from sqlalchemy import Connection, insert, select

from evenhand.errors import StoreError
from evenhand.studies.log.codec import from_text, now, to_text
from evenhand.studies.store.schema import JOURNAL, KEYS, MONITORS
from evenhand.studies.store.statements import read
from evenhand.studies.store.store import Store

__all__ = ["begin", "enter", "journal_length", "journal_problems", "key_entry", "monitor_entry"]

Change = Literal["begin", "add key", "revoke key", "add monitor", "remove monitor"]
LAST = "SELECT sequence, digest FROM journal ORDER BY sequence DESC LIMIT 1"


def begin(store: Store, connection: Connection) -> None:
    """Keep all others out of the journal until the transaction ends, and begin it with what is there now.

    Call it before the change is made.
    """
    if not store.serial:
        connection.exec_driver_sql("LOCK TABLE journal IN EXCLUSIVE MODE")
    if not read(connection, LAST):
        enter(connection, "begin", _present(connection), None)


def enter(connection: Connection, change: Change, given: dict[str, Any], actor: str | None) -> None:
    """Write a change to the journal, in the transaction that makes it and that `begin` was called in."""
    sequence, before = next(iter(read(connection, LAST)), (0, ""))
    fields = (sequence + 1, now(), change, to_text(given), actor)
    row = zip(JOURNAL.columns.keys(), (*fields, _digest_of(before, fields)), strict=True)
    connection.execute(insert(JOURNAL), dict(row))


def journal_length(connection: Connection) -> int:
    """Return how many entries the journal has."""
    return next(iter(read(connection, LAST)), (0, ""))[0]


def journal_problems(connection: Connection) -> Iterator[str]:
    """Yield what is wrong with the journal, and where keys and monitors are not what it leads to."""
    if not journal_length(connection):
        return
    kept: dict[str, dict[str, Any]] = {}
    before = ""
    for number, row in enumerate(connection.execute(select(JOURNAL).order_by(JOURNAL.c.sequence)), 1):
        *fields, digest = row
        if fields[0] != number or digest != _digest_of(before, tuple(fields)):
            yield f"the journal of keys and monitors: entry {number} is missing, or was changed after it was written"
            return
        before = digest
        try:
            _follow(kept, row.change, from_text(row.given))
        except (LookupError, StoreError, TypeError) as error:
            yield f"the journal of keys and monitors: entry {number} cannot be read: {error!r}"
            return
    present = _present(connection)
    for name in sorted(set(kept) | set(present)):
        if kept.get(name) != present.get(name):
            what = "is there" if name not in kept else "is gone" if name not in present else "was changed"
            yield f"{name} {what}, and the journal of keys and monitors says otherwise"


def _follow(kept: dict[str, dict[str, Any]], change: str, given: dict[str, Any]) -> None:
    if change in ("begin", "add key", "add monitor"):
        kept |= given
    else:
        for name in given:
            kept[name] = {**kept[name], "ended": True}


def _present(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return the keys and monitors by name, as the journal has them."""
    found: dict[str, dict[str, Any]] = {}
    for key in connection.execute(select(KEYS)):
        found |= key_entry(key.id, key.role, key.digest, key.expires_at, key.studies, key.revoked_at is not None)
    for one in connection.execute(select(MONITORS)):
        about = one.study, one.metric, one.subject, one.threshold, one.window, one.webhook
        found |= monitor_entry(one.id, *about, one.removed_at is not None)
    return found


def key_entry(
    id: str, role: str, digest: str, expires_at: int | None, studies: str | None, ended: bool = False
) -> dict[str, Any]:
    """Return what the journal says of a key."""
    about = {"role": role, "digest": digest, "expires_at": expires_at, "studies": studies, "ended": ended}
    return {f"key {id}": about}


def monitor_entry(
    id: int,
    study: int,
    metric: str,
    subject: str | None,
    threshold: float,
    window: int,
    webhook: str | None,
    ended: bool = False,
) -> dict[str, Any]:
    """Return what the journal says of a monitor."""
    about = {"study": study, "metric": metric, "subject": subject, "threshold": threshold, "window": window}
    return {f"monitor {id}": {**about, "webhook": webhook, "ended": ended}}


def _digest_of(before: str, fields: tuple[Any, ...]) -> str:
    return hashlib.sha256(to_text([before, *fields]).encode()).hexdigest()
