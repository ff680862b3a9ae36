"""Figure 3: COMPAS and family income, where only the perceived regret exists.

The gap to TopInterval is the price of fairness. Features are encoded as in the authors' program, text as integers by
first appearance and the rest as it is; many are constant or collinear inside an arm, so least squares takes the
solution of smallest norm from the first sample on in both readings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evenhand.experiments.framework import Claim, ClaimVerdict, Report, Runner, certainty, experiment
from evenhand.experiments.groups.sweep import BLIND, FAIR, FEW, NAIVE, POOLED, RealData, panel, rivals, summary
from evenhand.groups import TableArms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

at_full_size = partial(Claim, needs={"multiples": 20, "replications": 100})
SMALL_GAP = at_full_size(
    "The regret that GroupFairTopInterval adds to TopInterval's is small, NaiveFair's is large",
    "Figure 3",
    "at the longest horizon, mean over delta, at most half of what NaiveFair adds",
)
HALF = at_full_size(
    "GroupFairTopInterval's share of sensitive pulls comes close to 50 %",
    "Figure 3",
    "at the longest horizon, mean over delta, within 0.05 of one half",
)
NEARER = at_full_size(
    "... closer than TopInterval's",
    "Figure 3",
    "at the longest horizon, mean over delta, nearer to one half than TopInterval's share",
)


def world_of(data: str, noise: float = 1.0) -> TableArms:
    """Return the arms of "compas" or "family_income" as the paper cuts them."""
    if data == "compas":
        from evenhand.datasets.tables import COMPAS_FEATURES, load_compas

        return TableArms(
            _numbered(load_compas(), COMPAS_FEATURES),
            ["age_cat", "race"],
            group="race",
            reward="v_decile_score",
            features=list(COMPAS_FEATURES),
            sensitive="African-American",
            noise=noise,
        )
    from evenhand.datasets.tables import load_family_income

    households = load_family_income().drop(columns="Household Head Age")
    arm = ["age_band", "Household Head Sex"]
    return TableArms(
        _numbered(households, households.columns.drop(arm)),
        arm,
        group="Household Head Sex",
        reward="Total Household Income",
        sensitive="Male",
        noise=noise,
    )


def _numbered(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Return the frame with text in these columns as integers by first appearance, as the paper has it."""
    texts = [name for name in columns if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.assign(**{name: pd.factorize(frame[name])[0] for name in texts})


@experiment(
    "groups/fig3a",
    "shares and perceived regret on COMPAS",
    full=RealData("compas"),
    quick=RealData("compas", multiples=(1, 5, 20), deltas=(0.1, 0.5), replications=FEW),
)
@experiment(
    "groups/fig3b",
    "shares and perceived regret on family income",
    full=RealData("family_income"),
    quick=RealData("family_income", multiples=(1, 5, 20), deltas=(0.1, 0.5), replications=FEW),
)
def real_data(settings: RealData, runner: Runner) -> Report:
    """Run all policies at every horizon and delta, in both readings."""
    world = world_of(settings.data, settings.noise)
    tables = []
    for preset in settings.presets:
        for delta in settings.deltas:
            for multiple in settings.multiples:
                rounds = 2 * len(world.arms) * multiple
                shared = {"delta": delta, "horizon": rounds, "preset": preset, "cold_start": "minimum_norm"}
                policies = rivals(world, world.sensitive, shared)
                history = runner.simulate(policies, world, settings, rounds=rounds, checkpoints=1)
                where: dict[str, Any] = {"preset": preset, "delta": delta, "value": rounds}
                tables.append(summary(history, world.sensitive).assign(**where))
    table = pd.concat(tables, ignore_index=True)
    report = Report()
    for preset in settings.presets:
        own = table[table["preset"] == preset]
        report.verdicts += _verdicts(own, preset, settings)
        last = own[own["value"] == own["value"].max()]
        pooled = panel(last, POOLED, "share").mean()
        report.remarks.append(
            "The two-group form adds the groups' widths to the sensitive arms alone, which lifts them while data are "
            f"few; the pooled form adds them to all arms: its sensitive share is {pooled:.3f} ({preset})."
        )
    # Errors at one seed do not average out over delta, so neither do the ends of intervals become narrower.
    columns = ["mean", "standard_error", "low", "high", "level", "replications", "arm_share"]
    shown = table.groupby(["preset", "policy", "measure", "value"], sort=False)[columns].mean().reset_index()
    report.figures[settings.data] = _draw(shown, settings), pd.concat([table, shown.assign(delta="mean")])
    return report


def _verdicts(table: pd.DataFrame, preset: str, settings: RealData) -> Iterator[ClaimVerdict]:
    last = table[table["value"] == table["value"].max()]
    regret = {name: float(panel(last, name, "perceived regret").mean()) for name in (FAIR, BLIND, NAIVE)}
    share = {name: float(panel(last, name, "share").mean()) for name in (FAIR, BLIND)}
    added = {name: regret[name] - regret[BLIND] for name in (FAIR, NAIVE)}

    def sure(slack: float, measure: str, weights: dict[str, float]) -> float:
        errors = [weight * panel(last, name, measure, "standard_error").mean() for name, weight in weights.items()]
        at_end = max(settings.multiples) >= 20
        return certainty(slack, float(np.linalg.norm(errors)), settings.replications) if at_end else 0.0

    adds = f"{FAIR} adds {added[FAIR]:.3g}, NaiveFair {added[NAIVE]:.3g}"
    told = f"TopInterval {regret[BLIND]:.4g} a round, {adds} ({preset})"
    clear = sure(added[NAIVE] / 2 - added[FAIR], "perceived regret", {FAIR: 1.0, BLIND: 0.5, NAIVE: 0.5})
    yield SMALL_GAP.verdict(added[FAIR] <= added[NAIVE] / 2, told, settings, certainty=clear)
    told = f"{FAIR} {share[FAIR]:.3f}, TopInterval {share[BLIND]:.3f} ({preset})"
    off = {name: abs(value - 0.5) for name, value in share.items()}
    clear = sure(0.05 - off[FAIR], "share", {FAIR: 1.0})
    yield HALF.verdict(off[FAIR] <= 0.05, told, settings, certainty=clear)
    clear = sure(off[BLIND] - off[FAIR], "share", {FAIR: 1.0, BLIND: 1.0})
    yield NEARER.verdict(off[FAIR] < off[BLIND], told, settings, certainty=clear)


def _draw(table: pd.DataFrame, settings: RealData) -> Figure:
    from evenhand.plots.means import plot_means
    from evenhand.plots.style import DASHED, figure, one_legend

    drawn, (share, loss) = figure(width=9.5, height=4.4, columns=2)
    own = table[table["preset"] == settings.presets[0]]
    share.axhline(own["arm_share"].iloc[0], label="share of the arms", **DASHED)
    where = f"{settings.data.replace('_', ' ')} ({settings.presets[0]}), mean over {len(settings.deltas)} deltas"
    for axes, measure, up in (
        (share, "share", "share of sensitive pulls"),
        (loss, "perceived regret", "perceived regret a round"),
    ):
        shown, title = own[own["measure"] == measure], f"{up[0].upper()}{up[1:]}\n{where}"
        plot_means(shown, "value", "policy", of="replications", title=title, across="horizon T", up=up, ax=axes)
    one_legend(drawn, 3)
    return drawn
