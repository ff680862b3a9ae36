"""The labels of the examples: known from the start, or taken from the first two different ones that are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.protocol import Label, composed, find_label, places

__all__ = ["Classes", "checked_labels"]

LARGEST = 2**63 - 1
"""The largest whole number that is a label; arrays hold no larger one."""
ONE_EACH = "where a row has several, make each combination a label"


class Classes:
    """The sorted labels; without `given`, they are the first two different labels told."""

    def __init__(self, given: Sequence[Label] | None) -> None:
        self.closed = given is not None
        self.known: tuple[Label, ...] = ()
        if given is not None:
            labels = set(checked_labels(given, "classes"))
            if len(labels) < 2:
                raise ArgumentError(wanted("classes", "at least two labels", given))
            if len({type(label) for label in labels}) > 1:
                raise ArgumentError(wanted("classes", "labels of one type, all text or all whole numbers", given))
            self.known = tuple(sorted(labels))

    def checked(self, y: Any, rows: int) -> list[Label]:
        """Return the labels as a list.

        Raises
        ------
        ArgumentError
            If their number is not that of the rows, or one is missing, of another type, or outside the classes.
        """
        labels = checked_labels(y)
        if len(labels) != rows:
            raise ArgumentError(wanted("y", f"{rows} labels, one for each row of X", len(labels)))
        allowed, own = set(self.known), places(self.known)
        for row, label in enumerate(labels):
            position = find_label(label, own) if label not in allowed else None
            if position is not None:  # as it was saved by an earlier version
                labels[row] = label = self.known[position]
            if label not in allowed:
                if self.closed or len(allowed) == 2:
                    mend = "name every label in classes= when the sampler is made"
                    raise ArgumentError(wanted("y", f"labels among {sorted(allowed, key=str)}", label, mend))
                if allowed and type(label) is not type(next(iter(allowed))):
                    raise ArgumentError(wanted("y", f"labels of one type, as {next(iter(allowed))!r}", label))
                allowed.add(label)
        return labels

    def with_labels(self, labels: list[Label]) -> tuple[Label, ...]:
        """Return the classes that are known once these labels are."""
        return self.known if self.closed or len(self.known) == 2 else tuple(sorted({*self.known, *labels}))


def checked_labels(y: Any, name: str = "y") -> list[Label]:
    """Return labels as a list of text or whole numbers: True is 1, and 1.0 is 1.

    >>> checked_labels(np.array([0.0, 1.0])), checked_labels(["no", "yes"])
    ([0, 1], ['no', 'yes'])

    Raises
    ------
    ArgumentError
        If it is no list, or a label is missing, a fraction, bytes or beyond 64 bits.
    """
    values = np.asarray(y, dtype=object if isinstance(y, (list, tuple)) else None)
    if values.ndim != 1:
        raise ArgumentError(wanted(name, "a list of labels, one a row", values.shape, ONE_EACH if values.ndim else ""))
    if values.dtype.kind == "i":
        return values.tolist()
    return [_label(value, name) for value in values.tolist()]


def _label(value: Any, name: str) -> Label:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return str(composed(plain))
    if isinstance(plain, (bool, int)) or (isinstance(plain, float) and plain.is_integer()):
        number = int(plain)
        if abs(number) <= LARGEST:
            return number
    mend = "decode it to text" if isinstance(plain, bytes) else "turn each class into a name or a number"
    if isinstance(plain, (list, tuple, set, frozenset, np.ndarray)):
        mend = ONE_EACH
    raise ArgumentError(wanted(name, "labels that are text or whole numbers", plain, mend))
