"""Pictures of a collection: its mixture and its groups' risks over the rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.labels import label_texts
from evenhand.plots.axes import panels_of, require_columns
from evenhand.plots.style import HATCHES, finish, looks, plain, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SHOWN = 6
"""How many groups have a look of their own."""


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
    labels = [*texts, f"{others} other group{'s' * (others != 1)}"]
    colors = [*(way["color"] for way in ways), "#bbbbbb"]
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
