"""The tables that commands read: what their options say of tables, pipes, and what is said of how a file was read."""

from __future__ import annotations

import glob
import sys
from collections.abc import Container, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from evenhand.audit.decision_log import read_plays
from evenhand.audit.files import labels_in_files
from evenhand.cli.refusals import in_shell
from evenhand.data import files
from evenhand.data.csv_files import EVERY
from evenhand.data.csv_form import CsvForm, detected
from evenhand.data.files import FORMATS, FOUND_OUT, TableOptions
from evenhand.data.json_files import first_signs, rows_of
from evenhand.data.text_files import opened, text_of
from evenhand.errors import ArgumentError, TableError, expected, file_said
from evenhand.protocol import label_of

if TYPE_CHECKING:
    import pandas as pd

LARGE = 1 << 26
"""Bytes of a file that is read in batches where a command can."""
GIVEN: ContextVar[TableOptions] = ContextVar("GIVEN", default=FOUND_OUT)
"""What the options of the command that runs say of its tables."""


def is_table(text: str) -> bool:
    """Return whether a text names a file with a table: by its ending, and JSON if it holds several objects."""
    kind = files.named_format(text)
    if kind != "json" or not Path(text).is_file():
        return kind not in (None, "json")
    with opened(Path(text)) as stream:
        if first_signs(stream.read(64)) == "[{":
            return True
    try:
        return len(rows_of(text_in(Path(text)), text)) > 1
    except TableError:  # it is read as something else, and refused for that
        return False


def text_in(path: Path) -> str:
    """Return the text of a file that is no table, in the encoding that the command is given.

    Raises
    ------
    TableError
        If it cannot be read.
    """
    return text_of(path, GIVEN.get().encoding)


def is_large(file: Path) -> bool:
    """Return whether a file should be read in batches, and can be: Parquet, or a CSV with commas in UTF-8."""
    if not file.is_file() or file.stat().st_size <= LARGE or GIVEN.get() != FOUND_OUT:
        return False
    csv = file.suffix.lower() == ".csv" and detected(file) == CsvForm()
    return csv or file.suffix.lower() in FORMATS["parquet"]


def read_table(path: str | Path, *, text: Container[str] = ()) -> pd.DataFrame:
    """Return the table in a file or a pipe, such as <(zcat log.csv.gz), or on standard input (`-`).

    Parameters
    ----------
    text : columns that a CSV holds as text, exactly as written.

    Raises
    ------
    TableError
        If it cannot be read; a column that cannot be read alone is refused where it is wanted.
    """
    with _at_hand(path) as (file, name):
        return _read(file, name, text)


def read_log(log: Path, arm: str, texts: Container[str], named: Any = None, *, whole: bool = False) -> tuple[Any, Any]:
    """Return a log of decisions, as a table or as the name of files to be read in batches, and the labels of its arms.

    Parameters
    ----------
    arm : the column with the arm of each decision.
    texts : columns that a CSV holds as text.
    named : what names arms, by which labels are read.
    whole : read a table, however large.
    """
    many = glob.has_magic(str(log)) and not log.exists()
    if many and GIVEN.get() != FOUND_OUT:
        what = "one file with --sep, --decimal, --encoding, --format, --header and --values"
        raise ArgumentError(expected("LOG", what, str(log), "many files are read as CSV in UTF-8, with commas"))
    if many or (not whole and is_large(log)):
        return str(log), labels_in_files(str(log), arm, named=named)
    frame = read_table(log, text=texts)
    return frame, read_plays(frame, arm, named).kinds


def read_as_written(path: str | Path, *, text: Container[str] = ()) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the table as `read_table` does, and the same cells as they are written, an empty one as an empty text."""
    with _at_hand(path) as (file, name):
        return _read(file, name, text), _texts(
            files.read_table(file, text=EVERY, given=GIVEN.get(), say=lambda _: None)
        )


def _read(file: Path, name: str, text: Container[str]) -> pd.DataFrame:
    """Read a file that the user calls `name`."""

    def say(words: str) -> None:
        typer.echo(words.replace(str(file), name), err=True)

    given = GIVEN.get()
    mine = given if name in given.headed else given._replace(header=())
    frame = files.read_table(file, text=text, given=mine, say=say)
    numbers = dict(given.values)
    for column in frame.columns[~frame.columns.duplicated(keep=False)] if numbers else ():
        cells = frame[column].dropna().astype(object)
        if column not in text and len(cells) and set(cells) <= set(numbers):
            frame[column] = frame[column].astype(object).map(numbers).astype(float)
    return frame


@contextmanager
def _at_hand(path: str | Path) -> Iterator[tuple[Path, str]]:
    """Yield a file, which holds what a pipe or standard input brings, and what the user calls it, as refusals do."""
    pipe = Path(path).is_fifo()
    if str(path) != "-" and not pipe:
        yield Path(path), str(path)
        return
    content = Path(path).read_bytes() if pipe else sys.stdin.buffer.read()
    with TemporaryDirectory() as folder:
        # readers look at a file twice, for its form and its cells; a pipe could be read once only
        file = Path(folder) / ("table.gz" if content.startswith(b"\x1f\x8b") else "table")
        file.write_bytes(content)
        name = file_said(path)
        try:
            yield file, name
        except TableError as error:
            raise TableError(in_shell(error).replace(str(file), name)) from error


@contextmanager
def label_file(path: str | Path) -> Iterator[tuple[Any, str]]:
    """Yield what `LabelQueue.read_labels` takes, a file of JSON or else a table of texts, and what the user calls it.

    Raises
    ------
    TableError
        If it cannot be read.
    """
    with _at_hand(path) as (file, name):
        kind = GIVEN.get().format or files.format_of(file)
        if kind in ("json", "jsonl"):
            yield file, Path(name).name
        else:
            yield _texts(_read(file, name, EVERY)), Path(name).name


def read_texts(path: str | Path) -> pd.DataFrame:
    """Return a table of texts, such as the states of a BIF file, numbers and truth values as labels are written; an
    empty cell is an empty text.

    Raises
    ------
    TableError
        If it cannot be read.
    """
    return _texts(read_table(path, text=EVERY))


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.apply(lambda cells: cells.astype(object).map(_written).where(cells.notna(), ""))


def _written(cell: Any) -> str:
    label = None if isinstance(cell, str) else label_of(cell)
    return str(cell if label is None else label)
