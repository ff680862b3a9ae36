"""The one reader of tables in files: CSV of any form, Parquet, Arrow and JSON, packed or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenhand.data.csv_cells import convert_dates, convert_numbers
from evenhand.data.csv_files import COMMENTS, CsvFile, like_data
from evenhand.data.csv_form import CsvForm, detected, legacy_encoding, named
from evenhand.data.json_files import first_signs, rows_of
from evenhand.data.text_files import MEND, OPENERS, opened, text_of
from evenhand.errors import EvenhandError, TableError, expected, is_path, why_unreadable
from evenhand.extras import optional
from evenhand.frames import arrow_frame, typed

if TYPE_CHECKING:
    import pandas as pd

FORMATS = {
    "csv": (".csv", ".tsv", ".txt"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "jsonl": (".jsonl", ".ndjson"),
    "json": (".json",),
}
"""The formats of tables, and how the names of their files end; each may be packed. JSON is an array of objects, or
objects one after another, under either name."""
ENDINGS = {
    kind: tuple(ending + packed for ending in endings for packed in ("", *OPENERS)) for kind, endings in FORMATS.items()
}
WORDS = {"csv": "CSV", "parquet": "Parquet", "arrow": "Arrow", "jsonl": "JSON", "json": "JSON"}
WORKBOOKS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How the files of spreadsheet programs begin: .xlsx and .ods are ZIP archives, .xls is an older container."""


class TableOptions(NamedTuple):
    """What the user says of tables, None where it is to be found out; the columns of CSV called `headed`, which have no
    header; and the numbers that texts stand for."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    format: str | None = None
    header: tuple[str, ...] = ()
    headed: tuple[str, ...] = ()
    values: tuple[tuple[str, float], ...] = ()


FOUND_OUT: Final = TableOptions()


def read_table(
    path: str | os.PathLike[str],
    *,
    text: Container[str] = (),
    given: TableOptions = FOUND_OUT,
    say: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Return the table in a file, its rows numbered from 0.

    Parameters
    ----------
    text : columns that a CSV holds as text, exactly as written: 01 is not 1, and NA is a name. Only an empty cell is
        empty.
    given : what is known of the file; the rest is found out.
    say : is told how a CSV was read, where that is not how every program writes it. Without it no encoding is assumed:
        a CSV that is not UTF-8 is refused.

    Raises
    ------
    TableError
        If there is no such file, it is empty, or it cannot be read; a column that cannot be read alone is refused
        where it is wanted.
    """
    if not is_path(path):
        raise TableError(expected("path", "the path of a file", path))
    file = Path(path)
    kind = given.format or named_format(file.name)
    read: dict[str, Callable[[], pd.DataFrame]] = {
        "csv": lambda: _read_csv(file, text, given, say),
        "parquet": lambda: _read_parquet(file),
        "arrow": lambda: _read_arrow(file),
    }
    try:
        found = format_of(file)
        kind = given.format or found
        frame = read.get(kind, lambda: _read_json(file, given.encoding, said=say is not None))()
    except EvenhandError:
        raise
    except Exception as error:
        words = WORDS.get(kind or "", "a table")
        raise TableError(f"{file}: cannot be read as {words}: {why_unreadable(error)}") from error
    if frame.empty:
        raise TableError(f"{file}: no rows; expected at least one")
    return frame


def named_format(name: str) -> str | None:
    """Return the format that the ending of a name says, None if it says none."""
    return next((kind for kind, endings in ENDINGS.items() if name.lower().endswith(endings)), None)


def format_of(file: Path) -> str:
    """Return the format that a file's ending names, else the one that its first bytes show, as where text is JSON.

    Raises
    ------
    TableError
        If there is no such file, or it is a workbook, or a store of studies.
    """
    if not file.is_file():
        raise TableError(f"{file}: is a folder; name a file in it" if file.is_dir() else f"{file}: no such file")
    with opened(file) as stream:
        head = stream.read(64)
    if head.startswith(WORKBOOKS):
        hint = "save the sheet as CSV, or unzip the file if it is a ZIP archive"
        raise TableError(f"{file}: is a spreadsheet workbook, not a table; {hint}")
    kind = named_format(file.name)
    if kind not in (None, "csv"):
        return str(kind)
    if head.startswith(b"SQLite format 3"):
        hint = f"check it with `evenhand verify {file}`, or write its log to a table with `evenhand export`"
        raise TableError(f"{file}: is a store of studies, not a table; {hint}")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    return "json" if first_signs(head) in ('{"', "{}", "[{") else "csv"


def _read_parquet(file: Path) -> pd.DataFrame:
    optional("pyarrow", "a Parquet file")
    with opened(file) as stream:
        return _numbered(arrow_frame(optional("pyarrow.parquet", "a Parquet file").read_table(stream)))


