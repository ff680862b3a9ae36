"""Pictures of guaranteed shares: a history in, matplotlib axes out; nothing is computed here but means over
replications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.plots.axes import axes_of, one_of
from evenhand.plots.inputs import check_finding, check_history
from evenhand.plots.style import (
    DASHED,
    HATCHES,
    SHADES,
    bars,
    curve,
    finish,
    looks,
    name_arms,
    over_replications,
    style,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from evenhand.quotas import Audit

__all__ = ["plot_audit", "plot_cost", "plot_regret", "plot_shares", "plot_shortfall"]

STRETCHES = 50
"""Points of a line that goes up and down from one round to the next: more of them are a pattern that nobody reads."""


def _lines(history: xr.Dataset, variable: str, axes: Axes, *, over: str = "mean") -> None:
    names = [str(name) for name in history.policy.values]
    rounds = history["round"].values
    every = max(1, len(rounds) // 10)
    for offset, (name, look) in enumerate(looks(names).items()):
        values = history[variable].sel(policy=name)
        if bool(np.isnan(values).all()):
            continue
        middle, error = over_replications(values) if over == "mean" else (values.max("replication"), None)
        markers = offset * every // max(1, len(names)), every
        curve(axes, rounds, middle, error, look, label=name, markevery=markers)


def plot_regret(
    history: xr.Dataset,
    *,
    variable: str = "regret",
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw regret (or `variable="r_regret"`) over time: mean over replications, band of two standard errors."""
    check_history(history)
    one_of("variable", variable, history.data_vars)
    axes = axes_of(ax)
    with style():
        _lines(history, variable, axes)
        if log:
            axes.set_xscale("log")
        titles = {
            "regret": "Regret against the best arm",
            "r_regret": "Regret against the best policy that keeps the promise",
            "true_regret": "True regret: rewards without bias",
            "perceived_regret": "Perceived regret: rewards as observed",
        }
        return finish(axes, titles.get(variable, variable), "round", "expected reward lost")


