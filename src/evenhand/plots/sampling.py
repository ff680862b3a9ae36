"""Pictures of a collection: its mixture and its worst-off group over the rounds; means over trials, bands of two
standard errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.labels import label_texts
from evenhand.plots.axes import axes_of, panels_of, require_columns
from evenhand.plots.style import DASHED, HATCHES, curve, finish, looks, plain, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 6
"""How many groups have a look of their own."""


def _over_trials(axes: Axes, frame: pd.DataFrame, value: str) -> None:
    names = list(dict.fromkeys(frame["scheme"]))
    for name, look in looks(names).items():
        grouped = frame[frame["scheme"] == name].groupby("round")[value]
        mean, error = grouped.mean(), grouped.sem().fillna(0.0)
        curve(axes, mean.index, mean, error, look, label=name, markevery=max(1, len(mean) // 8))


def plot_mixture(frame: pd.DataFrame, *, group: object, fair: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw a group's share of the training rows over the rounds, and the fair mixture's share as a line.

    `frame` has the columns `scheme`, `trial`, `round`, `group`, `share`.
    """
    axes = axes_of(ax)
    with style():
        _over_trials(axes, frame[frame["group"] == group], "share")
        if fair is not None:
            axes.axhline(fair, **DASHED, label="fair mixture")
        axes.set_ylim(0, 1)
        title = f"Share of group {group} in the training set"
        return finish(axes, title, "round", f"share of group {group}")


def plot_shares(frame: pd.DataFrame, *, scheme: str, ax: Axes | None = None) -> Axes:
    """Draw each group's share of the training rows over the rounds of one scheme; `frame` as of `plot_mixture`."""
    axes = axes_of(ax)
    mine = frame[frame["scheme"] == scheme]
    with style():
        _over_trials(axes, mine.assign(scheme=mine["group"]), "share")
        axes.set_ylim(0, 1)
        return finish(axes, f"Mixture of the training set, {scheme}", "round", "share of the rows")


def plot_worst_risk(
    frame: pd.DataFrame, *, value: str = "test_risk", against: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the worst-off group's risk over the rounds.

    With `against`, draw by how much it is above the risk of that scheme in the same trial, which shows differences that
    are small compared with those between trials.
    """
    axes = axes_of(ax)
    worst: Any = frame.groupby(["scheme", "trial", "round"], sort=False, as_index=False)[value].max()
    title, up = "Risk of the worst-off group", "risk"
    if against is not None:
        table = worst.pivot_table(index=["trial", "round"], columns="scheme", values=value, sort=False)
        worst = table.sub(table[against], axis=0).stack().rename(value).reset_index()
        title, up = f"Risk above that of {against}", "difference of risks"
    with style():
        _over_trials(axes, worst, value)
        return finish(axes, title, "round", up)


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
