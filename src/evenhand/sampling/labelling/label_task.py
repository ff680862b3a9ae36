"""The ticket of a queue of items: one item to label."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.protocol import Label


class _Task(NamedTuple):
    id: int
    round: int
    item: Label
    group: Label
    purpose: str
    reason: str
    content: str
    choices: tuple[Label, ...]


class Task(_Task):
    """One item to label, once, by one annotator.

    Attributes
    ----------
    id : the ticket's number, unique within the queue, counted from 1.
    round : how many items were handed out before, and this one.
    item : the item's id.
    group : its group.
    purpose : "training" or "validation".
    reason : why this group and this item, in words.
    content : what people see of it.
    choices : all labels, where the sampler was given its classes; else ().
    token : which queue handed it out; no field of the tuple.
    """

    token: str | None = None
