"""The log of one study: appending to it, reading it and looking things up; nothing here ever changes an entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import reduce
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, CursorResult, Select, bindparam, func, insert, select

from evenhand.errors import StoreError
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.codec import Event, from_text, moment, shown_arguments
from evenhand.studies.log.request_keys import shown_key
from evenhand.studies.log.subjects import opened
from evenhand.studies.store.engine import sqlite_of
from evenhand.studies.store.schema import EVENTS, STUDIES
from evenhand.studies.store.store import Store

CLOSED = ("tell", "forget", "expire")
"""The kinds of entries that close a ticket."""

PAGE = 1_000
"""Entries that are read at a time."""
LARGEST = 2**63 - 1

# The statements, built once: to build one takes longer than the database needs for it.
MINE = EVENTS.c.study == bindparam("study")
ALL = select(*(EVENTS.c[name] for name in Entry._fields)).where(MINE)
UP_TO = EVENTS.c.sequence + 0 <= bindparam("up_to")
"""The sum keeps the index by sequence out: by it, a database reads the whole log for a few entries."""
SOME = EVENTS.c.ticket.in_(bindparam("tickets", expanding=True))
ASKS = EVENTS.c.kind == "ask"
CLOSING = EVENTS.alias()
"""Entries that may have closed a ticket."""
CLOSES = (
    CLOSING.c.study == EVENTS.c.study,
    CLOSING.c.ticket == EVENTS.c.ticket,
    CLOSING.c.kind.in_(CLOSED),
    CLOSING.c.sequence + 0 <= bindparam("up_to"),
)
OPEN = select(func.count()).select_from(CLOSING).where(*CLOSES).correlate(EVENTS).scalar_subquery() == 0
"""Counts, so that a server looks each ticket up by the index: EXISTS becomes a join, for which a server without
statistics reads the whole log once for each ticket."""

LOCK = select(STUDIES.c.id).where(STUDIES.c.id == bindparam("study")).with_for_update()
LAST = select(EVENTS.c.sequence, EVENTS.c.digest).where(MINE).order_by(EVENTS.c.sequence.desc()).limit(1)
APPEND = insert(EVENTS)
LAST_IN_SQLITE = "SELECT sequence, digest FROM events WHERE study = ? ORDER BY sequence DESC LIMIT 1"
APPEND_IN_SQLITE = f"INSERT INTO events (study, {', '.join(Entry._fields)}) VALUES (?{', ?' * len(Entry._fields)})"
DIGEST = select(EVENTS.c.digest).where(MINE, EVENTS.c.sequence == bindparam("sequence"))
WITH_DIGEST = select(EVENTS.c.sequence).where(MINE, EVENTS.c.digest == bindparam("digest")).limit(1)
BEHIND = EVENTS.c.sequence > bindparam("after"), EVENTS.c.sequence <= bindparam("up_to")
FOLLOWING = ALL.where(*BEHIND).order_by(EVENTS.c.sequence).limit(PAGE)
OF_TICKETS = ALL.where(SOME, UP_TO).order_by(EVENTS.c.sequence + 0)
OF_KEYS = ALL.where(EVENTS.c.key.in_(bindparam("keys", expanding=True)))
LATE = ALL.where(SOME, ASKS, EVENTS.c.at <= bindparam("before"), OPEN)
BETWEEN = EVENTS.c.ticket > bindparam("after"), EVENTS.c.ticket <= bindparam("last")
MOST = bindparam("most", type_=BigInteger)
OPEN_ASKS = ALL.where(ASKS, *BETWEEN, UP_TO, OPEN).order_by(EVENTS.c.ticket).limit(MOST)
OPEN_TICKETS = OPEN_ASKS.with_only_columns(EVENTS.c.ticket)
LAST_TICKETS = select(EVENTS.c.ticket).where(MINE, ASKS).order_by(EVENTS.c.ticket.desc()).limit(MOST)
SETTINGS = select(EVENTS.c.sequence, EVENTS.c.given).where(MINE, EVENTS.c.ticket.is_(None), EVENTS.c.kind == "set")


class Record(NamedTuple):
    """Everything that is known of one decision: when, its arguments, the decision, and its outcome."""

    ticket: int
    at: datetime
    decision: dict[str, Any]
    given: dict[str, Any]
    version: str
    random_state: list[str] | None
    key: str | None
    actor: str | None
    told_at: datetime | None = None
    told: dict[str, Any] | None = None
    forgotten_at: datetime | None = None
    expired_at: datetime | None = None

    @property
    def status(self) -> str:
        """Whether the ticket is "open", or was "told" or "forgotten", or has "expired"."""
        closed = ("told", self.told_at), ("forgotten", self.forgotten_at), ("expired", self.expired_at)
        return next((name for name, at in closed if at is not None), "open")


class Log:
    """The log of the study with this number."""

    def __init__(self, store: Store, study: int) -> None:
        self._store, self.study = store, study

    def lock(self, connection: Connection) -> int:
        """Keep other writers out until the transaction ends, and return the last entry's position.

        A server reads the last entry in a statement of its own: one that waits for the lock sees the log as it was
        before the wait, and the next decision would be taken twice.
        """
        if not self._store.serial:
            self._run(connection, LOCK)
        return self.last(connection)[0]

    def last(self, connection: Connection) -> tuple[int, str]:
        """Return the last entry's position and digest, (0, "") for an empty log."""
        if self._store.serial:
            found = sqlite_of(connection).execute(LAST_IN_SQLITE, (self.study,)).fetchone()
        else:
            found = self._run(connection, LAST).first()
        return (0, "") if found is None else (found[0], found[1])

    def digest(self, connection: Connection, sequence: int) -> str | None:
        """Return the digest of an entry, None where there is no such entry."""
        return self._run(connection, DIGEST, sequence=sequence).scalar()

    def has_digest(self, connection: Connection, digest: str) -> bool:
        """Return whether an entry has this digest."""
        return self._run(connection, WITH_DIGEST, digest=digest).first() is not None

    def append(self, connection: Connection, entries: Sequence[Entry]) -> None:
        """Write entries at the end."""
        if entries and self._store.serial:
            rows = [(self.study, *entry) for entry in entries]
            sqlite_of(connection).executemany(APPEND_IN_SQLITE, rows)
        elif entries:
            connection.execute(APPEND, [{"study": self.study, **entry._asdict()} for entry in entries])

    def pages(self, connection: Connection, after: int = 0, up_to: int = LARGEST) -> Iterator[list[Entry]]:
        """Yield the entries after the one numbered `after`, in pages."""
        while True:
            page = self._entries(connection, FOLLOWING, after=after, up_to=up_to)
            if page:
                yield page
            if len(page) < PAGE:
                return
            reached = page[-1].sequence
            if type(reached) is not int or reached <= after:  # an index and its table say different things
                raise StoreError(f"the database is damaged: entry {reached!r} was found after entry {after}")
            after = reached

    def rows(self, connection: Connection, after: int = 0, up_to: int = LARGEST) -> Iterator[Entry]:
        """Yield the entries after the one numbered `after`, read a page at a time."""
        return chain.from_iterable(self.pages(connection, after, up_to))

    def of_ticket(self, connection: Connection, ticket: int) -> list[Event]:
        """Return the entries about a ticket."""
        return list(map(as_event, self._entries(connection, OF_TICKETS, tickets=[ticket], up_to=LARGEST)))

    def of_tickets(self, connection: Connection, tickets: Sequence[int], up_to: int) -> dict[int, list[Entry]]:
        """Return the entries about these tickets up to the one numbered `up_to`, by ticket, the asks first."""
        found: dict[int, list[Entry]] = defaultdict(list)
        for some in _paged(tickets):
            for entry in self._entries(connection, OF_TICKETS, tickets=some, up_to=up_to):
                found[entry.ticket or 0].append(entry)
        return found

    def open_asks(
        self, connection: Connection, after: int, last: int, most: int = LARGEST, *, up_to: int = LARGEST
    ) -> list[Entry]:
        """Return the asks of the first open tickets behind the number `after`, in order.

        Parameters
        ----------
        last : the last number.
        most : how many at most.
        up_to : the entry after which they were open.
        """
        return self._entries(connection, OPEN_ASKS, after=after, last=last, most=most, up_to=up_to)

    def open_tickets(self, connection: Connection, after: int) -> list[int]:
        """Return the numbers of all open tickets behind `after`."""
        every = {"after": after, "last": LARGEST, "most": LARGEST, "up_to": LARGEST}
        return list(self._run(connection, OPEN_TICKETS, **every).scalars())

    def late(self, connection: Connection, tickets: Sequence[int], before: int) -> list[Entry]:
        """Return the asks of those of these tickets that are open and were handed out at `before` or earlier."""
        found = (
            self._entries(connection, LATE, tickets=some, before=before, up_to=LARGEST) for some in _paged(tickets)
        )
        return list(chain.from_iterable(found))

    def last_tickets(self, connection: Connection, most: int = 1) -> list[int]:
        """Return the numbers of the last tickets, newest first."""
        return list(self._run(connection, LAST_TICKETS, most=most).scalars())

    def setting(self, connection: Connection, up_to: int) -> dict[str, Any]:
        """Return the last setting up to the entry numbered `up_to`, an empty dict if there is none."""
        rows = [(sequence, given) for sequence, given in self._run(connection, SETTINGS) if sequence <= up_to]
        return dict(from_text(max(rows, default=(0, "{}"))[1]))

    def of_keys(self, connection: Connection, keys: Sequence[str]) -> dict[str, Event]:
        """Return the entries of the asks with these keys, by key."""
        found = (self._entries(connection, OF_KEYS, keys=some) for some in _paged(keys))
        return {str(entry.key): as_event(entry) for entry in chain.from_iterable(found)}

    def _run(self, connection: Connection, statement: Select[Any], **values: Any) -> CursorResult[*tuple[Any, ...]]:
        return connection.execute(statement, {"study": self.study, **values})

    def _entries(self, connection: Connection, statement: Select[Any], **values: Any) -> list[Entry]:
        """Return the entries that a statement finds, decrypted as far as their keys are there."""
        found = self._run(connection, statement, **values)
        assert found.cursor is not None
        rows = found.cursor.fetchall()  # the driver's: to make rows of SQLAlchemy's of them takes a third as long again
        found.close()
        return opened(connection, list(map(Entry._make, rows)))


