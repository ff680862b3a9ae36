"""What a study does in one transaction: operations in, entries of the log and outcomes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection

from evenhand.errors import ArgumentError, ClosedTicketError, ContradictionError, EvenhandError, wanted
from evenhand.protocol import composed
from evenhand.studies.chain import Entry, digest_of
from evenhand.studies.fold import Operation, taken
from evenhand.studies.log import Log, record_of
from evenhand.studies.records import as_decided, decision_from, dumped, first_random_state, now, random_state, revived
from evenhand.studies.request_keys import LONGEST, texts_of
from evenhand.studies.snapshots import Fold

__all__ = ["Transaction"]

DONE = {"tell": "told", "forget": "forgotten"}


class Transaction:
    """The operations of one transaction, on a fold that is up to date and that nobody else can overtake."""

    def __init__(self, connection: Connection, log: Log, fold: Fold, number_of: Callable[[Any], int]) -> None:
        self._connection, self._log, self._fold, self._number_of = connection, log, fold, number_of
        self._entries: list[Entry] = []
        self._named: dict[str, tuple[dict[str, Any], Any]] = {}
        """The decisions under the keys of these operations: what was given and what was decided."""

    def done(self, operations: Sequence[Operation]) -> list[Any]:
        """Do the operations and write the log; return each one's outcome, refusals as values."""
        texts: list[str] = []
        for operation in operations:
            with suppress(ArgumentError):
                texts += _texts(operation)
        for text, event in self._log.of_keys(self._connection, texts).items():
            self._named[text] = event.given, decision_from(event.decision or {})
        outcomes: list[Any] = []
        for operation in operations:
            try:
                outcomes.append(self._done(operation))
            except EvenhandError as refusal:
                outcomes.append(refusal)
        self._flush()
        return outcomes

    def _done(self, operation: Operation) -> Any:
        kind, ticket, given, key, actor, _ = operation
        fold = self._fold
        _check_name("actor", actor, 100)
        texts = _texts(operation)
        given = fold.arguments.checked(kind, given)
        number = None if kind == "ask" or (ticket is None and kind == "tell") else self._number_of(ticket)
        if key is not None and kind != "ask":
            raise ArgumentError(wanted("key", f"none: {kind} counts once without one", key))
        before = next((self._named[text] for text in texts if text in self._named), None)
        if before is not None:
            if before[0] != given:
                raise ContradictionError(f"key {key!r} was used before, for another ask; take a new key")
            return before[1]
        begun = getattr(fold.policy, "dimension", 0) is not None
        drawn_from, text = random_state(fold.policy), dumped(given)
        started = time.perf_counter()
        try:
            decided = taken(fold.policy, kind, ticket if hasattr(ticket, "id") else number, revived(given))
        except ClosedTicketError as closed:
            assert number is not None
            return self._closed_before(closed, kind, number, given)
        if kind == "ask" and not begun:
            drawn_from = first_random_state(fold.policy)
        entry = Entry(
            sequence=fold.sequence + 1,
            kind=kind,
            ticket=decided.id if kind == "ask" else number,
            at=now(),
            given=text,
            decision=dumped(as_decided(decided)) if kind == "ask" else None,
            version=fold.version,
            random_state=drawn_from,
            key=texts[0] if texts else None,
            actor=actor,
            digest="",
        )
        entry = entry._replace(digest=digest_of(fold.digest, entry))
        fold.took(entry, started)
        self._entries.append(entry)
        if texts:
            self._named[texts[0]] = given, decided
        return decided if kind == "ask" else DONE[kind]

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


def _texts(operation: Operation) -> tuple[str, ...]:
    """Return the texts under which the decision may stand in the log, the one to write first; none without a key."""
    key, number = operation.key, operation.number
    if key is None:
        return ()
    _check_name("key", key, LONGEST)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ArgumentError(wanted("number", "a whole number >= 0", number))
    texts = texts_of(composed(key), number)
    if composed(key) != key:
        texts += texts_of(key, number)
    if len(texts[0]) > LONGEST:
        mend = f"decision {number} under it needs {len(texts[0])}, shorten it"
        raise ArgumentError(wanted("key", f"a text that fits {LONGEST} characters with its number", key, mend))
    return texts


def _check_name(name: str, text: Any, most: int) -> None:
    if text is not None and not (isinstance(text, str) and 0 < len(text) <= most and text.isprintable()):
        raise ArgumentError(wanted(name, f"a text of up to {most} printable characters", text))
