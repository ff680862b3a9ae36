"""Figure 4: the largest violation over time, Fair-UCB against LFG, Instance 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.experiments.claims import Claim, Verdict
from evenhand.experiments.framework import Report, Runner, experiment
from evenhand.experiments.quotas.settings import INSTANCE_2, SHARES_2, Fig4, lfg_etas
from evenhand.learners import UCB1
from evenhand.quotas import LFG, BernoulliArms, DeadlineLearn, FairUCB

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BELOW = Claim(
    "Fair-UCB's violation stays below alpha + 1 at every round",
    "Figure 4, Theorem 1",
    "largest shortfall over all rounds and replications below alpha + 1, and floor(r_i t) - N_i(t) <= alpha always",
)
LARGER = Claim(
    "LFG's violation grows far beyond Fair-UCB's",
    "Figure 4, section 6",
    "LFG's worst shortfall at least ten times Fair-UCB's, for every eta",
    {"rounds": 10_000, "replications": 20},
)
ZERO = Claim(
    "LFG's violation goes to zero as time passes",
    "section 6",
    "mean shortfall at T at most a tenth of its largest value, for every eta",
    {"rounds": 10_000, "replications": 20},
)
VANISHES = Claim(
    "LFG's violation per round, violation/t, vanishes",
    "section 6",
    "violation/t at T at most a fifth of its value at T/10, for every eta",
    {"rounds": 10_000, "replications": 20},
)


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
    policies: dict[str, Any] = {"Fair-UCB": FairUCB(shares, settings.tolerance)}
    policies |= {name: LFG(shares, eta) for name, eta in etas.items()}
    policies["DeadlineLearn(UCB1)"] = DeadlineLearn(UCB1(), shares, settings.tolerance)
    history = runner.simulate(policies, BernoulliArms(INSTANCE_2), settings)
    report = Report(data={"history": history}, verdicts=_verdicts(history, settings, etas))
    largest_gap = max(INSTANCE_2) - min(INSTANCE_2)
    for name, eta in etas.items():
        level = float(history.shortfall.sel(policy=name).isel(round=slice(-50, None)).mean())
        report.remarks.append(
            f"{name}: the shortfall settles at {level:.0f} plays; eta times the largest gap is {eta * largest_gap:.0f}."
        )
    report.figures["fig4"] = _draw(history)
    return report


def _verdicts(history: Any, settings: Fig4, etas: dict[str, float]) -> list[Verdict]:
    fair = history.sel(policy="Fair-UCB")
    worst = float(fair.worst_shortfall.max())
    kept = float(fair.violations.max()) == 0
    mean = {name: history.shortfall.sel(policy=name).mean("replication") for name in etas}
    grown = {name: float(history.worst_shortfall.sel(policy=name).mean("replication")[-1]) for name in etas}
    ends = {name: float(line[-1] / line.max()) for name, line in mean.items()}
    tenth = settings.rounds / 10
    rate = {
        name: (float(line[-1]) / settings.rounds) / (float(line.sel(round=tenth, method="nearest")) / tenth)
        for name, line in mean.items()
    }

    def told(values: dict[str, float]) -> str:
        return ", ".join(f"{name}: {value:.3g}" for name, value in values.items())

    far = f"worst shortfall, {told(grown)}; Fair-UCB {worst:.3g}"
    return [
        BELOW.verdict(
            kept and worst < settings.tolerance + 1, f"worst {worst:.3f}; rounds in violation {int(not kept)}"
        ),
        LARGER.verdict(all(g >= 10 * worst for g in grown.values()), far, settings),
        ZERO.verdict(
            all(end <= 0.1 for end in ends.values()), f"shortfall at T over its largest value, {told(ends)}", settings
        ),
        VANISHES.verdict(
            all(r <= 0.2 for r in rate.values()), f"violation/t at T over that at T/10, {told(rate)}", settings
        ),
    ]


def _draw(history: Any) -> Figure:
    from evenhand.plots import plot_shortfall
    from evenhand.plots.style import figure, one_legend

    drawn, (ever, now) = figure(width=9.5, height=4.2, columns=2)
    plot_shortfall(history, ax=ever)
    plot_shortfall(history, ax=now, variable="shortfall")
    one_legend(drawn)
    return drawn
