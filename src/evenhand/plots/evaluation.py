"""Pictures of evaluations: values with their intervals, arms' shares of a log beside a policy's probabilities, and the
effects of arms beside their allocation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.plots.axes import axes_of, check_finding, mark_limit, panels_of
from evenhand.plots.studies import plot_course
from evenhand.plots.style import DASHED, HEIGHT, SHADES, WIDTH, bars, finish, log_counts, looks, name_arms, plain, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenhand.evaluation import Comparison, Effects, Evaluation


def plot_evaluation(found: Evaluation | Comparison, *, at_least: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the value of one policy or several with intervals over the rows of the log, and the value `at_least`; where
    the propensities are refuted, without the intervals, which rest on them."""
    from evenhand.evaluation import Comparison

    several = found.evaluations if isinstance(found, Comparison) else {"": found}
    check_finding("found", next(iter(several.values())), "curve", "what eh.evaluate returns")
    axes = axes_of(ax)
    first = next(iter(several.values()))
    refuted = any(each.refuted for each in several.values())
    with style():
        # By the narrowest interval: a wide one would flatten the others, and may leave the picture.
        ceiling = 2.5 * min(max(each.high, each.value) for each in several.values())
        ceiling = max(ceiling, *(1.2 * each.value for each in several.values()), 1.1 * (at_least or 0.0), 1e-9)
        for place, ((name, each), look) in enumerate(zip(several.items(), looks(list(several)).values(), strict=True)):
            curve, line = each.curve, {**look, "marker": ""}
            value = "not identified" if each.value != each.value else f"{each.value:.4g}"
            interval = "" if refuted else f" [{each.low:.4g}, {each.high:.4g}]"
            axes.plot(curve["round"], curve["value"], **line, label=name or f"{each.estimator}: {value}{interval}")
            if refuted:
                continue
            if each.interval != "anytime":  # it holds at the last row alone; bars of several stand side by side
                at = curve["round"].iloc[-1] * 1.02**place
                axes.errorbar(at, each.value, [[each.value - each.low], [each.high - each.value]], capsize=3, **look)
                continue
            axes.fill_between(curve["round"], curve["low"], curve["high"], color=look["color"], alpha=0.12, linewidth=0)
            for end in ("low", "high"):  # edges show two intervals where their areas cover each other
                axes.plot(curve["round"], curve[end], **{**line, "linewidth": 0.8})
        if at_least is not None:
            mark_limit(axes, at_least, "wanted")
        axes.set_ylim(0.0, ceiling)
        log_counts(axes)
        _from_where_something_is_known(axes, [each.curve for each in several.values()], ceiling)
        title = f"Value, with an interval that holds with probability {first.level:g}"
        title = "Value without an interval: the propensities cannot be true" if refuted else title
        return finish(axes, title, f"{first.counted} so far", "reward per round")


def _from_where_something_is_known(axes: Axes, curves: list[pd.DataFrame], ceiling: float) -> None:
    """Leave out the first rows, in which every interval is wider than the picture is high."""
    starts = [curve.loc[curve["high"] <= ceiling, "round"].min() for curve in curves]
    starts = [start for start in starts if start == start]
    if starts:
        axes.set_xlim(left=max(float(curves[0]["round"].min()), min(starts) / 3))


def plot_overlap(found: Evaluation, *, ax: Axes | None = None) -> Axes:
    """Draw each arm's share of the log beside its probability under the policy."""
    check_finding("found", found, "weights", "what eh.evaluate returns for one policy")
    axes = axes_of(ax)
    weights = found.weights
    with style():
        heights = {"share of the log": weights["share"].to_numpy(), "policy": weights["probability"].to_numpy()}
        across = bars(axes, heights, {})
        name_arms(axes, across, weights["arm"].tolist())
        return finish(axes, "What the log tried and what the policy plays", "arm", "share of the rounds")


def plot_effects(found: Effects, *, ax: Any = None) -> Figure:
    """Draw each arm's difference from the control with its interval, or at any time its e-value, and beside it each
    arm's share of the decisions over time; return the figure."""
    check_finding("found", found, "course", "what eh.effects returns")
    left, right = panels_of(ax, 2, width=2 * WIDTH, height=HEIGHT)
    arms = found.arms.iloc[1:]
    at, middle = np.arange(len(arms)), arms["e_value" if found.anytime else "difference"]
    with style():
        ends = None if found.anytime else [middle - arms["low"], arms["high"] - middle]
        left.errorbar(middle, at, xerr=ends, fmt="o", color=SHADES[0], capsize=3)
        left.axvline(1 / found.alpha if found.anytime else 0.0, **DASHED)
        left.set_yticks(at, [plain(arm, 24) for arm in arms["arm"]])
        left.set_ylim(len(arms) - 0.5, -0.5)
        against, level = plain(found.control, 24), f"{100 * (1 - found.alpha):g} % intervals"
        if found.anytime:
            left.set_xscale("log")
        what = "e-value" if found.anytime else f"difference in rate; lines: {level}, each for its arm alone"
        finish(left, f"Against {against}", what, "", legend=False)
    plot_course(found.course.index, found.course.div(found.course.index, axis=0), list(found.course.columns), ax=right)
    return left.get_figure(root=True)  # type: ignore[return-value]
