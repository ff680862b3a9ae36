"""Who was asked for an item of a queue, which items need more labels, and which open ticket a label answers."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from evenhand.errors import ClosedTicketError, UnknownTicketError, Wording
from evenhand.policy.tickets import Tickets
from evenhand.protocol import Label
from evenhand.sampling.labelling.annotations import Annotations
from evenhand.sampling.labelling.label_assignment import Assignment
from evenhand.sampling.labelling.label_items import LABELLED, OPEN, REJECTED, Items
from evenhand.sampling.labelling.label_users import Users
from evenhand.sampling.sampler import Sampler


class LabelState(Protocol):
    """What a queue of labels keeps, for those who read files and write tables of it."""

    ids: tuple[Label, ...]
    groups: tuple[Label, ...]
    content: list[str] | None
    tickets: Tickets
    _lock: AbstractContextManager[Any]
    _items: Items
    _assignment: Assignment
    _annotations: Annotations
    _users: Users
    _again: list[int]

    @property
    def sampler(self) -> Sampler: ...
    @property
    def notes(self) -> list[str]: ...
    def tell(self, id: Any, label: Label | None, *, annotator: str | None = None) -> None: ...
    def _group(self, position: int) -> Label: ...
    def _hand_to(self, position: int, annotator: str | None) -> Any: ...


def holders(queue: LabelState, position: int) -> list[str | None]:
    """Return who has an open ticket for an item."""
    return [who for _, at, who in queue.tickets.open.values() if at == position]


def lacks(queue: LabelState, position: int) -> int:
    """Return how many labels an item needs beside those told and those asked for."""
    asked = len(queue._annotations.by(position)) + len(holders(queue, position))
    return queue._annotations.needed(position) - asked


def want_more(queue: LabelState, position: int) -> None:
    """Have an item asked again if it needs more labels than it will get."""
    if lacks(queue, position) > 0 and position not in queue._again:
        queue._again.append(position)


def pass_on(queue: LabelState, position: int, annotator: str) -> None:
    """Give the first open ticket of an item to somebody else, who answers in place of the one that was asked."""
    number = next(number for number, (_, at, _) in queue.tickets.open.items() if at == position)
    said, *_ = queue.tickets.open[number]
    queue.tickets.open[number] = (said, position, annotator)


def repeated(queue: LabelState, annotator: str | None) -> tuple[int, str] | None:
    """Return an item that needs more labels, and that this annotator has neither labelled nor open, and why."""
    for position in queue._again:
        known = queue._annotations.by(position)
        # Somebody who labels an item twice would agree with herself, and a majority would be one person's.
        if annotator is None or annotator not in [*known, *holders(queue, position)]:
            if queue._items.state[position] == LABELLED:
                return position, "asked again: its label is in doubt"
            return position, "another label of the same item" if known else "open before, and taken back"
    return None


def open_ticket(queue: LabelState, given: object, annotator: str | None) -> int:
    """Return the number of an item's open ticket: the annotator's own, or the first of nobody's.

    Raises
    ------
    UnknownTicketError, ClosedTicketError
        If there is no such item, this annotator was not asked for it, or it was labelled or rejected before.
    """
    position = queue._items.position(given)
    # Her own ticket goes first: if she answered one of nobody's, hers would stay open and wait for a second label.
    mine = [number for number, (_, at, who) in queue.tickets.open.items() if at == position and who == annotator]
    free = [
        number for number, (_, at, who) in queue.tickets.open.items() if at == position and None in (who, annotator)
    ]
    if mine or free:
        return (mine or free)[0]
    state = queue._items.state[position]
    if state == LABELLED:
        by = " and ".join(sorted({str(name) for name in queue._annotations.by(position) if name is not None}))
        already = f"id {given!r}: it is labelled already{by and f', by {by}'}; nothing has changed"
        hint = "call ask_again([id]) to have it labelled once more"
        raise ClosedTicketError(Wording(f"{already}; {hint}", shell=already))
    if state == REJECTED:
        raise ClosedTicketError(f"id {given!r}: it was rejected before; nothing has changed")
    if state == OPEN:
        who = ", ".join(sorted(str(name) for name in holders(queue, position))) or "nobody"
        raise UnknownTicketError(f"id {given!r}: {who} was asked for it, not {annotator or 'you'}")
    raise UnknownTicketError(f"id {given!r}: nobody was asked to label it; label the items that ask() returns")
