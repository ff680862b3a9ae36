"""Pictures of similar treatment: a history in, a figure out; nothing is computed here but means over replications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.plots.style import curve, figure, finish, looks, over_replications, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_total", "plot_violations"]

NAMES = {
    "regret": "Regret to the best fair policy",
    "violations": "Pairs treated more differently than distance + epsilon",
    "violations_above_zero": "Pairs treated more differently than their distance",
}


def plot_total(history: Any, variable: str, *, log: bool = False) -> Figure:
    """Draw a cumulative variable over time for each policy: mean over replications, band of two standard errors."""
    drawn, axes = figure()
    rounds = history["round"].values
    with style():
        for name, look in looks([str(name) for name in history.policy.values]).items():
            middle, error = over_replications(history[variable].sel(policy=name))
            curve(axes, rounds, middle, error, look, label=name, markevery=max(1, len(rounds) // 8))
        if log:
            axes.set_xscale("log")
            axes.set_yscale("symlog", linthresh=1.0)
        finish(axes, NAMES.get(variable, variable), "round", "so far")
    return drawn


def plot_violations(histories: dict[tuple[int, int], Any]) -> Figure:
    """Draw violations over time, a panel a dimension and a line a number of individuals."""
    dimensions = sorted({d for d, _ in histories})
    drawn, panels = figure(width=3.6 * len(dimensions), columns=len(dimensions))
    with style():
        for d, axes in zip(dimensions, np.atleast_1d(panels), strict=True):
            sizes = sorted(k for own, k in histories if own == d)
            for k, look in zip(sizes, looks([str(k) for k in sizes]).values(), strict=True):
                counts = histories[d, k].violations.isel(policy=0).mean("replication")
                rounds = counts["round"].values
                axes.plot(rounds, counts, label=f"k = {k}", markevery=max(1, len(rounds) // 6), **look)
            axes.set_xscale("log")
            finish(axes, f"Violations above epsilon, d = {d}", "round", "so far")
    return drawn
