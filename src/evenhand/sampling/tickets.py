"""The draws that were handed out and not told yet."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from evenhand.errors import ClosedTicketError, TicketError, UnknownTicketError, wanted
from evenhand.protocol import Label
from evenhand.sampling.problem import Draw

__all__ = ["Tickets"]


class Tickets:
    """Numbered tickets, each for a group's index and a count of rows."""

    def __init__(self, groups: tuple[Label, ...]) -> None:
        self._groups = groups
        self.open: dict[int, tuple[int, int]] = {}
        self.last = 0

    def issue(self, index: int, count: int) -> int:
        """Return the number of a new ticket."""
        self.last += 1
        self.open[self.last] = (index, count)
        return self.last

    def checked(self, draw: Any) -> tuple[int, int, int]:
        """Return (number, index, count) of an open ticket, given as the draw or its number.

        Raises
        ------
        UnknownTicketError, ClosedTicketError
            If it was never handed out, or was told or forgotten before.
        TicketError
            If the draw is for another group than the ticket of that number.
        """
        ticket = draw.id if isinstance(draw, Draw) else draw
        if not isinstance(ticket, (int, np.integer)) or isinstance(ticket, bool):
            raise UnknownTicketError(wanted("draw", "a Draw or its id", draw))
        found = self.open.get(int(ticket))
        if found is None:
            if 0 < ticket <= self.last:
                raise ClosedTicketError(f"ticket {ticket} was told or forgotten before; nothing has changed")
            raise UnknownTicketError(f"ticket {ticket} was never handed out; the last one was {self.last}")
        if isinstance(draw, Draw) and draw.index != found[0]:
            mine = self._groups[found[0]]
            raise TicketError(f"ticket {ticket} is for group {mine!r}, not {draw.group!r}: another sampler's?")
        return int(ticket), *found

    def snapshot(self) -> dict[str, Any]:
        """Return the tickets as plain data."""
        return {"last": self.last, "open": [[ticket, *what] for ticket, what in self.open.items()]}

    def restore(self, snapshot: dict[str, Any]) -> Self:
        """Take over the tickets of a snapshot."""
        self.last = snapshot["last"]
        self.open = {ticket: (index, count) for ticket, index, count in snapshot["open"]}
        return self
