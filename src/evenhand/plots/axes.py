"""Where a picture is drawn: into the axes that are given, otherwise into the current ones of pyplot; checks of its data
before anything is drawn; and names beside the ends of lines, which tell lines apart that a legend cannot.

A figure that evenhand opens in pyplot holds one picture: the next picture opens a figure of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import ArgumentError, expected, expected_one_of
from evenhand.frames import as_pandas, is_frame
from evenhand.labels import label_texts
from evenhand.plots.style import DASHED, HEIGHT, MOST, WIDTH, finish, one_legend, plain, style

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

DIMENSIONS = ("policy", "replication", "round")
GAP = 0.06
"""Between two texts, in heights of the picture."""


def axes_of(ax: object) -> Axes:
    """Return the axes to draw in: `ax`, or the current axes.

    Raises
    ------
    ArgumentError
        If what is given is not the axes of a two-dimensional plot.
    """
    return _checked(_current() if ax is None else ax)


def panels_of(ax: object, count: int, *, width: float, height: float, columns: int | None = None) -> list[Axes]:
    """Return the axes of a picture of several panels: those given, otherwise those of a new figure, with so many in a
    row.

    Raises
    ------
    ArgumentError
        If `ax` is not a sequence of that many axes.
    """
    if ax is None:
        across = columns or count
        opened = np.ravel(_opened(width, height, across, -(-count // across)))
        for empty in opened[count:]:
            empty.remove()
        return list(opened[:count])
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) != count:
        hint = f"draw into the axes of plt.subplots(1, {count}), or leave out ax"
        raise ArgumentError(expected("ax", f"a sequence of {count} axes", ax, hint))
    return [_checked(one) for one in given]


def in_panels(
    history: xr.Dataset,
    variable: str,
    facet: str | None,
    draw: Callable[[xr.Dataset, Axes], object],
    *,
    within: str = "",
    title: str,
    legend: bool,
    ax: object,
) -> Axes:
    """Draw a history into one picture, or into a panel for each value of the dimension `facet` of its variable, with
    one legend; return the axes, of panels the first. The dimension `within` is drawn inside each.

    Raises
    ------
    ArgumentError
        If the variable has another dimension, lacks that of the facet, or has more policies than are told apart.
    """
    _check_dimensions(history, variable, facet, within)
    if facet is None:
        axes = axes_of(ax)
        with style():
            draw(history, axes)
            return finish(axes, title, axes.get_xlabel(), axes.get_ylabel(), legend=legend)
    count = history.sizes[facet]
    columns = min(3, count)
    size = {"width": 0.6 + 3.1 * columns, "height": 1.0 + 2.5 * -(-count // columns)}
    panels = panels_of(ax, count, **size, columns=columns)
    with style():
        values = history[facet].values.tolist()
        for place, (axes, value, text) in enumerate(zip(panels, values, label_texts(values), strict=True)):
            draw(history.isel({facet: [place] if facet == "policy" else place}), axes)
            last, first = ax is not None or place + columns >= count, ax is not None or place % columns == 0
            labels = axes.get_xlabel() * last, axes.get_ylabel() * first
            heading = plain(text, 24) if isinstance(value, str) else f"{facet} {plain(text, 24)}"  # a name, or a number
            finish(axes, heading, *labels, legend=False)
        lows, highs = zip(*(axes.get_ylim() for axes in panels), strict=True)
        for axes in panels:
            axes.set_ylim(min(lows), max(highs))
        figure: Any = panels[0].get_figure(root=True)
        if ax is None:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10.5)
        if legend:
            one_legend(figure, without=[str(name) for name in history.policy.values] if facet == "policy" else ())
    return panels[0]


def _check_dimensions(history: xr.Dataset, variable: str, facet: str | None, within: str) -> None:
    beside = [str(name) for name in history[variable].dims if name not in ("replication", "round", within)]
    if facet is not None:
        one_of("facet", facet, beside)
    if several := [name for name in beside if name not in ("policy", facet)]:
        what = f"{several[0]!r}, as {variable} has a value for each"
        raise ArgumentError(expected("facet", what, facet, "or pick one of its values with history.isel"))
    if facet != "policy" and (many := history.sizes["policy"]) > MOST:
        hint = "draw a panel for each with facet='policy', or pick some with history.sel(policy=[...])"
        raise ArgumentError(expected("history", f"at most {MOST} policies in one picture", many, hint))


def one_of(name: str, given: object, known: Iterable[Any]) -> None:
    """Refuse an argument that is none of the known names.

    Raises
    ------
    ArgumentError
        If it is none of them.
    """
    names = [str(one) for one in known]
    if given not in names:
        raise ArgumentError(expected_one_of(name, names, given))


def _checked(given: object) -> Axes:
    from matplotlib.axes import Axes

    if not isinstance(given, Axes) or given.name != "rectilinear":
        hint = "draw into one of the axes of plt.subplots(), or leave out ax"
        raise ArgumentError(expected("ax", "the axes of a two-dimensional plot", given, hint))
    return given


def _current() -> Axes:
    """Return pyplot's current axes, or new ones where the current figure holds a picture of ours."""
    import matplotlib.pyplot as plt

    from evenhand.plots.shown_figure import ShownFigure

    if not plt.get_fignums():
        return _opened()
    current = plt.gcf()
    if isinstance(current, ShownFigure) and any(axes.has_data() for axes in current.axes):
        return _opened()
    with style():
        return plt.gca()


