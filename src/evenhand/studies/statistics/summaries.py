"""Summaries: what views show of a log up to some entry, stored, so that a restarted service reads only what follows.

A summary names the last entry that it has read by its digest, and is sealed with the study's
secret. It is believed only where the seal fits, the log still has these entries, and the same version of the code wrote
it; otherwise, and where there is none, the log is read from its first entry. Whoever can change the store can read the
secret, so that a seal shows damage and mix-ups, not every forgery: verification reads the log and no summary.
"""

from __future__ import annotations

import hmac
from contextlib import suppress
from typing import Any, Self

from sqlalchemy import delete, insert, select

from evenhand.errors import EvenhandError
from evenhand.registry import register
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies.log.reader import Reader
from evenhand.studies.log.versions import policy_version
from evenhand.studies.statistics.statistics import Statistics
from evenhand.studies.store.schema import STUDIES, SUMMARIES
from evenhand.studies.store.store import Store


@register("studies/summary", kind="part")
class Summary:
    """The content of a summary: by which version, up to which entry, the statistics, and further parts."""

    def __init__(self, version: str, digest: str | None, statistics: dict[str, Any], parts: dict[str, Any]) -> None:
        self.version, self.digest, self.statistics, self.parts = version, digest, statistics, parts

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs."""
        return dict(vars(self))

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the summary that `snapshot` was taken of."""
        return cls(**snapshot)


def begin(store: Store, log: Reader) -> tuple[Statistics, dict[str, Any]]:
    """Return the statistics of a log as far as they are stored, with the parts that were stored beside them; empty
    where there are none, or not of this log."""
    with suppress(EvenhandError, AttributeError, LookupError, TypeError, ValueError):
        summary = _stored(store, log)
        if summary is not None and log.digest(summary.statistics["sequence"]) == summary.digest:
            statistics = Statistics(log.first_policy)
            statistics.restore(summary.statistics)
            return statistics, summary.parts
    return Statistics(log.first_policy), {}


def _stored(store: Store, log: Reader) -> Summary | None:
    with store.reading() as connection:
        found = connection.execute(select(SUMMARIES).where(SUMMARIES.c.study == log.number)).all()
    for row in found:
        state = bytes(row.state)
        if hmac.compare_digest(str(row.seal), _seal(log, state)):
            summary = from_bytes(state, "summary")
            return summary if summary.version == policy_version(log.first_policy) else None
    return None


def keep(store: Store, log: Reader, statistics: Statistics, parts: dict[str, Any]) -> None:
    """Store the statistics that were taken from a log, and further parts beside them."""
    digest, version = log.digest(statistics.sequence), policy_version(log.first_policy)
    state = to_bytes(Summary(version, digest, statistics.snapshot(), parts))
    with store.writing() as connection:
        # One process at a time: two that replace the row at once would both insert one, and one of them would fail.
        connection.execute(select(STUDIES.c.id).where(STUDIES.c.id == log.number).with_for_update())
        connection.execute(delete(SUMMARIES).where(SUMMARIES.c.study == log.number))
        row = {"study": log.number, "sequence": statistics.sequence, "seal": _seal(log, state), "state": state}
        connection.execute(insert(SUMMARIES), row)


def _seal(log: Reader, state: bytes) -> str:
    return hmac.digest(bytes.fromhex(log.birth.secret), b"summary" + state, "sha256").hex()
