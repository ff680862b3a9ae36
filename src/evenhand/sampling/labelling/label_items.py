"""The items of a pool that wait for labels: each group's random order, which items may train and which validate, and
the ticket of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.arguments import in_sequence
from evenhand.data.rows import in_step
from evenhand.data.tables import in_natural_order, places_in
from evenhand.errors import ArgumentError, UnknownTicketError, Wording, expected
from evenhand.frames import frame_or_value
from evenhand.kernels.arrays import Ints
from evenhand.labels import Labels
from evenhand.protocol import Label, label_of
from evenhand.rng import generator
from evenhand.sampling.pools.frame_codes import FrameCodes, columns_of
from evenhand.sampling.problem import MOST, read_rows

WAITING, OPEN, LABELLED, REJECTED = range(4)
PURPOSES = ("training", "validation")


@dataclass(frozen=True, slots=True)
class Task:
    """One item to be labelled once, by one annotator.

    Attributes
    ----------
    id : the ticket's number, unique within the queue, counted from 1.
    round : how many items were handed out so far, this one included.
    item : the item's id.
    group : its group.
    purpose : "training" or "validation".
    reason : why this group and this item, in words.
    content : what people see of the item.
    choices : all labels, where the sampler was given its classes; else ().
    token : which queue handed it out; tasks are compared without it.
    """

    id: int
    round: int
    item: Label
    group: Label
    purpose: str
    reason: str
    content: str
    choices: tuple[Label, ...]
    token: str | None = field(default=None, kw_only=True, repr=False, compare=False)


class Items:
    """Items 0 .. n - 1 with ids, features (n, ...), groups (n,) as indexes of the sorted group labels, and what people
    see of them, None for the ids.

    Features, groups and content that carry ids as row labels, or those of the ids, are matched by them.

    Within each group the items are put in random order before anything is chosen. Every second one may only validate,
    and these come in that order, so that the validation rows are a uniform sample of the group whatever is chosen
    to train.
    """

    def __init__(self, ids: object, features: object, groups: object, content: object, seed: int) -> None:
        self.ids = _ids(ids)
        self.labels = Labels(self.ids)
        groups, content = (_by_id(value, self.ids, name) for name, value in (("groups", groups), ("content", content)))
        _, features, groups, content = in_step(
            ("ids", ids), ("features", features), ("groups", groups), ("content", content), labels=self.ids
        )
        self.content = _content(content, len(self.ids))
        features = frame_or_value(features, "features")
        self.columns, self.codes = columns_of(features), FrameCodes()
        self.features = read_rows(self.codes.numbers(features) if self.columns else features, None, MOST, keep=True)
        if len(self.features) != len(self.ids):
            raise ArgumentError(expected("features", f"{len(self.ids)} rows, one for each id", len(self.features)))
        given = _labels(groups, len(self.ids))
        self.groups: tuple[Label, ...] = tuple(in_natural_order(given))
        self.group = places_in(np.array(given, dtype=object), self.groups)
        self.state = np.full(len(self.ids), WAITING, np.int8)
        draws = generator(seed)
        self.orders = [draws.permutation(np.flatnonzero(self.group == z)) for z in range(len(self.groups))]
        self.validates = np.zeros(len(self.ids), np.bool_)
        for order in self.orders:
            self.validates[order[1::2]] = True

    def shown(self, positions: Any) -> Any:
        """Return the features of items as they were given: of a data frame, its columns with their texts."""
        rows = self.features[positions]
        return self.codes.frame(rows, self.columns) if self.columns else rows

    def waiting(self, group: int, purpose: str) -> Ints:
        """Return the items of a group that may still be labelled for this purpose, in the group's random order."""
        own = self.orders[group][PURPOSES.index(purpose) :: 2]
        return own[self.state[own] == WAITING]

    def purpose(self, position: int) -> str:
        """Return "training" or "validation": what an item is for."""
        return PURPOSES[int(self.validates[position])]

    def position(self, item: object) -> int:
        """Return the position of an item.

        Raises
        ------
        UnknownTicketError
            If no item has this id.
        """
        found = self.labels.place(item)
        if found is None:
            raise UnknownTicketError(expected("id", "the id of an item of this queue", item))
        return found


def _ids(ids: object) -> tuple[Label, ...]:
    labels = _labels(in_sequence("ids", ids, "a list of ids, one for each item"), None, "ids")
    if not labels:
        raise ArgumentError(expected("ids", "at least one item", Wording("none")))
    if len(set(labels)) < len(labels):
        seen: set[Label] = set()
        twice = next(label for label in labels if label in seen or seen.add(label))  # type: ignore[func-returns-value]
        raise ArgumentError(expected("ids", "each id once", twice))
    return tuple(labels)


def _labels(values: Any, rows: int | None, name: str = "groups") -> list[Label]:
    """Return text and whole numbers as a list; of `rows` entries where that is given."""
    sized = isinstance(values, Sized)
    if rows is not None and (isinstance(values, (str, bytes)) or not sized or len(values) != rows):
        got = len(values) if sized and not isinstance(values, str) else values
        raise ArgumentError(expected(name, f"{rows} labels, one for each id", got))
    found: list[Label] = []
    for value in values:
        label = label_of(value)
        if label is None:
            raise ArgumentError(expected(name, "text or whole numbers", value))
        found.append(label)
    return found


def _by_id(values: object, ids: Sequence[Label], name: str) -> Any:
    """Return the values of a dict id -> value in the order of the ids, anything else as it is."""
    if not isinstance(values, Mapping):
        return values
    given = dict(Labels(ids).read(values, name, "a dict id -> value"))
    if given.keys() != set(ids):
        odd = next((f"none for {item!r}" for item in ids if item not in given), None)
        raise ArgumentError(
            expected(name, "one entry for each id", odd or next(key for key in given if key not in ids))
        )
    return [given[item] for item in ids]


def _content(content: object, rows: int) -> list[str] | None:
    """Return what people see of each item: a text, or the path or address of a picture."""
    if content is None:
        return None
    values = list(content) if isinstance(content, Iterable) and not isinstance(content, str) else []
    if len(values) != rows or not all(isinstance(value, str) for value in values):
        got = len(values) if values else content
        raise ArgumentError(expected("content", f"{rows} texts, one for each id", got))
    return values
