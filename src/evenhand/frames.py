"""Data frames of any library, converted to pandas once, on entry: polars, pyarrow, DuckDB, and whatever narwhals reads.

The values are the same, and so is every decision that follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from evenhand.errors import ContextError, TableError, Wording, expected

if TYPE_CHECKING:
    import pandas as pd

ENCODE = "encode text and categories first, as eh.Encoder does"
"""What to do about features that are no numbers."""
PLAIN = ("Decimal", "Int128", "UInt128")
"""Types whose numbers fit no array of numpy."""
UNORDERED = "categories in the order in which they were met"
"""Where the attributes of a frame name the columns whose categories stand in an order that nobody has chosen."""
LARGEST = 2**63 - 1
"""The largest whole number that a column with gaps holds."""


@runtime_checkable
class Column(Protocol):
    """What holds values one after another, as columns of pandas and arrays of most libraries do."""

    def tolist(self) -> list[Any]:
        """Return the values as a list."""
        ...


@runtime_checkable
class ArrowColumn(Protocol):
    """A column of Arrow."""

    def to_pylist(self) -> list[Any]:
        """Return the values as a list of Python's own."""
        ...


class Frame(Protocol):
    """A data frame of any library."""

    @property
    def columns(self) -> Any:
        """The names of its columns, or the columns."""
        ...


def as_pandas(frame: object, name: str = "frame") -> pd.DataFrame:
    """Return a data frame as one of pandas; one that is pandas' already as it is, row labels included.

    A query of polars or DuckDB is run. Ordered categories stay ordered.

    >>> import pandas as pd
    >>> as_pandas(pd.DataFrame({"arm": ["a"]})).arm.tolist()
    ['a']

    Raises
    ------
    TableError
        If it is no data frame, has two columns of one name, or its columns are one place off.
    """
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        _check_places(frame, name)
        return frame
    if not is_frame(frame):
        hint = "tables of polars, pyarrow and DuckDB work as well; read files first"
        raise TableError(expected(name, "a pandas DataFrame", type(frame).__name__, hint))
    import narwhals as nw

    try:
        given = nw.from_native(frame)
        if isinstance(given, nw.LazyFrame):
            given = given.collect(backend=None if given.implementation.is_polars() else "pandas")
        if not given.implementation.is_polars():
            return arrow_frame(given.to_native()) if given.implementation.is_pyarrow() else given.to_pandas()
        made = pd.DataFrame({column.name: _series(column) for column in given.iter_columns()})
        made.attrs[UNORDERED] = [name for name, kind in given.schema.items() if kind == nw.Categorical]
        return made
    except Exception as error:
        why = " ".join(str(error).split())
        raise TableError(f"{name}: the {type(frame).__name__} cannot be read: {why}") from error


def row_frame(row: Any) -> pd.DataFrame:
    """Return the data frame of one row, given as a dict or Series column -> value."""
    import pandas as pd

    return pd.DataFrame([dict(row)])


def rows_frame(rows: Sequence[Mapping[str, Any]], name: str) -> pd.DataFrame:
    """Return the data frame of rows that are dicts column -> value.

    Raises
    ------
    ContextError
        If a row names other columns than the first.
    """
    import pandas as pd

    columns = list(rows[0])
    for number, row in enumerate(rows, 1):
        if set(row) != set(columns):
            what = Wording("the columns ", columns, ", as in row 1")
            raise ContextError(expected(f"{name}, row {number}", what, list(row)))
    return pd.DataFrame(list(rows), columns=columns)


def frame_or_value(value: object, name: str) -> Any:
    """Return a data frame, or a list of rows that name their columns, as a data frame of pandas; anything else as it
    is.

    >>> frame_or_value([{"age": 1, "pay": 2}, {"pay": 3, "age": 4}], "contexts").to_numpy().tolist()
    [[1, 2], [4, 3]]
    """
    if isinstance(value, (list, tuple)) and value and all(map(is_row, value)):
        return rows_frame([dict(row) for row in value], name)
    return as_pandas(value, name) if is_frame(value) else value


def is_row(value: object) -> bool:
    """Return whether a value is a row by the names of its columns: a dict, or a Series of pandas."""
    return isinstance(value, Mapping) or (has_row_labels(value) and value.ndim == 1)


def has_row_labels(value: object) -> TypeGuard[Any]:
    """Return whether a value is a table or a Series as pandas has them, whose rows carry labels."""
    return hasattr(value, "iloc")


