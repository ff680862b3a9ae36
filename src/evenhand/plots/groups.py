"""Pictures of groups and bias, drawn from tables and histories; nothing is computed here but means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.labels import label_texts
from evenhand.plots.axes import axes_of, check_finding, check_history, in_panels, require_columns
from evenhand.plots.style import DASHED, SHADES, bars, finish, looks, name_arms, plain, style

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from evenhand.audit import Parity, Rates

LABEL = 30
"""Signs of a label that are shown."""


def plot_bias(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the bias of each group, feature by feature, with its confidence interval; in units of the features'
    standard deviations where the table holds these, so that features with different units can be compared. The axis
    says the level of the intervals and what they are of, as far as the table's `attrs` do.

    Parameters
    ----------
    table : what `GroupFairTopInterval.bias` or `TableArms.bias` returns.
    """
    columns = ("group", "feature", "bias", "low", "high", "reference")
    table = require_columns("table", table, columns, "what the policy's bias() returns")
    axes = axes_of(ax)
    unit = "standard deviation" if "deviation" in table else "unit"
    groups, features = list(dict.fromkeys(table["group"])), list(dict.fromkeys(table["feature"]))
    with style():
        undetermined = False
        for i, (group, (text, look)) in enumerate(zip(groups, looks(label_texts(groups)).items(), strict=True)):
            own = table[[label == group for label in table["group"]]]
            scale = own.get("deviation", 1.0)
            at = np.array([features.index(f) for f in own["feature"]]) + 0.25 * (i - (len(groups) - 1) / 2)
            known, middle = np.isfinite(own["low"].to_numpy()), own["bias"].fillna(0.0) * scale
            ends = [(abs(own[end] - own["bias"]) * scale).where(known, 0.0) for end in ("low", "high")]
            marks = {"color": look["color"], "marker": look["marker"], "label": plain(text, LABEL)}
            axes.errorbar(middle, at, xerr=ends, linestyle="none", capsize=3, markersize=5, **marks)
            if not known.all():
                once = None if undetermined else "no interval"
                axes.plot(middle[~known], at[~known], "x", color="black", label=once)
                undetermined = True
        axes.axvline(0.0, **DASHED)
        axes.set_yticks(range(len(features)), [plain(feature, LABEL) for feature in features])
        axes.set_ylim(len(features) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        reference = ", ".join(plain(r, LABEL) for r in dict.fromkeys(table["reference"]))
        level, said = table.attrs.get("level"), table.attrs.get("intervals", "")
        lines = f"{100 * level:g} % intervals {said}" if level else "intervals of a level that the table does not say"
        across = f"reward per {unit} of the feature" + f"; lines: {lines}" * bool(np.isfinite(table["low"]).any())
        return finish(axes, f"Bias, compared with {reference}", across, "feature")


def plot_parity(finding: Parity | Rates, *, ax: Axes | None = None) -> Axes:
    """Draw what `eh.audit.parity` or `eh.audit.rates` found as bars with their intervals for one look: with `given` the
    difference, what the features explain of it and what they do not; else each group's difference from all others; of
    rates each group's ratio to the best group's, beside the threshold."""
    check_finding("finding", finding, "bars", "what eh.audit.parity or eh.audit.rates returns")
    axes, (title, across, limit, rows) = axes_of(ax), finding.bars()
    at = np.arange(len(rows))
    values, lows, highs = np.array([row[2:] for row in rows], np.float64).T
    ends = np.maximum([values - lows, highs - values], 0.0)
    with style():
        axes.barh(at, values, 0.6, color=SHADES[0], alpha=0.75)
        axes.errorbar(values, at, xerr=np.where(np.isinf(ends), np.nan, ends), fmt="none", ecolor="black", capsize=3)
        axes.axvline(limit, **DASHED)
        axes.set_yticks(at, [plain(row[0], 2 * LABEL) for row in rows])
        beside = axes.secondary_yaxis("right")
        beside.set_yticks(at, [row[1] for row in rows])
        beside.tick_params(length=0)
        beside.spines["right"].set_visible(False)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.xaxis.set_major_formatter("{x:,.6g}")
        return finish(axes, title, f"{across}; lines: {100 * finding.level:g} % intervals", "", legend=False)


def plot_group_share(
    history: xr.Dataset, *, facet: str | None = None, legend: bool = True, title: str | None = None, ax: object = None
) -> Axes:
    """Draw each group's share of the plays at the end beside its share of the arms: mean over replications; with a
    `facet` as in `plot_regret`."""
    check_history(history, "group_share", "arm_share")

    def draw(shown: xr.Dataset, axes: Axes) -> None:
        means = shown.group_share.isel(round=-1).mean("replication")
        shares = {str(name): means.sel(policy=name).values for name in shown.policy.values}
        across = bars(axes, shares, {"share of the arms": shown.arm_share.values})
        name_arms(axes, across, shown.group.values.tolist())
        axes.set(xlabel="group", ylabel="share of the plays")

    title = "Shares of the plays against shares of the arms" if title is None else title
    return in_panels(history, "group_share", facet, draw, within="group", title=title, legend=legend, ax=ax)
