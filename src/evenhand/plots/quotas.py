"""Pictures of guaranteed shares, drawn from histories; nothing is computed here but means over
replications and their intervals."""

from __future__ import annotations

from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.plots.axes import axes_of, check_finding, check_history, one_of, short
from evenhand.plots.style import (
    DASHED,
    HATCHES,
    SHADES,
    bars,
    curve,
    finish,
    looks,
    mark_changes,
    name_arms,
    over_replications,
    plain,
    rounds_label,
    style,
)
from evenhand.simulation.measures import half_width

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from evenhand.audit import Audit

KINDS = {"floor": "share"}
"""What a kind of promise is called in a picture, where that is not its name."""
WIDE = 80
"""Signs in a line of a title."""
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


def plot_regret(history: xr.Dataset, *, variable: str = "regret", log: bool = False, ax: Axes | None = None) -> Axes:
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
        return finish(axes, titles.get(variable, variable), rounds_label(history), "expected reward lost")


def plot_shares(history: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Draw each arm's share of the rounds in which it was on offer, at the end, beside the share that it is promised
    and the cap that it has: bars, dots where the bars are many."""
    check_history(history, "pulls")
    axes = axes_of(ax)
    last = history.isel(round=-1)
    on_offer = "offered" in history
    pulls = (last.pulls / (last.offered if on_offer else float(last["round"]))).mean("replication")
    limits = {}
    if "share" in history.coords:
        shares = history.share.max("policy").values
        limits["promised"] = np.where(shares > 0, shares, np.nan)
    if "cap" in history.coords:
        limits["at most"] = history.cap.min("policy").values
    with style():
        across = bars(axes, {str(n): pulls.sel(policy=n).values for n in history.policy.values}, limits)
        name_arms(axes, across, history.arm.values.tolist())
        title = "Shares of the rounds" + (" on offer" if on_offer else "") + (" and promised shares" if limits else "")
        return finish(axes, title, "arm", "share of the rounds" + " on offer" * on_offer)


def plot_shortfall(history: xr.Dataset, *, variable: str = "worst_shortfall", ax: Axes | None = None) -> Axes:
    """Draw the worst shortfall so far (or the present one, `variable="shortfall"`), the largest over replications.

    Where the promise would be broken, the picture is shaded. The worst shortfall so far is drawn in whole plays, so
    that there is room between a promise kept at the last moment and a broken one. A present shortfall has at most 50
    points, each the largest of a stretch of rounds; negative values, of arms that are ahead, are cut off.
    """
    check_history(history, "tolerance")
    one_of("variable", variable, history.data_vars)
    axes = axes_of(ax)
    with style():
        now = variable != "worst_shortfall"
        shown = _stretched(history, variable) if now else history.assign({variable: np.floor(history[variable] + 1e-9)})
        _lines(shown, variable, axes, over="max")
        limits = sorted({float(np.floor(t)) + 1 for t in history.tolerance.values if np.isfinite(t)})
        label, highest = "plays behind the share" if now else "whole plays behind the share", max(limits, default=1.0)
        if float(history[variable].max()) > 20 * highest:
            label += f" (log above {highest:g})"
            axes.set_yscale("symlog", linthresh=highest)
        least = float(shown[variable].min())
        axes.set_ylim(max(min(0.0, least), -highest / 2) - highest / 6, max(axes.get_ylim()[1], highest * 1.4))
        _forbid(axes, limits)
        title = "Worst shortfall at any round so far"
        if now:
            several = shown.sizes["round"] < history.sizes["round"]
            title = "Worst shortfall in each stretch of rounds" if several else "Worst shortfall now"
        return finish(axes, title, rounds_label(history, "largest"), label)


def _stretched(history: xr.Dataset, variable: str) -> xr.Dataset:
    """Return the largest value of each stretch of rounds, at its last round."""
    every = -(-history.sizes["round"] // STRETCHES)
    drawn = history[[variable]].coarsen(round=every, boundary="pad", coord_func="max").max()
    return drawn.assign_coords(tolerance=history.tolerance)


def plot_audit(finding: Audit, *, ax: Axes | None = None) -> Axes:
    """Draw an audited log: the plays, or the weight, behind shares and above caps, round by round, the limits beyond
    which this breaks the promise, the rounds in which the promise was broken (shaded), and each promise's first
    breach."""
    check_finding("finding", finding, "timeline", "what eh.audit.promise returns")
    axes = axes_of(ax)
    seen, promise = finding.timeline, finding.promise
    worst = f" (at most {short(finding.worst_shortfall)}: {_named(finding.worst_arm)})" if finding.worst_round else ""
    least, bound = (0.0, "above {:g} a {} is broken") if promise.weight else (1.0, "from {:g} on a {} is broken")
    lines = {
        "shortfall": (f"behind a share{worst}", "share", promise.slack + least),
        "excess": ("ahead of a cap", "cap", promise.ahead + least),
    }
    drawn = [name for name in lines if seen[name].notna().any()]
    with style():
        broken = np.diff(seen["broken"], prepend=0) > 0
        if broken.any():
            whole: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "step": "pre", "linewidth": 0}
            edges = np.concatenate([[0], seen["round"]]), np.concatenate([broken[:1], broken])
            axes.fill_between(*edges, color=SHADES[1], alpha=0.2, label="the promise is broken", **whole)
        calm = finding.kept and len(seen) > STRETCHES
        for name, look in looks(drawn).items():
            label, what, limit = lines[name]
            label += ", at most so far" * calm
            values = np.fmax.accumulate(seen[name]) if calm else seen[name]
            axes.plot(seen["round"], values, **look | {"marker": "", "linewidth": 1.4}, label=label)
            axes.axhline(limit, **DASHED, label=bound.format(limit, what))
        _mark_breaches(finding, axes)
        mark_changes(axes, sorted({until + 1 for until in finding.promises["until"].tolist() if until}))
        axes.margins(x=0, y=0.1)
        axes.locator_params(axis="x", integer=True, nbins="auto" if finding.times is None else 4)
        axes.xaxis.set_major_formatter(partial(_round_and_time, finding))
        first, last = finding.view
        axes.set_xlim(first - 1, last)
        if not drawn:
            axes.set_yticks([])
        shown = "round" if last - first + 1 == finding.rounds else f"round (only {first:,} to {last:,} are shown)"
        return finish(
            axes, fill(finding.verdict, WIDE), shown, f"{plain(finding.unit, 24)} behind or ahead" if drawn else ""
        )


def _round_and_time(finding: Audit, round: float, _place: int | None = None) -> str:
    """Return how a place on the axis of rounds is labelled: by the round's number, and its time below."""
    import pandas as pd

    time = finding.time_of(int(round)) if 0 < round <= finding.rounds else None
    return f"{round:,.0f}" + ("" if time is None else f"\n{pd.Timestamp(time):%Y-%m-%d\n%H:%M}")


def _mark_breaches(finding: Audit, axes: Axes, most: int = 8) -> None:
    """Mark the first breach of each promise that was broken, and name the earliest of them."""
    broken = finding.promises[finding.promises["first_broken"] > 0].sort_values("first_broken", kind="stable")
    if broken.empty:
        return
    rounds = broken["first_broken"].tolist()
    top: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "clip_on": False, "zorder": 3}
    axes.plot(rounds, [1.0] * len(rounds), "v", color="black", markersize=4, **top)
    rows = broken.head(most).to_dict("records")
    inside = ["" if row["segment"] is None else f" in {row['segment']}" for row in rows]
    said = [
        f"{row['first_broken']:,}: {KINDS.get(row['promise'], row['promise'])} of {_named(row['arm'])}{where}"
        for row, where in zip(rows, inside, strict=True)
    ]
    said += [f"... and {len(rounds) - most} more"] if len(rounds) > most else []
    listed = "\n".join(["first broken in round", *said])
    axes.annotate(listed, (1.02, 0.0), xycoords="axes fraction", va="bottom", fontsize=8, linespacing=1.3)


