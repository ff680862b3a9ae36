"""Pictures of evaluations: values with their intervals, and what a log tried beside what a policy plays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.plots.axes import axes_of
from evenhand.plots.style import DASHED, bars, finish, looks, name_arms, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenhand.evaluation import Comparison, Evaluation

__all__ = ["plot_evaluation", "plot_overlap"]


def plot_evaluation(
    found: Evaluation | Comparison,
    axes: Axes | None = None,
    *,
    at_least: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the value and its interval over the rows of the log, of one policy or of several, and the value wanted."""
    axes = axes_of(ax, axes)
    several = getattr(found, "evaluations", None) or {"": found}
    first = next(iter(several.values()))
    with style():
        for (name, each), look in zip(several.items(), looks(list(several)).values(), strict=True):
            curve = each.curve
            label = name or f"{each.estimator}: {each.value:.4g} [{each.low:.4g}, {each.high:.4g}]"
            axes.plot(curve["round"], curve["value"], **{**look, "marker": ""}, label=label)
            axes.fill_between(curve["round"], curve["low"], curve["high"], color=look["color"], alpha=0.15, linewidth=0)
        if at_least is not None:
            axes.axhline(at_least, **DASHED)
            axes.annotate("wanted", (0.01, at_least), xycoords=("axes fraction", "data"), va="bottom", fontsize=8)
        top = 2.5 * max(max(each.high, each.value) for each in several.values())
        axes.set_ylim(0.0, max(top, 1.1 * (at_least or 0.0), 1e-9))
        axes.set_xscale("log")
        title = f"Value, with an interval that holds with probability {first.level:g}"
        return finish(axes, title, "round" if first.estimator == "replay" else "row of the log", "mean reward a round")


def plot_overlap(found: Evaluation, axes: Axes | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw each arm's share of the log beside its probability under the policy."""
    axes = axes_of(ax, axes)
    weights = found.weights
    with style():
        heights = {"share of the log": weights["share"].to_numpy(), "policy": weights["probability"].to_numpy()}
        across = bars(axes, heights, None, "")
        name_arms(axes, across, weights["arm"].tolist())
        return finish(axes, "What the log tried, and what the policy plays", "arm", "share of the rounds")
