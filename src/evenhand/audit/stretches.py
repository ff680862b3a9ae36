"""The rows of log files, stretch by stretch and batch by batch."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.audit.weights import UNWEIGHED, Weights, read_weights
from evenhand.data.csv_files import CsvFile
from evenhand.data.files import format_of, read_table
from evenhand.data.tables import FILL, column
from evenhand.data.text_files import OPENERS
from evenhand.errors import EvenhandError, TableError, Wording, expected, expected_one_of
from evenhand.extras import optional
from evenhand.promises.amounts import DIGITS
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd

BATCH = 1 << 20
"""Rows of one column of labels that a worker holds at once."""
FRAME = 1 << 17
"""Rows of several columns, or of lists, likewise."""
MOST_WHOLE = 1 << 12
"""Whole numbers from 0 up to this are their own dictionary."""


class Stretch(NamedTuple):
    """Rows that follow one another: row groups of a Parquet file, or a whole file of another format, whose rows are not
    counted yet; and the rows of the file before them."""

    path: str
    groups: list[int] | None
    rows: int
    before: int


def files_named(pattern: str) -> list[str]:
    """Return the files of a name such as logs/*.parquet, sorted by name, which is the order of their rows.

    Raises
    ------
    TableError
        If there are none, one is no table, or some are Parquet and some are not.
    """
    found = [pattern] if Path(pattern).is_file() else sorted(glob.glob(pattern, recursive=True))
    if not found:
        raise TableError(f"{pattern}: no such files")
    first = _in_groups(found[0])
    other = next((path for path in found if _in_groups(path) != first), None)
    if other is not None:
        raise TableError(expected(pattern, "only Parquet files, or none", other, "pass files of one format"))
    return found


def _in_groups(path: str) -> bool:
    """Return whether a file is Parquet, which is read by its row groups unless it is packed."""
    return format_of(Path(path)) == "parquet" and not path.lower().endswith(tuple(OPENERS))


def stretches(pattern: str, columns: Sequence[str]) -> list[Stretch]:
    """Return the stretches of the files that a pattern names.

    Raises
    ------
    TableError
        As `files_named` does, and if a file cannot be read, lacks one of these columns, or none has a row.
    """
    found: list[Stretch] = []
    for path in files_named(pattern):
        if not _in_groups(path):
            _check_columns(path, names_in(path), columns)
            found.append(Stretch(path, None, 1, 0))
            continue
        pa, pq = optional("pyarrow", "a Parquet file"), optional("pyarrow.parquet", "a Parquet file")
        try:
            file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            raise TableError(f"{path}: cannot be read as Parquet: {str(error).strip()}") from error
        with file:
            _check_columns(path, file.schema_arrow.names, columns)
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            found += _of_file(path, sizes)
    if not sum(one.rows for one in found):
        raise TableError(f"{pattern}: no rows")
    return [one for one in found if one.rows]


def names_in(path: str) -> list[str]:
    """Return the names of a file's columns, which is not read further if that can be avoided."""
    if _in_groups(path):
        return list(optional("pyarrow.parquet", "a Parquet file").read_schema(path).names)
    csv = format_of(Path(path)) == "csv"
    return CsvFile.at(Path(path)).header() if csv else list(read_table(path).columns)


def _check_columns(path: str, names: list[str], columns: Sequence[str]) -> None:
    missing = [name for name in columns if name not in names]
    if missing:
        raise TableError(expected_one_of(f"{path}: column", names, missing[0]))


def _of_file(path: str, sizes: Sequence[int]) -> Iterator[Stretch]:
    """Yield the stretches of a file: as many row groups as a batch has room for, at least one."""
    start, before = 0, 0
    while start < len(sizes):
        end, rows = start + 1, sizes[start]
        while end < len(sizes) and rows + sizes[end] <= BATCH:
            rows += sizes[end]
            end += 1
        yield Stretch(path, list(range(start, end)), rows, before)
        start, before = end, before + rows


def may_be_lists(path: str, name: str) -> bool:
    """Return whether a column of a Parquet file holds lists, or text that begins like a list as JSON."""
    pa, pq = optional("pyarrow", "a Parquet file"), optional("pyarrow.parquet", "a Parquet file")
    with pq.ParquetFile(path) as file:
        kind = file.schema_arrow.field(name).type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return True
        first = next((batch.column(0)[0].as_py() for batch in file.iter_batches(1, columns=[name])), None)
    return isinstance(first, str) and first.startswith("[")


def batches(stretch: Stretch, columns: Sequence[str], *, warns: bool = False) -> Iterator[tuple[pd.DataFrame, int]]:
    """Yield the columns of a stretch as data frames, those of a CSV as text, and the rows of the file before each; a
    CSV with comments among its rows may warn of them."""
    row = stretch.before
    if stretch.groups is None and format_of(Path(stretch.path)) != "csv":
        yield read_table(stretch.path)[list(columns)], row
        return
    if stretch.groups is None:
        for part in CsvFile.at(Path(stretch.path))._replace(warns=warns).batches(columns, FRAME):
            yield part[list(columns)].reset_index(drop=True).astype("category"), row
            row += len(part)
        return
    pq = optional("pyarrow.parquet", "a Parquet file")
    with pq.ParquetFile(stretch.path) as file:
        for batch in file.iter_batches(FRAME, row_groups=stretch.groups, columns=list(columns), use_threads=False):
            yield batch.to_pandas(), row
            row += batch.num_rows


def placed(error: EvenhandError, path: str, row: int) -> EvenhandError:
    """Return the error of a batch as one of its file: rows are counted from there on."""
    return type(error)(Wording(f"{path}, in the rows after row {row:,}: " if row else f"{path}: ", error.args[0]))


def numbered(
    stretch: Stretch, arm: str, weight: str | None = None
) -> Iterator[tuple[NDArray[Any], list[Label], Weights]]:
    """Yield of each batch of a column of labels what its rows hold (n_rows,), the label that each number is, and the
    weights of the rows, if a column holds such."""
    pa, pq = optional("pyarrow", "a Parquet file"), optional("pyarrow.parquet", "a Parquet file")
    row = stretch.before
    with pq.ParquetFile(stretch.path, read_dictionary=[arm]) as file:
        declared = pa.types.is_dictionary(file.schema_arrow.field(arm).type)
        names = [name for name in (arm, weight) if name is not None]
        for batch in file.iter_batches(BATCH, row_groups=stretch.groups, columns=names, use_threads=False):
            values = batch.column(arm)
            if values.null_count:
                empty = row + int(np.argmax(values.is_null().to_numpy(zero_copy_only=False))) + 1
                raise TableError(f"{stretch.path}, column {arm!r}, row {empty}: the cell is empty; {FILL}")
            try:
                weights = UNWEIGHED if weight is None else _weights_in(batch.column(weight), weight)
            except EvenhandError as error:
                raise placed(error, stretch.path, row) from error
            yield *_numbers(values, arm, declared), weights
            row += len(values)


def _weights_in(values: Any, name: str) -> Weights:
    """Return the weights in a column of a Parquet file; small decimals as they are stored."""
    import pandas as pd

    pa = optional("pyarrow", "a Parquet file")
    if pa.types.is_decimal128(values.type) and values.type.scale <= DIGITS and not values.null_count:
        held = np.frombuffer(values.buffers()[1], np.int64, 2 * (values.offset + len(values)))[2 * values.offset :]
        if not held[1::2].any() and (held[::2] >= 0).all():  # below 2^63: nothing in the upper half of 128 bits
            return Weights(held[::2].copy(), values.type.scale).checked(name)
    return read_weights(pd.DataFrame({name: values.to_pandas()}), name)


def _numbers(values: Any, arm: str, declared: bool) -> tuple[NDArray[Any], list[Label]]:
    import pandas as pd

    pa = optional("pyarrow", "a Parquet file")
    if pa.types.is_integer(values.type):
        numbers = values.to_numpy()
        if len(numbers) and numbers.min() >= 0 and numbers.max() < MOST_WHOLE:
            return numbers.astype(np.int32), list(range(int(numbers.max()) + 1))
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    held = values.dictionary.to_pandas()
    text = pd.Series(held, dtype="category") if declared and held.dtype != object else pd.Series(held)
    indices = values.indices.to_numpy().astype(np.int32)
    return indices, column(pd.DataFrame({arm: text}), arm).tolist() if len(held) else []
