"""What all ask/tell objects share: a lock, numbered tickets, and the refusal of tickets that are not their own.

Policies, samplers and searches are used by the threads of a web service, so each has one lock, and every method that
reads or writes more than one thing holds it. A ticket carries a token that tells conversations apart; one that was
rebuilt from plain data has none, and is known by its number alone.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self, TypeVar, cast

from evenhand.arguments import is_whole
from evenhand.display.html import Card, Table, card_with_notes, said, shortened
from evenhand.errors import ClosedTicketError, ForeignTicketError, UnknownTicketError, Wording, wanted
from evenhand.parameters import Parameters
from evenhand.processes import Lock
from evenhand.protocol import Decision, Label, Renewable
from evenhand.saving.saved import packed, unpacked

COPIED = "it works on a copy of this policy"
"""What refusals say of a policy that is not told what its copy is told."""
_Method = TypeVar("_Method", bound=Callable[..., Any])
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def locked(method: _Method) -> _Method:
    """Decorate a method of an object with a `_lock`: one thread at a time runs it or any other such method."""

    @functools.wraps(method)
    def alone(self: Any, /, *args: Any, **named: Any) -> Any:
        with self._lock:
            return method(self, *args, **named)

    return cast(_Method, alone)


class Configured(Parameters):
    """What its constructor's arguments make it, with one lock for its threads."""

    transient: ClassVar[tuple[str, ...]] = ()
    """Attributes that copies make anew."""

    def __init__(self) -> None:
        self._lock = Lock()

    def __repr__(self) -> str:
        return self._described(shortened)

    def _described(self, shown: Callable[[Any], str]) -> str:
        """Return the call that makes it, without its seed."""
        given = ", ".join(f"{name}={shown(value)}" for name, value in self.config().items() if name != "seed")
        return f"{type(self).__name__}({given})"

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles are made of, at one moment, whatever other threads are doing."""
        with self._lock:
            return copy.deepcopy({name: value for name, value in self.__dict__.items() if name not in self.transient})


class AskTell(Configured):
    """Numbered tickets that may each be told once, late and in any order; safe to use from several threads.

    A subclass names the type of its tickets and remembers in `_open` of each a tuple: first the fields that a ticket
    must still show when it is told, `_ticket_fields`, then what is needed to learn from it.
    """

    hands_out: ClassVar[Any] = Decision
    """The type of the tickets."""
    _noun: ClassVar[str] = "policy"
    """What another conversation is called in refusals."""
    asks_several: ClassVar[str] = ""
    """The argument by which `ask` hands out several tickets at once, "" where there is none."""
    tickets_live_in_log: ClassVar[bool] = False
    """Whether a study may keep the open tickets in its log, and the policy without them: no decision looks at them."""
    compiled: bool = True
    """Whether all of it runs in kernels, where it has kernels."""
    plays: int = 1
    """How many arms are played in a round, none twice."""
    horizon: int | None = None
    """The round up to which it decides, or keeps its promise."""
    retired: tuple[Label, ...] = ()
    """The arms that are no longer on offer."""
    seed: int
    _last: tuple[Any, str] | None = None
    """What was decided last, and why."""
    _ticket_from_saved: Callable[..., tuple[Any, ...]]
    """Return what is remembered of an open ticket, from what a file kept of it, number by number."""

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[int, Any] = {}
        self._next = 1

    @property
    @locked
    def open_tickets(self) -> list[int]:
        """The ids of the tickets that were handed out and neither told nor forgotten."""
        return list(self._open)

    @property
    @locked
    def has_history(self) -> bool:
        """Whether it has decided or learned anything since it was made."""
        return self._next > 1

    def __sklearn_clone__(self) -> Self:
        return cast(Self, self.fresh()) if isinstance(self, Renewable) else self._made_again()

    # ------------------------------------------------------------------ tickets

    def _hand_out(self, remembered: tuple[Any, ...]) -> int:
        """Return the number of a new ticket."""
        number = self._next
        self._open[number] = remembered
        self._next = number + 1
        return number

    def _ticket(self, given: Any) -> tuple[int, Any]:
        """Return the number of an open ticket, given as it was handed out or as its number, and what is remembered.

        Raises
        ------
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            If it was never handed out, was told or forgotten before, or is another conversation's.
        """
        if type(given) is self.hands_out and given.token == self._token:
            try:
                found = self._open[given.id]
                if found[0] == self._ticket_fields(given) and type(given.id) is int:
                    return given.id, found
            except (KeyError, TypeError, ValueError):
                pass
        return self._examined(given)

    def _examined(self, given: Any) -> tuple[int, Any]:
        """Do what `_ticket` does for anything that may be given, field by field."""
        name = self.hands_out.__name__
        handed = isinstance(given, self.hands_out)
        number = given.id if handed else given
        if not is_whole(number):
            article = "an" if name[0] in "AEIOU" else "a"
            raise UnknownTicketError(wanted(name.lower(), f"{article} {name} or its id", given))
        number = int(number)
        foreign = ForeignTicketError(
            f"ticket {number}: this {name} belongs to another {self._noun}, or was edited; nothing has changed; "
            f"tell each {name} to the {self._noun} that handed it out"
        )
        if handed and given.token not in (None, self._token):
            raise foreign
        found = self._open.get(number)
        if found is None:
            if 1 <= number < self._next:
                raise ClosedTicketError(f"ticket {number} was told or forgotten before; nothing has changed")
            latest = f"the last one was {self._next - 1}" if self._next > 1 else "none was so far"
            never = f"ticket {number} was never handed out; {latest}"
            raise UnknownTicketError(Wording(f"{never}; if a study decides, tell the study: {COPIED}", shell=never))
        if handed and not all(map(_agrees, self._ticket_fields(given), found[0])):
            raise foreign
        return number, found

    def _ticket_fields(self, ticket: Any) -> tuple[Any, ...]:
        """Return the fields of a ticket that are remembered first of each, to be compared."""
        return ticket.round, ticket.arm, ticket.index

    # ------------------------------------------------------------------ tickets that a log keeps

    def remembers(self, number: int) -> bool:
        """Return whether what is needed to tell this open ticket is at hand."""
        return number in self._open

    def by_number(self, number: int) -> Any:
        """Return what `tell` and `forget` take for the ticket of this number."""
        return number

    def extra_log_fields(self, number: int) -> dict[str, Any]:
        """Return what a log must say of an open ticket beside what was shown and decided, as plain data."""
        return {}

    @locked
    def restore_ticket(self, number: int, decided: dict[str, Any], shown: dict[str, Any]) -> None:
        """Remember an open ticket again, from what a log says that was decided, noted and shown."""
        self._open[number] = self._ticket_from_saved(*self._ticket_from_log(decided, shown))

    @locked
    def evict_tickets(self, most: int, but: Collection[int] = ()) -> None:
        """Remember the last `most` open tickets and these, and no others; `restore_ticket` brings one back."""
        last = list(self._open)[max(0, len(self._open) - most) :]
        self._open = {number: self._open[number] for number in [*but, *last] if number in self._open}

    @contextmanager
    def only_tickets(self, numbers: Collection[int]) -> Iterator[None]:
        """Remember these open tickets alone while the block runs, so that the policy is saved without the others."""
        with self._lock:
            every = self._open
            self._open = {number: every[number] for number in numbers if number in every}
            try:
                yield
            finally:
                self._open = every

    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[Any, ...]:
        """Return what a file keeps of an open ticket, from what a log says of it; see `tickets_live_in_log`."""
        raise NotImplementedError

    # ------------------------------------------------------------------ notebooks

    def _repr_html_(self) -> str:
        return card_with_notes(self).html()

    @locked
    def card(self) -> Card:
        """Return what a notebook shows: the arguments that are numbers or words, where the conversation is, tables."""
        plain = {name: value for name, value in self.config().items() if isinstance(value, (bool, int, float, str))}
        last = "none yet" if self._last is None else f"{said(self._last[0])}: {self._last[1]}"
        where = {**self._facts(), "open tickets": len(self._open), "last decision": last}
        return Card(type(self).__name__, plain | where, self._tables())

    def _facts(self) -> dict[str, Any]:
        """Return what is to be said of the conversation so far."""
        return {"decisions": self._next - 1}

    def _tables(self) -> list[Table]:
        """Return what is to be shown of its arms, groups or candidates."""
        return []

    # ------------------------------------------------------------------ files

    def _saved_tickets(self) -> dict[str, Any]:
        """Return the open tickets as few arrays, the next number and the token."""
        rows = ((number, *self._ticket_to_saved(remembered)) for number, remembered in self._open.items())
        return {"next": self._next, "token": self._token, "open": packed(rows)}

    def _resume(self, saved: Any) -> None:
        """Take up saved tickets."""
        self._next, self._token = saved["next"], saved["token"]
        for number, *kept in unpacked(saved["open"]):
            self._open[number] = self._ticket_from_saved(*kept)

    def _ticket_to_saved(self, remembered: Any) -> tuple[Any, ...]:
        """Return what a file keeps of an open ticket: numbers and arrays."""
        raise NotImplementedError

    @functools.cached_property
    def _token(self) -> str:
        """Eight digits that conversations of another kind, configuration or seed do not share, and copies do."""
        return hashlib.sha256(_ADDRESS.sub("", self._identity()).encode()).hexdigest()[:8]

    def _identity(self) -> str:
        return f"{self._described(repr)} {getattr(self, 'seed', '')}"


def open_tickets_of(policy: Any) -> Collection[int]:
    """Return the numbers of the open tickets that a policy remembers, none where it has no tickets."""
    return getattr(policy, "open_tickets", ())


def _agrees(said: Any, remembered: Any) -> bool:
    """Return whether a field is what is remembered, or nothing is."""
    if remembered is None:
        return True
    try:
        return bool(remembered == (tuple(said) if isinstance(said, list) else said))
    except (TypeError, ValueError):  # such as an array, which is no field of a ticket
        return False
