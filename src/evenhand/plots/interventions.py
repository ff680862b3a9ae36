"""Pictures of candidates and of searches, drawn from tables; nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import real
from evenhand.plots.axes import axes_of, check_finding, panels_of
from evenhand.plots.style import DASHED, SHADES, finish, looks, place_legend, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenhand.interventions import Recommendation
    from evenhand.interventions.sensitivity import Sensitivity

VERDICTS: dict[str, dict[str, Any]] = {
    "certified": {"fmt": "o", "color": SHADES[2]},
    "fair": {"fmt": "D", "color": SHADES[1]},
    "undecided": {"fmt": "s", "color": SHADES[0]},
    "dropped": {"fmt": "x", "color": "#888888", "fillstyle": "none"},
    "unfair": {"fmt": "x", "color": "#888888", "fillstyle": "none"},
}

GUESSED = ("not_shown", "uncertified", "graph_refuted")
"""Where a candidate is named that was not shown to be the best."""


def plot_outcomes(recommendation: Recommendation, *, ax: Axes | None = None) -> Axes:
    """Draw the estimated outcome of every candidate with its interval; marks tell which was certified and which were
    dropped."""
    table = _table(recommendation)
    axes = axes_of(ax)
    with style():
        _marks(axes, table, table["outcome"], table["outcome_low"], table["outcome_high"], 0.0)
        _candidates(axes, recommendation)
        guess = "best guess" if recommendation.status in GUESSED else "recommended"
        named = "" if recommendation.candidate is None else f" (*: {guess})"
        what = table.attrs.get("outcome", "outcome")
        return finish(axes, f"{what[0].upper()}{what[1:]}{named}", what, "rule")


def plot_gaps(recommendation: Recommendation, *, tolerance: float, ax: Axes | None = None) -> Axes:
    """Draw the counterfactual gaps of every candidate with their intervals and the band of tolerance, one row per pair
    of values."""
    table, tolerance = _table(recommendation), real("tolerance", tolerance, above=0)
    axes = axes_of(ax)
    gaps = [name for name in table.columns if name.startswith("gap[")]
    with style():
        axes.axvspan(-tolerance, tolerance, color="#dddddd", zorder=0)
        for edge in (-tolerance, tolerance):
            axes.axvline(edge, **DASHED)
        for number, name in enumerate(gaps):
            shift = 0.6 * (number - (len(gaps) - 1) / 2) / max(len(gaps), 1)
            low, high = (table[name.replace("gap[", f"gap_{end}[")] for end in ("low", "high"))
            _marks(axes, table, table[name], low, high, shift)
        _candidates(axes, recommendation)
        pairs = "; ".join(table.attrs.get(name, name) for name in gaps)
        across = pairs if len(gaps) == 1 else f"from above: {pairs}"
        return finish(axes, f"Gap (grey: within the tolerance of {tolerance:,g})", across, "", legend=False)


def plot_candidates(recommendation: Recommendation, *, tolerance: float, ax: object = None) -> Figure:
    """Draw outcomes and gaps side by side; return the figure.

    Parameters
    ----------
    ax : two axes to draw in; without them the picture has a figure of its own.
    """
    height = 1.6 + 0.28 * len(_table(recommendation))
    real("tolerance", tolerance, above=0)
    outcomes, gaps = panels_of(ax, 2, width=9.5, height=height)
    plot_outcomes(recommendation, ax=outcomes)
    plot_gaps(recommendation, tolerance=tolerance, ax=gaps)
    if (same := outcomes.get_legend()) is not None:
        same.remove()
    place_legend(gaps)
    return outcomes.get_figure(root=True)  # type: ignore[return-value]


def plot_sensitivity(sensitivity: Sensitivity, *, ax: object = None) -> Figure:
    """Draw the possible effect of an unobserved cause of growing strength: left the least lead of the named candidate
    over each other one, right each gap's largest size; a dashed line marks the strength that changes the answer. Where
    no candidate is named, the right one stands alone.

    Return the figure.

    Parameters
    ----------
    ax : two axes to draw in, one without a named candidate; else the picture has a figure of its own.
    """
    check_finding("sensitivity", sensitivity, "between", "what problem.sensitivity() returns")
    named = sensitivity.answer is not None
    *lead, gap = panels_of(ax, 1 + named, width=9.5 if named else 6.0, height=4.2)
    curve = sensitivity.curve()
    names = list(dict.fromkeys(curve["candidate"]))
    across = f"factor by which something unrecorded\nmay change the odds of {sensitivity.between[0]}"
    with style():
        for name, look in looks(names).items():
            rows, look = curve[curve["candidate"] == name], {**look, "markevery": 4}
            for axes in lead if name != sensitivity.answer else ():
                axes.plot(rows["strength"], rows["lead_low"], label=str(name), **look)
            gap.plot(rows["strength"], rows["gap_high"], label=str(name), **look)
            gap.fill_between(
                rows["strength"], rows["gap_low"], rows["gap_high"], color=look["color"], alpha=0.08, linewidth=0
            )
        gap.axhline(sensitivity.tolerance, **DASHED)
        for axes in (*lead, gap) if np.isfinite(sensitivity.strength) else ():
            axes.axvline(sensitivity.strength, label="the answer may change", **DASHED)
        for axes in lead:
            axes.axhline(0.0, **DASHED)
            finish(axes, f"Lead of '{sensitivity.answer}', at least", across, "lead in the outcome", legend=False)
        finish(gap, f"Largest gap possible (fair below {sensitivity.tolerance:g})", across, "gap, in either direction")
    return gap.get_figure(root=True)  # type: ignore[return-value]


def _table(recommendation: Any) -> pd.DataFrame:
    check_finding("recommendation", recommendation, "table", "what recommend() or best() returns")
    table: pd.DataFrame = recommendation.table
    return table


def _marks(axes: Axes, table: Any, middle: Any, low: Any, high: Any, shift: float) -> None:
    height = np.arange(len(table)) + shift
    for verdict, look in VERDICTS.items():
        chosen = (table["verdict"] == verdict).to_numpy() & middle.notna().to_numpy()
        if chosen.any():
            reach = np.stack([(middle - low)[chosen], (high - middle)[chosen]])
            at = middle[chosen], height[chosen]
            axes.errorbar(*at, xerr=reach, markersize=5, linewidth=1.1, label=verdict, **look)


def _candidates(axes: Axes, recommendation: Recommendation) -> None:
    labels = [str(name) + (" *" if name == recommendation.candidate else "") for name in recommendation.table.index]
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.set_ylim(len(labels) - 0.5, -0.5)
