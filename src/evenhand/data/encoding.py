"""Columns of a table as the numbers that a policy sees: numbers as they are, categories one-hot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from evenhand.arguments import as_floats, one_of
from evenhand.data.features import MANY, categories
from evenhand.data.tables import column, numbers, places_in
from evenhand.errors import NOTHING, ArgumentError, TableError, Wording, expected, expected_one_of, nearest
from evenhand.frames import as_pandas, holds_categories, row_frame
from evenhand.kernels.arrays import Floats, Ints
from evenhand.protocol import Label, columns_seen, distinct, label_of
from evenhand.registry import register
from evenhand.saving.objects import described, rebuilt

if TYPE_CHECKING:
    import pandas as pd

Unseen = Literal["refuse", "ignore"]
RARE = 0.01
"""Categories of a smaller part of the rows share one number, of which a regression can tell something."""
SHOWN = 3
"""Categories of a column that a refusal shows."""


@register("learners/encoder", kind="part")
class Encoder:
    """Encode categories one-hot, a number 0 or 1 for each, and keep numbers as they are.

    Once it is given to a policy with `policy.encode_with(encoder)`, contexts may be data frames and dicts with text.

    Parameters
    ----------
    columns : column -> its categories, or None for a column of numbers. Other columns of a table are not looked at.
    unseen : what to do about a value that is none of the categories: "refuse" it by name, or "ignore" it, which makes
        all numbers of that column 0.

    Raises
    ------
    ArgumentError
        If there are no columns, or a column has no category, more than 1000, or one twice.

    Examples
    --------
    >>> encoder = Encoder({"job": ["none", "some"], "age": None})
    >>> encoder.names, encoder.transform({"job": "some", "age": 30}).tolist()
    (['job=none', 'job=some', 'age'], [[0.0, 1.0, 30.0]])
    """

    def __init__(self, columns: Mapping[str, Sequence[Label] | None], *, unseen: Unseen = "refuse") -> None:
        what = Wording("a dict column -> its categories, or ", NOTHING, " for a column of numbers")
        if not isinstance(columns, Mapping) or not columns:
            raise ArgumentError(expected("columns", what, columns))
        self.columns = {str(name): _categories(str(name), given) for name, given in columns.items()}
        self.unseen = one_of("unseen", unseen, ("refuse", "ignore"))

    @classmethod
    def fit(cls, frame: object, columns: Sequence[str] | None = None, *, unseen: Unseen = "refuse") -> Self:
        """Return an encoder of the columns of a table, whose categories are the values that occur in them.

        Parameters
        ----------
        frame : a data frame of pandas, polars, pyarrow or DuckDB.
        columns : which columns, in this order; None for all.
        unseen : as for the class.

        Raises
        ------
        TableError
            If a column is missing, has an empty cell, or holds dates or text that differs in most rows.
        """
        table = as_pandas(frame)
        named = [str(name) for name in table.columns] if columns is None else list(columns)
        return cls({name: categories(table, name, "columns") for name in named}, unseen=unseen)

    @property
    def names(self) -> list[str]:
        """The name (d,) of each number: "job=none" for a category, the column's own for a number."""
        return [
            name if label is None else f"{name}={label}"
            for name, kinds in self.columns.items()
            for label in ([None] if kinds is None else kinds)
        ]

    def transform(self, frame: object) -> Floats:
        """Return the numbers (n, d) of a table's rows; a dict column -> value is one row.

        Raises
        ------
        TableError
            If a column is missing, a cell is empty or no number where one is wanted, or a value is unseen.
        """
        table = row_frame(frame) if isinstance(frame, Mapping) else as_pandas(frame)
        check_columns("table", table, list(self.columns))
        parts = [
            numbers(table, name)[:, None] if kinds is None else self._one_hot(table, name, kinds)
            for name, kinds in self.columns.items()
        ]
        return np.hstack(parts)

    def replace(self, frame: object) -> pd.DataFrame:
        """Return the table with the encoder's columns replaced by their numbers, under `names`.

        >>> import pandas as pd
        >>> Encoder({"job": ["none", "some"]}).replace(pd.DataFrame({"job": ["some"], "pay": [3]})).columns.tolist()
        ['pay', 'job=none', 'job=some']

        Raises
        ------
        TableError
            As `transform` does.
        """
        import pandas as pd

        table = as_pandas(frame)
        coded = pd.DataFrame(self.transform(table), columns=self.names, index=table.index)
        return pd.concat([table.drop(columns=list(self.columns)), coded], axis=1)

    def _one_hot(self, table: Any, name: str, kinds: tuple[Label, ...]) -> Floats:
        hint = None if self.unseen == "ignore" else "Encoder(..., unseen='ignore') takes it for none"
        found = _coded(table, name, kinds, hint)
        return np.asarray(found[:, None] == np.arange(len(kinds)), np.float64)

    def snapshot(self) -> dict[str, Any]:
        """Return columns and categories as plain data."""
        columns = [[name, None if kinds is None else list(kinds)] for name, kinds in self.columns.items()]
        return {"columns": columns, "unseen": self.unseen}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the encoder that `snapshot` was taken of."""
        return cls(dict(snapshot["columns"]), unseen=snapshot["unseen"])

    def __repr__(self) -> str:
        return f"Encoder({self.columns!r}, unseen={self.unseen!r})"


@register("learners/transformer", kind="part")
class Transformer:
    """A fitted transformer of scikit-learn, such as a `ColumnTransformer`, as an encoder.

    Raises
    ------
    ArgumentError
        If it has no `transform`, or was not fitted.
    """

    def __init__(self, transformer: Any) -> None:
        what = "an Encoder, or a fitted transformer of scikit-learn"
        if isinstance(transformer, type) or not hasattr(transformer, "transform"):
            raise ArgumentError(expected("encoder", what, transformer))
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(transformer)
        except (NotFittedError, TypeError) as error:
            raise ArgumentError(expected("encoder", what, transformer, "call its fit(frame) first")) from error
        self.transformer = transformer

    @property
    def names(self) -> list[str] | None:
        """The name (d,) of each number, "job_some" for a category; None where the transformer does not say."""
        try:
            return [str(name).removesuffix("_sklearn") for name in self.transformer.get_feature_names_out()]
        except (AttributeError, ValueError):
            return None

    @property
    def columns(self) -> Sequence[str]:
        """The columns of a table that it was fitted to; none where they had no names."""
        return columns_seen(self.transformer) or ()

    @property
    def sources(self) -> list[str]:
        """The column (d,) that each number is of, in what `fitted` makes."""
        return [name for name, part in self.transformer.output_indices_.items() for _ in range(part.start, part.stop)]

    def transform(self, frame: object) -> Floats:
        """Return the numbers (n, d) of a table's rows; a dict column -> value is one row.

        Raises
        ------
        TableError
            If a column is missing, or the transformer fails, as on a category that it does not know.
        """
        from scipy.sparse import issparse

        table = row_frame(frame) if isinstance(frame, Mapping) else as_pandas(frame)
        known = [name for name in self.columns if name in table.columns]
        table = self._as_fitted(table[known] if known else table)
        try:
            found = self.transformer.transform(table)
        except Exception as error:
            raise TableError(f"encoder: {type(self.transformer).__name__} rejects the table: {error}") from error
        encoded = as_floats(found.toarray() if issparse(found) else found)
        if encoded is None or encoded.ndim != 2:
            raise TableError(expected("encoder", "one that returns numbers (n, d)", type(self.transformer).__name__))
        return encoded

    def _as_fitted(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table whose categories are written as the transformer knows them; what it would not take is refused,
        or, as an empty number, would take for a result."""
        from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

        parts = vars(self.transformer).get("transformers_", [("", self.transformer, columns_seen(self.transformer))])
        lists = [(step, names) for _, step, names in parts if isinstance(names, list) and step != "drop"]
        used = [(name, step, at) for step, names in lists for at, name in enumerate(names) if isinstance(name, str)]
        check_columns("table", table, list(dict.fromkeys(name for name, *_ in used)))
        for name, step, at in used:
            if isinstance(step, FunctionTransformer) and step.func is None:
                table = table.assign(**{name: numbers(table, name)})
            elif isinstance(step, (OneHotEncoder, OrdinalEncoder)) and step.handle_unknown == "error":
                kinds = step.categories_[at]
                if None not in map(label_of, kinds.tolist()):
                    table = table.assign(**{name: kinds[_coded(table, name, kinds.tolist())]})
        return table

    def snapshot(self) -> dict[str, Any]:
        """Return the transformer as plain data."""
        what = f"the encoder {type(self.transformer).__name__}"
        return {"transformer": described(self.transformer, ("sklearn", "scipy"), what)}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the encoder that `snapshot` was taken of."""
        return cls(rebuilt(snapshot["transformer"], ("sklearn", "scipy")))


def fitted(frame: pd.DataFrame, columns: Sequence[Any], of: str = "features") -> tuple[Transformer, Floats]:
    """Return a transformer of scikit-learn fitted to columns of a table, and the numbers (n, d) of the table's rows.

    Numbers stay as they are, ordered categories become 0, 1, ..., and others a number 0 or 1 for each but the first,
    with which the rest are compared; those of fewer than 1 % of the rows share one. `of` is the argument that named the
    columns.

    Raises
    ------
    TableError
        If a column cannot be read, see `categories`, two numbers would have one name, or no column has two values.
    """
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    read: dict[str, Any] = {}
    steps: list[tuple[str, Any, list[str]]] = []
    for name in columns:
        kinds, step = categories(frame, name, of), "passthrough"
        if kinds is None:
            read[str(name)] = numbers(frame, name)
        else:
            at = places_in(column(frame, name), kinds)
            texts = kinds if len(set(map(type, kinds))) == 1 else list(map(str, kinds))
            read[str(name)] = np.array(texts, dtype=object)[at]
            one_hot = OneHotEncoder(categories=[texts], drop="first", sparse_output=False, min_frequency=RARE)
            step = (
                OrdinalEncoder(categories=[texts])
                if frame[name].dtype == "category" and frame[name].cat.ordered
                else one_hot
            )
        steps.append((str(name), step, [str(name)]))
    made = ColumnTransformer(steps, verbose_feature_names_out=False)
    rows = np.asarray(made.fit_transform(pd.DataFrame(read)), np.float64)
    encoder = Transformer(made)
    if not encoder.names:
        what = "columns with at least two values, and with their categories names that differ"
        raise TableError(expected(of, what, list(columns)))
    return encoder, rows


def check_columns(name: str, table: pd.DataFrame, columns: Sequence[Any]) -> None:
    """Refuse a table that lacks a column; `name` is what was given.

    Raises
    ------
    TableError
        If it does.
    """
    missing = [one for one in columns if one not in table.columns]
    if missing:
        near = nearest(missing[0], [one for one in table.columns if one not in columns])
        hint = f"{missing[0]!r} is missing" + (f"; is the column {near[0]!r} meant?" if near else "")
        raise TableError(expected(name, Wording("the columns ", list(columns)), list(table.columns), hint))


def _coded(table: pd.DataFrame, name: str, kinds: Sequence[Label], hint: str | None = "") -> Ints:
    """Return the place of each row's category (n,); -1 of an unseen one where no hint is given how to mend it."""
    values = column(table, name)
    found = places_in(values, kinds)
    if (found < 0).any() and hint is not None:
        row = int(np.argmax(found < 0))
        where = f"column {name!r}, row {row + 1}"
        raise TableError(expected_one_of(where, kinds, values[row], what="one of the categories", hint=hint))
    return found


