"""The labels of the examples: known from the start, or the first two different ones that are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.data.rows import in_step
from evenhand.data.tables import in_column_order, in_natural_order, places_in
from evenhand.errors import ArgumentError, expected, expected_one_of, of_one_type
from evenhand.frames import holds_categories
from evenhand.kernels.arrays import Ints
from evenhand.labels import Labels
from evenhand.protocol import LARGEST_LABEL, Label, label_of

TRUTH = (0, 1)
"""What False and True are as labels to learn, where no others are known."""
ONE_EACH = "where a row has several, make each combination a label"


class Classes:
    """The sorted labels; without `given`, they are the first two different labels told."""

    def __init__(self, given: Sequence[Label] | None) -> None:
        self.closed = given is not None
        self.known: tuple[Label, ...] = ()
        if given is not None:
            labels = set(read_labels(given, "classes"))
            if len(labels) < 2:
                raise ArgumentError(expected("classes", "at least two labels", given))
            if len({type(label) for label in labels}) > 1:
                raise ArgumentError(expected("classes", "labels of one type, all text or all whole numbers", given))
            self.known = tuple(sorted(labels))
            _check_named(self.known, "classes")

    def validate(self, y: object, rows: int, name: str = "y") -> list[Label]:
        """Return the labels as a list.

        Raises
        ------
        ArgumentError
            If their number is not that of the rows, or one is missing, of another type, or outside the classes.
        """
        labels = read_labels(y, name, TRUTH if set(TRUTH).issuperset(self.known) else self.known)
        _check_named(labels, name)
        if len(labels) != rows:
            raise ArgumentError(expected("y", f"{rows} labels, one for each row of X", len(labels)))
        allowed, own = set(self.known), Labels(self.known)
        for row, label in enumerate(labels):
            if label not in allowed:  # it may be written otherwise
                labels[row] = label = own.label(label)
            if label not in allowed:
                if self.closed or len(allowed) == 2:
                    among = sorted(allowed, key=str)
                    hint = "" if self.closed else "name every label in classes= when the sampler is made"
                    raise ArgumentError(expected_one_of(name, among, label, what="labels among", hint=hint))
                if allowed and type(label) is not type(next(iter(allowed))):
                    raise ArgumentError(expected(name, f"labels of one type, as {next(iter(allowed))!r}", label))
                allowed.add(label)
        return labels

    def with_labels(self, labels: list[Label]) -> tuple[Label, ...]:
        """Return the classes that are known once these labels are."""
        return self.known if self.closed or len(self.known) == 2 else tuple(sorted({*self.known, *labels}))


def _check_named(labels: Sequence[Label], name: str) -> None:
    """Refuse an empty text, which leaves an item open where labels are read."""
    empty = next((label for label in labels if isinstance(label, str) and not label.strip()), None)
    if empty is not None:
        raise ArgumentError(expected(name, "labels that are not empty", empty, 'name what it means, such as "none"'))


def read_labels(y: object, name: str = "y", known: Sequence[Label] = TRUTH) -> list[Label]:
    """Return labels as a list of text or whole numbers: 1.0 is 1, and True is the label among those `known` that it is
    the same as, 1 in itself; see `evenhand.labels.Labels.place`.

    >>> read_labels(np.array([0.0, 1.0])), read_labels(["no", "yes"]), read_labels([True], known=())
    ([0, 1], ['no', 'yes'], ['true'])

    Raises
    ------
    ArgumentError
        If it is no list, or a label is missing, a fraction, bytes or beyond 64 bits.
    """
    values = np.asarray(y, dtype=object if isinstance(y, (list, tuple)) else None)
    if values.ndim != 1:
        got, hint = (values.shape, ONE_EACH) if values.ndim else (y, "")
        raise ArgumentError(expected(name, "labels, one per row", got, hint))
    if values.dtype.kind == "i":
        return values.tolist()
    labels = Labels(known)
    return [_label(value, name, labels) for value in values.tolist()]


def grouped(groups: Any, name: str) -> tuple[tuple[Label, ...], Ints]:
    """Return the different groups in the order of their categories, where they have one, otherwise in natural order,
    and the position of each row's among them (n,).

    >>> grouped(["10", "2", "10"], "groups")[0], grouped([10, 2, 10], "groups")[1].tolist()
    (('2', '10'), [1, 0, 1])

    Raises
    ------
    ArgumentError
        As `read_labels` does.
    """
    import pandas as pd

    labels = np.array(read_labels(groups, name), dtype=object)
    series = pd.Series(groups) if isinstance(groups, pd.Categorical) else groups
    ordered = in_column_order(series.to_frame(0), [0], labels) if holds_categories(series) else None
    known = ordered or in_natural_order(labels.tolist())
    return tuple(known), places_in(labels, known)


def as_predicted(y: object, model: object, predicted: object) -> NDArray[Any]:
    """Return labels (n,) as a model names them, those that it does not know as they are.

    >>> as_predicted(np.array([True, False]), None, np.array([1, 0, 1])).tolist()
    [1, 0]

    Raises
    ------
    ArgumentError
        If a label is of another type than all that the model knows, so that no prediction could be right, or none.
    """
    classes = np.asarray(getattr(model, "classes_", np.unique(np.asarray(predicted)))).tolist()
    classes = list(TRUTH) if set(TRUTH).issuperset(classes) else classes
    known, labels = Labels(classes), read_labels(y, known=classes)
    for label in labels:
        if label not in known and not of_one_type(classes, label):
            raise ArgumentError(expected_one_of("y", classes, label, what="labels among"))
    return np.array(list(map(known.label, labels)))


def predicted_rows(
    model: object, X: object, y: object, groups: object
) -> tuple[NDArray[Any], NDArray[Any], tuple[Label, ...], Ints]:
    """Return what a model predicts of rows X (n, ...), the labels (n,) as it names them, the different groups, and the
    position of each row's among them (n,).

    Raises
    ------
    ArgumentError
        If the model has no `predict`, there are not as many predictions, labels and groups as rows, one is missing or
        invalid, or they carry other row labels.
    """
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise ArgumentError(expected("model", "a trained model, with predict", model))
    _, y, groups = in_step(("X", X), ("y", y), ("groups", groups))
    named, codes = grouped(groups, "groups")
    predicted = np.asarray(model.predict(X))
    labels = as_predicted(y, model, predicted)
    if not predicted.shape == labels.shape == codes.shape or not len(codes):
        lengths = f"{predicted.shape[0] if predicted.ndim else 'no'}, {len(labels)} and {len(codes)}"
        raise ArgumentError(expected("groups", "a prediction, a label and a group for each row of X", lengths))
    return predicted, labels, named, codes


def _label(plain: object, name: str, known: Labels) -> Label:
    label = label_of(known.label(plain) if isinstance(plain, (bool, np.bool_)) else plain)
    if isinstance(label, str) or (label is not None and abs(label) <= LARGEST_LABEL):
        return label
    hint = "decode it to text" if isinstance(plain, bytes) else "turn each class into a name or a number"
    if isinstance(plain, (list, tuple, set, frozenset, np.ndarray)):
        hint = ONE_EACH
    raise ArgumentError(expected(name, "labels that are text or whole numbers", plain, hint))
