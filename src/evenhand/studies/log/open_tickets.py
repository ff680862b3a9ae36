"""The open tickets of a study: they are kept in the log, and the policy in memory holds only those that it needs.

So neither the size of a snapshot nor the memory of a study grows with the number of open tickets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import numpy as np
from sqlalchemy import Connection

from evenhand.errors import ErasedError, InFlightError, Wording
from evenhand.policy.ask_tell import AskTell
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.codec import arguments_of, from_text, moment
from evenhand.studies.log.log import Log

REMEMBERED = 1_000
"""How many of the last open tickets the policy remembers."""
SEARCHED = 10_000
"""How many tickets are searched at a time for an open one."""
EXPIRED = 100
"""The most tickets that expire in one transaction, so that no caller waits long."""
LARGEST = 2**63
SHOWN = 5
"""The most open tickets that a refusal names."""
NEAR = 100
"""Among how many tickets from the first open one on it looks for them."""


class OpenTickets:
    """The open tickets of a policy that follows a log.

    Attributes
    ----------
    lower_bound : every ticket up to this number is closed.
    not_in_log : tickets of which the log does not say enough: they are saved with the policy.
    """

    def __init__(self, policy: Any, log: Log, lower_bound: int) -> None:
        self._policy, self._log, self.lower_bound = policy, log, lower_bound
        self._tickets_live_in_log = is_apart(policy)
        self.not_in_log: frozenset[int] = frozenset()
        if self._tickets_live_in_log:
            self.not_in_log = frozenset(
                number for number in policy.open_tickets if policy.tickets.extra_log_fields(number)
            )
            policy.tickets.evict(0, self.not_in_log)
        self._asked = 0
        self._none_before = 0

    def changed(self) -> None:
        """Note that tickets expire after another time than before."""
        self._none_before = 0

    def fetch(self, connection: Connection, numbers: Iterable[int], sequence: int) -> dict[int, list[Entry]]:
        """Have the policy remember those of these tickets that are open after this entry.

        Returns
        -------
        dict
            Number -> the entries about it, of those that the policy did not remember.
        """
        if not self._tickets_live_in_log:
            return {}
        missing = [number for number in numbers if 0 < number < LARGEST and not self._policy.tickets.remembers(number)]
        if not missing:
            return {}
        found = self._log.of_tickets(connection, missing, sequence)
        for entries in found.values():
            if len(entries) == 1 and entries[0].kind == "ask":
                with suppress(ErasedError):  # nothing can be told of it; the others can
                    restore_from_log(self._policy, entries[0])
        return found

    def fetch_blind(self, connection: Connection, numbers: Iterable[int], sequence: int) -> None:
        """Have the policy remember those of these open tickets whose contexts cannot be read, so that they can be
        forgotten, which needs no contexts."""
        for entries in self.fetch(connection, numbers, sequence).values():
            ask = entries[0]
            if len(entries) == 1 and ask.kind == "ask" and not self._policy.tickets.remembers(ask.ticket):
                arms, width = len(self._policy.arms or ()), self._policy.dimension or 0
                self._policy.tickets.restore(ask.ticket, from_text(ask.decision), {"contexts": np.zeros((arms, width))})

    def asked(self, count: int) -> None:
        """Note that so many tickets were handed out; of many, the policy drops the oldest, which the log holds."""
        self._asked += count
        if self._tickets_live_in_log and self._asked >= REMEMBERED:
            self._policy.tickets.evict(REMEMBERED, self.not_in_log)
            self._asked = 0

    def advance_lower_bound(self, connection: Connection) -> None:
        """Raise `lower_bound` towards the first open ticket."""
        self._open(connection, 1)

    @contextmanager
    def first_named(self, connection: Connection, write: Callable[[], None]) -> Iterator[None]:
        """Where an ask is refused as too many are untold, name the first open tickets and since when each is open;
        `write` brings the log up to date."""
        try:
            yield
        except InFlightError as error:
            write()
            for first in self._log.open_asks(connection, self.lower_bound, LARGEST - 1, 1):
                self.lower_bound = (first.ticket or 0) - 1
            # Not to the end of the log: where few are open, every refusal would read all of it while others wait.
            asks = self._log.open_asks(connection, self.lower_bound, self.lower_bound + NEAR, SHOWN)
            since = ", ".join(f"{ask.ticket} since {moment(ask.at):%Y-%m-%d %H:%M:%S} UTC" for ask in asks)
            raise InFlightError(Wording(error.args[0], f"; the first are {since}")) from error

    def expired(self, connection: Connection, at: int, after: int) -> list[Entry]:
        """Return the asks of the first open tickets that are older than `after` microseconds at the time `at`.

        They are to be closed in this transaction: `lower_bound` is raised above them.
        """
        if at < self._none_before:
            return []
        asks, whole = self._open(connection, EXPIRED + 1)
        due = [ask for ask in asks if ask.at + after <= at][:EXPIRED]
        left = asks[len(due) :]
        # Raise it past what is closed now. Otherwise every search would begin at the first ticket, and take
        # longer the longer the log is: test_ten_thousand_open_tickets_are_neither_loaded_nor_written.
        if left:
            self.lower_bound = (left[0].ticket or 0) - 1
        elif due:
            self.lower_bound = due[-1].ticket or 0
        self._none_before = left[0].at + after if left else at + after if whole and not due else 0
        for ask in due:
            if self._tickets_live_in_log and not self._policy.tickets.remembers(ask.ticket):
                restore_from_log(self._policy, ask)
        return due

    def _open(self, connection: Connection, most: int) -> tuple[list[Entry], bool]:
        """Return the asks of the first open tickets among the next, and whether there were no more to search; raise
        `lower_bound` to where they begin."""
        last = max(self._log.last_tickets(connection), default=0)
        upper = min(last, self.lower_bound + SEARCHED)
        asks = self._log.open_asks(connection, self.lower_bound, upper, most)
        self.lower_bound = (asks[0].ticket or 0) - 1 if asks else upper
        return asks, upper == last


def is_apart(policy: Any) -> bool:
    """Return whether the log alone may hold the open tickets of a policy, which decides without a look at them."""
    return isinstance(policy, AskTell) and policy.tickets.live_in_log


def only_these_tickets(policy: Any, tickets: Collection[int] = ()) -> AbstractContextManager[None]:
    """Have a policy remember these open tickets alone, for a while; one that decides by them remembers all."""
    return policy.tickets.only(tickets) if is_apart(policy) else nullcontext()


def restore_from_log(policy: Any, ask: Entry) -> None:
    """Have a policy remember an open ticket, from the entry of its ask."""
    assert ask.ticket is not None
    policy.tickets.restore(ask.ticket, from_text(ask.decision), arguments_of(ask.given))
