"""What all ask/tell objects share: a lock, numbered tickets, and the refusal of tickets that are not their own.

Policies, samplers and searches are used by the threads of a web service, so each has one lock, and every method that
reads or writes more than one thing holds it. A ticket carries a token that tells conversations apart; one that was
rebuilt from plain data has none, and is known by its number alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Self, cast

from evenhand.display.html import Card, Table, card_with_notes, said
from evenhand.parameters import locked
from evenhand.policy.tickets import Tickets
from evenhand.policy.traits import Traits
from evenhand.protocol import Renewable


class AskTell:
    """Numbered tickets that may each be told once, late and in any order; safe to use from several threads.

    A subclass has `Parameters` as its second base. It declares its traits, such as the type of its tickets, and
    remembers of each in `tickets.open` a tuple: first the fields that a ticket must still show when it is told,
    `_ticket_fields`, then what is needed to learn from it.
    """

    _traits: Traits = Traits()
    """What it states about itself."""
    _noun: ClassVar[str] = "policy"
    """What another conversation is called in refusals."""
    _tickets_live_in_log: ClassVar[bool] = False
    """Whether a study may keep the open tickets in its log, and the policy without them: no decision looks at them."""
    seed: int
    _lock: AbstractContextManager[Any]
    config: Callable[..., dict[str, Any]]
    _described: Callable[..., str]
    _made_again: Callable[..., Self]
    _last: tuple[Any, str] | None = None
    """What was decided last, and why."""
    _ticket_from_saved: Callable[..., tuple[Any, ...]]
    """Return what is remembered of an open ticket, from what a file kept of it, number by number."""

    def __init__(self) -> None:
        super().__init__()
        self.tickets = Tickets(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._become(state)

    def _become(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        self.tickets.owner = self

    @property
    @locked
    def open_tickets(self) -> list[int]:
        """The ids of the tickets that were handed out and neither told nor forgotten."""
        return list(self.tickets.open)

    @property
    @locked
    def _has_history(self) -> bool:
        """Whether it has decided or learned anything since it was made."""
        return self.tickets.next > 1

    def __sklearn_clone__(self) -> Self:
        return cast(Self, self.fresh()) if isinstance(self, Renewable) else self._made_again()

    # ------------------------------------------------------------------ what its tickets look like

    def _ticket_fields(self, ticket: Any) -> tuple[Any, ...]:
        """Return the fields of a ticket that are remembered first of each, to be compared."""
        return ticket.round, ticket.arm, ticket.index

    def _ticket_by_number(self, number: int) -> Any:
        """Return what `tell` and `forget` take for the ticket of this number."""
        return number

    def _extra_log_fields(self, remembered: tuple[Any, ...]) -> dict[str, Any]:
        """Return what a log must say of an open ticket beside what was shown and decided, as plain data."""
        return {}

    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[Any, ...]:
        """Return what a file keeps of an open ticket, from what a log says of it; see `Tickets.live_in_log`."""
        raise NotImplementedError

    def _ticket_to_saved(self, remembered: Any) -> tuple[Any, ...]:
        """Return what a file keeps of an open ticket: numbers and arrays."""
        raise NotImplementedError

    def _identity(self) -> str:
        return f"{self._described(repr)} {vars(self).get('seed', '')}"

    # ------------------------------------------------------------------ notebooks

    def _repr_html_(self) -> str:
        return card_with_notes(self).html()

    @locked
    def _card(self) -> Card:
        """Return what a notebook shows: the arguments that are numbers or words, where the conversation is, tables."""
        plain = {name: value for name, value in self.config().items() if isinstance(value, (bool, int, float, str))}
        last = "none yet" if self._last is None else f"{said(self._last[0])}: {self._last[1]}"
        where = {**self._facts(), "open tickets": len(self.tickets.open), "last decision": last}
        return Card(type(self).__name__, plain | where, self._tables())

    def _facts(self) -> dict[str, Any]:
        """Return what is to be said of the conversation so far."""
        return {"decisions": self.tickets.next - 1}

    def _tables(self) -> list[Table]:
        """Return what is to be shown of its arms, groups or candidates."""
        return []


def open_tickets_of(policy: object) -> Collection[int]:
    """Return the numbers of the open tickets that a policy remembers, none where it has no tickets."""
    return getattr(policy, "open_tickets", ())
