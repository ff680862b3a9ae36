"""Violations and regret over rounds, dimensions and individuals; against an adversary; with many choices per round.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018), which
has no experiments; these test its theorems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evenhand.experiments.framework import Claim, Report, Runner, experiment, growth
from evenhand.kernels.arrays import Floats, Ints
from evenhand.plots.means import plot_means
from evenhand.plots.style import figure
from evenhand.similarity import (
    EllipsoidDistance,
    KnownDistance,
    LinearContexts,
    LipschitzUCB,
    MahalanobisOracle,
    MomentDistance,
    ProjectedVolumeDistance,
    regret_bound,
    violations_bound,
)
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.program import Select
from evenhand.similarity.worlds import Appearance
from evenhand.simulation.frames import frame

FLAT = Claim(
    "Violations above epsilon stop: their number is flat or logarithmic in T",
    "Theorem 4",
    "in every cell the second half of the rounds adds at most 5 % of all violations",
    {"rounds": 10_000},
)
SHAPE = Claim(
    "Their number stays below k^2 d^2 log(d ||A'A||_F / epsilon)",
    "Theorem 4, constant taken as one",
    "the mean of every cell with k >= 3 is below the bound",
    {"rounds": 100_000, "replications": 10},
    kind="ours",
)
ADVERSARY = Claim(
    "Against an adversary that shows the pairs the policy knows least, violations still stop",
    "Theorem 4 holds for any contexts",
    "for every learner the second half of the rounds adds at most 5 % of all violations",
    {"rounds": 1_000},
)
CLOSE = Claim(
    "Not knowing the metric costs almost nothing: regret within a few per cent of a policy that knows it",
    "Theorem 3: the price of the metric is a term in log T and one in epsilon T",
    "mean regret at T within 5 % of that of the policy that knows the metric",
    {"rounds": 100_000},
    kind="ours",
)
SLOPE = Claim(
    "Regret grows no faster than sqrt(T)",
    "Theorem 3",
    "slope of log mean regret against log T, over the last decade, at most 0.65",
    {"rounds": 100_000},
)
BELOW = Claim(
    "Regret stays below k^2 d^2 log(.) + k^3 epsilon T + d sqrt(T) log(T / delta)",
    "Theorem 3, constant taken as one",
    "mean regret below the bound at every checkpoint",
    kind="ours",
)
MANY = Claim(
    "With many choices a round violations stop as well",
    "Appendix A",
    "the second half of the rounds adds at most 5 % of all violations",
    {"rounds": 5_000},
)
TITLES = {
    "regret": ("Regret to the best fair policy", "cumulative regret (expected reward)"),
    "violations": ("Pairs treated more differently than distance + epsilon", "violations, cumulative (pairs)"),
}


@dataclass(frozen=True)
class Settings:
    """A grid over dimensions and numbers of individuals."""

    rounds: int
    replications: int
    dimensions: tuple[int, ...] = (3,)
    individuals: tuple[int, ...] = (5,)
    precision: float = 0.02
    noise: float = 0.1
    seed: int = 5


@experiment(
    "similarity/violations",
    "Violations above epsilon against T, d and k",
    full=Settings(rounds=100_000, replications=10, dimensions=(2, 3, 5), individuals=(2, 3, 5, 8)),
    quick=Settings(rounds=10_000, replications=2, dimensions=(2, 3), individuals=(3, 5)),
)
def violations(settings: Settings, runner: Runner) -> Report:
    """Run the paper's algorithm with a shared ellipsoid over the grid."""
    rows, tails = [], {}
    for d in settings.dimensions:
        for k in settings.individuals:
            place = _world(settings, d, k)
            history = runner.simulate(_learning(settings, d, EllipsoidDistance()), place, settings, spacing="log")
            (name,) = map(str, history.policy.values)
            bound = violations_bound(place.truth.A, individuals=k, precision=settings.precision)
            counts = _last(history, "violations", name)
            found = {"violations": counts.mean(), "most": counts.max(), "late": _late(history, name), "bound": bound}
            rows.append({"d": d, "k": k, **found})
            tails[d, k] = history
    table = pd.DataFrame(rows)
    ratio = table.violations / table.bound
    verdicts = [
        FLAT.verdict(
            table.late.max() <= 0.05, f"at most {100 * table.late.max():.1f} % are added in the second half", settings
        ),
        SHAPE.verdict(
            bool((ratio[table.k >= 3] <= 1).all()),
            f"violations over bound {ratio.min():.2f} to {ratio.max():.2f}, {ratio[table.k >= 3].max():.2f} for k >= 3",
            settings,
        ),
    ]
    curves = pd.concat(
        [frame(own[["violations"]], last=False).assign(d=d, k=f"k = {k}") for (d, k), own in tails.items()]
    )
    drawn, panels = figure(width=3.4 * len(settings.dimensions), height=3.8, columns=len(settings.dimensions))
    for d, axes in zip(settings.dimensions, np.atleast_1d(panels), strict=True):
        labels = {"title": f"{d} features, k individuals", "across": "round", "up": "violations above epsilon (pairs)"}
        plot_means(curves[curves["d"] == d], "round", "k", of="replications", **labels, ax=axes)
        axes.set_xscale("log")
        axes.set_ylim(bottom=0.0)
    return Report({"table": table}, verdicts, {"violations": (drawn, curves)})


