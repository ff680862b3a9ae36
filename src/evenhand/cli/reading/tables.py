"""Tables as people have them: CSV of any form, Parquet, Arrow, JSON lines, packed or from standard input.

What a CSV does not say is found out, and said in one line on standard error; options of the command come first.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Container
from contextvars import ContextVar
from encodings.aliases import aliases
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import typer

from evenhand.cli.reading.csv_cells import convert_dates, convert_numbers
from evenhand.cli.reading.csv_form import OPENERS, CsvForm, detected, legacy_encoding, named, opened
from evenhand.data import tables
from evenhand.errors import ArgumentError, EvenhandError, TableError, nearest, wanted, wanted_one_of, why_unreadable
from evenhand.extras import optional

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FORMATS", "GIVEN", "Given", "checked", "is_large", "is_table", "read_table", "read_texts"]

FORMATS = {
    "csv": (".csv", ".tsv", ".txt"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "jsonl": (".jsonl", ".ndjson"),
}
"""The formats of tables, and how the names of their files end; each may be packed."""
ENDINGS = {
    kind: tuple(ending + packed for ending in endings for packed in ("", *OPENERS)) for kind, endings in FORMATS.items()
}
PLAIN = "utf-8", "utf-8-sig"
LARGE = 1 << 26
"""Bytes of a file that is read in batches where a command can."""


class Given(NamedTuple):
    """What the user says of tables, None where it is to be found out."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    format: str | None = None


GIVEN: ContextVar[Given | None] = ContextVar("GIVEN", default=None)
"""What the options of the command that runs say of its tables."""


def is_table(text: str) -> bool:
    """Say whether a text names a file with a table, by its ending."""
    return any(text.lower().endswith(endings) for endings in ENDINGS.values())


def is_large(file: Path) -> bool:
    """Return whether a file should be read in batches, and can be: Parquet, or a CSV with commas in UTF-8."""
    if not file.is_file() or file.stat().st_size <= LARGE or GIVEN.get() not in (None, Given()):
        return False
    csv = file.suffix.lower() == ".csv" and detected(file, None, None) == CsvForm()
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
    pipe = Path(path).is_fifo()
    if str(path) != "-" and not pipe:
        return _read(Path(path), path, text)
    content = Path(path).read_bytes() if pipe else sys.stdin.buffer.read()
    name = str(path) if pipe else "standard input"
    with TemporaryDirectory() as folder:
        file = Path(folder) / ("table.gz" if content.startswith(b"\x1f\x8b") else "table")
        file.write_bytes(content)
        try:
            return _read(file, name, text)
        except TableError as error:
            raise TableError(str(error).replace(str(file), name)) from error


def read_texts(path: str | Path) -> pd.DataFrame:
    """Return a table of texts, such as the states of a BIF file; an empty cell is an empty text.

    Raises
    ------
    TableError
        If it cannot be read.
    """
    frame = read_table(path, text=Every())
    return frame.apply(lambda cells: cells.map(str).where(cells.notna(), ""))


class Every:
    """The columns that are text, where all are."""

    def __contains__(self, name: object) -> bool:
        return True


def _read(file: Path, name: str | Path, text: Container[str]) -> pd.DataFrame:
    """Read a file that the user calls `name`."""
    given = GIVEN.get() or Given()
    if not file.is_file():
        return tables.read_table(file)
    kind = given.format or "csv"
    read = {"parquet": _read_parquet, "arrow": _read_arrow, "jsonl": _read_lines}
    try:
        kind = given.format or _format(file)
        frame = read[kind](file) if kind in read else _read_csv(file, name, text, given)
    except (EvenhandError, PermissionError):
        raise
    except Exception as error:
        words = {"csv": "CSV", "parquet": "Parquet", "arrow": "Arrow", "jsonl": "JSON lines"}[kind]
        raise TableError(f"{file}: cannot be read as {words}: {why_unreadable(error)}") from error
    if frame.empty:
        raise TableError(f"{file}: no rows; wanted at least one")
    return frame


def _format(file: Path) -> str:
    """Return the format that a file's ending names, else the one that its first bytes show."""
    name = file.name.lower()
    with opened(file) as stream:
        head = stream.read(64)
    tables.refuse_workbook(file, head)
    for kind, endings in ENDINGS.items():
        if name.endswith(endings):
            return kind
    if head.startswith(b"SQLite format 3"):
        mend = f"check it with `evenhand verify {file}`, or write its log to a table with `evenhand export`"
        raise TableError(f"{file}: is a store of studies, not a table; {mend}")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    return "jsonl" if head.lstrip().startswith(b'{"') else "csv"


