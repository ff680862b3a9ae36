"""Summaries: what views show of a log up to some entry, stored so that a restarted service reads only what follows.

A summary names the last entry that it has read by its digest, and is sealed with the study's
secret. It is used only where the seal fits, the log still has these entries, and the same version of the code wrote
it; otherwise, and where there is none, the log is read from its first entry. Whoever can change the store can read the
secret, so that a seal shows damage and mix-ups, not every forgery: verification reads the log and no summary.
"""

from __future__ import annotations

import hmac
from collections.abc import Container
from contextlib import suppress
from typing import Any

from sqlalchemy import delete, insert, select

from evenhand.errors import EvenhandError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies.log.operations import CHANGES
from evenhand.studies.log.reader import Reader
from evenhand.studies.log.versions import policy_version
from evenhand.studies.statistics.statistics import Statistics
from evenhand.studies.store.schema import STUDIES, SUMMARIES
from evenhand.studies.store.store import Store


def begin(store: Store, log: Reader) -> tuple[Statistics, dict[str, Any]]:
    """Return the statistics of a log as far as they are stored, with the parts that were stored beside them; empty
    where there are none, or not of this log."""
    with suppress(EvenhandError, AttributeError, LookupError, TypeError, ValueError):
        summary = _stored(store, log)
        if summary is not None and log.digest(summary["statistics"]["sequence"]) == summary["digest"]:
            statistics = Statistics(log.first_policy)
            statistics.restore(summary["statistics"])
            return statistics, summary["parts"]
    return Statistics(log.first_policy), {}


def statistics_up_to(log: Reader, rounds: int, chosen: Container[int] = ()) -> Statistics:
    """Return the statistics after so many rounds of a log, with all that was told of these rounds later, and with the
    moments of the chosen ones."""
    found = Statistics(log.first_policy, chosen=chosen)
    for row in log.entries():
        decided = row.kind in ("ask", *CHANGES)
        if found.rounds < rounds if decided else (row.ticket or 0) in found.open:
            found.take(row)
    found.flush()
    return found


def _stored(store: Store, log: Reader) -> dict[str, Any] | None:
    """Return the stored summary: by which version, the digest of the last entry, the statistics, and further parts."""
    with store.reading() as connection:
        found = connection.execute(select(SUMMARIES).where(SUMMARIES.c.study == log.number)).all()
    for row in found:
        state = bytes(row.state)
        if hmac.compare_digest(str(row.seal), _seal(log, state)):
            summary: dict[str, Any] = from_bytes(state, "summary")
            return summary if summary["version"] == policy_version(log.first_policy) else None
    return None


def keep(store: Store, log: Reader, statistics: Statistics, parts: dict[str, Any]) -> None:
    """Store the statistics that were taken from a log, and further parts beside them."""
    summary = {"version": policy_version(log.first_policy), "digest": log.digest(statistics.sequence)}
    state = to_bytes(summary | {"statistics": statistics.snapshot(), "parts": parts})
    with store.writing() as connection:
        # One process at a time: two that replace the row at once would both insert one, and one of them would fail.
        connection.execute(select(STUDIES.c.id).where(STUDIES.c.id == log.number).with_for_update())
        connection.execute(delete(SUMMARIES).where(SUMMARIES.c.study == log.number))
        row = {"study": log.number, "sequence": statistics.sequence, "seal": _seal(log, state), "state": state}
        connection.execute(insert(SUMMARIES), row)


def _seal(log: Reader, state: bytes) -> str:
    return hmac.digest(bytes.fromhex(log.birth.secret), b"summary" + state, "sha256").hex()