def holds_categories(value: object) -> bool:
    """Return whether a table or a column of pandas holds categories: also where these are written as numbers, such as
    codes, they are no amounts."""
    if not has_row_labels(value):
        return False
    import pandas as pd

    return any(isinstance(kind, pd.CategoricalDtype) for kind in (value.dtypes if value.ndim == 2 else [value.dtype]))


def as_array(value: object, name: str) -> Any:
    """Return an array, a data frame of any library, or whatever else numpy reads, as an array.

    Raises
    ------
    TypeError
        If it holds categories.
    """
    table = frame_or_value(value, name)
    if holds_categories(table):
        raise TypeError(f"{name}: expected numbers, got categories; {ENCODE}")
    return np.asarray(table)


def dimensions(value: object) -> int:
    """Return how many dimensions an array of any library has; a list, and whatever does not say, counts as one."""
    return int(getattr(value, "ndim", 1))


def is_frame(value: object) -> TypeGuard[Any]:
    """Return whether a value is a data frame of a library that narwhals reads."""
    if not hasattr(type(value), "columns"):  # numbers, lists and arrays have none, which is quickly seen
        return False
    import narwhals as nw

    try:
        return isinstance(nw.from_native(value, pass_through=True), (nw.DataFrame, nw.LazyFrame))
    except Exception:  # it is one that cannot be read, such as one with two columns of one name
        return True


def arrow_frame(table: Any) -> pd.DataFrame:
    """Return a table of Arrow as a data frame, whole numbers beside gaps as `typed` has them."""
    import pandas as pd

    frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    if table.schema.pandas_metadata is None:
        frame.attrs[UNORDERED] = list(frame.columns)
    for place, kind in enumerate(frame.dtypes):
        cells = frame.iloc[:, place]
        if kind.kind == "O" and pd.api.types.infer_dtype(cells) == "integer":
            frame.isetitem(place, typed(cells.tolist()).array)
    return frame


def typed(values: Sequence[Any]) -> pd.Series[Any]:
    """Return a column as pandas makes it of its cells, but whole numbers that a float would change stay as they are.

    >>> typed([1, None, 3]).tolist(), typed([9007199254740993, None]).tolist()
    ([1.0, nan, 3.0], [9007199254740993, <NA>])
    """
    import pandas as pd

    found = pd.Series(values)
    whole = [cell for cell in values if isinstance(cell, int)]
    if found.dtype.kind != "f" or all(float(cell) == cell for cell in whole):
        return found
    gaps = all(isinstance(cell, int) or pd.isna(cell) for cell in values)
    return pd.Series(values, dtype="Int64" if gaps and max(map(abs, whole)) <= LARGEST else object)


def _check_places(frame: pd.DataFrame, name: str) -> None:
    """Refuse what pandas makes of a CSV with a separator at the end of each row: it takes the first column for the
    labels of the rows, and each name for the column in front of its own.

    Raises
    ------
    TableError
        If a frame looks so.
    """
    import pandas as pd

    def empty(cell: Any) -> bool:
        return not cell.strip() if isinstance(cell, str) else pd.api.types.is_scalar(cell) and bool(pd.isna(cell))

    index = frame.index
    named = any(label is not None for label in index.names)
    if len(index) < 2 or not frame.shape[1] or named or index.equals(pd.RangeIndex(len(index))):
        return
    if all(map(empty, frame.iloc[:, -1])):
        labels = ", ".join(map(repr, index[:2].tolist()))
        hint = "read it with index_col=False, or reset_index(drop=True) if every column has its own name"
        what = f"the rows are labelled {labels}, ... and the last column is empty"
        why = "this happens when each row ends with a separator"
        raise TableError(f"{name}: its columns seem one place off: {what}; {why}: {hint}")


def _series(column: Any) -> Any:
    """Return a column of polars as pandas has it, without pyarrow, which polars' own way needs."""
    import narwhals as nw
    import pandas as pd

    kind = column.dtype
    if isinstance(kind, nw.Enum):
        return pd.Categorical(column.to_list(), categories=list(kind.categories), ordered=True)
    if isinstance(kind, nw.Categorical):
        values = column.to_list()
        return pd.Categorical(values, categories=list(dict.fromkeys(one for one in values if one is not None)))
    if kind.is_integer() and column.null_count():
        return typed(column.to_list())
    if (kind.is_numeric() and str(kind) not in PLAIN) or (kind == nw.Boolean and not column.null_count()):
        return column.to_numpy()
    return pd.Series(column.to_list())
