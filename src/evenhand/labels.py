"""Labels of labels: several values as one label, and labels as texts, without two becoming one on the way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from evenhand.errors import ArgumentError, wanted
from evenhand.protocol import Label

__all__ = ["combined_label", "combined_labels", "label_texts"]


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
