"""Auditors that err: hard cuts against a belief with an error rate."""

from __future__ import annotations

from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.experiments.similarity.settings import Single, clear, instance, last, spread
from evenhand.plots.similarity import plot_total
from evenhand.similarity import EllipsoidDistance, LinearContexts, LipschitzUCB, MahalanobisOracle, MomentDistance
from evenhand.simulation import simulate

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
    report = Report()
    d = settings.dimension
    theta, A = instance(d, settings.seed)
    policies = {
        "belief": LipschitzUCB(
            d,
            precision=settings.precision,
            metric=MomentDistance(error_rate=0.1, precision=settings.precision),
            noise_scale=0.1,
        ),
        "hard cuts": LipschitzUCB(
            d, precision=settings.precision, metric=MomentDistance(radius=2.0 * d), noise_scale=0.1
        ),
        "hard cuts, ellipsoid": LipschitzUCB(
            d, precision=settings.precision, metric=EllipsoidDistance(radius=2.0 * d), noise_scale=0.1
        ),
    }
    oracle = MahalanobisOracle(A, error_rate=0.1, seed=settings.seed)
    place = LinearContexts(
        theta, oracle, individuals=settings.individuals, precision=settings.precision, noise=settings.noise
    )
    history = simulate(
        policies, place, rounds=settings.rounds, replications=settings.replications, seed=settings.seed,
        jobs=runner.jobs, progress=runner.progress, store=runner.store,
    )  # fmt: skip
    report.data["history"] = history
    belief, hard = last(history, "violations", "belief"), last(history, "violations", "hard cuts")
    wrapped = last(history, "violations", "hard cuts, ellipsoid")
    counts = history.violations.sel(policy="belief").mean("replication")
    end, half = float(counts[-1]), float(counts.sel(round=settings.rounds // 2, method="nearest"))
    report.verdicts = [
        ROBUST.verdict(
            belief.mean() <= hard.mean() / 10,
            f"{spread(belief)} against {spread(hard)}; the ellipsoid {spread(wrapped)}",
            settings,
            certainty=clear(hard / 10 - belief),
        ),
        STILL.verdict(
            end - half <= 0.1 * end, f"{half:.1f} in the first half, {end - half:.1f} in the second", settings
        ),
    ]
    report.figures["noise"] = plot_total(history, "violations", log=True)
    return report
