"""Things that have rows, such as features and their labels: which row of one belongs to which row of another."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from evenhand.errors import ArgumentError, Wording, expected
from evenhand.frames import has_row_labels
from evenhand.labels import Labels
from evenhand.protocol import writing


def in_step(
    first: tuple[str, Any],
    *others: tuple[str, Any],
    labels: Sequence[Any] | None = None,
    refusal: type[ArgumentError] = ArgumentError,
) -> tuple[Any, ...]:
    """Return things that have rows, each given beside its name, with their rows in the order of the first one's.

    Tables and Series of pandas with the labels of the first one's rows, in another order, follow their labels. What has
    no row labels is read by position: arrays, lists, tables of other libraries, and rows that pandas numbered itself,
    0, 1, 2, ...

    Parameters
    ----------
    first : what the others belong to.
    others : None passes.
    labels : what names the first one's rows beside its own index, as ids do.
    refusal : the class of the refusal.

    Raises
    ------
    ArgumentError
        If rows carry other labels than the first one's, or the same in another order where a label occurs twice or the
        first one carries none; nothing then says which row is meant.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [30, 40]}, index=["ann", "bob"])
    >>> in_step(("X", X), ("y", pd.Series({"bob": 1, "ann": 0})))[1].tolist()
    [0, 1]
    """
    by, own = first[0], _index(first[1])
    known = [one for one in (labels, None if own is None else own.tolist()) if one is not None]
    found = [first[1]]
    for name, thing in others:
        index = _index(thing)
        if index is None or index.equals(own):
            found.append(thing)
        elif own is None and not known:
            by, own = name, index  # these labels name no row of the first, but another's must not contradict them
            found.append(thing)
        else:
            listed = index.tolist()
            named = Labels(listed)
            order = next((order for one in known if (order := named.order(one)) is not None), None)
            if order is not None:
                thing = _moved(name, thing, order, by)
            elif not _is_numbered(index) or (not known and named.order(own.tolist())):
                raise refusal(_refused(name, listed, by, known[0] if known else own.tolist(), bool(labels)))
            found.append(thing)
    return tuple(found)


def _index(thing: object) -> Any:
    """Return the row labels of a pandas object, None of anything else."""
    return thing.index if has_row_labels(thing) else None


def _is_numbered(index: Any) -> bool:
    """Return whether rows are labelled 0, 1, 2, ... in this order, as pandas does it unasked."""
    import pandas as pd

    return bool(index.equals(pd.RangeIndex(len(index))))


def _moved(name: str, thing: Any, order: list[int], by: str) -> Any:
    """Return a thing with its rows in another order; warn where numbers say which, as they may be no labels."""
    if order == sorted(order):
        return thing
    moved = thing.take(order)
    if _is_numbered(thing.index) or _is_numbered(moved.index):
        hint = f"reset_index(drop=True) of {by} and {name} matches them by position"
        said = f"{name}: rows are matched with those of {by} by their labels, the numbers 0 to {len(order) - 1}; {hint}"
        warnings.warn(said, stacklevel=4)
    return moved


def _refused(name: str, given: list[Any], by: str, known: Sequence[Any], named: bool) -> str:
    """Word the refusal: the first row label that is another one, occurs twice or is missing."""
    what, labels, met = f"the row labels of {by}, each once", set(map(writing, known)), set[Any]()
    hint = f"reset_index(drop=True) of {name if named else f'{by} and {name}'} matches rows by position"
    for row, label in enumerate(given, 1):
        if (own := writing(label)) not in labels or own in met:
            return expected(name, what, Wording(f"{label!r} in row {row}" + " again" * (own in met)), hint)
        met.add(own)
    missing = [label for label in known if writing(label) not in met]
    if missing:
        return expected(name, what, Wording(f"none for {missing[0]!r}"), hint)
    return expected(name, f"the row labels of {by}, in the same order", "another order", hint)
