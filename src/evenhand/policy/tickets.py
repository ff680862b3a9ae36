"""The numbered tickets of a conversation: handed out, found again, refused where they are another's, saved.

A ticket carries a token that tells conversations apart; one that was rebuilt from plain data has none, and is known by
its number alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, Protocol

from evenhand.arguments import is_whole
from evenhand.errors import ClosedTicketError, ForeignTicketError, UnknownTicketError, Wording, expected
from evenhand.policy.traits import Traits
from evenhand.saving.saved import packed, unpacked

COPIED = "it works on a copy of this policy"
"""What refusals say of a policy that is not told what its copy is told."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class TicketOwner(Protocol):
    """What hands out tickets, and knows what they look like."""

    _traits: Traits
    _noun: ClassVar[str]
    _lock: AbstractContextManager[Any]
    _tickets_live_in_log: ClassVar[bool]

    def _identity(self) -> str: ...
    def _ticket_fields(self, ticket: Any) -> tuple[Any, ...]: ...
    def _ticket_by_number(self, number: int) -> Any: ...
    def _extra_log_fields(self, remembered: tuple[Any, ...]) -> dict[str, Any]: ...
    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[Any, ...]: ...
    def _ticket_to_saved(self, remembered: Any) -> tuple[Any, ...]: ...
    def _ticket_from_saved(self, *kept: Any) -> tuple[Any, ...]: ...


class Tickets:
    """The open tickets of an ask/tell object, each of which may be told once, late and in any order.

    Attributes
    ----------
    owner : the object, which knows what its tickets look like: the fields that one must still show when it is told,
        what a file and a log keep of one, and what is remembered of it. It reads and writes them under its own lock.
    open : number -> what is remembered: first the fields to be shown, then what is needed to learn from it.
    next : the number of the next ticket.
    """

    def __init__(self, owner: TicketOwner) -> None:
        self.owner = owner
        self.open: dict[int, Any] = {}
        self.next = 1
        self._token = ""

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the owner, which is copied with its tickets and names itself again."""
        return {name: value for name, value in vars(self).items() if name != "owner"} | {"_token": self.token}

    def copy_for(self, owner: TicketOwner, remembered: dict[int, Any]) -> Tickets:
        """Return the tickets of a copy of the owner, which goes on with these that are open."""
        copied = Tickets(owner)
        copied.open, copied.next, copied._token = remembered, self.next, self.token
        return copied

    @property
    def token(self) -> str:
        """Eight digits that conversations of another kind, configuration or seed do not share, and copies do."""
        if not self._token:
            self._token = hashlib.sha256(_ADDRESS.sub("", self.owner._identity()).encode()).hexdigest()[:8]
        return self._token

    def hand_out(self, remembered: tuple[Any, ...]) -> int:
        """Return the number of a new ticket."""
        number = self.next
        self.open[number] = remembered
        self.next = number + 1
        return number

    def find(self, given: Any) -> tuple[int, Any]:
        """Return the number of an open ticket, given as it was handed out or as its number, and what is remembered.

        Raises
        ------
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            If it was never handed out, was told or forgotten before, or is another conversation's.
        """
        if type(given) is self.owner._traits.hands_out and given.token == self.token:
            try:
                found = self.open[given.id]
                if found[0] == self.owner._ticket_fields(given) and type(given.id) is int:
                    return given.id, found
            except (KeyError, TypeError, ValueError):
                pass
        return self._examined(given)

    def _examined(self, given: Any) -> tuple[int, Any]:
        """Check any input and raise the exact error: the slow path of `find`."""
        kind, noun = self.owner._traits.hands_out, self.owner._noun
        name = kind.__name__
        handed = isinstance(given, kind)
        number = given.id if handed else given
        if not is_whole(number):
            article = "an" if name[0] in "AEIOU" else "a"
            raise UnknownTicketError(expected(name.lower(), f"{article} {name} or its id", given))
        number = int(number)
        foreign = ForeignTicketError(
            f"ticket {number}: this {name} belongs to another {noun}, or was edited; nothing has changed; "
            f"tell each {name} to the {noun} that handed it out"
        )
        if handed and given.token not in (None, self.token):
            raise foreign
        found = self.open.get(number)
        if found is None:
            if 1 <= number < self.next:
                raise ClosedTicketError(f"ticket {number} was told or forgotten before; nothing has changed")
            latest = f"the last one was {self.next - 1}" if self.next > 1 else "none was so far"
            never = f"ticket {number} was never handed out; {latest}"
            raise UnknownTicketError(Wording(f"{never}; if a study decides, tell the study: {COPIED}", shell=never))
        if handed and not all(map(_agrees, self.owner._ticket_fields(given), found[0])):
            raise foreign
        return number, found

    # ------------------------------------------------------------------ a log that keeps them

    @property
    def live_in_log(self) -> bool:
        """Whether a log may keep the open tickets, and the object without them: no decision looks at them."""
        return self.owner._tickets_live_in_log

    def remembers(self, number: int) -> bool:
        """Return whether what is needed to tell this open ticket is at hand."""
        return number in self.open

    def by_number(self, number: int) -> Any:
        """Return what `tell` and `forget` take for the ticket of this number."""
        return self.owner._ticket_by_number(number)

    def extra_log_fields(self, number: int) -> dict[str, Any]:
        """Return what a log must say of an open ticket beside what was shown and decided, as plain data."""
        return self.owner._extra_log_fields(self.open[number])

    def restore(self, number: int, decided: dict[str, Any], shown: dict[str, Any]) -> None:
        """Remember an open ticket again, from what a log says that was decided, noted and shown."""
        with self.owner._lock:
            kept = self.owner._ticket_from_log(decided, shown)
            self.open[number] = self.owner._ticket_from_saved(*kept)

    def evict(self, most: int, but: Collection[int] = ()) -> None:
        """Remember the last `most` open tickets and these, and no others; `restore` brings one back."""
        with self.owner._lock:
            last = list(self.open)[max(0, len(self.open) - most) :]
            self.open = {number: self.open[number] for number in [*but, *last] if number in self.open}

    @contextmanager
    def only(self, numbers: Collection[int]) -> Iterator[None]:
        """Remember these open tickets alone while the block runs, so that the object is saved without the others."""
        with self.owner._lock:
            every = self.open
            self.open = {number: every[number] for number in numbers if number in every}
            try:
                yield
            finally:
                self.open = every

    # ------------------------------------------------------------------ files

    def snapshot(self) -> dict[str, Any]:
        """Return the open tickets as few arrays, the next number and the token."""
        rows = ((number, *self.owner._ticket_to_saved(remembered)) for number, remembered in self.open.items())
        return {"next": self.next, "token": self.token, "open": packed(rows)}

    def restore_all(self, saved: Any) -> None:
        """Take up the tickets of a snapshot."""
        self.next, self._token = saved["next"], saved["token"]
        for number, *kept in unpacked(saved["open"]):
            self.open[number] = self.owner._ticket_from_saved(*kept)


def _agrees(said: object, remembered: object) -> bool:
    """Return whether a field is what is remembered, or nothing is."""
    if remembered is None:
        return True
    try:
        return bool(remembered == (tuple(said) if isinstance(said, list) else said))
    except (TypeError, ValueError):  # such as an array, which is no field of a ticket
        return False
