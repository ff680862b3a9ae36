"""The labels of the examples: known from the start, or taken from the first two different ones that are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.protocol import Label

__all__ = ["Classes"]


class Classes:
    """The sorted labels; without `given`, they are the first two different labels told."""

    def __init__(self, given: Sequence[Label] | None) -> None:
        self.closed = given is not None
        self.known: tuple[Label, ...] = ()
        if given is not None:
            self.known = tuple(sorted(set(_plain(given))))
            if len(self.known) < 2:
                raise ArgumentError(wanted("classes", "at least two labels", given))

    def checked(self, y: Any, rows: int) -> list[Label]:
        """Return the labels as a list.

        Raises
        ------
        ArgumentError
            If their number is not that of the rows, or one is missing, of another type, or outside the classes.
        """
        labels = _plain(y)
        if len(labels) != rows:
            raise ArgumentError(wanted("y", f"{rows} labels, one for each row of X", len(labels)))
        allowed = set(self.known)
        for label in labels:
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


def _plain(y: Any) -> list[Label]:
    values = np.asarray(y)
    if values.ndim != 1:
        raise ArgumentError(wanted("y", "a list of labels, one a row", values.shape))
    if values.dtype.kind in "iuU":
        return values.tolist()
    return [_label(value) for value in values.tolist()]


def _label(value: Any) -> Label:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (str, int)):
        return value
    raise ArgumentError(wanted("y", "labels that are text or whole numbers", value))
