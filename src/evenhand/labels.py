"""Labels: what users give for each arm is read by label, several values become one label, and labels become texts,
without two becoming one on the way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from evenhand.errors import ArgumentError, ContextError, Wording, expected, expected_one_of, of_one_type
from evenhand.frames import ArrowColumn, Column, dimensions, has_row_labels, is_frame
from evenhand.protocol import FALSE, TRUE, Label, as_label, composed, label_of, labels_of_texts, writing


def as_given(
    values: object, name: str, what: str, *, refusal: type[ArgumentError] = ArgumentError
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
    if is_by_label(values):
        if dimensions(values) != 1 or is_frame(values):
            raise refusal(expected(name, what, Wording(f"a table of shape {values.shape}")))
        if not values.index.is_unique:
            twice = values.index[values.index.duplicated()][0]
            raise refusal(expected(name, what, Wording(f"a Series that names {twice!r} twice")))
        return dict(values.to_dict())
    if isinstance(values, (set, frozenset)):
        raise refusal(expected(name, what, values, "a set has no order"))
    if isinstance(values, (str, bytes)) or not np.iterable(values):
        raise refusal(expected(name, what, values))
    return listed(values)


def is_by_label(values: object) -> TypeGuard[Any]:
    """Return whether values are given by label: as a dict, or as a Series or table of pandas."""
    return isinstance(values, Mapping) or hasattr(values, "to_dict")


def listed(values: object) -> list[Any]:
    """Return what a list, a view, an iterator, or an array or column of any library holds; a single value as a list.

    >>> listed({"a": 1}.keys()), listed("ab"), listed(range(2))
    (['a'], ['ab'], [0, 1])

    Raises
    ------
    TypeError
        If it is an array without a dimension.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [values]
    kind: Any = type(values)  # isinstance would read both protocols anew for each of many values
    if issubclass(kind, Column) and not isinstance(values, np.ndarray):
        return list(kind.tolist(values))
    return list(kind.to_pylist(values) if issubclass(kind, ArrowColumn) else values)


