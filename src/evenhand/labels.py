"""Labels decide: what users give for each arm is read by its labels, several values become one label, and labels become
texts, without two becoming one on the way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.errors import ArgumentError, ContextError, wanted
from evenhand.protocol import Label, composed

__all__ = [
    "as_given", "by_label", "combined_label", "combined_labels", "in_columns", "in_order", "label_texts", "numbered",
    "order_of",
]  # fmt: skip


def as_given(
    values: Any, name: str, what: str, *, refusal: type[ArgumentError] = ArgumentError
) -> dict[Any, Any] | list[Any]:
    """Return what is given for each arm as a dict by label, or as a list where it carries no labels.

    A pandas Series is read by its index.

    Raises
    ------
    ArgumentError
        If it is neither, names a label twice, or is a set, which has no order; `what` words what was wanted.
    """
    if isinstance(values, Mapping):
        return dict(values)
    if hasattr(values, "to_dict"):
        if getattr(values, "ndim", 2) != 1:
            raise refusal(wanted(name, what, f"a table of shape {values.shape}"))
        if not values.index.is_unique:
            twice = values.index[values.index.duplicated()][0]
            raise refusal(wanted(name, what, f"a Series that names {twice!r} twice"))
        return dict(values.to_dict())
    if isinstance(values, (set, frozenset)):
        raise refusal(wanted(name, what, values, "a set has no order"))
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__") or getattr(values, "ndim", 1) == 0:
        raise refusal(wanted(name, what, values))
    return list(values)


def by_label(
    values: Any, name: str, what: str, *, refusal: type[ArgumentError] = ArgumentError
) -> dict[Any, Any] | list[Any]:
    """Like `as_given`, with labels in Unicode's composed form.

    Raises
    ------
    ArgumentError
        As `as_given` does, and if two labels are the same in that form.
    """
    given = as_given(values, name, what, refusal=refusal)
    if isinstance(given, list):
        return given
    found = {composed(label): value for label, value in given.items()}
    if len(found) < len(given):
        twice = next(label for label, times in Counter(map(composed, given)).items() if times > 1)
        raise refusal(wanted(name, "each label once", twice, "it stands there twice, in two forms of Unicode"))
    return found


def in_order(
    table: Any, labels: Sequence[Sequence[Any] | None], name: str, *, refusal: type[ArgumentError] = ArgumentError
) -> Any:
    """Return a pandas table or Series with each axis in the order of its `labels`, None leaving an axis as it is.

    An axis that pandas numbered itself, 0, 1, 2, ..., and whatever is no pandas object are read by position.

    >>> import pandas as pd
    >>> in_order(pd.Series({"b": 2, "a": 1}), [("a", "b")], "costs").tolist()
    [1, 2]

    Raises
    ------
    ArgumentError
        If an axis has other labels, or one of them twice.
    """
    axes = getattr(table, "axes", ())
    if len(axes) != len(labels):
        return table
    for axis, order in enumerate(labels):
        named = [] if order is None else axes[axis].tolist()
        if order is None or named == list(order):
            continue
        found = order_of(named, order)
        if found is not None:
            table = table.take(found, axis=axis)
        elif named != list(range(len(named))):
            mend = "reset_index(drop=True) has rows read by position" if axis == 0 else ""
            raise refusal(wanted(name, f"one entry for each of {list(order)}", f"the labels {named}", mend))
    return table


def order_of(given: Sequence[Any], labels: Sequence[Any]) -> list[int] | None:
    """Return where among the labels `given` each of `labels` stands; None unless both hold the same ones, each once.

    >>> order_of(["b", "a"], ("a", "b")), order_of(["b", "b"], ("a", "b"))
    ([1, 0], None)
    """
    places = {composed(label): place for place, label in enumerate(given)}
    same = len(places) == len(given) == len(labels) and places.keys() == set(map(composed, labels))
    return [places[composed(label)] for label in labels] if same else None


def in_columns(table: Any, columns: list[str] | None, name: str) -> tuple[Any, list[str] | None]:
    """Return a table with its columns in the order of `columns`, and that order: its own where none is known yet.

    Data frames of pandas and polars have named columns; whatever has none is read by position.

    Raises
    ------
    ContextError
        If it names other columns than are known, or one of them twice.
    """
    given = list(getattr(table, "columns", ()))
    named = list(map(str, given))
    if not named or named == columns or given == list(range(len(given))):
        return table, columns
    if len(set(named)) < len(named) or (columns is not None and set(named) != set(columns)):
        what = "each column once" if columns is None else f"the columns {columns}, as before"
        raise ContextError(wanted(name, what, f"the columns {named}"))
    if columns is None:
        return table, named
    return table[[given[named.index(column)] for column in columns]], columns


def combined_label(values: Any, *, as_json: bool = False) -> Label:
    """Return one label for several values, "F & old", or as JSON, '["F", "old"]'; a label stays as it is.

    >>> combined_label(("F", "old")), combined_label(("F", "old"), as_json=True), combined_label("F")
    ('F & old', '["F", "old"]', 'F')
    """
    if not isinstance(values, (tuple, list)):
        label: Label = values
        return label
    return json.dumps(values, ensure_ascii=False) if as_json else " & ".join(str(combined_label(one)) for one in values)


def combined_labels(rows: Sequence[Any], name: str) -> list[Label]:
    """Return the label of each row of values: equal for equal rows, and different for different ones.

    Rows that would read alike, such as ("F", "M") and "F & M", or (1, "x") and ("1", "x"), are told apart by JSON.

    >>> combined_labels([("F", "old"), ("F", "M"), "F & M"], "groups")
    ['F & old', '["F", "M"]', 'F & M']

    Raises
    ------
    ArgumentError
        If a label is also the JSON of another row; refusals speak of `name`.
    """
    distinct = dict.fromkeys(rows)
    read = Counter(combined_label(row) for row in distinct)
    labels = {row: combined_label(row, as_json=read[combined_label(row)] > 1) for row in distinct}
    named = Counter(labels.values())
    if len(named) < len(labels):
        twice = named.most_common(1)[0][0]
        raise ArgumentError(wanted(name, "labels that tell the combinations apart", twice, "rename one of them"))
    return [labels[row] for row in rows]


def label_texts(labels: Sequence[Any], between: str = " & ") -> list[str]:
    """Return labels, or tuples of labels, as texts for columns and pictures, different for different labels.

    >>> label_texts([1, "a"]), label_texts([1, "1"]), label_texts([("a/b", "c"), ("a", "b/c")], "/")
    (['1', 'a'], ['1', '"1"'], ['["a/b", "c"]', '["a", "b/c"]'])
    """
    texts = {label: between.join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels}
    exact = {label: json.dumps(label, ensure_ascii=False) for label in texts}
    read = Counter(texts.values())
    told_apart = {label: text if read[text] == 1 else exact[label] for label, text in texts.items()}
    if len(set(told_apart.values())) < len(texts):
        told_apart = exact
    return [told_apart[label] for label in labels]


def numbered(names: Sequence[str]) -> list[str]:
    """Return names of which no two are the same: several of one name are numbered.

    >>> numbered(["UCB1", "Exp3", "UCB1"])
    ['UCB1 1', 'Exp3', 'UCB1 2']
    """
    several = Counter(names)
    return [f"{name} {names[: i + 1].count(name)}" if several[name] > 1 else name for i, name in enumerate(names)]