@experiment(
    "similarity/adversary",
    "An adversary shows what the policy knows least",
    full=Settings(rounds=4_000, replications=4),
    quick=Settings(rounds=1_000, replications=4),
)
def adversary(settings: Settings, runner: Runner) -> Report:
    """Let an adversary choose the individuals, for each metric learner."""
    (d,), (k,), precision = settings.dimensions, settings.individuals, settings.precision
    metrics: dict[str, DistanceLearner] = {
        "ellipsoid": EllipsoidDistance(precision=precision),
        "moments": MomentDistance(precision=precision),
        "projected volume": ProjectedVolumeDistance(precision=precision, seed=1),
    }
    policies = {name: _learning(settings, d, metric) for name, metric in metrics.items()}
    history = runner.simulate(policies, _world(settings, d, k, contexts="adversarial"), settings)
    tails = {name: _late(history, name) for name in policies}
    said = "; ".join(f"{name}: {100 * part:.1f} %" for name, part in tails.items())
    verdict = ADVERSARY.verdict(max(tails.values()) <= 0.05, said, settings)
    return Report({"history": history}, [verdict], {"adversary": _draw(history, "violations")})


@experiment(
    "similarity/regret",
    "Regret to the best fair policy",
    full=Settings(rounds=100_000, replications=10, precision=1e-5),
    quick=Settings(rounds=10_000, replications=4, precision=1e-4),
)
def regret(settings: Settings, runner: Runner) -> Report:
    """Compare with a policy that knows the metric."""
    (d,), (k,), report = settings.dimensions, settings.individuals, Report()
    _, A = _instance(d, settings.seed)
    learner = EllipsoidDistance(precision=settings.precision)
    policies = {
        "knows the metric": LipschitzUCB(d, metric=KnownDistance(A)),
        "learns it": LipschitzUCB(d, precision=settings.precision, metric=learner),
        "learns it, as published": LipschitzUCB(d, precision=settings.precision, metric=learner, margin=False),
    }
    history = runner.simulate(policies, _world(settings, d, k), settings, spacing="log")
    report.data["history"] = history
    rounds, known = history["round"].values, _last(history, "regret", "knows the metric")
    bounds = [regret_bound(A, individuals=k, rounds=int(t), precision=settings.precision) for t in rounds]
    for name in list(policies)[1:]:
        mine, means = _last(history, "regret", name), history.regret.sel(policy=name).mean("replication")
        off = mine.mean() / known.mean() - 1
        told = f"{name}: {_spread(mine)} against {_spread(known)}, {100 * off:+.1f} %"
        report.verdicts.append(CLOSE.verdict(abs(off) <= 0.05, told, settings))
        steep = _slope(rounds, means.values)
        report.verdicts.append(SLOPE.verdict(steep <= 0.65, f"{name}: {steep:.2f}", settings))
        ratio = float((means / bounds).max())
        report.verdicts.append(BELOW.verdict(ratio <= 1, f"{name}: at most {ratio:.3f} of the bound"))
    report.figures["regret"] = _draw(history, "regret", log=True)
    return report


