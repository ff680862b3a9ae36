"""Tables from users: files read once, columns checked at the door, the offending row and column named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import TableError, wanted
from evenhand.kernels.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["column", "numbers", "read_table"]


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a CSV (also .gz) or Parquet file.

    Raises
    ------
    TableError
        If there is no such file, it is empty, or it cannot be read as what its name says.
    """
    import pandas as pd

    file = Path(path)
    if not file.is_file():
        raise TableError(f"{file}: no such file")
    try:
        frame = pd.read_parquet(file) if file.suffix in (".parquet", ".pq") else pd.read_csv(file)
    except pd.errors.EmptyDataError as error:
        raise TableError(f"{file}: the file is empty; wanted a header line and rows") from error
    except Exception as error:
        kind = "Parquet" if file.suffix in (".parquet", ".pq") else "CSV"
        raise TableError(f"{file}: cannot be read as {kind}: {str(error).strip()}") from error
    if frame.empty:
        raise TableError(f"{file}: no rows; wanted at least one below the header")
    return frame


def column(frame: pd.DataFrame, name: str) -> NDArray[Any]:
    """Return a column of labels (n_rows,): whole numbers as int, everything else as text.

    Raises
    ------
    TableError
        If there is no such column, it stands there twice, or a cell is empty.
    """
    values = _series(frame, name)
    if values.dtype.kind in "iu":
        return values.to_numpy(dtype=np.int64)
    return np.array([str(value) for value in values], dtype=object)


def numbers(frame: pd.DataFrame, name: str, low: float = -np.inf, high: float = np.inf) -> Floats:
    """Return a column of finite numbers (n_rows,) between `low` and `high`.

    Raises
    ------
    TableError
        If there is no such column, or a cell is empty, not a number, not finite or out of range; its row is named.
    """
    import pandas as pd

    values = _series(frame, name)
    read = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(read) & (read >= low) & (read <= high)))
    if bad.size:
        row = int(bad[0])
        inside = "finite numbers" if np.isinf(low) else f"numbers in [{low:g}, {high:g}]"
        mend = "" if np.isinf(low) else "scale the column first"
        raise TableError(wanted(f"column {name!r}, row {row + 1}", inside, values.iloc[row], mend))
    return read


def _series(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TableError(wanted("frame", "a pandas DataFrame", type(frame).__name__, "read files with pandas first"))
    if name not in frame.columns:
        raise TableError(wanted("column", f"one of {[str(c) for c in frame.columns]}", name))
    values = frame[name]
    if isinstance(values, pd.DataFrame):
        raise TableError(f"column {name!r}: stands there {values.shape[1]} times; rename all but one")
    if not len(values):
        raise TableError(f"column {name!r}: no rows")
    empty = np.flatnonzero(values.isna().to_numpy())
    if empty.size:
        raise TableError(f"column {name!r}, row {int(empty[0]) + 1}: the cell is empty; fill it or drop the row")
    return values
