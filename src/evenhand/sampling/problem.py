"""From which group should the next training example come? The ticket, and the checks of what comes in.

There are m groups and one common classifier f, trained on everything that was collected. L(z, f) is the risk of f
in group z. The fair mixture pi* minimises max_z L(z, f_pi), where f_pi is trained on data whose groups are mixed in
the proportions pi. Each round names one group; its new rows are split, the first half trains, the second half
validates that group.

Source: S. Shekhar, G. Fields, M. Ghavamzadeh, T. Javidi, "Adaptive Sampling for Minimax Fair Classification",
NeurIPS 2021.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, ContextError, UnknownArmError, wanted
from evenhand.protocol import Label

__all__ = ["Draw", "Groups", "checked_number", "checked_rows", "checked_whole", "per_group"]

Groups = int | Sequence[Label]
"""A number of groups, or their labels."""


class Draw(NamedTuple):
    """One draw: fetch `count` fresh labelled examples of `group` and tell them.

    Attributes
    ----------
    id : the ticket's number, unique within the sampler, counted from 1.
    round : the round t = 1, 2, ... in which the group was chosen.
    group : the user's label of the group.
    index : the group's position, 0 .. m - 1.
    count : how many rows are wanted; the first half trains, the second half validates.
    reason : why this group, in words.
    """

    id: int
    round: int
    group: Label
    index: int  # type: ignore[assignment]
    count: int  # type: ignore[assignment]
    reason: str


def checked_number(name: str, value: Any, low: float, *, high: float = math.inf, mend: str = "") -> float:
    """Return a finite number in [low, high] as a float.

    Raises
    ------
    ArgumentError
        If it is anything else.
    """
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and low <= value <= high:
        number = float(value)
        if math.isfinite(number):
            return number
    inside = f"a finite number >= {low:g}" if math.isinf(high) else f"a number in [{low:g}, {high:g}]"
    raise ArgumentError(wanted(name, inside, value, mend))


def checked_whole(name: str, value: Any, low: int) -> int:
    """Return a whole number >= low.

    Raises
    ------
    ArgumentError
        If it is anything else.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= low:
        return int(value)
    raise ArgumentError(wanted(name, f"a whole number >= {low}", value))


def per_group(
    name: str, values: Mapping[Label, float] | Sequence[float], groups: tuple[Label, ...]
) -> NDArray[np.float64]:
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
    if isinstance(values, Mapping):
        unknown = [label for label in values if label not in groups]
        if unknown:
            raise UnknownArmError(wanted(name, f"one of the groups {list(groups)}", unknown[0]))
        missing = [label for label in groups if label not in values]
        if missing:
            raise ArgumentError(wanted(name, "a number for each group", values, f"{missing[0]!r} is missing"))
        numbers = [values[label] for label in groups]
    else:
        numbers = list(values)
    if len(numbers) != len(groups):
        raise ArgumentError(wanted(name, f"{len(groups)} numbers, one for each group", values))
    return np.array([checked_number(f"{name}[{label!r}]", v, 0.0) for label, v in zip(groups, numbers, strict=True)])


def checked_rows(X: Any, shape: tuple[int, ...] | None, count: int) -> NDArray[Any]:
    """Return X as an array of floats with at most `count` rows, each of the given shape.

    Raises
    ------
    ContextError
        If X has another shape, more rows than were asked for, or a value that is not finite.
    """
    if not isinstance(X, np.ndarray) or X.dtype not in (np.float64, np.float32):
        try:
            X = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ContextError(
                wanted("X", "an array of numbers, a row for each example", X, "encode text first")
            ) from error
    if X.ndim < 2:
        raise ContextError(wanted("X", "an array with a row for each example", X.shape, "use X[None] for one example"))
    if len(X) > count:
        raise ContextError(wanted("X", f"at most the {count} rows that were asked for", len(X)))
    if shape is not None and X.shape[1:] != shape and len(X):
        raise ContextError(wanted("X", f"rows of shape {shape}, as in the first draw", X.shape[1:]))
    if not np.isfinite(X).all():
        row = int(np.argwhere(~np.isfinite(X))[0][0])
        raise ContextError(
            wanted("X", "finite numbers", f"a missing or infinite value in row {row}", "fill it in first")
        )
    return X
