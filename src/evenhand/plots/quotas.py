"""Pictures of guaranteed shares, drawn from histories; nothing is computed here but means over
replications and their intervals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.plots.axes import axes_of, check_finding, check_history, in_panels, mark_limit, one_of, short
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
from evenhand.simulation.measures import losses_a_round, whole_plays

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from evenhand.audit import Audit

KINDS = {"floor": "share"}
"""What a kind of promise is called in a picture, where that is not its name."""
STRETCHES = 50
"""Points of a line that goes up and down from one round to the next: more of them are a pattern that nobody reads."""


TITLES = {
    "regret": "Regret against the best arm",
    "r_regret": "Regret against the best policy that keeps the promise",
    "true_regret": "True regret: rewards without bias",
    "perceived_regret": "Perceived regret: rewards as observed",
}


def _lines(history: xr.Dataset, variable: str, axes: Axes, *, over: str = "mean") -> None:
    names = [str(name) for name in history.policy.values]
    rounds = history["round"].values
    every = max(1, len(rounds) // 10)
    for offset, (name, look) in enumerate(looks(names).items()):
        values = history[variable].sel(policy=name)
        label = f"{name}: no value" if bool(np.isnan(values).all()) else name
        middle, ends = over_replications(values) if over == "mean" else (values.max("replication"), None)
        markers = offset * every // max(1, len(names)), every
        curve(axes, rounds, middle, ends, look, label=label, markevery=markers)


def plot_regret(
    history: xr.Dataset,
    *,
    variable: str = "regret",
    log: bool = False,
    facet: str | None = None,
    legend: bool = True,
    title: str | None = None,
    ax: object = None,
) -> Axes:
    """Draw regret (or `variable="r_regret"`) over time: mean over replications, band of its 95 % interval.

    Parameters
    ----------
    facet : a panel for each value of this dimension, such as "policy", or one along which histories were concatenated;
        the axes of the first are returned, and `ax` takes as many.
    """
    check_history(history)
    one_of("variable", variable, history.data_vars)

    def draw(shown: xr.Dataset, axes: Axes) -> None:
        _lines(shown, variable, axes)
        if log:
            axes.set_xscale("log")
        axes.set(xlabel=rounds_label(history), ylabel="expected reward lost" if "regret" in variable else variable)

    title = TITLES.get(variable, variable) if title is None else title
    return in_panels(history, variable, facet, draw, title=title, legend=legend, ax=ax)


def plot_shares(
    history: xr.Dataset, *, facet: str | None = None, legend: bool = True, title: str | None = None, ax: object = None
) -> Axes:
    """Draw each arm's share of the rounds in which it was on offer, at the end, beside the share that it is promised
    and the cap that it has: bars, dots where the bars are many; with a `facet` as in `plot_regret`."""
    check_history(history, "pulls")
    rounds = " on offer" * ("offered" in history)

    def draw(shown: xr.Dataset, axes: Axes) -> None:
        last = shown.isel(round=-1)
        pulls = (last.pulls / (last.offered if rounds else float(last["round"]))).mean("replication")
        limits = {}
        if "share" in shown.coords:
            shares = shown.share.max("policy").values
            limits["promised"] = np.where(shares > 0, shares, np.nan)
        if "cap" in shown.coords:
            limits["at most"] = shown.cap.min("policy").values
        across = bars(axes, {str(n): pulls.sel(policy=n).values for n in shown.policy.values}, limits)
        name_arms(axes, across, shown.arm.values.tolist())
        axes.set(xlabel="arm", ylabel=f"share of the rounds{rounds}")

    promised = " and promised shares" * bool({"share", "cap"} & {*history.coords})
    title = f"Shares of the rounds{rounds}{promised}" if title is None else title
    return in_panels(history, "pulls", facet, draw, within="arm", title=title, legend=legend, ax=ax)


def plot_shortfall(
    history: xr.Dataset,
    *,
    variable: str = "worst_shortfall",
    over: str = "largest",
    facet: str | None = None,
    legend: bool = True,
    title: str | None = None,
    ax: object = None,
) -> Axes:
    """Draw the worst shortfall so far (or the present one, `variable="shortfall"`), the largest over replications, or
    with `over="mean"` their mean and the band of its 95 % interval; with a `facet` as in `plot_regret`.

    Where the promise would be broken, the picture is shaded. The largest worst shortfall so far is drawn in whole
    plays, so that there is room between a promise kept at the last moment and a broken one. The largest present
    shortfall has at most 50 points, each the largest of a stretch of rounds; negative values, of arms that are ahead,
    are cut off.
    """
    check_history(history, "tolerance")
    one_of("variable", variable, history.data_vars)
    one_of("over", over, ("largest", "mean"))
    now, largest = variable != "worst_shortfall", over == "largest"
    drawn = _shown(history, variable) if largest else history
    values = drawn[variable] if largest else drawn[variable].mean("replication")
    least, most = float(values.min()), float(values.max())
    highest = max(_limits(history), default=1.0)
    far = most > 20 * highest

    def draw(shown: xr.Dataset, axes: Axes) -> None:
        _lines(shown, variable, axes, over=over)
        if far:
            axes.set_yscale("symlog", linthresh=highest)
        top = 2.0 * most if far else max(1.1 * most, highest * 1.4)
        axes.set_ylim(max(min(0.0, least), -highest / 2) - highest / 6, top)
        for limit in (limits := _limits(shown)):
            mark_limit(axes, limit, *([] if largest else ["promise broken"]))
        axes.axhspan(max(limits, default=top), top, color=SHADES[1], alpha=0.12, linewidth=0)
        what = "whole " * (largest and not now) + "plays behind the share" + f" (log above {highest:g})" * far
        axes.set(xlabel=rounds_label(history, over), ylabel=what)

    if title is None:
        several = drawn.sizes["round"] < history.sizes["round"]
        when = "in each stretch of rounds" if several else "now" if now else "at any round so far"
        title = f"Worst shortfall {when}"
    return in_panels(drawn, variable, facet, draw, title=title, legend=legend, ax=ax)


def _shown(history: xr.Dataset, variable: str) -> xr.Dataset:
    """Return the worst shortfall in whole plays, or the largest present one of each stretch of rounds, at its end."""
    if variable == "worst_shortfall":
        return history.assign({variable: whole_plays(history[variable])})
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
        return finish(axes, finding.verdict, shown, f"{plain(finding.unit, 24)} behind or ahead" if drawn else "")


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


def _limits(history: xr.Dataset) -> list[float]:
    """Return from how many plays behind on a share is broken, for each tolerance."""
    return sorted({float(np.floor(t)) + 1 for t in history.tolerance.values.ravel() if np.isfinite(t)})


def plot_cost(history: xr.Dataset, *, against: Any = None, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw what the promise costs: the expected reward per round lost against the policy named `against`, with an
    interval of 95 %.

    Without `against` it is the loss against the best of the policies, whatever they promise.
    """
    check_history(history, "regret")
    names = [str(name) for name in history.policy.values]
    if against is not None:
        one_of("against", against, names)
    axes, losses = axes_of(ax), losses_a_round(history, against)
    with style():
        for i, (look, mean, high) in enumerate(zip(looks(names).values(), losses["mean"], losses["high"], strict=True)):
            dressed = {"color": look["color"], "alpha": 0.75, "hatch": HATCHES[i % 4], "height": 0.6}
            axes.barh(i, mean, xerr=None if np.isnan(high) else high - mean, capsize=3.0, **dressed)
            right, side = (4, "left") if mean >= 0 else (-4, "right")
            axes.annotate(f"{mean:+.2g}", (mean, i), (right, 9), textcoords="offset points", fontsize=8.5, ha=side)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.margins(x=0.18)
        what = "Expected reward lost per round" if against is None else "Cost of the promise"
        title = f"{what}, against {losses['against'][0]}" if title is None else title
        unit = "expected reward lost per round" + (", 95 % interval" if history.sizes["replication"] > 1 else "")
        return finish(axes, title, unit, "", legend=False)
