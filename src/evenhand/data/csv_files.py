"""CSV files: one way to read them, whole or in batches, and one to write them, so that what is written can be read."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Container, Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from evenhand.data.csv_form import CsvForm, detected, is_comment, named
from evenhand.data.tables import NUMBER, UNREADABLE
from evenhand.data.text_files import opened
from evenhand.errors import TableError, Wording, expected, why_unreadable

if TYPE_CHECKING:
    import pandas as pd


LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
COMMENTS = "comments"
"""Where the attributes of a frame hold how many lines of comment among its rows were left out."""
FEW_COMMENTS = 5
"""So many comments among the rows, or one to ten rows, are left out; where there are more, they may be rows."""
AS_ROW = 'write the cell as "#..." in quotation marks where it begins a row, and delete comments'
FORMULA = re.compile(r"['=+\-@\t\r\n＝＋－＠]")
"""How text begins that a spreadsheet takes for a formula, or that was kept from it."""
GUARDED = re.compile(f"'{FORMULA.pattern}")
PLAIN = re.compile(r"(\w|'[^;\t|\r\n])[^;\t|\r\n]*(?<!\s)")
"""A name of a column that a header can hold without quotation marks, whatever else a file may have above it."""
EMPTY = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
"""How programs write that a cell is empty, in columns that are not read as text."""


class NulError(Exception):
    """A line, which is its argument, holds the character NUL."""


class WithoutComments(io.TextIOBase):
    """The text of a CSV without its comments below the header; inside quotation marks no line is one.

    Attributes
    ----------
    left_out : how many lines were left out so far.
    """

    def __init__(self, stream: IO[str], sep: str, width: int) -> None:
        self.left_out = 0
        self._stream, self._sep, self._width = stream, sep, width
        self._quoted, self._lines = False, 0

    def read(self, size: int | None = -1) -> str:
        """Return about so many signs, always whole lines; "" at the end."""
        while part := self._stream.read(-1 if size is None else size):
            part += self._stream.readline()
            before, nul, _ = part.partition("\0")
            if nul:  # readers of CSV end a cell there, or the file
                raise NulError(self._lines + before.count("\n") + 1)
            self._lines += part.count("\n")
            if "#" in part:
                part = "".join(line for line in LINE.findall(part) if not self._leaves_out(line))
            else:
                self._quoted ^= part.count('"') % 2 == 1
            if part:
                return part
        return ""

    def _leaves_out(self, line: str) -> bool:
        goes_on = line.count('"') % 2 == 1
        if not self._quoted and not goes_on and is_comment(line, self._sep, self._width):
            self.left_out += 1
            return True
        self._quoted ^= goes_on
        return False


class _Every:
    """The columns that are read as text, where all are."""

    def __contains__(self, name: object) -> bool:
        return True


EVERY = _Every()


class CsvFile(NamedTuple):
    """A CSV that can be read.

    Attributes
    ----------
    name : what messages call it.
    open : opens its text, whose line ends are as they are.
    form : how it is written.
    warns : whether a warning says how many comments were left out; otherwise the attributes of a frame do.
    """

    name: str
    open: Callable[[], IO[str]]
    form: CsvForm = CsvForm()
    warns: bool = True

    @classmethod
    def at(cls, file: Path, form: CsvForm | None = None) -> Self:
        """Return the CSV in a file, whose form is found out unless it is given."""
        form = form or detected(file)
        encoding = "utf-8-sig" if form.encoding == "utf-8" else form.encoding
        return cls(str(file), lambda: io.TextIOWrapper(opened(file), encoding=encoding, newline=""), form)

    def header(self) -> list[str]:
        """Return the names of the columns, without blanks around them; "" where a column has none.

        Raises
        ------
        TableError
            If the file is empty, or cannot be read.
        """
        first = next(self._read(nrows=1, dtype="str", keep_default_na=False), None)
        if first is None:
            raise TableError(f"{self.name}: the file is empty; as CSV it needs a header line and rows")
        if self.form.header and len(self.form.header) > first.shape[1]:
            got = Wording(f"{len(self.form.header)} names and {first.shape[1]} cells")
            raise TableError(expected(f"{self.name}, --header", "a name for each cell of the first line", got))
        return list(self.form.header) or first.iloc[0].str.strip().map(unescaped).tolist()

    def frame(self, text: Container[str] = ()) -> pd.DataFrame:
        """Return the table; the columns of `text` as they are written, in which only an empty cell is empty.

        A column without a name is left out if it is empty or counts the rows, as R and pandas write them; another one
        is noted as one that nobody can ask for.

        Raises
        ------
        TableError
            If it cannot be read, or a row has more cells than the header.
        """
        (frame,) = self.batches(text)
        names = list(frame.columns)
        kept = [place for place, name in enumerate(names) if name or not _left_out(frame.iloc[:, place], place)]
        frame = frame.iloc[:, kept]
        frame.columns = [names[place] or f"Unnamed: {place}" for place in kept]
        nameless = {f"Unnamed: {p}": f"column {p + 1} has no name in the header; name it" for p in kept if not names[p]}
        frame.attrs |= {UNREADABLE: nameless} if nameless else {}
        return frame

    def batches(self, text: Container[str], rows: int | None = None) -> Iterator[pd.DataFrame]:
        """Yield the table in batches of so many rows, or whole, without comments; a column without a name is called "".

        Raises
        ------
        TableError
            As `frame` does.
        """
        names = self.header()
        above = 0 if self.form.header else 1
        first = next(self._read(skiprows=above, nrows=1, wide=len(names)), None)
        width = max(len(names), 0 if first is None else first.shape[1]) + 1  # one more, to see a row that is wider
        texts = {place for place, name in enumerate(names) if name and name in text} | set(range(len(names), width))
        asked = {
            "names": range(width),
            "dtype": dict.fromkeys(texts, "str"),
            "na_values": {place: [""] if place in texts else EMPTY for place in range(width)},
        }
        for part in self._read(skiprows=above, keep_default_na=False, chunksize=rows, wide=len(names), **asked):
            yield self._without_more_cells(part, names)

    def _read(self, *, wide: int = 0, chunksize: int | None = None, **options: Any) -> Iterator[pd.DataFrame]:
        """Yield what pandas reads below the lines that stand above the header."""
        import pandas as pd

        form = self.form
        options |= {"sep": form.sep, "skipinitialspace": form.spaced, "header": None, "index_col": False}
        options["low_memory"] = False  # otherwise 1 is a number in one part of a column and a text in another
        try:
            with self.open() as stream:
                for number in range(1, form.skip + 1):
                    line = stream.readline()
                    if form.header and line.lstrip().startswith("#") and not is_comment(line, form.sep, 2):
                        raise TableError(f"{self.name}: line {number} may be a comment, or a row; {AS_ROW}")
                rows, count = WithoutComments(stream, form.sep, wide), 0
                read: Any = pd.read_csv(rows, chunksize=chunksize, **options)
                for part in [read] if chunksize is None else read:
                    count += len(part)
                    part.attrs |= {COMMENTS: rows.left_out} if rows.left_out and chunksize is None else {}
                    yield part
                self._check_comments(rows.left_out, count)
        except NulError as error:
            line = form.skip + error.args[0]
            raise TableError(f"{self.name}: line {line} holds the character NUL (\\0); remove it") from error
        except UnicodeDecodeError as error:
            shown = "UTF-8" if form.encoding == "utf-8" else form.encoding
            raise TableError(f"{self.name}: is not {shown}; save it as CSV in UTF-8") from error
        except pd.errors.EmptyDataError:
            return
        except (pd.errors.ParserError, EOFError, OSError, ValueError) as error:
            cells = re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", str(error))
            if cells:
                raise self._more_cells(f"line {form.skip + int(cells[1])}", int(cells[2]), wide) from error
            raise TableError(f"{self.name}: cannot be read as CSV: {why_unreadable(error)}") from error

    def _without_more_cells(self, part: Any, names: list[str]) -> pd.DataFrame:
        """Return rows with the columns of the header; cells beyond them, behind a last separator, must be empty."""
        for place in range(part.shape[1] - 1, len(names) - 1, -1):
            full = part[place].str.strip().fillna("") != ""
            if full.any():
                raise self._more_cells(f"row {full.idxmax() + 1}", place + 1, len(names))
        part = part.iloc[:, : len(names)].set_axis(names, axis=1)
        for place, kind in enumerate(part.dtypes):
            if kind == "str":
                cells = part.iloc[:, place]
                guarded = cells.str.match(GUARDED.pattern).fillna(False)
                part.isetitem(place, cells.mask(guarded, cells.str[1:]) if guarded.any() else cells)
        kept: pd.DataFrame = part
        return kept

    def _check_comments(self, left_out: int, rows: int) -> None:
        """Refuse so many comments that they may be rows, and warn of fewer."""
        if left_out > max(FEW_COMMENTS, rows // 10):
            what = f"{left_out:,} lines among the rows begin with # and may be comments, or rows"
            raise TableError(f"{self.name}: {what}; {AS_ROW}")
        if left_out and self.warns:
            lines = f"{left_out} comment line{'s' * (left_out > 1)} (# ...)"
            level = 1
            while sys._getframe(level).f_globals["__name__"].startswith("evenhand."):
                level += 1
            warnings.warn(f"{self.name}: {lines} among the rows left out; {AS_ROW}", stacklevel=level + 1)

    def _more_cells(self, where: str, found: int, wide: int) -> TableError:
        hint = f"name every column, row names too; quote cells with {named(self.form.sep)}; drop lines above the header"
        return TableError(f"{self.name}: {where} has {found} cells, more cells than the header ({wide}); {hint}")


def like_data(frame: pd.DataFrame) -> list[str]:
    """Return the first names of columns that look like cells of their columns, or none: a header names a column of
    numbers by a word, and one of words by none of them.

    >>> import pandas as pd
    >>> like_data(pd.DataFrame({"39": [50, 38], "Private": ["Private", "Gov"]}))
    ['39', 'Private']
    >>> like_data(pd.DataFrame({"2019": [1, 2], "country": ["DE", "FR"]}))
    []
    """
    columns = [(str(name), frame.iloc[:, place]) for place, name in enumerate(frame.columns)]
    numeric = [name for name, cells in columns if cells.dtype.kind in "if"]
    if not all(map(NUMBER.fullmatch, numeric)):
        return []
    if len(numeric) == len(columns):  # years, and columns that are counted, are names
        alike = any(float(b) - float(a) != 1 for a, b in pairwise(numeric))
    else:
        alike = any(bool((cells == name).any()) for name, cells in columns if cells.dtype.kind not in "if")
    return [name for name, _ in columns[:3]] if alike else []


def _left_out(cells: pd.Series[Any], place: int) -> bool:
    """Return whether a column without a name holds nothing, or numbers the rows in front of all others."""
    if place == 0 and len(cells) and cells.dtype.kind == "i" and cells.iloc[0] in (0, 1):
        return bool((cells.diff().iloc[1:] == 1).all())
    return bool(cells.isna().all())


def write_csv(frame: pd.DataFrame, out: str | os.PathLike[str] | IO[str]) -> None:
    """Write a table as CSV of which a spreadsheet takes no cell for a formula.

    Text that begins with =, +, -, @, a tab or a line break gets an apostrophe in front, and so does text that begins
    with an apostrophe, which `CsvFile` and `unescaped` take off again. Numbers stay as they are, text that is a number
    too.

    >>> import pandas as pd, sys
    >>> write_csv(pd.DataFrame({"arm": ["=1+1", "b"], "reward": [-1.5, 0.0]}), sys.stdout)
    arm,reward
    '=1+1,-1.5
    b,0.0
    """
    import pandas as pd

    written = frame.copy()
    written.columns = pd.Index([_escaped(str(name)) for name in written.columns])
    plain = written.shape[1] > 1 and all(map(PLAIN.fullmatch, written.columns))  # a line of blanks is no row
    for name in range(written.shape[1]):
        cells = written.iloc[:, name]
        if not (pd.api.types.is_numeric_dtype(cells) or pd.api.types.is_datetime64_any_dtype(cells)):
            written.isetitem(name, [_escaped(cell) if isinstance(cell, str) else cell for cell in cells])
            plain = plain and not any("\r" in cell or cell[:1] == " " for cell in cells if isinstance(cell, str))
    quoting: Any = csv.QUOTE_MINIMAL if plain else csv.QUOTE_NONNUMERIC  # the former leaves a lone \r, a first blank
    written.to_csv(out, index=False, lineterminator="\n", quoting=quoting)


def _escaped(text: str) -> str:
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def unescaped(text: str) -> str:
    """Return the text of a cell that `write_csv` wrote."""
    return text[1:] if GUARDED.match(text) else text
