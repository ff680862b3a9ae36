"""Data frames of any library, turned into pandas' once, where they come in: polars, pyarrow, DuckDB, and what else
narwhals reads.

The values are the same, and so is every decision that follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from evenhand.errors import ContextError, TableError, wanted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_pandas", "frame_or_value", "is_frame", "is_row", "row_frame", "rows_frame"]

PLAIN = ("Decimal", "Int128", "UInt128")
"""Types whose numbers fit no array of numpy."""


def as_pandas(frame: Any, name: str = "frame") -> pd.DataFrame:
    """Return a data frame as one of pandas; one that is pandas' already as it is, row labels included.

    A query of polars or DuckDB is run. Ordered categories stay ordered.

    >>> import pandas as pd
    >>> as_pandas(pd.DataFrame({"arm": ["a"]})).arm.tolist()
    ['a']

    Raises
    ------
    TableError
        If it is no data frame, or has two columns of one name.
    """
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return frame
    if not is_frame(frame):
        mend = "tables of polars, pyarrow and DuckDB will do as well; read files first"
        raise TableError(wanted(name, "a pandas DataFrame", type(frame).__name__, mend))
    import narwhals as nw

    try:
        given = nw.from_native(frame)
        if isinstance(given, nw.LazyFrame):
            given = given.collect(backend=None if given.implementation.is_polars() else "pandas")
        if not given.implementation.is_polars():
            return given.to_pandas()
        return pd.DataFrame({column.name: _series(column) for column in given.iter_columns()})
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
            raise ContextError(wanted(f"{name}, row {number}", f"the columns {columns}, as in row 1", list(row)))
    return pd.DataFrame(list(rows), columns=columns)


def frame_or_value(value: Any, name: str) -> Any:
    """Return a data frame, or a list of rows that name their columns, as a data frame of pandas; anything else as it
    is.

    >>> frame_or_value([{"age": 1, "pay": 2}, {"pay": 3, "age": 4}], "contexts").to_numpy().tolist()
    [[1, 2], [4, 3]]
    """
    if isinstance(value, (list, tuple)) and value and all(map(is_row, value)):
        return rows_frame([dict(row) for row in value], name)
    return as_pandas(value, name) if is_frame(value) else value


def is_row(value: Any) -> bool:
    """Return whether a value is a row by the names of its columns: a dict, or a Series of pandas."""
    return isinstance(value, Mapping) or (hasattr(value, "iloc") and getattr(value, "ndim", 0) == 1)


def is_frame(value: Any) -> TypeGuard[Any]:
    """Say whether a value is a data frame of a library that narwhals reads."""
    if not hasattr(type(value), "columns"):  # numbers, lists and arrays have none, which is quickly seen
        return False
    import narwhals as nw

    try:
        return isinstance(nw.from_native(value, pass_through=True), (nw.DataFrame, nw.LazyFrame))
    except Exception:  # it is one that cannot be read, such as one with two columns of one name
        return True


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
    if (kind.is_numeric() and str(kind) not in PLAIN) or (kind == nw.Boolean and not column.null_count()):
        return column.to_numpy()
    return pd.Series(column.to_list())
