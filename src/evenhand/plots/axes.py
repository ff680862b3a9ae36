"""Where a picture is drawn: into the axes that are given, otherwise into the current ones of pyplot.

A figure that evenhand opens in pyplot holds one picture: the next picture opens a figure of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import ArgumentError, wanted, wanted_one_of
from evenhand.plots.style import HEIGHT, WIDTH, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_of(ax: Axes | None) -> Axes:
    """Return the axes to draw in: `ax`, or the current axes.

    Raises
    ------
    ArgumentError
        If what is given is not the axes of a flat plot.
    """
    return _checked(_current() if ax is None else ax)


def panels_of(ax: Any, columns: int, *, width: float, height: float) -> list[Axes]:
    """Return the axes of a picture of several panels: those given, otherwise those of a new figure.

    Raises
    ------
    ArgumentError
        If `ax` is not a sequence of that many axes.
    """
    if ax is None:
        return list(np.ravel(_opened(width, height, columns)))
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) != columns:
        mend = f"draw into the axes of plt.subplots(1, {columns}), or leave out ax"
        raise ArgumentError(wanted("ax", f"a sequence of {columns} axes", ax, mend))
    return [_checked(one) for one in given]


def one_of(name: str, given: Any, known: Iterable[Any]) -> None:
    """Refuse an argument that is none of the known names.

    Raises
    ------
    ArgumentError
        If it is none of them.
    """
    names = [str(one) for one in known]
    if given not in names:
        raise ArgumentError(wanted_one_of(name, names, given))


def _checked(given: Any) -> Axes:
    from matplotlib.axes import Axes

    if not isinstance(given, Axes) or given.name != "rectilinear":
        mend = "draw into one of the axes of plt.subplots(), or leave out ax"
        raise ArgumentError(wanted("ax", "the axes of a flat plot", given, mend))
    return given


def _current() -> Axes:
    """Return pyplot's current axes, or new ones where the current figure holds a picture of ours."""
    import matplotlib.pyplot as plt

    from evenhand.plots.picture import Picture

    if not plt.get_fignums():
        return _opened()
    current = plt.gcf()
    if isinstance(current, Picture) and any(axes.has_data() for axes in current.axes):
        return _opened()
    with style():
        return plt.gca()


def _opened(width: float = WIDTH, height: float = HEIGHT, columns: int = 1) -> Any:
    """Open a figure in pyplot and return its axes; where nothing can be shown, close the picture before it."""
    import matplotlib.pyplot as plt

    from evenhand.plots.picture import Picture

    if plt.get_fignums() and isinstance(plt.gcf(), Picture) and plt.get_backend().lower() == "agg":
        plt.close()
    figure = plt.figure(figsize=(width, height), dpi=110, layout="constrained", FigureClass=Picture)
    with style():  # not around plt.figure, which sets up a notebook's display: leaving the style would undo that
        return figure.subplots(1, columns)