class Labels:
    """Labels in their order, such as those of the arms, by which all that is given by label is read.

    Which values are the same label stands in a table in docs/conversation.md.

    Attributes
    ----------
    names : the labels.
    exact : where each label stands, by the very same one alone.

    Examples
    --------
    >>> labels = Labels([1, "b"])
    >>> [labels.place(value) for value in (1, 1.0, "1", "01", "b", True)]
    [0, 0, 0, None, 1, None]
    """

    def __init__(self, names: Iterable[Any] = ()) -> None:
        self.names = tuple(names)
        self.exact = {name: place for place, name in enumerate(self.names)}

    @cached_property
    def _written(self) -> dict[Any, int]:
        """Where the label of each writing stands that no other has. Where all are the numbers 0 and 1, 1 is true and 0
        is false."""
        written = list(map(writing, self.names))
        several = Counter(written)
        found = {text: place for place, text in enumerate(written) if several[text] == 1}
        truths = {TRUE if text == "1" else FALSE: place for text, place in found.items()}
        return found | truths if several.keys() <= {"0", "1"} else found

    def place(self, value: object) -> int | None:
        """Return the position of the label that a value is, None where it is none: the very same one, else the only
        one of the same writing."""
        if isinstance(value, (bool, np.bool_)):  # equal to 0 or 1 for Python
            value = label_of(value)
        try:
            place = self.exact.get(value)
            return self._written.get(writing(value)) if place is None else place
        except TypeError:  # such as a list or an array, which is no label
            return None

    def places(self, values: Iterable[Any]) -> list[int]:
        """Return the position of each value, -1 where it is no label."""
        return [-1 if place is None else place for place in map(self.place, values)]

    def __contains__(self, value: object) -> bool:
        return self.place(value) is not None

    def label(self, value: object) -> Any:
        """Return the label that a value is, or one that is none as it is."""
        place = self.place(value)
        return value if place is None else self.names[place]

    def typed(self, text: object) -> Any:
        """Return the label that a text is; one that is none as it is, or where all labels are numbers and it is written
        as a whole one, that number.

        >>> Labels([1, 2]).typed("1"), Labels([1, 2]).typed("3"), Labels([1, "b"]).typed("3"), Labels([1]).typed("03")
        (1, 3, '3', '03')
        """
        numbers = isinstance(text, str) and self.names and all(isinstance(name, int) for name in self.names)
        return labels_of_texts([text])[0] if numbers and text not in self else self.label(text)

    def order(self, others: Sequence[Any]) -> list[int] | None:
        """Return the position of each of these labels; None unless they are the same ones, each once.

        >>> Labels(["b", "a"]).order(("a", "b")), Labels(["2", "1"]).order((1, 2)), Labels(["b", "b"]).order(("a", "b"))
        ([1, 0], [1, 0], None)
        """
        found = self.places(others) if len(others) == len(self.names) else [-1]
        return found if -1 not in found and len(set(found)) == len(found) else None

    def read(
        self, values: object, name: str, what: str, *, refusal: type[ArgumentError] = ArgumentError
    ) -> dict[Any, Any] | list[Any]:
        """Return what is given for each label as `as_given` does, by these labels; other keys stay as they are, and a
        tuple or a frozenset names several.

        >>> Labels([1, 2]).read({"1": 0.2, ("2", "b"): 0.3}, "shares", "a dict arm -> share")
        {1: 0.2, (2, 'b'): 0.3}

        Raises
        ------
        ArgumentError
            As `as_given` does, and if two keys are the same label.
        """
        given = as_given(values, name, what, refusal=refusal)
        if isinstance(given, list):
            return given
        labels = {key: self._key(key) for key in given}
        several = Counter(labels.values())
        if len(several) < len(labels):
            twice = next(label for label, times in several.items() if times > 1)
            forms = [key for key, label in labels.items() if label == twice]
            unicode = len(set(map(composed, forms))) == 1
            how = "in two forms of Unicode" if unicode else f"as {forms[0]!r} and as {forms[1]!r}"
            raise refusal(expected(name, "each label once", twice, f"it appears twice, {how}"))
        return {labels[key]: value for key, value in given.items()}

    def _key(self, key: object) -> Any:
        place = self.place(key)
        if place is None and isinstance(key, (tuple, frozenset)):
            return type(key)(map(self._key, key))
        return as_label(key) if place is None else self.names[place]


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
    axes = table.axes if has_row_labels(table) else ()
    if len(axes) != len(labels):
        return table
    for axis, order in enumerate(labels):
        named = [] if order is None else axes[axis].tolist()
        if order is None or named == list(order):
            continue
        numbered = named == list(range(len(named)))
        known = Labels(order)
        at = [known.exact.get(label, -1) for label in named] if numbered else known.places(named)
        if -1 not in at and len(set(at)) == len(at) == len(order):
            table = table.take(np.argsort(np.array(at)), axis=axis)
        elif not numbered:
            hint = "reset_index(drop=True) matches rows by position" if axis == 0 else ""
            strange = [label for label, place in zip(named, at, strict=True) if place < 0][:1]
            if strange and not of_one_type(order, strange[0]):
                raise refusal(expected_one_of(name, order, strange[0], what="one entry for each of", hint=hint))
            what, got = Wording("one entry for each of ", list(order)), Wording("the labels ", named)
            raise refusal(expected(name, what, got, hint))
    return table


def in_columns(table: Any, columns: list[str] | None, name: str) -> tuple[Any, list[str] | None]:
    """Return a table with its columns in the order of `columns`, and that order: its own where none is known yet.

    Data frames of pandas and polars have named columns; whatever has none is read by position.

    Raises
    ------
    ContextError
        If it names other columns than are known, or one of them twice.
    """
    given = list(table.columns) if is_frame(table) else []
    named = list(map(str, given))
    numbered = given == list(range(len(given))) and set(named) != set(columns or ())
    if not named or named == columns or numbered:
        return table, columns
    if len(set(named)) < len(named) or (columns is not None and set(named) != set(columns)):
        what = "each column once" if columns is None else Wording("the columns ", columns, ", as before")
        raise ContextError(expected(name, what, Wording("the columns ", named)))
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
        raise ArgumentError(expected(name, "labels that tell the combinations apart", twice, "rename one of them"))
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

    >>> numbered(["UCB1", "KLUCB", "UCB1"])
    ['UCB1 1', 'KLUCB', 'UCB1 2']
    """
    several = Counter(names)
    return [f"{name} {names[: i + 1].count(name)}" if several[name] > 1 else name for i, name in enumerate(names)]
