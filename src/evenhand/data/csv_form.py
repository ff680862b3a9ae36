"""How a CSV is written: its encoding, what stands above its header and what separates its cells, found out from its
first part."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evenhand.data.text_files import TRY, opened, shown_encoding
from evenhand.errors import TableError

__all__ = ["CsvForm", "detected", "legacy_encoding", "named"]

BYTES = 1 << 18
"""How much of a file is read to find out its form."""
MARKS = ",;\t|"
"""What may separate cells."""
LINE = r"(?:\r\n?|\n)"
COMMENTS = rf"(?:[ \t,;|]*(?:#[^\r\n]*)?{LINE})*"
ABOVE = re.compile(rf'{COMMENTS}(?:"?sep=(.)"?[ \t]*{LINE}{COMMENTS})?', re.IGNORECASE)
"""What may stand above a header: empty lines, comments, and a line by which a spreadsheet says what separates cells."""
ONE_NUMBER = re.compile(r"[+-]?\d*,\d+")


class CsvForm(NamedTuple):
    """How a CSV is written.

    Attributes
    ----------
    sep, encoding : what separates cells, and how text is encoded.
    skip : the number of lines above the header.
    spaced : whether a blank follows each separator.
    doubts : what was assumed although the file could be read otherwise.
    """

    sep: str = ","
    encoding: str = "utf-8"
    skip: int = 0
    spaced: bool = False
    doubts: tuple[str, ...] = ()


def detected(file: Path, sep: str | None = None, encoding: str | None = None) -> CsvForm:
    """Return how a CSV is written; a separator or an encoding that is given is not looked for.

    Raises
    ------
    TableError
        If the line above the header may be a comment, or the header.
    """
    with opened(file) as stream:
        head = stream.read(BYTES)
    encoding = encoding or shown_encoding(head)
    text = head.decode(encoding, errors="replace").removeprefix("\ufeff")
    if len(head) == BYTES:
        text = text[: text.rfind("\n") + 1]
    above = ABOVE.match(text)
    assert above is not None
    text, lines = text[above.end() :], re.split(LINE, above[0])[:-1]
    sep, doubts = (sep or above[1], ()) if sep or above[1] else _separator(text)
    header, plain = _first(text, sep), _first(text, sep, spaced=False)
    comment = lines[-1].partition("#")[2].strip() if lines else ""
    names = [cell for cell in _first(comment, sep) if cell.strip()]
    if names and len(names) == len(header) and (len(names) > 1 or " " not in comment):
        mend = "take off the # if it is the header, else the whole line"
        raise TableError(f"{file}: line {len(lines)} may be a comment, or the header of the rows below; {mend}")
    spaced = len(header) > 1 and all(a != b for a, b in zip(header[1:], plain[1:], strict=False))
    return CsvForm(sep, encoding, len(lines), spaced, doubts)


def _separator(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what separates the cells, and the doubt where another sign would do as well.

    A sign separates if every row has as many cells as the header, and the header two or more; else if every row has
    one cell more at most, as where rows end with a separator.
    """
    for more in (0, 1):
        widths = {mark: _width(text, mark, more) for mark in MARKS}
        fitting = [mark for mark, width in widths.items() if width > 1]
        if fitting:
            found = "," if "," in fitting else max(fitting, key=lambda mark: widths[mark])
            others = [mark for mark in fitting if mark != found and widths[mark] >= widths[found]]
            words = [f"the separator is assumed; pass --sep {named(mark)} if it is another" for mark in others[:1]]
            return found, tuple(words)
    header = text.split("\n", 1)[0]
    rows = [line.strip() for line in text.split("\n")[1:] if line.strip()]
    bare = not any(mark in header for mark in MARKS)
    if bare and any("," in row for row in rows) and all(ONE_NUMBER.fullmatch(row) for row in rows if "," in row):
        return ";", ("one column of numbers is assumed; pass --sep , if each comma begins another column",)
    return next((mark for mark in MARKS if len(_first(text, mark)) > 1), ","), ()


def named(mark: str) -> str:
    """Return a separator as a person writes it."""
    return "tab" if mark == "\t" else repr(mark)


def _rows(text: str, mark: str, spaced: bool = True) -> Iterator[list[str]]:
    """Yield the rows of a text, as far as they can be read."""
    with contextlib.suppress(csv.Error):
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=spaced)


def _first(text: str, mark: str, spaced: bool = True) -> list[str]:
    return next(_rows(text, mark, spaced), [])


def _width(text: str, mark: str, more: int) -> int:
    """Return how many cells the header has, 0 where a row has fewer, or over `more` cells more."""
    widths = [len(row) for row in _rows(text, mark) if row]
    return widths[0] if widths and set(widths[1:]) <= {widths[0] + n for n in range(more + 1)} else 0


def legacy_encoding(file: Path) -> str:
    """Return "cp1252" for a file that is not UTF-8, if it may be written so.

    Raises
    ------
    TableError
        If it is no text, is damaged UTF-8, has bytes that Windows-1252 lacks, or rows of foreign letters that it would
        garble.
    """
    with opened(file) as stream:
        content = stream.read()
    mend = f"pass --encoding NAME, {TRY}"
    if b"\0" in content:
        raise TableError(f"{file}: is not text; wanted a table")
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
