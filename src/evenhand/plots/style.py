"""How pictures look: lines differ in dash and marker as well as in shade, so that they can be read in print, in grey
and at a glance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.labels import label_texts

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADES = ("#1b4f8f", "#c8651b", "#2f7d4f", "#7a3b8f", "#8a6d1d", "#555555")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")
MOST = 2 * len(MARKERS)
"""Lines or bars that are told apart in one picture: filled, then hollow."""
BAND = "band: 95 % interval"
SIGNS = 14.5
"""Signs in an inch of a title."""
WIDTH, HEIGHT = 7.2, 3.8
"""Inches of a picture with one panel."""
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++")
BARS = 60
"""Bars that are wide enough to be told apart by their hatches."""
NAMED = 60
"""Arms whose names have room below a picture."""
DASHED: dict[str, Any] = {"color": "black", "linewidth": 1.0, "linestyle": (0, (2, 2))}
"""A line that is no curve: a limit, a target, zero."""


def looks(names: list[str]) -> dict[str, dict[str, Any]]:
    """Return line properties for each name, the same whenever the same names are drawn."""
    return {
        name: {
            "color": SHADES[i % len(SHADES)],
            "linestyle": DASHES[(i + i // len(SHADES)) % len(DASHES)],  # one that this shade did not have
            "marker": MARKERS[i % len(MARKERS)],
            "markerfacecolor": "white" if i % MOST >= len(MARKERS) else SHADES[i % len(SHADES)],
            "markersize": 3.5,
            "linewidth": 1.6,
        }
        for i, name in enumerate(names)
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


def figure(
    width: float = WIDTH,
    height: float = HEIGHT,
    columns: int = 1,
    *,
    rows: int = 1,
    share_y: bool | Literal["row"] = False,
) -> Any:
    """Return a figure and its axes (an array where there are several), without touching pyplot's state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style():
        drawn = Figure(figsize=(width, height))
        FigureCanvasAgg(drawn)
        return drawn, drawn.subplots(rows, columns, sharey=share_y)


def curve(axes: Axes, x: Any, middle: Any, ends: Any, look: dict[str, Any], **line: Any) -> None:
    """Draw a line, and the band between the two ends of its interval where they are known; of one point a bar."""
    axes.plot(x, middle, **{**look, **line})
    if ends is not None and len(x) == 1:
        axes.vlines(x, *ends, color=look["color"], linewidth=0.8)
    elif ends is not None:
        axes.fill_between(x, *ends, color=look["color"], alpha=0.15, linewidth=0)


def mark_changes(axes: Axes, rounds: Iterable[int]) -> None:
    """Mark the rounds with which other promises begin."""
    for round in rounds:
        axes.axvline(round, color="#777777", linewidth=0.9, linestyle=":", zorder=0)


def over_replications(values: xr.DataArray) -> tuple[Any, Any]:
    """Return the mean over replications and the ends of its 95 % interval, None where there is one replication."""
    from evenhand.simulation.measures import mean_and_ends

    mean, *ends = mean_and_ends(values)
    return mean, ends if values.sizes["replication"] > 1 else None


def rounds_label(history: xr.Dataset, over: str = "mean") -> str:
    """Return the name of the axis of rounds: what a line stands for where there are several replications, and what its
    band does."""
    runs = history.sizes["replication"]
    band = f", {BAND}" if over == "mean" else ""
    return "round" if runs == 1 else f"round ({over} of {runs} replications{band})"


def bars(axes: Axes, heights: dict[str, Any], marks: dict[str, Any]) -> Any:
    """Draw a group of bars for each position, one bar a name, and a line at each of one or two kinds of marks; return
    the positions.

    Where the bars would be too thin to be told apart, dots stand in their place.
    """
    width = 0.8 / len(heights)
    across = np.arange(len(next(iter(heights.values()))))
    thin = len(heights) > 1 and len(heights) * len(across) > BARS
    for i, (name, look) in enumerate(looks(list(heights)).items()):
        at = across - 0.4 + width * (i + 0.5)
        if thin:
            axes.plot(at, heights[name], label=name, **{**look, "linestyle": "", "markersize": 4.5})
        else:
            colors = {"facecolor": look["color"], "edgecolor": "white", "alpha": 0.75}
            hollow = {"facecolor": "white", "edgecolor": look["color"]}
            dressed = {"hatch": HATCHES[i % 6], **(hollow if i % MOST >= len(HATCHES) else colors)}
            axes.bar(at, heights[name], width, label=name, **dressed)
    for (name, levels), drawn in zip(marks.items(), ("solid", "dotted"), strict=False):
        order = 1.0 if thin else 2.0  # a dot on its mark is seen
        line: dict[str, Any] = {"linewidth": 2.0, "linestyle": drawn, "zorder": order}
        axes.hlines(levels, across - 0.45, across + 0.45, "black", label=name, **line)
    axes.set_ylim(bottom=0.0)
    axes.grid(axis="x", visible=thin)
    return across


def name_arms(axes: Axes, across: Any, arms: list[Any]) -> None:
    """Write the arms below their positions, of very many every second, third, ..."""
    labels = [plain(text, 24) for text in label_texts(arms)]
    crowded = len(labels) > 12 or max(map(len, labels)) > 6
    every = -(-len(labels) // NAMED)
    axes.set_xticks(across[::every], labels[::every], rotation=90 if crowded else 0, fontsize=8 if crowded else 9)
    axes.set_xlim(-0.6, len(labels) - 0.4)


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
    axes.set_title(_wrapped(title, axes), loc="left", fontsize=10.5, wrap=True)
    axes.set_xlabel(_wrapped(across, axes))
    axes.set_ylabel(up)
    if legend:
        place_legend(axes)
    return axes


def _wrapped(text: str, axes: Axes) -> str:
    """Return a text in lines that are no longer than the axes are wide."""
    figure: Any = axes.get_figure(root=True)
    signs = max(16, int(SIGNS * axes.get_position().width * figure.get_figwidth()))
    return "\n".join(
        fill(line, min(signs, len(line) // -(-len(line) // signs) + 8)) for line in text.split("\n") if line
    )


def log_counts(axes: Axes) -> None:
    """Put counts on a logarithmic axis, with ticks at 1, 2, 5, 10, ...: two or three decades stay readable."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(NullFormatter())


def place_legend(axes: Axes) -> None:
    """Put the legend beside the axes where the figure's layout makes room for it, below them where other panels have
    the same, otherwise inside them."""
    if not (named := _named(axes)):
        return
    figure: Any = axes.get_figure(root=True)
    beside = figure.get_layout_engine() is not None
    if beside and sum(_named(one) == named for one in figure.axes) > 1:
        one_legend(figure)
        return
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if beside else {"loc": "best"}
    with style():
        axes.legend(fontsize=8.5, handlelength=3.0, **place)


def _named(axes: Axes) -> list[tuple[str, type]]:
    handles, labels = axes.get_legend_handles_labels()
    return [(label, type(handle)) for label, handle in zip(labels, handles, strict=True)]


def one_legend(figure: Figure, columns: int = 4, *, without: Collection[str] = ()) -> None:
    """Put one legend below all panels in place of one in each, without these labels, in rows of equal length."""
    for old in [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]:
        old.remove()
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    shown = {label: handle for label, handle in found.items() if label not in without}
    if shown:
        with style():
            rows = -(-len(shown) // columns)
            place: dict[str, Any] = {"loc": "outside lower center", "ncols": -(-len(shown) // rows)}
            figure.legend(shown.values(), shown.keys(), fontsize=8.5, handlelength=3.0, **place)
