"""What a study does in one transaction: operations in, entries of the log and outcomes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection

from evenhand.errors import ArgumentError, ClosedTicketError, ContradictionError, EvenhandError, wanted
from evenhand.studies.fold import Operation, digest_of, taken
from evenhand.studies.log import Log, record_of
from evenhand.studies.records import as_decided, decision_from, dumped, first_random_state, now, random_state
from evenhand.studies.snapshots import Fold

__all__ = ["Transaction"]

DONE = {"tell": "told", "forget": "forgotten"}


class Transaction:
    """The operations of one transaction, on a fold that is up to date and that nobody else can overtake."""

    def __init__(self, connection: Connection, log: Log, fold: Fold, number_of: Callable[[Any], int]) -> None:
        self._connection, self._log, self._fold, self._number_of = connection, log, fold, number_of
        self._entries: list[dict[str, Any]] = []

    def done(self, operations: Sequence[Operation]) -> list[Any]:
        """Do the operations and write the log; return each one's outcome, refusals as values."""
        outcomes: list[Any] = []
        for operation in operations:
            try:
                outcomes.append(self._done(operation))
            except EvenhandError as refusal:
                outcomes.append(refusal)
        self._flush()
        return outcomes

    def _done(self, operation: Operation) -> Any:
        kind, ticket, given, key, actor = operation
        fold = self._fold
        for name, text, most in (("key", key, 200), ("actor", actor, 100)):
            _check_name(name, text, most)
        given = fold.arguments.checked(kind, given)
        number = None if kind == "ask" or (ticket is None and kind == "tell") else self._number_of(ticket)
        if key is not None and kind != "ask":
            raise ArgumentError(wanted("key", f"none: {kind} counts once without one", key))
        if key is not None:
            before = self._asked_before(key, given)
            if before is not None:
                return before
        begun = getattr(fold.policy, "dimension", 0) is not None
        drawn_from, text = random_state(fold.policy), dumped(given)
        started = time.perf_counter()
        try:
            decided = taken(fold.policy, kind, ticket if hasattr(ticket, "id") else number, given)
        except ClosedTicketError as closed:
            assert number is not None
            return self._closed_before(closed, kind, number, given)
        if kind == "ask" and not begun:
            drawn_from = first_random_state(fold.policy)
        entry: dict[str, Any] = {
            "sequence": fold.sequence + 1,
            "kind": kind,
            "ticket": decided.id if kind == "ask" else number,
            "at": now(),
            "given": text,
            "decision": dumped(as_decided(decided)) if kind == "ask" else None,
            "version": fold.version,
            "random_state": drawn_from,
            "key": key,
            "actor": actor,
        }
        entry["digest"] = digest_of(fold.digest, entry)
        fold.took(entry["sequence"], entry["digest"], fold.version, time.perf_counter() - started)
        self._entries.append(entry)
        return decided if kind == "ask" else DONE[kind]

    def _asked_before(self, key: str, given: dict[str, Any]) -> Any:
        """Return the decision that was handed out under this key, None if there is none."""
        self._flush()
        event = self._log.of_key(self._connection, key)
        if event is None:
            return None
        if event.given != given:
            raise ContradictionError(f"key {key!r} was used before, for another ask; take a new key for each decision")
        assert event.decision is not None
        return decision_from(event.decision)

    def _closed_before(self, closed: ClosedTicketError, kind: str, number: int, given: dict[str, Any]) -> str:
        """Say that the same was told before, or refuse what is not the same."""
        self._flush()
        events = self._log.of_ticket(self._connection, number)
        if not events:
            raise ClosedTicketError(f"ticket {number} was told or forgotten before the study began") from closed
        record = record_of(events)
        forgotten = record.forgotten_at is not None
        if kind == "forget" and forgotten:
            return "already forgotten"
        if kind == "tell" and record.told is not None:
            if record.told == given:
                return "already told"
            was, says = (", ".join(f"{k} {_short(v)}" for k, v in each.items()) for each in (record.told, given))
            raise ContradictionError(f"ticket {number} was told before: {was}, not {says}; nothing has changed")
        what = "forgotten" if forgotten else "told"
        raise ClosedTicketError(f"ticket {number} was {what} before; nothing has changed") from closed

    def _flush(self) -> None:
        self._log.append(self._connection, self._entries)
        self._entries.clear()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_name(name: str, text: Any, most: int) -> None:
    if text is not None and not (isinstance(text, str) and 0 < len(text) <= most and text.isprintable()):
        raise ArgumentError(wanted(name, f"a text of up to {most} printable characters", text))
