"""How pictures look: told apart by dash and marker as well as by shade, so that they read in print, in grey and at a
glance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["figure", "finish", "looks", "plain", "style"]

SHADES = ("#1b4f8f", "#c8651b", "#2f7d4f", "#7a3b8f", "#8a6d1d", "#555555")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")


def looks(names: list[str]) -> dict[str, dict[str, Any]]:
    """Return line properties for each name, the same whenever the same names are drawn."""
    ways = zip(cycle(SHADES), cycle(DASHES), cycle(MARKERS), strict=False)
    return {
        name: {"color": shade, "linestyle": dash, "marker": marker, "markersize": 3.5, "linewidth": 1.6}
        for name, (shade, dash, marker) in zip(names, ways, strict=False)
    }


@contextmanager
def style() -> Iterator[None]:
    """Draw with evenhand's settings."""
    import matplotlib as mpl

    with mpl.rc_context(
        {
            "font.size": 9.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#dddddd",
            "grid.linewidth": 0.6,
            "axes.axisbelow": True,
            "legend.frameon": False,
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
        }
    ):
        yield


def figure(width: float = 6.2, height: float = 3.8, columns: int = 1) -> Any:
    """Return a figure and its axes (an array where there are several), without touching pyplot's state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style():
        drawn = Figure(figsize=(width, height))
        FigureCanvasAgg(drawn)
        return drawn, drawn.subplots(1, columns)


def plain(label: object, most: int) -> str:
    """Return a label as one line that is no formula, cut to `most` signs.

    >>> plain("two\\nlines of text", 12)
    'two lines o…'
    """
    text = " ".join(str(label).split())
    if len(text) > most:
        text = text[: most - 1] + "…"
    if text.startswith("_"):  # matplotlib leaves such labels out of legends
        text = f" {text}"
    return text.replace("$", r"\$")


def finish(axes: Axes, title: str, across: str, up: str, *, legend: bool = True) -> Axes:
    """Label the axes and return them."""
    axes.set_title(title, loc="left", fontsize=10.5)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    if legend:
        axes.legend(fontsize=8.5)
    return axes
