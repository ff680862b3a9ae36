"""Pictures of a collection: its mixture and its worst-off group over the rounds; means over trials, bands of their 95 %
intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.labels import label_texts
from evenhand.plots.axes import axes_of, panels_of, require_columns
from evenhand.plots.style import BAND, DASHED, HATCHES, curve, finish, looks, plain, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 6
"""How many groups have a look of their own."""


def over_trials(frame: pd.DataFrame, value: str, by: str = "scheme") -> pd.DataFrame:
    """Return the mean over trials in each round, with its standard error and its interval of the level beside it."""
    from scipy.stats import t

    grouped = frame.groupby([by, "round"], sort=False)[value]
    found = grouped.agg(mean="mean", standard_error="sem", trials="size").reset_index()
    half = t.ppf(0.975, np.maximum(1, found["trials"] - 1)) * found["standard_error"]
    return found.assign(low=found["mean"] - half, high=found["mean"] + half, level=0.95)


def _curves(axes: Axes, frame: pd.DataFrame, value: str, title: str, up: str, by: str = "scheme") -> Axes:
    found = over_trials(frame, value, by)
    for name, look in looks(list(dict.fromkeys(found[by]))).items():
        own = found[found[by] == name]
        half = (own["high"] - own["mean"]).fillna(0.0)
        curve(axes, own["round"], own["mean"], half, look, label=name, markevery=max(1, len(own) // 8))
    trials = found["trials"].max()
    across = f"round (mean of {trials} trials, {BAND})" if trials > 1 else "round"
    return finish(axes, title, across, up)


def plot_mixture(frame: pd.DataFrame, *, group: object, fair: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw a group's share of the training rows over the rounds, and the fair mixture's share as a line.

    `frame` has the columns `scheme`, `trial`, `round`, `group`, `share`.
    """
    axes = axes_of(ax)
    with style():
        if fair is not None:
            axes.axhline(fair, **DASHED, label="fair mixture")
        axes.set_ylim(0, 1)
        title = f"Share of group {group} in the training set"
        return _curves(axes, frame[frame["group"] == group], "share", title, f"share of group {group}")


def plot_shares(frame: pd.DataFrame, *, scheme: str, ax: Axes | None = None) -> Axes:
    """Draw each group's share of the training rows over the rounds of one scheme; `frame` as of `plot_mixture`."""
    axes = axes_of(ax)
    mine = frame[frame["scheme"] == scheme]
    with style():
        axes.set_ylim(0, 1)
        return _curves(axes, mine, "share", f"Mixture of the training set, {scheme}", "share of the rows", "group")


def plot_worst_risk(
    frame: pd.DataFrame, *, value: str = "test_risk", against: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the worst-off group's risk over the rounds.

    With `against`, draw by how much it is above the risk of that scheme in the same trial, which shows differences that
    are small compared with those between trials.
    """
    axes = axes_of(ax)
    title, up = "Risk of the worst-off group", "risk"
    if against is not None:
        title, up = f"Risk above that of {against}", "difference of risks"
    with style():
        return _curves(axes, worst_risks(frame, value, against), value, title, up)


def worst_risks(frame: pd.DataFrame, value: str = "test_risk", against: str | None = None) -> pd.DataFrame:
    """Return the worst group's risk for each scheme, trial and round, or how much it is above that of a scheme."""
    worst: Any = frame.groupby(["scheme", "trial", "round"], sort=False, as_index=False)[value].max()
    if against is None:
        return worst
    table = worst.pivot_table(index=["trial", "round"], columns="scheme", values=value, sort=False)
    return table.sub(table[against], axis=0).stack().rename(value).reset_index()


def plot_risk_curves(frame: pd.DataFrame, *, fair: float, title: str, ax: Axes | None = None) -> Axes:
    """Draw each group's risk against the first group's share of the training set, exact (lines) and measured (dots).

    `frame` has the columns `share`, `group`, `exact`, `measured`.
    """
    axes = axes_of(ax)
    names = list(dict.fromkeys(frame["group"]))
    with style():
        for name, look in looks(names).items():
            part = frame[frame["group"] == name]
            axes.plot(part["share"], part["exact"], label=f"group {name}", **{**look, "marker": ""})
            axes.plot(part["share"], part["measured"], **{**look, "linestyle": ""})
        axes.axvline(fair, **DASHED, label="fair mixture")
        return finish(axes, title, f"share of group {names[0]} in the training set", "risk")


def plot_collection(frame: pd.DataFrame, *, ax: object = None) -> Figure:
    """Draw one collection side by side: the mixture as stacked shares, and each group's validation risk, over the
    rounds; return the figure.

    Where there are many groups, the six with the highest or an unknown final risk are shown; the others share one area.

    Parameters
    ----------
    ax : two axes to draw in; without them the picture has a figure of its own.
    """
    columns = ("round", "group", "share", "risk")
    frame = require_columns("frame", frame, columns, "what eh.sampling.collect returns")
    left, right = panels_of(ax, 2, width=9.5, height=3.6)
    shares = frame.pivot_table(index="round", columns="group", values="share", sort=False)
    risks = frame.pivot_table(index="round", columns="group", values="risk", sort=False)
    risks = risks.reindex(index=shares.index, columns=shares.columns)  # a group without a known risk has a share
    worst = risks.iloc[-1].fillna(np.inf).sort_values(ascending=False, kind="stable").index[:SHOWN]
    shown = [group for group in shares.columns if group in worst]
    texts = [plain(text, 24) for text in label_texts(shown)]
    ways = list(looks(label_texts(shown)).values())
    others = len(shares.columns) - len(shown)
    stacked = shares[shown].assign(others=shares.drop(columns=shown).sum(axis=1)).T.to_numpy()
    labels, colors = (
        [*texts, f"{others} other group{'s' * (others != 1)}"],
        [*(way["color"] for way in ways), "#bbbbbb"],
    )
    parts = len(shown) + (others > 0)
    with style():
        stacks = left.stackplot(shares.index, stacked[:parts], labels=labels[:parts], colors=colors[:parts], alpha=0.75)
        for stack, hatch in zip(stacks, HATCHES * len(stacks), strict=False):
            stack.set_hatch(hatch)
            stack.set_edgecolor("white")
        left.set_ylim(0, 1)
        finish(left, "Mixture of the training set", "round", "share of the rows")
        for group, text, way in zip(shown, texts, ways, strict=True):
            label = text if risks[group].notna().any() else f"{text} (unknown)"
            right.plot(risks.index, risks[group], label=label, markevery=max(1, len(risks) // 8), **way)
        finish(right, "Validation risk by group", "round", "risk")
    return left.get_figure(root=True)  # type: ignore[return-value]