def plot_shares(history: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Draw each arm's share of the rounds in which it was on offer beside its promised share, at the end: bars, dots
    where the bars are many."""
    check_history(history, "pulls")
    axes = axes_of(ax)
    last = history.isel(round=-1)
    on_offer = "offered" in history
    pulls = (last.pulls / (last.offered if on_offer else float(last["round"]))).mean("replication")
    promised = history.share.max("policy").values if "share" in history.coords else None
    with style():
        across = bars(axes, {str(n): pulls.sel(policy=n).values for n in history.policy.values}, promised, "promised")
        name_arms(axes, across, history.arm.values.tolist())
        title = (
            "Shares of the rounds"
            + (" on offer" if on_offer else "")
            + ("" if promised is None else " and promised shares")
        )
        return finish(axes, title, "arm", "share of the rounds" + (" on offer" if on_offer else ""))


def plot_shortfall(history: xr.Dataset, *, variable: str = "worst_shortfall", ax: Axes | None = None) -> Axes:
    """Draw the worst shortfall at any round so far (or `variable="shortfall"`, now), the largest over replications.

    A dashed line stands where the promise would be broken. Of a shortfall now, each of at most 50 points is the
    largest of a stretch of rounds; how far arms are ahead is cut off.
    """
    check_history(history, "tolerance")
    one_of("variable", variable, history.data_vars)
    axes = axes_of(ax)
    with style():
        now = variable != "worst_shortfall"
        shown = _stretched(history, variable) if now else history
        _lines(shown, variable, axes, over="max")
        limits = sorted({float(np.floor(t)) + 1 for t in history.tolerance.values if np.isfinite(t)})
        _forbid(axes, limits)
        label, highest = "plays behind the share", max(limits, default=1.0)
        if float(history[variable].max()) > 20 * highest:
            label += f" (log above {highest:g})"
            axes.set_yscale("symlog", linthresh=highest)
        least = float(shown[variable].min())
        axes.set_ylim(bottom=max(min(0.0, least), -highest / 2) - highest / 20)
        title = "Worst shortfall at any round so far"
        if now:
            several = shown.sizes["round"] < history.sizes["round"]
            title = "Worst shortfall in each stretch of rounds" if several else "Worst shortfall now"
        return finish(axes, title, "round", label)


def _stretched(history: xr.Dataset, variable: str) -> xr.Dataset:
    """Return the largest value of each stretch of rounds, at its last round."""
    every = -(-history.sizes["round"] // STRETCHES)
    drawn = history[[variable]].coarsen(round=every, boundary="pad", coord_func="max").max()
    return drawn.assign_coords(tolerance=history.tolerance)


def plot_audit(finding: Audit, *, ax: Axes | None = None) -> Axes:
    """Draw the shortfall of the arm furthest behind, round by round, of an audited log, and each promise's first
    breach."""
    check_finding("finding", finding, "timeline", "what eh.quotas.audit returns")
    axes = axes_of(ax)
    with style():
        axes.plot(finding.timeline["round"], finding.timeline["shortfall"], color=SHADES[0], linewidth=1.4)
        axes.plot([max(1, finding.worst_round)], [finding.worst_shortfall], "o", color="black", markersize=5)
        axes.annotate(
            f"worst: {finding.worst_shortfall:.3g} ({finding.worst_arm})",
            (max(1, finding.worst_round), finding.worst_shortfall),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
        )
        limit = finding.promise.breaks_at
        _forbid(axes, [] if limit is None else [limit])
        _mark_breaches(finding, axes)
        axes.margins(y=0.15)
        axes.locator_params(axis="x", integer=True)
        verdict = "promise kept" if finding.kept else f"promise broken after {finding.rounds_in_violation} rows"
        return finish(axes, f"Audit: {verdict}", "row of the log", "plays behind the share", legend=False)


def _mark_breaches(finding: Audit, axes: Axes, most: int = 8) -> None:
    """Mark the first breach of each promise that was broken, of the earliest ones if they are many."""
    broken = finding.promises[finding.promises["first_broken"] > 0].sort_values("first_broken", kind="stable")
    for place, row in enumerate(broken.head(most).to_dict("records")):
        arms = row["arm"] if isinstance(row["arm"], tuple) else (row["arm"],)
        inside = "" if row["segment"] is None else f" in {row['segment']}"
        axes.axvline(row["first_broken"], color="black", linewidth=0.8, linestyle=":")
        axes.annotate(
            f" {row['promise']} of {', '.join(map(str, arms))}{inside}",
            (row["first_broken"], 0.96 - 0.06 * place),
            xycoords=("data", "axes fraction"),
            fontsize=7.5,
        )


def _forbid(axes: Axes, limits: list[float]) -> None:
    for limit in limits:
        axes.axhline(limit, **DASHED)
        axes.annotate(
            "above this line the promise is broken",
            (0.99, limit),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
        )


def plot_cost(history: xr.Dataset, *, against: Any = None, ax: Axes | None = None) -> Axes:
    """Draw what the promise costs: expected reward a round given up against the policy named `against`.

    Without `against` it is the loss against the best of the policies, whatever they promise.
    """
    check_history(history, "regret")
    names = [str(name) for name in history.policy.values]
    if against is not None:
        one_of("against", against, names)
    axes = axes_of(ax)
    last = history.isel(round=-1)
    losses = {n: last.regret.sel(policy=n).mean("replication").item() / float(last["round"]) for n in names}
    reference = min(losses, key=lambda name: losses[name]) if against is None else against
    base = losses[reference]
    with style():
        for i, (name, look) in enumerate(looks(names).items()):
            axes.barh(i, losses[name] - base, color=look["color"], alpha=0.75, hatch=HATCHES[i % 4], height=0.6)
            axes.annotate(f" {losses[name] - base:+.4f}", (losses[name] - base, i), va="center", fontsize=8.5)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.margins(x=0.18)
        what = "Expected reward lost a round" if against is None else "Cost of the promise"
        return finish(axes, f"{what}, against {reference}", "expected reward lost a round", "", legend=False)
