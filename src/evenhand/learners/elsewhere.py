"""What learners of other libraries have in common: the object is theirs or refused, its memory is plain data, and a
context is one that all arms share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, ContextError, wanted
from evenhand.extras import optional
from evenhand.kernels.arrays import Floats

Range = Sequence[float] | None
"""The lowest and the highest reward that a learner takes; None for [0, 1] under a quota."""


def class_in(module: str, name: str, what: str) -> Any:
    """Return a class of another library.

    Raises
    ------
    MissingExtraError
        If the library is not installed.
    """
    return getattr(optional(module, what), name)


def checked(name: str, value: Any, kind: type, what: str) -> None:
    """Refuse an object that is none of a class.

    Raises
    ------
    ArgumentError
        If it is another one, or the class itself.
    """
    if not isinstance(value, kind):
        mend = f"write {value.__name__}(...)" if isinstance(value, type) else ""
        raise ArgumentError(wanted(name, what, value, mend))


def shared_row(contexts: Floats, what: str) -> Floats:
    """Return the row (d,) of contexts that all arms share.

    Raises
    ------
    ContextError
        If the rows differ: `what` sees one context a round.
    """
    if (contexts != contexts[0]).any():
        mend = f"{what} sees one context in a round; ask([...]) with one row"
        raise ContextError(wanted("contexts", "one row that all arms share", "rows that differ", mend))
    row: Floats = np.array(contexts[0])
    return row
