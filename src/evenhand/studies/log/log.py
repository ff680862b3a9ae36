"""The log of one study: append, read on, look up. Nothing here ever changes an entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, select
from sqlalchemy.sql import ColumnElement

from evenhand.errors import StoreError
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.codec import Event, from_text, moment, shown_arguments
from evenhand.studies.log.request_keys import shown_key
from evenhand.studies.log.subjects import opened
from evenhand.studies.store.schema import EVENTS
from evenhand.studies.store.server import Prepared, driver_of, execute, literals
from evenhand.studies.store.statements import marks, read
from evenhand.studies.store.store import Store

__all__ = ["CLOSED", "LARGEST", "Log", "Record", "as_event", "record_of"]

CLOSED = {"tell": "told", "forget": "forgotten", "expire": "expired"}
"""The status of a ticket that an entry of this kind closed."""

ALL = select(*(EVENTS.c[name] for name in Entry._fields))
FOUND = f"SELECT {', '.join(Entry._fields)} FROM events WHERE study = ? AND "
CLOSINGS = (
    "(SELECT count(*) FROM events AS closing WHERE closing.study = events.study AND closing.ticket = events.ticket "
    f"AND closing.kind IN ({', '.join(map(repr, CLOSED))}))"
)
"""How many entries closed an entry's ticket; see `Log._closed` why it counts."""
IN_ORDER = "ORDER BY +sequence"
"""Puts the few entries that an index finds in order; without the plus a database reads the whole log in its order."""
APPEND = f"INSERT INTO events (study, {', '.join(Entry._fields)}) VALUES "
LAST = "SELECT sequence, digest FROM events WHERE study = {0} ORDER BY sequence DESC LIMIT 1"
LOCK = "SELECT FROM studies WHERE id = {0} FOR UPDATE"
"""Begins a transaction on a server; a statement behind it sees entries that were written during the wait for it."""
VALUES = "integer, bigint, text, bigint, bigint, text, text, text, text, text, text, text"
ON_SERVER = Prepared(
    {
        "append": (VALUES, APPEND + "($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"),
        "last": ("integer", LAST.format("$1")),
        "lock": ("integer", LOCK.format("$1")),
    }
)
"""The statements of a transaction on a server."""
CLOSING = EVENTS.alias()
"""Entries that may have closed a ticket."""
PAGE = 1_000
"""Entries that are read at a time."""
LARGEST = 2**63 - 1


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
        self._last = LAST.format(int(study))

    def begin(self, connection: Connection) -> int:
        """Begin a transaction that writes, if the store has not begun it; return the last entry's position."""
        driver = driver_of(connection)
        if self._store.serial:
            found = driver.execute(self._last).fetchone()
        else:
            call, number = ON_SERVER.call, str(self.study)
            found = ON_SERVER.begin(driver, f"{call('lock', number)}; {call('last', number)}")
        return int(found[0]) if found else 0

    def last(self, connection: Connection) -> tuple[int, str]:
        """Return the last entry's position and digest, (0, "") for an empty log."""
        return driver_of(connection).execute(self._last).fetchone() or (0, "")

    def digest(self, connection: Connection, sequence: int) -> str | None:
        """Return the digest of an entry, None where there is no such entry."""
        found = self._stored(connection, "sequence = ?", sequence)
        return found[0].digest if found else None

    def has_digest(self, connection: Connection, digest: str) -> bool:
        """Say whether an entry has this digest."""
        return bool(self._stored(connection, "digest = CAST(? AS VARCHAR) LIMIT 1", digest))

    def append(self, connection: Connection, entries: Sequence[Entry], *, commit: bool = False) -> None:
        """Write entries at the end.

        Parameters
        ----------
        commit : end the transaction of a server that `begin` began, in the same round trip. That of a file ends with
            its block.
        """
        if not entries:
            return
        driver = driver_of(connection)
        if self._store.serial:
            row = f"(?{', ?' * len(Entry._fields)})"
            driver.executemany(APPEND + row, [(self.study, *entry) for entry in entries])
        else:
            rows = [literals(driver, (self.study, *entry)) for entry in entries]
            many = APPEND + ", ".join(f"({row})" for row in rows)
            said = ON_SERVER.call("append", rows[0]) if commit and len(rows) == 1 else many
            execute(driver, f"{said}; COMMIT" if commit else said)

    def pages(self, connection: Connection, after: int = 0, up_to: int | None = None) -> Iterator[list[Entry]]:
        """Yield the entries after the one numbered `after`, in pages."""
        while True:
            last = LARGEST if up_to is None else up_to
            page = f"sequence > ? AND sequence <= ? ORDER BY sequence LIMIT {PAGE}"
            rows = self._stored(connection, page, after, last)
            if rows:
                yield opened(connection, rows)
            if len(rows) < PAGE:
                return
            reached = rows[-1].sequence
            if type(reached) is not int or reached <= after:  # an index and its table say different things
                raise StoreError(f"the database is damaged: entry {reached!r} was found behind entry {after}")
            after = reached

    def rows(self, connection: Connection, after: int = 0, up_to: int | None = None) -> Iterator[Entry]:
        """Yield the entries after the one numbered `after`, read a page at a time."""
        return chain.from_iterable(self.pages(connection, after, up_to))

    def of_ticket(self, connection: Connection, ticket: int) -> list[Event]:
        """Return the entries about a ticket."""
        found = opened(connection, self._stored(connection, f"ticket = ? {IN_ORDER}", ticket))
        return list(map(as_event, found))

    def of_tickets(self, connection: Connection, tickets: Sequence[int], up_to: int) -> dict[int, list[Entry]]:
        """Return the entries about these tickets up to the one numbered `up_to`, by ticket, the asks first."""
        found: dict[int, list[Entry]] = defaultdict(list)
        for start in range(0, len(tickets), PAGE):
            some = tickets[start : start + PAGE]
            about = f"ticket IN ({marks(some)}) AND +sequence <= ? {IN_ORDER}"
            for entry in opened(connection, self._stored(connection, about, *some, up_to)):
                found[entry.ticket or 0].append(entry)
        return found

    def open_asks(
        self, connection: Connection, after: int, up_to: int, most: int | None = None, *, at: int | None = None
    ) -> list[Entry]:
        """Return the asks of the first open tickets behind the number `after`, in order.

        Parameters
        ----------
        up_to : the last number.
        most : how many at most; all where it is None.
        at : the entry after which they were open; the last where it is None.
        """
        still = EVENTS.c.kind == "ask", EVENTS.c.ticket > after, EVENTS.c.ticket <= up_to, ~self._closed(at)
        asks = ALL if at is None else ALL.where(EVENTS.c.sequence <= at)
        return self._entries(connection, asks.where(*still).order_by(EVENTS.c.ticket).limit(most))

    def open_tickets(self, connection: Connection, after: int) -> list[int]:
        """Return the numbers of all open tickets behind `after`."""
        mine = EVENTS.c.study == self.study
        still = mine, EVENTS.c.kind == "ask", EVENTS.c.ticket > after, ~self._closed(None)
        return list(connection.scalars(select(EVENTS.c.ticket).where(*still).order_by(EVENTS.c.ticket)))

    def _closed(self, at: int | None) -> ColumnElement[bool]:
        """Return the condition that an entry's ticket was closed, up to the entry numbered `at`.

        It counts, so that a server looks each ticket up by the index: EXISTS becomes a join, for which a server without
        statistics reads the whole log once for each ticket.
        """
        mine = CLOSING.c.study == EVENTS.c.study, CLOSING.c.ticket == EVENTS.c.ticket, CLOSING.c.kind.in_(CLOSED)
        closed = select(func.count()).select_from(CLOSING).where(*mine)
        if at is not None:
            closed = closed.where(CLOSING.c.sequence + 0 <= at)  # the sum keeps the index by sequence out
        return closed.correlate(EVENTS).scalar_subquery() > 0

    def late(self, connection: Connection, tickets: Sequence[int], before: int) -> list[Entry]:
        """Return the asks of those of these tickets that are open and were handed out at `before` or earlier."""
        found: list[Entry] = []
        for start in range(0, len(tickets), PAGE):
            some = tickets[start : start + PAGE]
            late = f"ticket IN ({marks(some)}) AND kind = 'ask' AND at <= ? AND {CLOSINGS} = 0"
            found += opened(connection, self._stored(connection, late, *some, before))
        return found

    def last_tickets(self, connection: Connection, most: int = 1) -> list[int]:
        """Return the numbers of the last tickets, newest first."""
        asks = "SELECT ticket FROM events WHERE study = ? AND kind = 'ask' ORDER BY ticket DESC LIMIT ?"
        return [ticket for (ticket,) in read(connection, asks, self.study, most)]

    def setting(self, connection: Connection, up_to: int) -> dict[str, Any]:
        """Return the last setting up to the entry numbered `up_to`, an empty dict if there is none."""
        return dict(from_text(self.setting_text(connection, up_to) or "{}"))

    def setting_text(self, connection: Connection, up_to: int) -> str | None:
        """Return the same as the log keeps it, None if there is none."""
        every = "SELECT sequence, given FROM events WHERE study = ? AND ticket IS NULL AND kind = 'set'"
        rows = read(connection, every, self.study)
        return max(((sequence, given) for sequence, given in rows if sequence <= up_to), default=(0, None))[1]

    def of_keys(self, connection: Connection, keys: Sequence[str]) -> dict[str, Event]:
        """Return the entries of the asks with these keys, by key."""
        pages = (keys[start : start + PAGE] for start in range(0, len(keys), PAGE))
        stored = (self._stored(connection, f"key IN ({marks(page)})", *page) for page in pages)
        return {str(entry.key): as_event(entry) for entries in stored for entry in opened(connection, entries)}

    def _stored(self, connection: Connection, condition: str, *values: Any) -> list[Entry]:
        """Return the entries of which a condition is true, as they are stored."""
        return list(map(Entry._make, read(connection, FOUND + condition, self.study, *values)))

    def _entries(self, connection: Connection, query: Select[Any]) -> list[Entry]:
        """Return the entries of this log that a query finds, decrypted as far as their keys are there."""
        found = connection.execute(query.where(EVENTS.c.study == self.study))
        return opened(connection, list(map(Entry._make, found)))


def as_event(entry: Entry) -> Event:
    """Return a stored entry as an event."""
    decoded = {"at": moment(entry.at), "key": shown_key(entry.key), "given": shown_arguments(entry.given)} | {
        name: from_text(getattr(entry, name)) for name in ("decision", "random_state")
    }
    return Event(**{**entry._asdict(), **decoded})


def record_of(events: Sequence[Event]) -> Record:
    """Return the record of a ticket from its entries, the ask first."""
    asked = events[0]
    assert asked.ticket is not None
    assert asked.decision is not None
    record = Record(
        asked.ticket, asked.at, asked.decision, asked.given, asked.version, asked.random_state, asked.key, asked.actor
    )
    for event in events[1:]:
        if event.kind == "tell":
            record = record._replace(told_at=event.at, told=event.given)
        elif event.kind == "forget":
            record = record._replace(forgotten_at=event.at)
        else:
            record = record._replace(expired_at=event.at)
    return record
