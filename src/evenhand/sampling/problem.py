"""The problem "from which group should the next training example come?": its ticket, and checks of what users give.

There are m groups and one common classifier f, trained on everything that was collected. L(z, f) is the risk of f
in group z. The fair mixture pi* minimises max_z L(z, f_pi), where f_pi is trained on data whose groups are mixed in
the proportions pi. Each round names one group; its new rows are split: the first half is for training, the second
half for validation in that group.

Source: S. Shekhar, G. Fields, M. Ghavamzadeh, T. Javidi, "Adaptive Sampling for Minimax Fair Classification",
NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arguments import real
from evenhand.errors import ArgumentError, ContextError, UnknownArmError, expected, expected_one_of
from evenhand.frames import ENCODE, as_array, is_frame
from evenhand.kernels.arrays import Floats
from evenhand.labels import Labels
from evenhand.parameters import Parameters
from evenhand.policy.ask_tell import AskTell
from evenhand.policy.traits import Traits
from evenhand.protocol import Label

Groups = int | Sequence[Label]
"""A number of groups, or their labels."""
MOST = 10**12
"""The largest count that is taken."""
LARGEST = float(np.finfo(np.float32).max)
"""The largest feature that is taken: trees and networks compute in single precision."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw: the request to fetch `count` fresh labelled examples of `group` and to tell them.

    Attributes
    ----------
    id : the ticket's number, unique within the sampler, counted from 1.
    round : the round t = 1, 2, ... in which the group was chosen.
    group : the user's label for the group.
    index : the group's position, 0 .. m - 1.
    count : how many rows are wanted; the first half trains, the second half validates.
    reason : why this group, in words.
    token : which sampler chose it, so that no other accepts it; None where the draw was made from plain data. Draws are
        compared without it.
    """

    id: int
    round: int
    group: Label
    index: int
    count: int
    reason: str
    token: str | None = field(default=None, kw_only=True, repr=False, compare=False)


def group_index(groups: tuple[Label, ...], draw: Draw) -> int:
    """Return the position of a draw's group in a world; groups that a sampler only numbers are the world's in order.

    Raises
    ------
    UnknownArmError
        If the world has no such group.
    """
    position = Labels(groups).place(draw.group)
    if position is not None:
        return position
    if draw.group == draw.index < len(groups) and all(isinstance(label, str) for label in groups):
        return draw.index
    raise UnknownArmError(expected_one_of("draw", groups, draw.group, what="a draw of one of the groups"))


def per_group(name: str, values: Mapping[Label, float] | Sequence[float], groups: tuple[Label, ...]) -> Floats:
    """Return one number >= 0 for each group (m,), given as a dict by label or a list in the order of the groups.

    >>> per_group("costs", {"b": 2.0, "a": 1.0}, ("a", "b"))
    array([1., 2.])

    Raises
    ------
    UnknownArmError
        If a dict names a group that does not exist.
    ArgumentError
        If a group is missing or a number is negative or not finite.
    """
    given = Labels(groups).read(values, name, "a list with a number for each group, or a dict group -> number")
    if isinstance(given, dict):
        known = set(groups)
        unknown = [label for label in given if label not in known]
        if unknown:
            raise UnknownArmError(expected_one_of(name, groups, unknown[0], what="one of the groups"))
        missing = [label for label in groups if label not in given]
        if missing:
            raise ArgumentError(expected(name, "a number for each group", given, f"{missing[0]!r} is missing"))
    numbers = [given[label] for label in groups] if isinstance(given, dict) else given
    if len(numbers) != len(groups):
        raise ArgumentError(expected(name, f"{len(groups)} numbers, one for each group", values))
    return np.array([real(f"{name}[{label!r}]", v, low=0.0) for label, v in zip(groups, numbers, strict=True)])


def read_rows(X: Any, shape: tuple[int, ...] | None, count: int, *, keep: bool = False) -> NDArray[Any]:
    """Return X as an array of floats with at most `count` rows, each of the given shape; an empty list is no rows.

    With `keep`, an array of bytes, whole numbers or half precision keeps its type.

    Raises
    ------
    ContextError
        If X has another shape, more rows than were asked for, or a value that is not finite or too large.
    """
    kept = isinstance(X, np.ndarray) and (X.dtype in (np.float64, np.float32) or (keep and _is_numeric(X.dtype)))
    if not kept:
        given = X
        try:
            X = as_array(X, "X")
            if X.dtype.kind in "cmMV":
                raise TypeError(f"{X.dtype} is not a numeric type")
            X = X if keep and _is_numeric(X.dtype) else X.astype(np.float64)
        except (OverflowError, TypeError, ValueError) as error:
            got = "text or categories in a table" if is_frame(given) else given
            raise ContextError(expected("X", "an array of numbers, a row for each example", got, ENCODE)) from error
    if X.ndim == 1 and len(X) == 0:
        X = X.reshape(0, 0)
    if X.ndim < 2:
        raise ContextError(
            expected("X", "an array with a row for each example", X.shape, "use X[None] for one example")
        )
    if len(X) > count:
        raise ContextError(expected("X", f"at most the {count} rows that were asked for", len(X)))
    if not len(X):
        return X
    if shape is not None and X.shape[1:] != shape:
        raise ContextError(expected("X", f"rows of shape {shape}, as before", X.shape[1:]))
    if 0 in X.shape:
        raise ContextError(expected("X", "at least one number per row", X.shape))
    fine = np.abs(X) <= min(LARGEST, float(np.finfo(X.dtype).max)) if X.dtype.kind == "f" else np.ones(1, bool)
    if not fine.all():
        place = np.argwhere(~fine)[0]
        got = f"{X[tuple(place)]} in row {place[0]}"
        if not np.isfinite(X[tuple(place)]):
            odd = f"a missing or infinite value in row {place[0]}"
            raise ContextError(expected("X", "finite numbers", odd, "fill it in first"))
        raise ContextError(expected("X", f"numbers up to {LARGEST:.1e}", got, "scale the column"))
    return X


def _is_numeric(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "ui" or (dtype.kind == "f" and dtype.itemsize <= 8)


class Drawing(AskTell, Parameters):
    """A conversation that hands out draws and remembers of each what it says."""

    _traits = Traits(hands_out=Draw, feedback="rows")
    groups: tuple[Label, ...]

    def _draw(self, round: int, index: int, count: int, why: str) -> Draw:
        said = (round, self.groups[index], index, count)
        draw = Draw(self.tickets.hand_out((said,)), *said, why, token=self.tickets.token)
        self._last = draw.group, why
        return draw

    def _index_of(self, group: object) -> int:
        """Return the position of a group.

        Raises
        ------
        UnknownArmError
            If there is no such group.
        """
        index = Labels(self.groups).place(group)
        if index is None:
            raise UnknownArmError(expected_one_of("group", self.groups, group))
        return index

    def _ticket_fields(self, ticket: Draw) -> tuple[Any, ...]:
        return ticket.round, ticket.group, ticket.index, ticket.count

    def _ticket_to_saved(self, remembered: Any) -> tuple[int, int, int]:
        ((round, _, index, count),) = remembered
        return round, index, count

    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[int, int, int]:
        return decided["round"], decided["index"], decided["count"]

    def _ticket_from_saved(self, round: int, index: int, count: int) -> tuple[Any, ...]:
        return ((round, self.groups[index], index, count),)
