"""Means against what was varied, with the bands of their intervals, as a table has them; nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.plots.axes import axes_of
from evenhand.plots.style import BAND, curve, finish, looks, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def plot_means(
    table: pd.DataFrame, x: str, by: str, *, of: str, title: str, across: str, up: str, ax: Axes | None = None
) -> Axes:
    """Draw a line for each value of the column `by`.

    Parameters
    ----------
    table : columns x, by, mean, low, high, and `of`, which is named for what the mean is taken over and has its number.
    title, across, up : labels.
    """
    axes, several = axes_of(ax), int(table[of].max())
    with style():
        for name, look in looks(list(dict.fromkeys(table[by]))).items():
            own = table[table[by] == name].sort_values(x)
            ends = (own["low"], own["high"]) if several > 1 else None
            curve(axes, own[x], own["mean"], ends, look, label=name, markevery=max(1, len(own) // 8))
        return finish(axes, title, f"{across} (mean of {several} {of}, {BAND})" if several > 1 else across, up)
