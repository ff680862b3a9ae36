"""Figures 1, 2, 4 and 5: shares and regrets of the synthetic setting, one parameter varied at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evenhand.experiments.framework import Claim, ClaimVerdict, Report, Runner, certainty, experiment
from evenhand.experiments.groups.sweep import (
    BLIND,
    CHAINING,
    FAIR,
    NAIVE,
    NAIVE_SIZE,
    POOLED,
    PROMPT,
    QUICK,
    SWEEPS,
    Sweep,
    panel,
    sweep,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {
    "rounds": "horizon T",
    "arms": "number of arms n",
    "bias": "mean bias mu",
    "sensitive": "number of sensitive arms",
    "spread": "spread c of the coefficients",
    "dimension": "number of features d",
    "delta": "delta",
}
SETTLED = 200
"""Horizon from which on claims about a horizon are judged: twenty rounds an arm."""

at_full_size = partial(Claim, needs={"replications": 100})
CLOSE = at_full_size(
    "GroupFairTopInterval's share of sensitive pulls is close to the sensitive share of the arms",
    "section 5.2",
    "mean share within 0.1 of the share of arms at every value (horizons from 200 on)",
)
STARVED = at_full_size(
    "TopInterval and IntervalChaining starve sensitive arms as the bias grows",
    "section 5.2",
    "both shares at the largest mu at most half of those at the smallest",
)
HALF = at_full_size(
    "NaiveFair keeps the share at 50 %",
    "section 5.2",
    "mean share within 0.03 of one half at every value (horizons from 200 on)",
)
BY_SIZE = at_full_size(
    "NaiveFair's share follows the sensitive share of the arms",
    "Figure 1 (d)",
    "mean share within 0.03 of the share of arms at every value, groups drawn by size as in the authors' program",
)
UNIFORM = at_full_size(
    "IntervalChaining becomes uniform for many arms",
    "section 5.2",
    "mean share within 0.05 of the share of arms at the largest n",
)
LIKE_BLIND = at_full_size(
    "GroupFairTopInterval's true regret is about TopInterval's biased regret",
    "section 5.2",
    "ratio between 1/2 and 2 at every value (horizons from 200 on)",
)
GROWS = at_full_size(
    "True regret of TopInterval and IntervalChaining grows with the bias",
    "section 5.2",
    "both at the largest mu above those at the smallest by more than three standard errors",
)
NAIVE_LOSES = at_full_size(
    "NaiveFair has high regret",
    "section 5.2",
    "its true regret above GroupFairTopInterval's at every value (horizons from 200 on)",
)

TRIO = ((FAIR, "true regret"), (BLIND, "biased regret"), (NAIVE, "true regret"))


def sizes(knob: str) -> dict[str, Sweep]:
    """Return the full and the quick settings of the figure that varies a parameter."""
    return {"full": SWEEPS[knob], "quick": QUICK[knob]}


@experiment("groups/fig1a", "share of sensitive pulls against horizon T", **sizes("a"))
@experiment("groups/fig1b", "share of sensitive pulls against number of arms n", **sizes("b"))
@experiment("groups/fig1c", "share of sensitive pulls against mean bias mu", **sizes("c"))
@experiment("groups/fig1d", "share of sensitive pulls against number of sensitive arms", **sizes("d"))
@experiment("groups/fig4a", "share of sensitive pulls against spread c of the coefficients", **sizes("spread"))
@experiment("groups/fig4b", "share of sensitive pulls against number of features d", **sizes("dimension"))
@experiment("groups/fig4c", "share of sensitive pulls against delta", **sizes("delta"))
def shares(settings: Sweep, runner: Runner) -> Report:
    """Draw the sensitive share of the pulls and judge what is said about it."""
    return _report(settings, runner, {"share": "share of sensitive pulls"}, _about_shares)


@experiment("groups/fig2a", "biased and true regret against horizon T", **sizes("a"))
@experiment("groups/fig2b", "biased and true regret against number of arms n", **sizes("b"))
@experiment("groups/fig2c", "biased and true regret against mean bias mu", **sizes("c"))
@experiment("groups/fig2d", "biased and true regret against number of sensitive arms", **sizes("d"))
@experiment("groups/fig5a", "biased and true regret against spread c of the coefficients", **sizes("spread"))
@experiment("groups/fig5b", "biased and true regret against number of features d", **sizes("dimension"))
@experiment("groups/fig5c", "biased and true regret against delta", **sizes("delta"))
def regrets(settings: Sweep, runner: Runner) -> Report:
    """Draw biased and true regret a round and judge what is said about them."""
    drawn = {name: f"{name} a round" for name in ("biased regret", "true regret")}
    return _report(settings, runner, drawn, _about_regrets)


def _report(
    settings: Sweep,
    runner: Runner,
    measures: dict[str, str],
    judge: Callable[[Sweep, pd.DataFrame, str], Iterator[ClaimVerdict]],
) -> Report:
    table = sweep(settings, runner)
    report = Report()
    panels = dict(_panels(settings, table))
    for title, own in panels.items():
        settled = own[own["value"] >= SETTLED] if settings.vary == "rounds" else own
        report.verdicts += judge(settings, settled, title)
    drawn = _draw(settings, panels, measures), table[table["measure"].isin(measures)]
    report.figures[next(iter(measures)).replace(" ", "_")] = drawn
    return report


def _panels(settings: Sweep, table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for dimension in settings.dimensions:
        for preset in settings.presets:
            own = table[(table["dimension"] == dimension) & (table["preset"] == preset)]
            d = "" if settings.vary == "dimension" else f"d = {dimension}, "
            yield f"{d}{preset}'s reading".replace("authors's", "authors'"), own


def _draw(settings: Sweep, panels: dict[str, Any], measures: dict[str, str]) -> Figure:
    """Draw a row for each measure and a column for each panel; of one panel, its measures beside each other."""
    from evenhand.plots.means import plot_means
    from evenhand.plots.style import DASHED, figure, one_legend

    cells = [(measure, title) for measure in measures for title in panels]
    columns = max(len(panels), len(cells) // len(panels))
    rows = len(cells) // columns
    width = 4.75 * columns if columns > 1 else 8.0
    drawn, axes = figure(width, 0.9 + 3.2 * rows, columns, rows=rows, share_y="row")
    for axis, (measure, title) in zip(np.ravel(axes), cells, strict=True):
        shown, up = panels[title][panels[title]["measure"] == measure], measures[measure]
        labels = {"title": f"{up[0].upper()}{up[1:]}\n{title}", "across": NAMES[settings.vary], "up": up}
        if measure == "share":
            axis.plot("value", "arm_share", data=shown.drop_duplicates("value"), label="share of the arms", **DASHED)
        plot_means(shown, "value", "policy", of="replications", **labels, ax=axis)
    if len(cells) > 1:
        one_legend(drawn, 3)
    return drawn


def _about_shares(settings: Sweep, table: pd.DataFrame, title: str) -> Iterator[ClaimVerdict]:
    owed = table.drop_duplicates("value").sort_values("value")["arm_share"].to_numpy()
    runs = settings.replications

    def near(claim: Claim, policy: str, goal: Any, tolerance: float, more: str = "") -> ClaimVerdict:
        distance = np.abs(panel(table, policy, "share") - goal)
        sure = certainty(tolerance - distance, panel(table, policy, "share", "standard_error"), runs)
        said = f"largest distance {distance.max():.3f} ({title}){more}"
        return claim.verdict(distance.max() <= tolerance, said, settings, certainty=sure)

    def off(policy: str) -> float:
        return float(np.abs(panel(table, policy, "share") - owed).max())

    more = f"; pooled form {off(POOLED):.3f}"
    if settings.vary == "dimension":
        more += f"; with the minimum norm from the first sample on {off(PROMPT):.3f}"
    yield near(CLOSE, FAIR, owed, 0.1, more)
    if settings.vary == "sensitive":
        yield near(BY_SIZE, NAIVE_SIZE, owed, 0.03)
    yield near(HALF, NAIVE, 0.5, 0.03)
    if settings.vary == "bias":
        ends = _ends(table, "share")
        told = ", ".join(f"{name} {first:.3f} to {last:.3f}" for name, (first, last) in ends.items())
        sure = _sure(table, "share", settings, first=0.5, last=-1.0)
        starved = all(last <= first / 2 for first, last in ends.values())
        yield STARVED.verdict(starved, f"{told} ({title})", settings, certainty=sure)
    if settings.vary == "arms":
        gap = abs(panel(table, CHAINING, "share")[-1] - owed[-1])
        sure = certainty(0.05 - gap, panel(table, CHAINING, "share", "standard_error")[-1], runs)
        said = f"distance {gap:.3f} at n = {max(settings.values)} ({title})"
        yield UNIFORM.verdict(gap <= 0.05, said, settings, certainty=sure)


def _about_regrets(settings: Sweep, table: pd.DataFrame, title: str) -> Iterator[ClaimVerdict]:
    fair, blind, naive = (panel(table, *which) for which in TRIO)
    errors = [panel(table, *which, "standard_error") for which in TRIO]
    ratio = fair / blind
    said = f"ratios {ratio.min():.2f} to {ratio.max():.2f} ({title})"
    if settings.vary == "dimension":
        prompt = panel(table, PROMPT, "true regret")
        said += (
            f"; at d = {max(settings.values)} {fair[-1]:.1f}, minimum norm from the first sample on {prompt[-1]:.1f}"
        )
    alike = bool((ratio >= 0.5).all() and (ratio <= 2).all())
    slack = np.log(2) - np.abs(np.log(ratio))
    sure = certainty(slack, np.hypot(errors[0] / fair, errors[1] / blind), settings.replications)
    yield LIKE_BLIND.verdict(alike, said, settings, certainty=sure)
    said = f"{(naive / fair).min():.2f} to {(naive / fair).max():.2f} times ({title})"
    sure = certainty(naive - fair, np.hypot(errors[0], errors[2]), settings.replications)
    yield NAIVE_LOSES.verdict(bool((naive > fair).all()), said, settings, certainty=sure)
    if settings.vary == "bias":
        ends = _ends(table, "true regret")
        errors_of = {name: np.hypot(*_ends(table, "true regret", "standard_error")[name]) for name in ends}
        told = ", ".join(f"{name} {first:.2f} to {last:.2f}" for name, (first, last) in ends.items()) + f" ({title})"
        rises = all(last - first > 3 * errors_of[name] for name, (first, last) in ends.items())
        sure = _sure(table, "true regret", settings, first=-1.0, last=1.0)
        yield GROWS.verdict(rises, told, settings, certainty=sure)


def _ends(table: pd.DataFrame, measure: str, column: str = "mean") -> dict[str, Any]:
    """Return a measure of TopInterval and IntervalChaining at the smallest and the largest value."""
    return {name: panel(table, name, measure, column)[[0, -1]] for name in (BLIND, CHAINING)}


def _sure(table: pd.DataFrame, measure: str, settings: Sweep, first: float, last: float) -> float:
    """Return how certain the sign of first * (the smallest value's) + last * (the largest value's) is, in both."""
    weights = np.array([first, last])
    slacks = [weights @ ends for ends in _ends(table, measure).values()]
    errors = [np.hypot(*(weights * ends)) for ends in _ends(table, measure, "standard_error").values()]
    return certainty(slacks, errors, settings.replications)