def _paged(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield them a few at a time: a statement has room for so many."""
    return (values[start : start + PAGE] for start in range(0, len(values), PAGE))


def as_event(entry: Entry) -> Event:
    """Return a stored entry as an event."""
    decoded = {
        "at": moment(entry.at),
        "given": shown_arguments(entry.given),
        "decision": from_text(entry.decision),
        "random_state": from_text(entry.random_state),
        "key": shown_key(entry.key),
    }
    return Event(**{**entry._asdict(), **decoded})


def record_of(events: Sequence[Event]) -> Record:
    """Return the record of a ticket from its entries, the ask first."""
    return reduce(closed_record, events[1:], open_record(events[0]))


def open_record(asked: Event) -> Record:
    """Return the record of a ticket that was handed out."""
    assert asked.ticket is not None
    assert asked.decision is not None
    return Record(
        asked.ticket, asked.at, asked.decision, asked.given, asked.version, asked.random_state, asked.key, asked.actor
    )


def closed_record(record: Record, event: Event) -> Record:
    """Return a record with its outcome."""
    if event.kind == "tell":
        return record._replace(told_at=event.at, told=event.given)
    if event.kind == "forget":
        return record._replace(forgotten_at=event.at)
    told = {name: value for name, value in event.given.items() if name == "reward"}
    return record._replace(expired_at=event.at, told=told or None)