def as_encoder(encoder: object) -> Encoder | Transformer:
    """Return an encoder, a transformer of scikit-learn made one.

    Raises
    ------
    ArgumentError
        If it is neither.
    """
    return encoder if isinstance(encoder, (Encoder, Transformer)) else Transformer(encoder)


def encode_hint(frame: Any) -> str:
    """Return the encoder of a table with text or categories, as a user writes it; "" for a table without."""
    kinds = {}
    for name in frame.columns:
        values = frame[name]
        coded = values.ndim == 1 and holds_categories(values)
        texts = coded or (values.ndim == 1 and any(isinstance(value, str) for value in values))
        shown = [value for value in dict.fromkeys(values) if coded or isinstance(value, str)] if texts else []
        kinds[str(name)] = [*shown[:SHOWN], ...] if texts else None
    if not any(kinds.values()):
        return ""
    return f"eh.Encoder({kinds!r})".replace("Ellipsis", "...")


def _categories(name: str, given: object) -> tuple[Label, ...] | None:
    if given is None:
        return None
    listed = [] if isinstance(given, (str, bytes)) or not np.iterable(given) else list(given)
    kinds = tuple(kind for kind in map(label_of, listed) if kind is not None)
    if not 0 < len(listed) == len(distinct(kinds)) <= MANY:
        what = Wording(f"1 to {MANY} different categories, texts or whole numbers, or ", NOTHING, " for numbers")
        raise ArgumentError(expected(f"columns[{name!r}]", what, given))
    return kinds
