"""Names beside the ends of lines: they tell lines apart that a legend cannot, where several run together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.06
"""Between two texts, in heights of the picture."""


def name_ends(axes: Axes, texts: Mapping[Any, str], ends: Mapping[Any, float], colors: Mapping[Any, str]) -> None:
    """Write each text to the right of the axes at the height where its line ends, none over another.

    Set the scale and the limits of the axes first.
    """
    points = axes.transData.transform([(1.0, float(ends[name])) for name in texts])
    heights = np.clip(axes.transAxes.inverted().transform(points)[:, 1], 0.0, 1.0)
    places = dict(zip(texts, heights.tolist(), strict=True))
    at = -1.0
    for left, name in zip(range(len(places), 0, -1), sorted(places, key=lambda name: places[name]), strict=True):
        at = max(at + GAP, min(places[name], 1.0 - GAP * (left - 1)))
        axes.annotate(
            texts[name],
            (1.0, places[name]),
            xytext=(1.04, at),
            xycoords="axes fraction",
            va="center",
            fontsize=8.5,
            color=colors[name],
            arrowprops={
                "arrowstyle": "-",
                "relpos": (0.0, 0.5),
                "shrinkA": 1,
                "shrinkB": 1,
                "color": colors[name],
                "linewidth": 0.6,
            },
        )


def short(value: float) -> str:
    """Return a number as it is read in a picture.

    >>> short(121345.6), short(0.013579), short(-2.5)
    ('121,346', '0.0136', '-2.5')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
