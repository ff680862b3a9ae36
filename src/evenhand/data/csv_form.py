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
    spaced : whether a blank follows each separator, in the header or in all rows below it.
    doubts : what was assumed although the file could be read otherwise.
    header : the names of the columns of a file that has no header.
    """

    sep: str = ","
    encoding: str = "utf-8"
    skip: int = 0
    spaced: bool = False
    doubts: tuple[str, ...] = ()
    header: tuple[str, ...] = ()


def detected(file: Path, sep: str | None = None, encoding: str | None = None) -> CsvForm:
    """Return how a CSV is written; a separator or an encoding that is given is not looked for.

    Raises
    ------
    TableError
        If the line above the header may be a comment, or the header, or blanks seem to separate the cells; if the first
        line has fewer cells than all others.
    """
    with opened(file) as stream:
        head = stream.read(BYTES)
    encoding = encoding or shown_encoding(head)
    text = head.decode(encoding, errors="replace").removeprefix("\ufeff")
    if len(head) == BYTES:
        text = text[: text.rfind("\n") + 1]
    above = ABOVE.match(text)
    assert above is not None
    lines, text = re.findall(rf"[^\r\n]*{LINE}", above[0]), text[above.end() :]
    given = sep or above[1]
    sep, doubts = (given, ()) if given else _separator(text, f"{file}: line {len(lines) + 1}")
    header = _first(text, sep)
    if not given and len(header) == 1 and _in_words(text):
        hint = "pass --sep ' ', or --sep , if it is one column; elsewhere save it with commas"
        raise TableError(f"{file}: looks separated by blanks; {hint}")
    skip = len(lines)
    last = max((place for place in range(skip) if lines[place].strip()), default=0)
    line = lines[last] if lines else ""
    comment = line.partition("#")[2].strip()
    names = [cell.strip() for cell in _first(line, sep) if cell.strip()] if comment else []
    if len(names) > 1 and len(names) == len(header) and names[0] == "#":  # a column that counts the rows
        skip, text = last, "".join(lines[last:]) + text
        header = _first(text, sep)
    elif names and len(names) == len(header) and (len(names) > 1 or " " not in comment):
        hint = "remove the # if it is the header, else the whole line"
        raise TableError(f"{file}: line {last + 1} may be a comment, or the header of the rows below; {hint}")
    return CsvForm(sep, encoding, skip, _spaced(text, sep), doubts)


def _spaced(text: str, sep: str) -> bool:
    """Return whether a blank follows each separator, of the header or of all rows below it."""
    rows = zip(_rows(text, sep), _rows(text, sep, spaced=False), strict=False)
    each = [len(a) > 1 and all(x != y for x, y in zip(a[1:], b[1:], strict=False)) for a, b in rows if a]
    return any(each[:1]) or (len(each) > 1 and all(each[1:]))


def _separator(text: str, where: str) -> tuple[str, tuple[str, ...]]:
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
    wide, mark = max((_width(text.partition("\n")[2], mark, 0), mark) for mark in MARKS)
    names = len(_first(text, mark))
    if wide > names + 1 and any(len(_first(row.rstrip(f" {mark}"), mark)) > names for row in rows):
        hint = "remove it, and pass --header a,b,c if no line names the columns"
        below = f"each line below has {wide} cells, separated by {named(mark)}"
        raise TableError(f"{where} is not a header, as {below}; {hint}")
    return next((mark for mark in MARKS if len(_first(text, mark)) > 1), ","), ()


def named(mark: str) -> str:
    """Return a separator as a person writes it."""
    return "tab" if mark == "\t" else repr(mark)


def _rows(text: str, mark: str, spaced: bool = True) -> Iterator[list[str]]:
    """Yield the rows of a text, as far as they can be read."""
    with contextlib.suppress(csv.Error):
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=spaced)


def _first(text: str, mark: str) -> list[str]:
    return next(_rows(text, mark), [])


def is_comment(line: str, sep: str, width: int) -> bool:
    """Return whether a line below a header of so many cells is a comment rather than a row whose first cell begins
    with #: it has fewer cells and at most one is filled. In a single column every line is a row.

    >>> [is_comment(line, ",", 3) for line in ("#sale,0.9", "# sale,,", "#end", "# of May, 2025", "# of May")]
    [False, False, True, False, True]
    """
    text = line.strip("\r\n").lstrip(" \t".replace(sep, ""))  # a tab that separates makes an empty cell
    if width < 2 or not text.startswith("#"):
        return False
    cells = _first(text, sep)
    return len(cells) < width and sum(bool(cell.strip()) for cell in cells) < 2


def _width(text: str, mark: str, more: int) -> int:
    """Return how many cells the header has, 0 where a row has fewer and is no comment, or over `more` cells more."""
    first, *rows = [row for row in _rows(text, mark) if row] or [[]]
    widths = {len(row) for row in rows if len(row) >= len(first) or not row[0].lstrip().startswith("#")}
    return len(first) if widths <= {len(first) + n for n in range(more + 1)} else 0


def _in_words(text: str) -> bool:
    """Return whether blanks split every row alike, into as many words as the header, or one more as R writes them."""
    widths = [len(row) for row in _rows(text, " ") if row]
    return len(set(widths[1:])) == 1 and widths[0] > 1 and widths[1] - widths[0] in (0, 1)


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
    hint = f"pass --encoding NAME, {TRY}"
    if b"\0" in content:
        raise TableError(f"{file}: is not text; expected a table")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        letters = sum(sign > "\x7f" and sign != "\ufffd" for sign in content.decode("utf-8", errors="replace"))
        broken = content.decode("utf-8", errors="replace").count("\ufffd")
        if letters > broken:
            raise TableError(f"{file}: is UTF-8 but line {row} is damaged; repair it, or {hint}") from error
        try:
            content.decode("cp1252")
        except UnicodeDecodeError as other:
            row = content.count(b"\n", 0, other.start) + 1
            raise TableError(f"{file}: line {row} is neither UTF-8 nor Windows-1252; {hint}") from other
    high = sum(len(run) for run in re.findall(rb"[\x80-\xff]+", content))
    runs = sum(len(run) for run in re.findall(rb"[\x80-\xff]{3,}", content))
    if 2 * runs > high:
        raise TableError(f"{file}: is not UTF-8, and does not look like Windows-1252; {hint}")
    return "cp1252"
