"""Figures 3 and 4: r-regret and the largest violation over time, Fair-UCB against LFG.

The published text gives no eta of LFG.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.experiments.framework import Claim, ClaimVerdict, Report, Runner, experiment
from evenhand.experiments.quotas.fig2 import INSTANCE_1, REMARK_1, SHARES_1
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import LFG, BernoulliArms, DeadlineLearn, FairLearn, FairUCB
from evenhand.simulation.frames import frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INSTANCE_2 = (0.7, 0.5, 0.4)
SHARES_2 = (0.2, 0.3, 0.25)
COMPARABLE = Claim(
    "Fair-UCB and LFG have comparable r-regret",
    "Figure 3, section 6",
    "the mean r-regrets at T are within a factor of two of each other for at least one eta",
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
BELOW = Claim(
    "Fair-UCB's violation stays below alpha + 1 at every round",
    "Figure 4, Theorem 1",
    "largest shortfall over all rounds and replications below alpha + 1, and floor(r_i t) - N_i(t) <= alpha always",
)
of_fig4 = partial(Claim, needs={"rounds": 10_000, "replications": 20})
LARGER = of_fig4(
    "LFG's violation grows far beyond Fair-UCB's",
    "Figure 4, section 6",
    "LFG's worst shortfall, mean over replications, at least ten times Fair-UCB's largest, for every eta",
)
ZERO = of_fig4(
    "LFG's violation goes to zero as time passes",
    "section 6",
    "mean shortfall at T at most a tenth of its largest value over time, for every eta",
)
VANISHES = of_fig4(
    "LFG's violation per round, violation/t, vanishes",
    "section 6",
    "mean shortfall/t at T at most a fifth of its value at T/10, for every eta",
    kind="ours",
)
MULTIPLES = {"unit": "of LFG, as multiples of sqrt(T)"}


@dataclass(frozen=True)
class Fig3:
    """r-regret over time, Fair-UCB against LFG."""

    rounds: int
    replications: int
    seed: int = 3
    etas: tuple[float, ...] = field(default=(1.0, 3.0, 10.0), metadata=MULTIPLES)


@dataclass(frozen=True)
class Fig4(Fig3):
    """Violation of the promise over time, Fair-UCB against LFG."""

    seed: int = 4
    etas: tuple[float, ...] = field(default=(1.0, 3.0), metadata=MULTIPLES)
    tolerance: float = 0.0


def lfg_etas(settings: Fig3) -> dict[str, float]:
    """Return LFG's eta by the policy's name."""
    etas = [eta * math.sqrt(settings.rounds) for eta in settings.etas]
    return {f"LFG, eta = {eta:.0f}": eta for eta in etas}


def rivals(shares: list[float], etas: dict[str, float], tolerance: float = 0.0) -> dict[str, Any]:
    """Return Fair-UCB, and LFG with these eta, by their names."""
    return {"Fair-UCB": FairUCB(shares, tolerance)} | {name: LFG(shares, eta) for name, eta in etas.items()}


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
    import pandas as pd

    report = Report()
    shares = list(SHARES_1)
    etas = lfg_etas(settings)
    histories = {}
    for reading, means in INSTANCE_1.items():
        policies = rivals(shares, etas) | {
            "DeadlineLearn(UCB1)": DeadlineLearn(UCB1(), shares),
            "FairLearn(Thompson)": FairLearn(Thompson(), shares),
        }
        histories[reading] = history = runner.simulate(
            policies, BernoulliArms(means), settings, checkpoints=120, spacing="log"
        )
        report.data[f"history {reading}".replace(" ", "_")] = history
        report.verdicts += _verdicts_3(history, np.max(means) - np.array(means), list(etas), settings, reading)
    tables = [frame(own[["r_regret"]], last=False).assign(reading=reading) for reading, own in histories.items()]
    report.figures["fig3"] = _draw_3(histories), pd.concat(tables)
    report.remarks.append(REMARK_1)
    report.remarks.append(
        "r-regret may rise, peak and fall: early exploration is paid back as the quotas catch up with it."
    )
    return report


def _verdicts_3(history: Any, gaps: np.ndarray, lfg: list[str], settings: Fig3, reading: str) -> list[ClaimVerdict]:
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
        BOUND.verdict(
            bool((fair.values <= bound).all()), f"at T {last:.0f} against a bound of {bound[-1]:.0f} ({reading})"
        ),
        LOGARITHMIC.verdict(last <= 2 * tenth, f"{last:.0f} at T, {tenth:.0f} at T/10 ({reading})", settings),
    ]


def _draw_3(histories: dict[str, Any]) -> Figure:
    from evenhand.plots import plot_regret
    from evenhand.plots.style import figure

    drawn, panels = figure(width=9.5, height=4.4, columns=2, share_y=True)
    for panel, (reading, history) in zip(panels, histories.items(), strict=True):
        title = f"Regret under the promise, Instance 1,\n{reading}"
        plot_regret(history, ax=panel, variable="r_regret", log=True, title=title)
    panels[1].set_ylabel("")
    return drawn


@experiment(
    "quotas/fig4",
    "Largest violation over time, Fair-UCB against LFG",
    full=Fig4(rounds=10_000, replications=200),
    quick=Fig4(rounds=10_000, replications=20),
)
def fig4(settings: Fig4, runner: Runner) -> Report:
    """Run the policies on Instance 2."""
    shares = list(SHARES_2)
    etas = lfg_etas(settings)
    policies = rivals(shares, etas, settings.tolerance)
    policies["DeadlineLearn(UCB1)"] = DeadlineLearn(UCB1(), shares, settings.tolerance)
    history = runner.simulate(policies, BernoulliArms(INSTANCE_2), settings)
    history["shortfall_rate"] = history.shortfall / history["round"]
    report = Report(data={"history": history}, verdicts=_verdicts_4(history, settings, etas))
    largest_gap = max(INSTANCE_2) - min(INSTANCE_2)
    for name, eta in etas.items():
        level = float(history.shortfall.sel(policy=name).isel(round=slice(-50, None)).mean())
        report.remarks.append(
            f"{name}: the shortfall settles at {level:.0f} plays; eta times the largest gap is {eta * largest_gap:.0f}."
        )
    drawn = history[["worst_shortfall", "shortfall", "shortfall_rate"]]
    largest = np.concatenate([drawn[name].max("replication").values.ravel() for name in drawn])
    report.figures["fig4"] = _draw_4(history), frame(drawn, last=False).assign(largest=largest)
    report.remarks.append(f"Instance 2: means {INSTANCE_2}, shares {SHARES_2}.")
    report.remarks.append(
        "The second and third panels leave DeadlineLearn(UCB1) out: its present shortfall goes up and down with the "
        "arms whose turn it is. fig4.csv has its numbers."
    )
    return report


def _verdicts_4(history: Any, settings: Fig4, etas: dict[str, float]) -> list[ClaimVerdict]:
    fair = history.sel(policy="Fair-UCB")
    worst = float(fair.worst_shortfall.max())
    kept = float(fair.violations.max()) == 0
    mean = {name: history.shortfall.sel(policy=name).mean("replication") for name in etas}
    grown = {name: float(history.worst_shortfall.sel(policy=name).mean("replication")[-1]) for name in etas}
    ends = {name: float(line[-1] / line.max()) for name, line in mean.items()}
    tenth = settings.rounds / 10
    rates = history.shortfall_rate.mean("replication")
    early = rates.sel(round=tenth, method="nearest")
    rate = {name: float(rates.sel(policy=name)[-1] / early.sel(policy=name)) for name in etas}

    def told(values: dict[str, float]) -> str:
        return ", ".join(f"{name}: {value:.3g}" for name, value in values.items())

    far = f"mean worst shortfall, {told(grown)}; Fair-UCB's largest {worst:.3g}"
    return [
        BELOW.verdict(
            kept and worst < settings.tolerance + 1, f"largest {worst:.3f}; rounds in violation {int(not kept)}"
        ),
        LARGER.verdict(all(g >= 10 * worst for g in grown.values()), far, settings),
        ZERO.verdict(
            all(end <= 0.1 for end in ends.values()),
            f"mean shortfall at T over its largest value, {told(ends)}",
            settings,
        ),
        VANISHES.verdict(
            all(r <= 0.2 for r in rate.values()), f"mean shortfall/t at T over that at T/10, {told(rate)}", settings
        ),
    ]


def _draw_4(history: Any) -> Figure:
    from evenhand.plots import plot_regret, plot_shortfall
    from evenhand.plots.style import figure, one_legend

    drawn, (ever, now, rate) = figure(width=11.0, height=4.4, columns=3)
    plot_shortfall(history, over="mean", title="Worst shortfall so far", ax=ever)
    runs = history.sizes["replication"]
    largest = history.worst_shortfall.sel(policy="Fair-UCB").max("replication")
    ever.plot(history["round"], largest, "k:", linewidth=2.5, label=f"Fair-UCB, largest of {runs} replications")
    papers = history.isel(policy=slice(-1))
    without = f"\nwithout {history.policy.values[-1]}"
    plot_shortfall(papers, over="mean", variable="shortfall", title=f"Worst shortfall now,{without}", ax=now)
    plot_regret(papers, variable="shortfall_rate", title=f"Worst shortfall now / round,{without}", ax=rate)
    rate.set(ylabel="plays behind the share, a round", ylim=(-0.005, None))
    one_legend(drawn, 5)
    return drawn