def _read_arrow(file: Path) -> pd.DataFrame:
    """Read Arrow's format for files (Feather) or for streams."""
    arrow = optional("pyarrow.ipc", "an Arrow file")
    with opened(file) as stream:
        content = stream.read()
    read = arrow.open_file if content.startswith(b"ARROW1") else arrow.open_stream
    return _numbered(arrow_frame(read(content).read_all()))


def _numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame that pandas saved with its rows numbered from 0; an index that has a name is a column."""
    named = any(name is not None for name in frame.index.names)
    return frame.reset_index(drop=not named)


def _read_json(file: Path, encoding: str | None, *, said: bool) -> pd.DataFrame:
    """Read objects, a row each; a name that a row lacks is an empty cell. What is `said` may name an option."""
    import pandas as pd

    hint = MEND if said else "save it as JSON in UTF-8"
    rows = rows_of(text_of(file, encoding, hint), file)
    if len(rows) == 1 and rows[0][0] != "row 1" and _holds_rows(rows[0][1]):
        what = "an array of objects, [{...}, ...], or one object per line"
        raise TableError(expected(str(file), what, rows[0][1], "save one row per object"))
    names = dict.fromkeys(name for _, row in rows for name in row)
    return pd.DataFrame({name: typed([row.get(name) for _, row in rows]) for name in names})


def _holds_rows(row: dict[str, Any]) -> bool:
    """Return whether an object holds rows, or columns, rather than the cells of one row."""
    parts = list(row.values())
    listed = any(isinstance(part, list) and part and isinstance(part[0], dict) for part in parts)
    return listed or (bool(parts) and all(isinstance(part, (list, dict)) for part in parts))


def _read_csv(file: Path, text: Container[str], given: TableOptions, say: Callable[[str], None] | None) -> pd.DataFrame:
    form = detected(file, given.sep, given.encoding)._replace(header=given.header)
    source = CsvFile.at(file, form)._replace(warns=say is None)
    if given.sep == "," and len(header := source.header()) == 1:
        other = next((mark for mark in ";\t|" if mark in header[0]), None)
        if other is not None:
            raise TableError(f"{file}: looks separated by {other!r}; save it with commas, or name this separator")
    try:
        frame = source.frame(text)
    except TableError as error:
        guessed = say is not None and not given.encoding and source.form.encoding == "utf-8"
        if not guessed or not isinstance(error.__cause__, UnicodeDecodeError):
            raise
        form = form._replace(encoding=legacy_encoding(file))
        source = CsvFile.at(file, form)._replace(warns=False)
        frame = source.frame(text)
    decimal = convert_numbers(frame, source.frame, given.decimal, text, commas=source.form.sep == ",")
    dates = convert_dates(frame, text)
    rows = len(frame)
    while rows > 1 and frame.iloc[rows - 1].isna().all():
        rows -= 1
    if say is not None and not given.header and (names := like_data(frame)):
        hint = "if it is, pass --header with the names of the columns, such as --header a,b,c"
        say(f"Read {file}: the first line looks like a row, not like names: {', '.join(names)}; {hint}")
    words = _in_words(source.form, rows, decimal, dates, len(frame) - rows, frame.attrs.pop(COMMENTS, 0), given)
    if say is not None and words and rows:
        say(f"Read {file}: {words}")
    return frame if rows == len(frame) else frame.iloc[:rows]


def _in_words(
    form: CsvForm, rows: int, decimal: str, dates: list[str], empty: int, comments: int, given: TableOptions
) -> str:
    """Return how a table was read, "" where that is how every program writes it."""
    plain = form.sep == "," and decimal != "," and form.encoding == "utf-8"
    if plain and not (dates or empty or comments or form.doubts):
        return ""
    encoding = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "cp1252": "Windows-1252"}.get(form.encoding, form.encoding)
    assumed = " (assumed; --encoding names another)" if form.encoding == "cp1252" and not given.encoding else ""
    sign = f", decimal {decimal!r}" if decimal else ""
    shown = f"{rows:,} row{'s' * (rows != 1)}, separator {named(form.sep)}{sign}, encoding {encoding}{assumed}"
    parts = [shown]
    if dates:
        parts.append(f"dates in {', '.join(map(repr, dates[:3]))} are read as 2025-12-31 and so on")
    if empty:
        parts.append(f"{empty} empty row{'s' * (empty > 1)} at the end left out")
    if comments:
        parts.append(f"{comments} comment line{'s' * (comments > 1)} (# ...) among the rows left out")
    return "; ".join([*parts, *form.doubts])