@experiment(
    "similarity/many",
    "Many choices a round, rewards of either sign",
    full=Settings(rounds=50_000, replications=10),
    quick=Settings(rounds=5_000, replications=2),
)
def many(settings: Settings, runner: Runner) -> Report:
    """Draw individuals independently; half of them have negative rewards."""
    (d,), (k,) = settings.dimensions, settings.individuals
    _, A = _instance(d, settings.seed)
    policies = {
        "learns the metric": _learning(settings, d, EllipsoidDistance(precision=settings.precision), select="many"),
        "knows the metric": LipschitzUCB(d, metric=KnownDistance(A), select="many", noise_scale=0.1),
    }
    history = runner.simulate(policies, _world(settings, d, k, contexts="ball", select="many"), settings)
    first, second = _halves(history, "learns the metric")
    said = f"{first:.1f} in the first half, {second:.1f} in the second"
    verdict = MANY.verdict(second <= 0.05 * (first + second), said, settings)
    return Report({"history": history}, [verdict], {"many": _draw(history, "violations")})


def _instance(dimension: int, seed: int) -> tuple[Floats, Floats]:
    """Return (theta, A): theta of length 1 in the positive orthant, A of rank ceil(d / 2) with normal entries of
    deviation 0.3."""
    rng = np.random.default_rng([seed, dimension])
    theta = np.abs(rng.normal(size=dimension))
    return theta / np.linalg.norm(theta), 0.3 * rng.normal(size=((dimension + 1) // 2, dimension))


def _world(
    settings: Settings, dimension: int, individuals: int, *, contexts: Appearance = "orthant", select: Select = "one"
) -> LinearContexts:
    theta, A = _instance(dimension, settings.seed)
    oracle = MahalanobisOracle(A, seed=settings.seed)
    return LinearContexts(
        theta,
        oracle,
        individuals=individuals,
        precision=settings.precision,
        contexts=contexts,
        select=select,
        noise=settings.noise,
    )


def _learning(settings: Settings, dimension: int, metric: DistanceLearner, *, select: Select = "one") -> LipschitzUCB:
    """Return a policy with this metric learner that knows the scale of the noise."""
    return LipschitzUCB(dimension, precision=settings.precision, metric=metric, select=select, noise_scale=0.1)


def _halves(history: Any, policy: str) -> tuple[float, float]:
    """Return how many violations the first half of the rounds brought, and the second, in the mean."""
    counts = history.violations.sel(policy=policy).mean("replication")
    half = float(counts.sel(round=int(history["round"].values[-1]) // 2, method="nearest"))
    return half, float(counts.isel(round=-1)) - half


def _late(history: object, policy: str) -> float:
    """Return the part of all violations that the second half of the rounds added."""
    first, second = _halves(history, policy)
    return second / (first + second) if first + second else 0.0


def _last(history: Any, variable: str, policy: str) -> Floats:
    """Return a variable at the last round, one number a replication."""
    values: Floats = history[variable].sel(policy=policy).isel(round=-1).values
    return values


def _slope(rounds: Ints, means: Floats) -> float:
    """Return the slope of log mean regret against log T over the last decade."""
    kept = (rounds >= rounds[-1] / 10) & (means > 0)
    return growth(rounds[kept], means[None, kept])[0] if kept.sum() > 2 else float("nan")


def _draw(history: Any, variable: str, *, log: bool = False) -> tuple[Any, Any]:
    drawn, axes = figure()
    table, (title, up) = frame(history[[variable]], last=False), TITLES[variable]
    plot_means(table, "round", "policy", of="replications", title=title, across="round", up=up, ax=axes)
    axes.set_xscale("log" if log else "linear")
    axes.set_ylim(bottom=0.0 if variable == "violations" else None)
    return drawn, table


def _spread(values: Floats) -> str:
    """Return mean and standard error in words."""
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else float("nan")
    return f"{values.mean():.4g} +- {error:.2g}"