def _named(arm: object) -> str:
    """Return an arm's label, or the labels of a set of arms, as it is named in a picture."""
    return plain(", ".join(map(str, arm)) if isinstance(arm, tuple) else arm, 24)


def _forbid(axes: Axes, limits: list[float]) -> None:
    if limits:
        axes.axhspan(max(limits), axes.get_ylim()[1], color=SHADES[1], alpha=0.12, linewidth=0)
    for limit in limits:
        axes.axhline(limit, **DASHED)
        axes.annotate(
            "from this line on the promise is broken",
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
    """Draw what the promise costs: the expected reward per round lost against the policy named `against`, with an
    interval of 95 %.

    Without `against` it is the loss against the best of the policies, whatever they promise.
    """
    check_history(history, "regret")
    names = [str(name) for name in history.policy.values]
    if against is not None:
        one_of("against", against, names)
    axes = axes_of(ax)
    last = history.isel(round=-1)
    losses = {n: last.regret.sel(policy=n) / float(last["round"]) for n in names}
    reference = min(losses, key=lambda name: losses[name].mean().item()) if against is None else against
    with style():
        for i, (name, look) in enumerate(looks(names).items()):
            apart = losses[name] - losses[reference]
            mean, wide = apart.mean().item(), half_width(apart)
            dressed = {"color": look["color"], "alpha": 0.75, "hatch": HATCHES[i % 4], "height": 0.6}
            axes.barh(i, mean, xerr=None if np.isnan(wide) else wide, capsize=3.0, **dressed)
            axes.annotate(f"{mean:+.2g}", (mean, i), xytext=(4, 9), textcoords="offset points", fontsize=8.5)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.margins(x=0.18)
        what = "Expected reward lost per round" if against is None else "Cost of the promise"
        unit = "expected reward lost per round" + (", 95 % interval" if history.sizes["replication"] > 1 else "")
        return finish(axes, f"{what}, against {reference}", unit, "", legend=False)
