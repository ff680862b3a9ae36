"""How a CSV is written: its encoding, and what separates its cells; found out from its first part."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.errors import TableError

__all__ = ["OPENERS", "CsvForm", "detected", "legacy_encoding", "named", "opened"]

BYTES = 1 << 18
"""How much of a file is read to find out its form."""
MARKS = ",;\t|"
"""What may separate cells."""
ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SAID = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
"""A first line by which a spreadsheet says what separates cells."""
ONE_NUMBER = re.compile(r"[+-]?\d*,\d+")
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class CsvForm(NamedTuple):
    """How a CSV is written.

    Attributes
    ----------
    sep, encoding : as `evenhand.data.tables.read_table` takes them.
    skip : the number of lines above the header.
    doubts : what was assumed although the file could be read otherwise.
    """

    sep: str = ","
    encoding: str = "utf-8"
    skip: int = 0
    doubts: tuple[str, ...] = ()


def opened(file: Path) -> Any:
    """Open a file to read its bytes, unpacked where its ending says that it is packed."""
    return OPENERS.get(file.suffix.lower(), open)(file, "rb")


def detected(file: Path, sep: str | None, encoding: str | None) -> CsvForm:
    """Return how a CSV is written; a separator or an encoding that is given is not looked for."""
    with opened(file) as stream:
        head = stream.read(BYTES)
    encoding = encoding or _by_order_mark(head)
    text = head.decode(encoding, errors="replace")
    if len(head) == BYTES:
        text = text[: text.rfind("\n") + 1]
    said = SAID.match(text)
    if sep is not None:
        return CsvForm(sep, encoding, 1 if said else 0)
    if said:
        return CsvForm(said[1], encoding, 1)
    found, doubts = _separator(text)
    return CsvForm(found, encoding, 0, doubts)


def _by_order_mark(head: bytes) -> str:
    """Return the encoding that the first bytes show: by their mark, or UTF-16 by the zeros beside its letters."""
    for mark, name in ORDER_MARKS:
        if head.startswith(mark):
            return name
    even, odd = head[:1000:2].count(0), head[1:1000:2].count(0)
    if max(even, odd) > len(head[:1000]) // 5:
        return "utf-16-be" if even > odd else "utf-16-le"
    return "utf-8"


def _separator(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what separates the cells, and the doubt where another sign would do as well.

    A sign separates if every row has as many cells as the header, and the header two or more.
    """
    header = text.split("\n", 1)[0]
    widths = {mark: _width(text, mark) for mark in MARKS}
    fitting = [mark for mark, width in widths.items() if width > 1]
    if not fitting:
        rows = [line.strip() for line in text.splitlines()[1:] if line.strip()]
        bare = not any(mark in header for mark in MARKS)
        if bare and any("," in row for row in rows) and all(ONE_NUMBER.fullmatch(row) for row in rows if "," in row):
            return ";", ("one column of numbers is assumed; pass --sep , if each comma begins another column",)
        return next((mark for mark in MARKS if len(_cells(header, mark)) > 1), ","), ()
    found = "," if "," in fitting else max(fitting, key=lambda mark: widths[mark])
    others = [mark for mark in fitting if mark != found and widths[mark] >= widths[found]]
    return found, tuple(f"the separator is assumed; pass --sep {named(mark)} if it is another" for mark in others[:1])


def named(mark: str) -> str:
    """Return a separator as a person writes it."""
    return "tab" if mark == "\t" else repr(mark)


def _cells(line: str, mark: str) -> list[str]:
    return next(csv.reader([line], delimiter=mark), [])


def _width(text: str, mark: str) -> int:
    """Return how many cells every row has, 0 where rows differ."""
    try:
        widths = {len(row) for row in csv.reader(text.splitlines(keepends=True), delimiter=mark) if row}
    except csv.Error:
        return 0
    return widths.pop() if len(widths) == 1 else 0


def legacy_encoding(file: Path) -> str:
    """Return "cp1252" for a file that is not UTF-8, if it may be written so.

    Raises
    ------
    TableError
        If it is damaged UTF-8, has bytes that Windows-1252 lacks, or rows of foreign letters that it would garble.
    """
    with opened(file) as stream:
        content = stream.read()
    mend = "pass --encoding NAME, such as utf-8, cp1250 or shift_jis"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        letters = sum(sign > "\x7f" and sign != "\ufffd" for sign in content.decode("utf-8", errors="replace"))
        broken = content.decode("utf-8", errors="replace").count("\ufffd")
        if letters > broken:
            raise TableError(f"{file}: is UTF-8 but for line {row}, which is damaged; mend it, or {mend}") from error
        try:
            content.decode("cp1252")
        except UnicodeDecodeError as other:
            row = content.count(b"\n", 0, other.start) + 1
            raise TableError(f"{file}: line {row} is neither UTF-8 nor Windows-1252; {mend}") from other
    high = sum(len(run) for run in re.findall(rb"[\x80-\xff]+", content))
    runs = sum(len(run) for run in re.findall(rb"[\x80-\xff]{3,}", content))
    if 2 * runs > high:
        raise TableError(f"{file}: is not UTF-8, and does not look like Windows-1252; {mend}")
    return "cp1252"
