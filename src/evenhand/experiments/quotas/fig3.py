"""Figure 3: r-regret over time, Fair-UCB against LFG, Instance 1; and what other learners make of the same promise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.experiments.claims import Claim, Verdict
from evenhand.experiments.framework import Report, Runner, experiment
from evenhand.experiments.quotas.settings import INSTANCE_1, SHARES_1, Fig3, lfg_etas
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import LFG, BernoulliArms, DeadlineLearn, FairLearn, FairUCB

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COMPARABLE = Claim(
    "Fair-UCB and LFG have comparable r-regret",
    "Figure 3, section 6",
    "the r-regrets at T are within a factor of two of each other for at least one eta",
    {"rounds": 1_000_000},
)
EVERY_ETA = Claim(
    "... whatever eta (the text gives none)",
    "Figure 3, section 6",
    "the r-regrets at T are within a factor of two of each other for every eta tried",
    {"rounds": 1_000_000},
)
BOUND = Claim(
    "r-regret of Fair-UCB is at most the bound of Theorem 2",
    "Theorem 2",
    "mean r-regret at every checkpoint below the bound",
)
LOGARITHMIC = Claim(
    "r-regret of Fair-UCB grows at most logarithmically once the quotas bind",
    "Theorem 2, Figure 3",
    "mean r-regret at T at most twice that at T/10",
    {"rounds": 1_000_000},
)


def theorem_2(gaps: np.ndarray, shares: np.ndarray, tolerance: float, rounds: np.ndarray) -> np.ndarray:
    """Return the bound of Theorem 2 on the r-regret of Fair-UCB at the given rounds (n_rounds,).

    (1 + pi^2/3) sum_i Delta_i + sum over { i : r_i T - alpha < 8 ln T / Delta_i^2 } of Delta_i (8 ln T / Delta_i^2 -
    (r_i T - alpha)).
    """
    positive = gaps > 0
    needed = 8 * np.log(rounds)[:, None] / gaps[positive] ** 2
    served = shares[positive] * rounds[:, None] - tolerance
    return (1 + math.pi**2 / 3) * gaps.sum() + (gaps[positive] * np.maximum(0.0, needed - served)).sum(axis=1)


@experiment(
    "quotas/fig3",
    "r-regret over time, Fair-UCB against LFG",
    full=Fig3(rounds=1_000_000, replications=50),
    quick=Fig3(rounds=100_000, replications=8),
)
def fig3(settings: Fig3, runner: Runner) -> Report:
    """Run all policies on both readings of Instance 1."""
    report = Report()
    shares = list(SHARES_1)
    etas = lfg_etas(settings)
    histories = {}
    for reading, means in INSTANCE_1.items():
        policies: dict[str, Any] = {"Fair-UCB": FairUCB(shares)}
        policies |= {name: LFG(shares, eta) for name, eta in etas.items()}
        policies |= {
            "DeadlineLearn(UCB1)": DeadlineLearn(UCB1(), shares),
            "FairLearn(Thompson)": FairLearn(Thompson(), shares),
        }
        histories[reading] = history = runner.simulate(
            policies, BernoulliArms(means), settings, checkpoints=120, spacing="log"
        )
        report.data[f"history {reading}".replace(" ", "_")] = history
        report.verdicts += _verdicts(history, np.max(means) - np.array(means), list(etas), settings, reading)
        end = history.isel(round=-1).r_regret.mean("replication").to_series()
        report.remarks.append(
            f"r-regret at T of other learners under the same promise ({reading}): "
            + ", ".join(
                f"{name} {end[name]:.0f}" for name in ("Fair-UCB", "DeadlineLearn(UCB1)", "FairLearn(Thompson)")
            )
        )
    report.figures["fig3"] = _draw(histories)
    report.remarks.append(
        "r-regret may rise, peak and fall: early exploration is paid back as the quotas catch up with it."
    )
    return report


def _verdicts(history: Any, gaps: np.ndarray, lfg: list[str], settings: Fig3, reading: str) -> list[Verdict]:
    mean = history.r_regret.mean("replication")
    fair = mean.sel(policy="Fair-UCB")
    last = float(fair[-1])
    ratios = {name: float(mean.sel(policy=name)[-1]) / last for name in lfg}
    told = ", ".join(f"{name.split('= ')[1]}: {ratio:.2f}" for name, ratio in ratios.items())
    near = [0.5 <= ratio <= 2 for ratio in ratios.values()]
    rounds = history["round"].values
    bound = theorem_2(gaps, np.array(SHARES_1), 0.0, rounds)
    tenth = float(fair.sel(round=rounds[-1] / 10, method="nearest"))
    return [
        COMPARABLE.verdict(any(near), f"LFG over Fair-UCB at T by eta: {told} ({reading})", settings),
        EVERY_ETA.verdict(all(near), f"LFG over Fair-UCB at T by eta: {told} ({reading})", settings),
        BOUND.verdict(
            bool((fair.values <= bound).all()), f"at T {last:.0f} against a bound of {bound[-1]:.0f} ({reading})"
        ),
        LOGARITHMIC.verdict(last <= 2 * tenth, f"{last:.0f} at T, {tenth:.0f} at T/10 ({reading})", settings),
    ]


def _draw(histories: dict[str, Any]) -> Figure:
    from evenhand.plots import plot_regret
    from evenhand.plots.style import figure, one_legend

    drawn, panels = figure(width=9.5, height=4.4, columns=2, share_y=True)
    for panel, (reading, history) in zip(panels, histories.items(), strict=True):
        plot_regret(history, ax=panel, variable="r_regret", log=True)
        panel.set_title(f"Regret under the promise, Instance 1,\n{reading}", loc="left", fontsize=10.5)
    panels[1].set_ylabel("")
    one_legend(drawn, 3)
    return drawn
