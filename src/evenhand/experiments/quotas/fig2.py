"""Figure 2: regret and largest violation of Fair-UCB against the tolerance alpha, Instance 1.

The published text gives the instances, the shares and most horizons; LFG's eta is not given. Instance 1 reads mu_i =
mu_1 - 0.01 i for i >= 2; whether i counts from one (0.78 ... 0.70) or from zero (0.79 ... 0.71) changes no claim, and
both are run.

Source: V. Patil, G. Ghalme, V. Nair, Y. Narahari, Journal of Machine Learning Research 22 (2021), section 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.experiments.framework import Claim, ClaimVerdict, Report, Runner, experiment
from evenhand.learners import UCB1
from evenhand.quotas import BernoulliArms, FairUCB
from evenhand.simulation.measures import mean_and_ends

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

INSTANCE_1 = {
    "counting from 1": (0.80, 0.78, 0.77, 0.76, 0.75, 0.74, 0.73, 0.72, 0.71, 0.70),
    "counting from 0": (0.80, 0.79, 0.78, 0.77, 0.76, 0.75, 0.74, 0.73, 0.72, 0.71),
}
SHARES_1 = (0.05,) * 10
REMARK_1 = f"Instance 1: ten arms, each with the share {SHARES_1[0]}; means {INSTANCE_1}."
FALLS = Claim(
    "Conventional regret falls as the tolerance grows",
    "Figure 2, section 6",
    "mean regret over the grid never rises by more than two standard errors",
    {"replications": 50},
)
THRESHOLD = Claim(
    "Beyond a threshold nothing is forced and regret is that of UCB1",
    "Figure 2, section 6",
    "at the largest tolerance no round is forced and regret equals UCB1's in every replication",
)
VIOLATION = Claim(
    "The largest violation grows as the tolerance until that threshold",
    "Figure 2, section 6",
    "worst shortfall in (floor(alpha), floor(alpha) + 1) in every replication in which a round is forced",
)
LINEAR = Claim(
    'The cost follows the quotas that bind (Theorem 4), without a jump; the paper: it "reduces drastically"',
    "Theorem 4",
    "mean regret within 5 % of sum_i Delta_i max(N_i of UCB1, r_i T - alpha) all over the grid",
    {"rounds": 1_000_000},
    kind="ours",
)


@dataclass(frozen=True)
class Fig2:
    """Cost of fairness against the tolerance."""

    rounds: int
    replications: int
    seed: int = 2
    tolerances: tuple[float, ...] = field(
        default=(0.0, 0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
        metadata={"unit": "alpha as a part of r T = 0.05 T, from the strict promise to none"},
    )


@experiment(
    "quotas/fig2",
    "Cost of fairness against the tolerance",
    full=Fig2(rounds=1_000_000, replications=50),
    quick=Fig2(rounds=200_000, replications=10),
)
def fig2(settings: Fig2, runner: Runner) -> Report:
    """Run the grid of tolerances for both readings of Instance 1."""
    import pandas as pd

    report = Report()
    tables = []
    for reading, means in INSTANCE_1.items():
        grid = {
            str(part): FairUCB(list(SHARES_1), part * SHARES_1[0] * settings.rounds) for part in settings.tolerances
        }
        history = runner.simulate(
            grid | {"UCB1": UCB1()}, BernoulliArms(means), settings, checkpoints=[settings.rounds]
        ).isel(round=-1)
        report.data[f"history {reading}".replace(" ", "_")] = history
        table = _table(history, settings, np.max(means) - np.array(means)).assign(reading=reading)
        tables.append(table)
        report.verdicts += _verdicts_2(table, history, settings, reading)
    report.figures["fig2"] = _draw_2(tables, settings), pd.concat(tables)
    report.remarks.append(REMARK_1)
    return report


def _table(history: Any, settings: Fig2, gaps: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    plain = history.pulls.sel(policy="UCB1").mean("replication").values
    rows = []
    for part in settings.tolerances:
        alpha = part * SHARES_1[0] * settings.rounds
        own = history.sel(policy=str(part))
        mean, low, high = map(float, mean_and_ends(own.regret))
        bound = np.maximum(plain, np.array(SHARES_1) * settings.rounds - alpha)
        rows.append(
            {
                "alpha": alpha,
                "regret": mean,
                "standard_error": float(own.regret.std(ddof=1)) / np.sqrt(settings.replications),
                "low": low,
                "high": high,
                "level": 0.95,
                "predicted": float(gaps @ bound),
                "largest_worst_shortfall": float(own.worst_shortfall.max()),
                "least_where_forced": float(own.worst_shortfall.where(own.forced > 0).min()),
                "forced": float(own.forced.mean()),
                "ucb1_regret": float(history.regret.sel(policy="UCB1").mean()),
            }
        )
    return pd.DataFrame(rows)


def _verdicts_2(table: pd.DataFrame, history: Any, settings: Fig2, reading: str) -> list[ClaimVerdict]:
    rise = (table.regret.diff() - 2 * np.hypot(table.standard_error, table.standard_error.shift())).max()
    last = table.iloc[-1]
    largest = str(history.policy.values[-2])
    same = bool((history.regret.sel(policy=largest) == history.regret.sel(policy="UCB1")).all())
    forced = table[table.forced > 0]
    floor = np.floor(forced.alpha)
    within = (forced.largest_worst_shortfall < floor + 1).all() and (forced.least_where_forced > floor).all()
    off = float((table.regret / table.predicted - 1).abs().max())
    first = table.regret.iloc[0]
    falls = f"from {first:.0f} at alpha = 0 to {last.regret:.0f} at alpha = {last.alpha:.0f} ({reading})"
    least, most = ((forced[name] - forced.alpha) for name in ("least_where_forced", "largest_worst_shortfall"))
    return [
        FALLS.verdict(rise <= 0, falls, settings),
        THRESHOLD.verdict(last.forced == 0 and same, f"{last.forced:.0f} forced, equal to UCB1: {same} ({reading})"),
        VIOLATION.verdict(
            bool(within), f"worst shortfall less alpha from {least.min():.2f} to {most.max():.2f} ({reading})"
        ),
        LINEAR.verdict(off <= 0.05, f"largest deviation {100 * off:.1f} % ({reading})", settings),
    ]


def _draw_2(tables: list[pd.DataFrame], settings: Fig2) -> Figure:
    from evenhand.plots.style import SHADES, figure, finish, one_legend, style

    drawn, (left, right) = figure(width=9.5, height=4.4, columns=2)
    runs = f"of {settings.replications} replications"
    with style():
        for table, shade, dash, marker, size in zip(tables, SHADES, ("-", "--"), ("o", "s"), (8, 3.5), strict=False):
            reading = table.reading.iloc[0]
            fill = "none" if marker == "o" else "full"  # seen around the other, where both lines are one
            look = {"color": shade, "linestyle": dash, "marker": marker, "markersize": size, "fillstyle": fill}
            label, half = f"Fair-UCB, {reading}", table.high - table.regret
            left.errorbar(table.alpha, table.regret, half, label=label, capsize=2, **look)
            left.axhline(table.ucb1_regret.iloc[0], color=shade, linewidth=1, linestyle=":", label=f"UCB1, {reading}")
            left.plot(table.alpha, table.predicted, "k+", markersize=7, label="predicted from UCB1's pulls")
            right.plot(table.alpha, table.largest_worst_shortfall, label=label, **look)
        right.plot(table.alpha, table.alpha, color="black", linewidth=1, linestyle=(0, (2, 2)), label="tolerance alpha")
        up = f"regret at T, mean {runs}, 95 % intervals"
        finish(left, "Regret against the tolerance", "tolerance alpha (pulls)", up)
        up = f"worst shortfall (pulls), largest {runs}"
        finish(right, "Largest violation against the tolerance", "tolerance alpha (pulls)", up)
    one_legend(drawn, 3)
    return drawn
