"""Text in files, packed or not, in any encoding: the encoding is given, or shown by the first bytes, or UTF-8."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import zlib
from collections.abc import Callable
from encodings.aliases import aliases
from pathlib import Path
from typing import Any

from evenhand.errors import ArgumentError, TableError, Wording, argument, expected, nearest, why_unreadable

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
TRY = "such as cp1252, latin-1, cp1251, gbk or shift_jis"
"""What to try where a text is not UTF-8."""
MEND = Wording("pass ", argument("encoding"), f", {TRY}")


def opened(file: Path) -> Any:
    """Open a file to read its bytes, unpacked where its ending says that it is packed."""
    return OPENERS.get(file.suffix.lower(), open)(file, "rb")


def shown_encoding(head: bytes) -> str:
    """Return the encoding that the first bytes show: by their mark, or UTF-16 by the zeros beside its letters."""
    for mark, name in ORDER_MARKS:
        if head.startswith(mark):
            return name
    even, odd = head[:1000:2].count(0), head[1:1000:2].count(0)
    if max(even, odd) > len(head[:1000]) // 5:
        return "utf-16-be" if even > odd else "utf-16-le"
    return "utf-8"


def read_encoding(name: str, encoding: str) -> str:
    """Return the name of an encoding of text.

    Raises
    ------
    ArgumentError
        If Python knows no such encoding.
    """
    if _encodes(encoding):
        return encoding
    near = [one for one in nearest(encoding, aliases) if _encodes(one)]
    hint = f"did you mean {near[0]!r}?" if near else TRY
    raise ArgumentError(expected(name, "the name of an encoding", encoding, hint))


def _encodes(encoding: str) -> bool:
    """Return whether this is an encoding of text; Python also calls base64 and rot13 encodings."""
    try:
        "a".encode(encoding)
    except (LookupError, TypeError, ValueError):
        return False
    return True


def decoded(content: bytes, name: object, encoding: str | None = None, hint: str = MEND) -> str:
    """Return the text of a file that is called `name`, without its byte order mark; `hint` is what a refusal advises.

    Raises
    ------
    ArgumentError
        If there is no such encoding.
    TableError
        If it is not in this encoding, or not in UTF-8 where none is given and none shown; the line is named.
    """
    found = shown_encoding(content) if encoding is None else read_encoding("encoding", encoding)
    try:
        return content.decode(found).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        shown = "UTF-8" if found == "utf-8" else found
        raise TableError(Wording(f"{name}: line {line} is not {shown}; ", hint)) from error


def text_of(file: Path, encoding: str | None = None, hint: str = MEND) -> str:
    """Return the text of a file; `hint` is what a refusal of its encoding advises.

    Raises
    ------
    ArgumentError, TableError
        As `decoded` does, and if the file cannot be read.
    """
    try:
        with opened(file) as stream:
            content: bytes = stream.read()
    except FileNotFoundError as error:
        raise TableError(f"{file}: no such file") from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise TableError(f"{file}: cannot be read: {why_unreadable(error)}") from error
    return decoded(content, file, encoding, hint)
