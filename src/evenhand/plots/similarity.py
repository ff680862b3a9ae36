"""Pictures of similar treatment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.plots.axes import axes_of
from evenhand.plots.style import SHADES, finish, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_chances(values: Any, chances: Any, feature: str, *, ax: Axes | None = None) -> Axes:
    """Draw the chance of each person over a feature (n,)."""
    axes = axes_of(ax)
    with style():
        axes.plot(values, 100.0 * np.asarray(chances), ".", color=SHADES[0], markersize=4, alpha=0.4)
        axes.set_ylim(bottom=0.0)
        return finish(axes, f"Chance of a place by {feature}", feature, "chance (%)", legend=False)
