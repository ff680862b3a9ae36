"""One bar that shows how far a long call has come: in a notebook, or in a terminal on standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from html import escape
from typing import Self, TypeVar

__all__ = ["ProgressBar", "tracked"]

_T = TypeVar("_T")
SECONDS = 0.1
"""How long a picture of the bar stays before the next is drawn."""


class ProgressBar:
    """A context manager that shows a bar while its block runs; threads may advance it.

    Parameters
    ----------
    what : what is counted, such as "rounds".
    total : how much there is to do.
    shown : whether anything is shown.
    stderr : whether a terminal shows it on standard error, else on standard output.
    """

    def __init__(self, what: str, total: float, *, shown: bool = True, stderr: bool = True) -> None:
        self.what, self.total, self.done = what, total, 0.0
        self._lock, self._next = threading.Lock(), 0.0
        self._picture: _Notebook | _Terminal | None = None
        if shown:
            self._picture = _Notebook() if in_notebook() else _Terminal(what, total, stderr)

    def advance(self, more: float = 1.0, what: str | None = None) -> None:
        """Note that so much more is done, and say what is counted if that has changed."""
        with self._lock:
            self.done += more
            self.what = self.what if what is None else what
            if self._picture is not None and time.monotonic() >= self._next:
                self._draw(self._picture)

    def __enter__(self) -> Self:
        if self._picture is not None:
            self._picture.start()
            self._draw(self._picture)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._picture is not None:
            with self._lock:
                self._draw(self._picture)
            self._picture.stop()

    def _draw(self, picture: _Notebook | _Terminal) -> None:
        picture.draw(self.what, self.done, self.total)
        self._next = time.monotonic() + SECONDS


def tracked(items: Iterable[_T], what: str, total: float, *, shown: bool = True, stderr: bool = True) -> Iterator[_T]:
    """Yield the items and show a bar meanwhile."""
    with ProgressBar(what, total, shown=shown, stderr=stderr) as bar:
        for item in items:
            yield item
            bar.advance()


def in_notebook() -> bool:
    """Say whether the program runs in the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _Terminal:
    """A bar of rich."""

    def __init__(self, what: str, total: float, stderr: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()
        self._rich = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=stderr))
        self._task = self._rich.add_task(what, total=total)

    def start(self) -> None:
        self._rich.start()

    def draw(self, what: str, done: float, total: float) -> None:
        self._rich.update(self._task, completed=done, description=what)

    def stop(self) -> None:
        self._rich.stop()


class _Notebook:
    """An output of the cell that is drawn anew as the work goes on. Unlike rich's and tqdm's it needs no widgets, which
    warn where they are not installed."""

    def start(self) -> None:
        from IPython.display import DisplayHandle

        self._begun = time.monotonic()
        self._output = DisplayHandle()
        self._output.display({"text/plain": ""}, raw=True)

    def draw(self, what: str, done: float, total: float) -> None:
        seconds, share = time.monotonic() - self._begun, done / total if total else 1.0
        time_said = f"{seconds / share - seconds:.0f} s left" if 0 < share < 1 else f"{seconds:.0f} s"
        said = f"{what}: {share:.0%}, {time_said}"
        bar = f'<label>{escape(said)} <progress value="{share:.4f}">{share:.0%}</progress></label>'
        self._output.update({"text/plain": said, "text/html": bar}, raw=True)

    def stop(self) -> None:
        """The last picture stays."""