def _opened(width: float = WIDTH, height: float = HEIGHT, columns: int = 1, rows: int = 1) -> Any:
    """Open a figure in pyplot and return its axes; where nothing can be shown, close the picture before it."""
    import matplotlib.pyplot as plt

    from evenhand.plots.shown_figure import ShownFigure

    if plt.get_fignums() and isinstance(plt.gcf(), ShownFigure) and plt.get_backend().lower() == "agg":
        plt.close()
    figure = plt.figure(figsize=(width, height), dpi=110, layout="constrained", FigureClass=ShownFigure)
    with style():  # not around plt.figure, which sets up a notebook's display: leaving the style would undo that
        return figure.subplots(rows, columns)


def check_history(history: object, *variables: str) -> None:
    """Refuse what is no history of `eh.simulate` with these variables.

    Raises
    ------
    ArgumentError
        If it is something else, lacks a variable, or a policy or replication was picked so that its dimension is gone.
    """
    import xarray as xr

    if not isinstance(history, xr.Dataset):
        raise ArgumentError(expected("history", "what eh.simulate returns", history))
    for name in DIMENSIONS:
        if name not in history.dims:
            hint = "pick with a list, such as history.sel(policy=['a']); the picture takes the mean over replications"
            raise ArgumentError(expected("history", f"the dimension {name!r}", list(history.dims), hint))
    for name in variables:
        if name not in history:
            raise ArgumentError(expected("history", f"a simulation that records {name!r}", list(history.data_vars)))


def check_finding(name: str, given: object, attribute: str, what: str) -> None:
    """Refuse an object without what the picture shows; `what` says which call returns one.

    Raises
    ------
    ArgumentError
        If it lacks the attribute.
    """
    if not hasattr(given, attribute) or is_frame(given):
        raise ArgumentError(expected(name, what, given))


def require_columns(name: str, frame: object, columns: Sequence[str], what: str) -> pd.DataFrame:
    """Return a table that has the columns of the picture.

    Raises
    ------
    ArgumentError
        If it is none, or lacks a column.
    """
    table = as_pandas(frame, name) if is_frame(frame) else None
    if table is None or not set(columns) <= set(table.columns):
        raise ArgumentError(expected(name, what, frame if table is None else list(table.columns)))
    return table


def name_ends(axes: Axes, texts: Mapping[Any, str], ends: Any, looked: Mapping[Any, dict[str, Any]]) -> None:
    """Write each text to the right of the axes at the height where its line ends, none over another, in the colour of
    the line; a picture of one panel becomes higher for many.

    Set the scale and the limits of the axes first.
    """
    gap = min(GAP, 1.0 / max(1, len(texts)))
    figure: Any = axes.get_figure(root=True)
    if gap < GAP and len(figure.axes) == 1:
        figure.set_figheight(figure.get_figheight() * GAP / gap)
    points = axes.transData.transform([(1.0, float(ends[name])) for name in texts])
    heights = np.clip(axes.transAxes.inverted().transform(points)[:, 1], 0.0, 1.0)
    places = dict(zip(texts, heights.tolist(), strict=True))
    at = -1.0
    for left, name in zip(range(len(places), 0, -1), sorted(places, key=lambda name: places[name]), strict=True):
        at = max(at + gap, min(places[name], 1.0 - gap * (left - 1)))
        color = looked[name]["color"]
        arrow = {"arrowstyle": "-", "relpos": (0.0, 0.5), "shrinkA": 1, "shrinkB": 1, "color": color, "linewidth": 0.6}
        written: dict[str, Any] = {"va": "center", "fontsize": 8.5, "color": color, "arrowprops": arrow}
        axes.annotate(texts[name], (1.0, places[name]), xytext=(1.04, at), xycoords="axes fraction", **written)


def mark_limit(axes: Axes, limit: float, text: str = "from this line on the promise is broken") -> None:
    """Draw a level, with what it means above its right end."""
    axes.axhline(limit, **DASHED)
    place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "xytext": (0, 3)}
    white = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6}
    axes.annotate(text, (0.99, limit), ha="right", va="bottom", fontsize=8, bbox=white, **place)


def short(value: float) -> str:
    """Return a number as it is read in a picture.

    >>> short(121345.6), short(0.013579), short(-2.5)
    ('121,346', '0.0136', '-2.5')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
