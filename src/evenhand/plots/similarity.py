"""Pictures of similar treatment, drawn from histories; nothing is computed here but means
over replications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.plots.axes import axes_of, name_ends, one_of, panels_of, short
from evenhand.plots.style import SHADES, curve, finish, looks, over_replications, rounds_label, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {
    "regret": ("Regret to the best fair policy", "cumulative regret (expected reward)"),
    "violations": ("Pairs treated more differently than distance + epsilon", "violations, cumulative (pairs)"),
    "violations_above_zero": ("Pairs treated more differently than their distance", "violations, cumulative (pairs)"),
}
WIDE = 100.0
"""From here on a logarithmic axis shows more than a linear one."""


def plot_total(history: Any, variable: str, *, log: bool = False, ax: Axes | None = None) -> Axes:
    """Draw a cumulative variable over time for each policy: mean over replications, band of its 95 %
    interval.

    Lines are named at their ends, with their last means. With `log`, rounds are on a logarithmic axis, and so is the
    variable where it grows beyond 100.
    """
    one_of("variable", variable, history.data_vars)
    axes = axes_of(ax)
    means = history[variable].mean("replication")
    counts = variable != "regret"
    looked = looks([str(name) for name in history.policy.values])
    rounds = history["round"].values
    with style():
        for name, look in looked.items():
            middle, band = over_replications(history[variable].sel(policy=name))
            least = 0.0 if counts else -np.inf
            curve(axes, rounds, middle, band, look, least=least, markevery=max(1, len(rounds) // 8))
        if log:
            axes.set_xscale("log")
            _widen(axes, means.values)
        elif counts:
            axes.set_ylim(bottom=0.0)
        ends = {name: float(means.sel(policy=name)[-1]) for name in looked}
        texts = {name: f"{name}: {short(end)}" for name, end in ends.items()}
        name_ends(axes, texts, ends, looked)
        title, up = NAMES.get(variable, (variable, variable))
        return finish(axes, title, rounds_label(history), up, legend=False)


def plot_chances(values: Any, chances: Any, feature: str, *, ax: Axes | None = None) -> Axes:
    """Draw the chance of each person over a feature (n,)."""
    axes = axes_of(ax)
    with style():
        axes.plot(values, 100.0 * np.asarray(chances), ".", color=SHADES[0], markersize=4, alpha=0.4)
        axes.set_ylim(bottom=0.0)
        return finish(axes, f"Chance of a place by {feature}", feature, "chance (%)", legend=False)


def _widen(axes: Axes, means: Any) -> None:
    """Make the values' axis logarithmic where they are large, without decades in which nothing is drawn."""
    if np.abs(means).max() <= WIDE:
        return
    if means.min() > 0:
        axes.set_yscale("log")
        axes.set_ylim(bottom=means.min() / 2)
        return
    ends = np.abs(means[..., -1])
    linear = min(WIDE, 10.0 ** np.floor(np.log10(ends[ends > 1].min())))
    axes.set_yscale("symlog", linthresh=linear)
    if means.min() >= 0:
        axes.set_ylim(bottom=-linear / 10)  # a line at zero is seen


def plot_violations(histories: dict[tuple[int, int], Any], *, ax: object = None) -> Figure:
    """Draw violations over time, one panel per dimension and one line per number of individuals; return the figure.

    Parameters
    ----------
    histories : the histories, by dimension and number of individuals.
    ax : as many axes as there are dimensions; without them the picture has a figure of its own.
    """
    dimensions = sorted({d for d, _ in histories})
    panels = panels_of(ax, len(dimensions), width=3.4 * len(dimensions), height=3.4)
    with style():
        for d, axes in zip(dimensions, panels, strict=True):
            sizes = sorted(k for own, k in histories if own == d)
            looked, ends = dict(zip(sizes, looks([str(k) for k in sizes]).values(), strict=True)), {}
            for k, look in looked.items():
                counts, band = over_replications(histories[d, k].violations.isel(policy=0))
                rounds = counts["round"].values
                curve(axes, rounds, counts, band, look, least=0.0, markevery=max(1, len(rounds) // 6))
                ends[k] = float(counts[-1])
            axes.set_xscale("log")
            axes.set_ylim(bottom=0.0)
            texts = {k: f"k = {k}" for k in sizes}
            name_ends(axes, texts, ends, looked)
            up = "violations above epsilon (pairs)" if axes is panels[0] else ""
            finish(axes, f"{d} features, k individuals", rounds_label(histories[d, k]), up, legend=False)
    return panels[0].get_figure(root=True)  # type: ignore[return-value]
