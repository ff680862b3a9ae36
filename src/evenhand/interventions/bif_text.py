"""The text of a BIF file in blocks: what stands before the braces, and the statements inside, each with its place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple, NoReturn

from evenhand.data.text_files import text_of
from evenhand.errors import TableError, wanted

KINDS = ("network", "variable", "probability")
CUT = "not a BIF file, or cut off: "
_SKIPPED = re.compile(
    r'"[^"\n]*"|//[^\n]*|/\*.*?\*/|(?:^|(?<=[;{}]))[ \t]*property\b(?:[^;"{}]|"[^"\n]*")*;', re.DOTALL | re.MULTILINE
)
_NO_TEXT = re.compile("[\0\x80-\x84\x86-\x9f\ufffd]")
_TOKEN = re.compile(r'"([^"]*)"|("|/\*)|([{}()\[\];|]|[^\s{}()\[\];,|"]+)')


class Statement(NamedTuple):
    """The tokens of a statement, and the number of the first among those of the file."""

    tokens: list[str]
    place: int


class Block(NamedTuple):
    """`kind head { statements }`, in the text of a file."""

    source: Path
    text: str
    kind: str
    place: int
    head: list[str]
    statements: list[Statement]

    def fail(self, message: str, at: Statement | None = None) -> NoReturn:
        """Refuse the file with the line of a statement, or of the block."""
        _fail(self.source, self.text, self.place if at is None else at.place, message)


def read_text(path: str | os.PathLike[str], encoding: str | None) -> tuple[Path, str]:
    """Return a file's path and text, unpacked where its ending says that it is packed.

    Raises
    ------
    TableError
        If there is no such file, it cannot be read or unpacked, or it is not in this encoding.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TableError(wanted("path", "the name of a BIF file", path))
    source = Path(path)
    text = text_of(source, encoding)
    if odd := _NO_TEXT.search(text):
        line = text.count("\n", 0, odd.start()) + 1
        mend = "pass another encoding=, or save the file as UTF-8"
        raise TableError(wanted(f"{source}, line {line}", "text", f"U+{ord(odd[0]):04X}", mend))
    return source, _SKIPPED.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    """Put blanks in the place of a comment or a property, so that everything else stays where it was."""
    return found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0])


def read_blocks(text: str, source: Path) -> Iterator[Block]:
    """Yield the blocks of a file in their order.

    Raises
    ------
    TableError
        If there is anything else, or a block, a comment or a quotation has no end.
    """
    found = _TOKEN.findall(text)
    tokens = [sign or quoted for quoted, _, sign in found]
    at = next((number for number, one in enumerate(found) if one[1]), -1)
    if at >= 0:
        _fail(source, text, at, f"{CUT}a quotation or a comment has no end")
    at = 0
    while at < len(tokens):
        kind = tokens[at]
        if kind not in KINDS:
            _fail(source, text, at, f"not BIF: wanted one of {', '.join(KINDS)}, got {kind!r}")
        try:
            opened = closed = tokens.index("{", at)
            while not closed > opened or tokens[opened:closed].count("{") > tokens[opened : closed + 1].count("}"):
                closed = tokens.index("}", closed + 1)
        except ValueError:
            _fail(source, text, at, f"{CUT}{kind!r} has no end")
        ends = [number for number in range(opened, closed) if tokens[number] == ";"]
        statements = [
            Statement(tokens[first + 1 : last], first + 1)
            for first, last in pairwise([opened, *ends, closed])
            if last > first + 1
        ]
        yield Block(source, text, kind, at, tokens[at + 1 : opened], statements)
        at = closed + 1


def _fail(source: Path, text: str, place: int, message: str) -> NoReturn:
    """Refuse the file with the line of its token number `place`."""
    token = next(islice(_TOKEN.finditer(text), place, None))
    line = text.count("\n", 0, token.start()) + 1
    raise TableError(f"{source}, line {line}: {message}")
