"""What can be read of a study's log: entries in their order, and all that is known of a decision."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from evenhand.arguments import whole
from evenhand.errors import ReplayError, UnknownTicketError
from evenhand.learners.functions import stand_ins
from evenhand.studies.log.chain import Birth, Entry
from evenhand.studies.log.codec import Event, moment
from evenhand.studies.log.log import LARGEST, Log, Record, as_event, record_of
from evenhand.studies.log.request_keys import text_of
from evenhand.studies.log.snapshots import first_replay
from evenhand.studies.signing import ticket_number
from evenhand.studies.store.store import Store


class Reader:
    """The log of a study, for reading.

    Attributes
    ----------
    number : the number of the log in its store.
    birth : the study's name, the name of its policy, its secret and when it was created.
    """

    def __init__(self, store: Store, log: Log, birth: Birth) -> None:
        self._store, self._log = store, log
        self.number, self.birth = log.study, birth

    @property
    def sequence(self) -> int:
        """How many entries the log has."""
        with self._store.reading() as connection:
            return self._log.last(connection)[0]

    @property
    def expire_after(self) -> timedelta | None:
        """How long a ticket may stay open; None where tickets never expire."""
        after = self.setting.get("expire_after")
        return None if after is None else timedelta(seconds=after)

    @property
    def expire_reward(self) -> float | None:
        """The reward of a ticket that expires; None where it has none."""
        return self.setting.get("expire_reward")

    @property
    def planned(self) -> list[datetime]:
        """When the promise is planned to change, the next time first."""
        return [moment(plan["begins"]) for plan in self.setting.get("planned", ())]

    @property
    def setting(self) -> dict[str, Any]:
        """The last setting of the study, an empty dict if there is none."""
        with self._store.reading() as connection:
            return self._log.setting(connection, LARGEST)

    @property
    def first_policy(self) -> Any:
        """The policy as it was when the study was created, which says what it promised: it can be asked nothing where
        the functions of its learner are not here."""
        return self.first()[0]

    def first(self) -> tuple[Any, list[str]]:
        """Return the first policy, and the names of the functions of its learner that are not here."""
        with self._store.reading() as connection, stand_ins() as absent:
            return first_replay(connection, self._log).policy, absent

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield the entries after the one numbered `after`, as they are stored."""
        with self._store.reading() as connection:
            yield from self._log.rows(connection, after)

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the entries after the one numbered `after`, up to the present end; no transaction is open meanwhile.

        Raises
        ------
        ReplayError
            If the log lacks an entry.
        """
        last = self.sequence
        while after < last:
            with self._store.reading() as connection:
                page = next(self._log.pages(connection, after, last), [])
            if not page:
                raise ReplayError(f"entry {after + 1} is missing from the log")
            yield from map(as_event, page)
            after = page[-1].sequence

    def record(self, ticket: Any) -> Record:
        """Return everything that is known of one decision, given as it is, by its number or by its signed text.

        Raises
        ------
        UnknownTicketError, ForeignTicketError
            If no ticket has this number, or the signature is not this study's.
        """
        number = ticket_number(self.birth, ticket)
        with self._store.reading() as connection:
            events = self._log.of_ticket(connection, number)
        if not events:
            raise UnknownTicketError(f"ticket {number} was never handed out by the study {self.birth.name!r}")
        return record_of(events)

    def asked(self, ticket: Any = None, key: str | None = None) -> Entry:
        """Return the entry of a decision, given as `record` takes it, or by the key under which it was asked for.

        Raises
        ------
        UnknownTicketError, ForeignTicketError
            If there is none, or the signature is not this study's.
        """
        number = None if ticket is None else ticket_number(self.birth, ticket)
        with self._store.reading() as connection:
            if number is None and key is not None:
                found = self._log.of_keys(connection, [text_of(key, 0)])
                number = next((event.ticket for event in found.values()), None)
            entries = [] if number is None else self._log.of_tickets(connection, [number], LARGEST)[number]
        if not entries:
            said = f"ticket {number}" if key is None else f"a decision under the key {key!r}"
            raise UnknownTicketError(f"{said} was never handed out by the study {self.birth.name!r}")
        return entries[0]

    def latest(self, count: int) -> list[Record]:
        """Return the records of the last decisions, oldest first."""
        with self._store.reading() as connection:
            tickets = self._log.last_tickets(connection, whole("count", count, low=1))
        return [self.record(ticket) for ticket in reversed(tickets)]

    def has_digest(self, digest: str) -> bool:
        """Return whether an entry has this digest."""
        with self._store.reading() as connection:
            return self._log.has_digest(connection, digest)

    def digest(self, sequence: int) -> str | None:
        """Return the digest of an entry, None where there is no such entry."""
        with self._store.reading() as connection:
            return self._log.digest(connection, sequence)
