"""Auditors that err: hard cuts against a belief with an error rate."""

from __future__ import annotations

from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.experiments.similarity.settings import Single, clear, draw_total, halves, last, learning, spread, world
from evenhand.similarity import EllipsoidDistance, MomentDistance

__all__ = ["noise"]

ROBUST = Claim(
    "With one wrong verdict in ten, a belief with an error rate makes far fewer violations than hard cuts",
    "ours",
    "at most a tenth as many, in the mean",
    {"replications": 6},
)
STILL = Claim(
    "With the belief, violations still stop",
    "ours",
    "the second half of the rounds adds at most 10 % of all violations",
    {"rounds": 10_000},
)


@experiment(
    "similarity/noise",
    "Auditors that err",
    full=Single(rounds=20_000, replications=6),
    quick=Single(rounds=10_000, replications=4),
)
def noise(settings: Single, runner: Runner) -> Report:
    """Flip one verdict in ten."""
    report, d = Report(), settings.dimension
    believing = MomentDistance(error_rate=0.1, precision=settings.precision, conservative=False)
    policies = {
        "belief": learning(settings, d, believing),
        "hard cuts": learning(settings, d, MomentDistance(radius=2.0 * d)),
        "hard cuts, ellipsoid": learning(settings, d, EllipsoidDistance(radius=2.0 * d)),
    }
    history = runner.simulate(policies, world(settings, d, settings.individuals, error_rate=0.1), settings)
    report.data["history"] = history
    belief, hard, wrapped = (last(history, "violations", name) for name in policies)
    first, second = halves(history, "belief")
    report.verdicts = [
        ROBUST.verdict(
            belief.mean() <= hard.mean() / 10,
            f"{spread(belief)} against {spread(hard)}; the ellipsoid {spread(wrapped)}",
            settings,
            certainty=clear(hard / 10 - belief),
        ),
        STILL.verdict(
            second <= 0.1 * (first + second), f"{first:.1f} in the first half, {second:.1f} in the second", settings
        ),
    ]
    report.figures["noise"] = draw_total(history, "violations", log=True)
    return report
