"""Lines of comment among the rows of a CSV, which are none of its rows."""

from __future__ import annotations

import io
import re
from typing import IO

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


class WithoutComments(io.TextIOBase):
    """The text of a CSV without the lines that begin with # and have fewer cells than its header, or nothing behind
    the first; inside quotation marks a line is none.

    Attributes
    ----------
    left_out : how many lines were left out so far.
    """

    def __init__(self, stream: IO[str], sep: str, width: int) -> None:
        self.left_out = 0
        self._stream, self._sep, self._width = stream, sep, width
        self._quoted = False

    def read(self, size: int | None = -1) -> str:
        """Return about so many signs, always whole lines; "" at the end."""
        while part := self._stream.read(-1 if size is None else size):
            part += self._stream.readline()
            if "#" in part:
                part = "".join(line for line in LINE.findall(part) if not self._leaves_out(line))
            else:
                self._quoted ^= part.count('"') % 2 == 1
            if part:
                return part
        return ""

    def _leaves_out(self, line: str) -> bool:
        goes_on = line.count('"') % 2 == 1
        if not self._quoted and not goes_on and line.lstrip().startswith("#"):
            cells = line.rstrip("\r\n").split(self._sep)
            if len(cells) < self._width or (self._width > 1 and not any(cell.strip() for cell in cells[1:])):
                self.left_out += 1
                return True
        self._quoted ^= goes_on
        return False
