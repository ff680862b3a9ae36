"""How the workers of a study tell each other what they have learned.

Each keeps one report in the store of its log, replaced by the next: its own statistics, cumulative, with the number of
its log's last entry. The others read it there when they come by; what a worker takes in is an entry of its log, with
the values as written, so that its replay needs nobody else. Nothing is lost if a report is missed, and nothing is
counted twice.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, NamedTuple

from evenhand.errors import ForeignTicketError, StoreError
from evenhand.studies.log.codec import from_text, now, to_text
from evenhand.studies.store.statements import change
from evenhand.studies.store.store import Store

__all__ = ["Exchange", "keep_report", "read_report", "taken_of"]


class Exchange(NamedTuple):
    """What came of an exchange.

    Attributes
    ----------
    taken : by worker, how many of its rounds were learned from now that were not before.
    unheard : by worker, why its report could not be read.
    """

    taken: dict[str, int]
    unheard: dict[str, str]


def keep_report(
    store: Store, log: int, worker: str, secret: str, report: dict[str, Any], taken: dict[str, int]
) -> None:
    """Keep a worker's report beside its log, in the place of an older one."""
    body = {"report": report, "taken": taken}
    text = to_text({**body, "mark": _mark(secret, worker, body)})
    kept = "UPDATE workers SET reported = ?, reported_at = ?, report = ? WHERE study = ? AND reported <= ?"
    with store.writing() as connection:
        change(connection, kept, report["number"], now(), text, log, report["number"])


def read_report(row: Any, worker: str, secret: str) -> dict[str, Any] | None:
    """Return the last report of a worker from its row, None before the first.

    Raises
    ------
    ForeignTicketError
        If it was not made by a worker of this study, or was changed.
    StoreError
        If it cannot be read.
    """
    if row.report is None:
        return None
    try:
        found = from_text(row.report)
        body = {"report": found["report"], "taken": found["taken"]}
        sound = hmac.compare_digest(str(found["mark"]), _mark(secret, worker, body))
        number = int(found["report"]["number"])
    except (LookupError, StoreError, TypeError, ValueError) as error:
        raise StoreError(f"the report of worker {worker!r} cannot be read: {error}") from error
    if not sound or number != row.reported:
        raise ForeignTicketError(f"the report of worker {worker!r} is forged, or was changed after it was written")
    report: dict[str, Any] = found["report"]
    return report


def taken_of(row: Any) -> dict[str, int]:
    """Return how many rounds of each other worker a worker had learned from at its last report."""
    found = from_text(row.report)
    taken = found.get("taken") if isinstance(found, dict) else None
    return taken if isinstance(taken, dict) else {}


def _mark(secret: str, worker: str, body: dict[str, Any]) -> str:
    return hmac.new(bytes.fromhex(secret), f"{worker}\x1f{to_text(body)}".encode(), hashlib.sha256).hexdigest()