def _read_parquet(file: Path) -> pd.DataFrame:
    with opened(file) as stream:
        frame: pd.DataFrame = optional("pyarrow.parquet", "a Parquet file").read_table(stream).to_pandas()
    return frame


def _read_arrow(file: Path) -> pd.DataFrame:
    """Read Arrow's format for files (Feather) or for streams."""
    arrow = optional("pyarrow.ipc", "an Arrow file")
    with opened(file) as stream:
        content = stream.read()
    read = arrow.open_file if content.startswith(b"ARROW1") else arrow.open_stream
    frame: pd.DataFrame = read(content).read_all().to_pandas()
    return frame


def _read_lines(file: Path) -> pd.DataFrame:
    """Read JSON lines: an object a row; a name that a row lacks is an empty cell."""
    import orjson
    import pandas as pd

    rows = []
    with opened(file) as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                row = orjson.loads(line)
                if not isinstance(row, dict):
                    raise TableError(wanted(f"{file}, line {number}", "an object {...}", row))
                rows.append(row)
    return pd.DataFrame(rows)


def _read_csv(file: Path, name: str | Path, text: Container[str], given: Given) -> pd.DataFrame:
    form = detected(file, given.sep, given.encoding)
    try:
        frame = _parsed(file, text, form)
    except TableError as error:
        if given.encoding or form.encoding not in PLAIN or not isinstance(error.__cause__, UnicodeDecodeError):
            raise
        form = form._replace(encoding=legacy_encoding(file))
        frame = _parsed(file, text, form)
    decimal = convert_numbers(
        frame, lambda names: _parsed(file, names, form), given.decimal, text, commas=form.sep == ","
    )
    dates = convert_dates(frame, text)
    rows = len(frame)
    while rows > 1 and frame.iloc[rows - 1].isna().all():
        rows -= 1
    _say(name, frame.iloc[:rows], form, decimal, dates, len(frame) - rows, given)
    return frame if rows == len(frame) else frame.iloc[:rows]


def _parsed(file: Path, text: Container[str], form: CsvForm) -> pd.DataFrame:
    return tables.read_table(file, text=text, sep=form.sep, encoding=form.encoding, skip=form.skip)


def _say(
    name: str | Path, frame: pd.DataFrame, form: CsvForm, decimal: str, dates: list[str], empty: int, given: Given
) -> None:
    """Say on standard error how a table was read, where that is not how every program writes it."""
    plain = form.sep == "," and decimal != "," and form.encoding in PLAIN
    if plain and not (dates or empty or form.doubts):
        return
    encoding = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "cp1252": "Windows-1252"}.get(form.encoding, form.encoding)
    assumed = " (assumed; --encoding names another)" if form.encoding == "cp1252" and not given.encoding else ""
    rows = f"{len(frame):,} row{'s' * (len(frame) != 1)}"
    sign = f", decimal {decimal!r}" if decimal else ""
    parts = [f"{rows}, separator {named(form.sep)}{sign}, encoding {encoding}{assumed}"]
    if dates:
        parts.append(f"days in {', '.join(map(repr, dates[:3]))} become 2025-12-31 and so on")
    if empty:
        parts.append(f"{empty} empty row{'s' * (empty > 1)} at the end left out")
    typer.echo(f"Read {name}: {'; '.join([*parts, *form.doubts])}", err=True)


def checked(sep: str, decimal: str, encoding: str, format: str) -> Given:
    """Return what the options of a command say of its tables.

    Raises
    ------
    ArgumentError
        If one of them says nothing that can be read.
    """
    sep = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}.get(sep, sep)
    if len(sep) > 1 or (sep and (sep.isalnum() or sep in '"\r\n')):
        raise ArgumentError(wanted("--sep", "one character such as ';' or '|', or tab", sep))
    if decimal not in ("", ",", "."):
        raise ArgumentError(wanted("--decimal", "',' or '.'", decimal))
    if decimal and decimal == sep and sep != ",":
        raise ArgumentError(wanted("--decimal", "another character than --sep", decimal))
    if format and format not in FORMATS:
        raise ArgumentError(wanted_one_of("--format", FORMATS, format))
    try:
        if encoding and not codecs.lookup(encoding)._is_text_encoding:
            raise LookupError
    except LookupError as error:
        near = nearest(encoding, aliases)
        mend = f"did you mean {near[0]!r}?" if near else "such as utf-8, cp1252, latin-1 or utf-16"
        raise ArgumentError(wanted("--encoding", "the name of an encoding", encoding, mend)) from error
    return Given(sep or None, decimal or None, encoding or None, format or None)
