"""One bar that shows how far a long call has come: on standard error, in a terminal or below the cell of a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self, TypeVar

_T = TypeVar("_T")


class ProgressBar:
    """A context manager that shows a bar while its block runs; threads may advance it.

    Parameters
    ----------
    what : what is counted, such as "rounds".
    total : how much there is to do.
    shown : whether anything is shown.
    """

    def __init__(self, what: str, total: float, *, shown: bool = True) -> None:
        self._bar = _rich() if shown else None
        self._task = self._bar and self._bar.add_task(what, total=total)

    def advance(self, more: float = 1.0) -> None:
        """Note that so much more is done."""
        if self._bar is not None:
            self._bar.advance(self._task, more)

    def reach(self, done: float, what: str | None = None) -> None:
        """Note how much is done in all, and say what is counted if that has changed."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=what)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def tracked(items: Iterable[_T], what: str, total: float, *, shown: bool = True) -> Iterator[_T]:
    """Yield the items and show a bar meanwhile."""
    with ProgressBar(what, total, shown=shown) as bar:
        for item in items:
            yield item
            bar.advance()


def _rich() -> Any:
    """Return a bar of rich as a terminal shows it, and a notebook too: for the bar that rich draws there otherwise it
    needs widgets, and warns where there are none.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn()
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True, force_jupyter=False))
