"""Auditors who err, several of them, and metrics in many dimensions: what was measured of our additions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.similarity import EmbeddedDistance, MomentDistance, PosteriorDistance, fit_metric

__all__ = ["auditors"]


@dataclass(frozen=True)
class Auditing:
    """How many beliefs are asked how often; how many questions auditors answer; how many metrics are fitted; at which
    rates answers are wrong about how many metrics."""

    beliefs: int
    verdicts: int
    questions: int
    metrics: int
    dimensions: tuple[int, ...]
    errors: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
    metrics_asked: int = 12
    answers: int = 600
    seed: int = 5


CAUTION = Claim(
    "With one wrong verdict in ten, intervals of a belief that assumes more wrong ones keep holding the truth",
    "ours",
    "at most 3 % miss it, and fewer than where the true rate is assumed",
    {"beliefs": 300},
)
LEARNED = Claim(
    "Intervals of a belief that learns how many answers are wrong hold the truth at any rate up to 0.35",
    "ours",
    "at most 5 % miss it at every rate, in the mean over metrics",
    {"metrics_asked": 10},
)
RATES = Claim(
    "How often each of three auditors is wrong is learned from what they say, even where two of them are poor",
    "ours",
    "every rate within 0.15 of the true one",
    {"questions": 200},
)
FITTED = Claim(
    "A thousand judgements, one in twenty wrong, give a metric of rank 3 that lives on the leading axes",
    "ours",
    "root mean square error of d, on five principal axes, at most 15 % of its root mean square",
    {"metrics": 3},
)
CERTIFIED = Claim(
    "Intervals on fixed axes hold the truth in many dimensions, whatever the axes miss", "ours", "all of them"
)

PANELS = ({"a": 0.02, "b": 0.1, "c": 0.4}, {"a": 0.05, "b": 0.45, "c": 0.45}, {"a": 0.1, "b": 0.1, "c": 0.9})


@experiment(
    "similarity/auditors",
    "Auditors who err, panels, and many dimensions",
    full=Auditing(beliefs=400, verdicts=40, questions=200, metrics=5, dimensions=(50, 768)),
    quick=Auditing(
        beliefs=20, verdicts=20, questions=20, metrics=1, dimensions=(50,), errors=(0.1,), metrics_asked=1, answers=60
    ),
)
def auditors(settings: Auditing, runner: Runner) -> Report:
    """Let beliefs be asked at their centre, panels answer, and metrics be fitted."""
    report, missed = Report(), {caution: _missed(settings, caution) for caution in (True, False)}
    report.verdicts.append(
        CAUTION.verdict(
            missed[True] <= 0.03 and missed[True] < missed[False],
            f"{missed[True]:.1%} miss it, against {missed[False]:.1%}",
            settings,
        )
    )
    believed = pd.DataFrame([_believed(settings, rate) for rate in settings.errors])
    report.data["beliefs"] = believed
    told = "; ".join(
        f"{row.rate:.2f}: {row.missed:.3f} of width {row.width:.3f}" for row in believed.itertuples(index=False)
    )
    report.verdicts.append(LEARNED.verdict(bool((believed["missed"] <= 0.05).all()), told, settings))
    found = [_learned(settings, rates) for rates in PANELS]
    worst = max(
        abs(rates[name] - learned[name]) for rates, learned in zip(PANELS, found, strict=True) for name in rates
    )
    told = "; ".join(f"{_numbers(learned)} for {_numbers(rates)}" for rates, learned in zip(PANELS, found, strict=True))
    report.verdicts.append(RATES.verdict(worst <= 0.15, told, settings))
    rows = [_fitted(d, settings.seed + number) for d in settings.dimensions for number in range(settings.metrics)]
    table = pd.DataFrame(rows, columns=["dimension", "on all axes", "on five axes", "scaled Euclid", "held", "pairs"])
    report.data["metrics"] = table
    means = table.groupby("dimension").mean()
    words = "; ".join(
        f"d = {d:g}: {row['on five axes']:.2f} ({row['on all axes']:.2f} on all axes, scaled Euclid "
        f"{row['scaled Euclid']:.2f})"
        for d, row in means.iterrows()
    )
    report.verdicts.append(FITTED.verdict(bool((means["on five axes"] <= 0.15).all()), words, settings))
    held, pairs = int(table["held"].sum()), int(table["pairs"].sum())
    report.verdicts.append(CERTIFIED.verdict(held == pairs, f"{held} of {pairs}", settings))
    return report


def _missed(settings: Auditing, conservative: bool) -> float:
    """Return the share of beliefs about one number whose interval misses the truth after many verdicts."""
    draws, missed = np.random.default_rng(settings.seed), 0
    for _ in range(settings.beliefs):
        learner = MomentDistance(radius=1.0, error_rate=0.1, conservative=conservative, structure="diagonal")
        true = float(np.clip(0.5 + 0.29 * draws.normal(), 0.02, 0.98))
        for _ in range(settings.verdicts):
            gap = max(learner.bounds([1.0], [0.0])[1], 1e-6)
            learner.verdict([1.0], [0.0], gap, bool((true < gap**2) != (draws.random() < 0.1)))
        low, _, high = learner.bounds([1.0], [0.0])
        missed += not low**2 <= true <= high**2
    return missed / settings.beliefs


def _believed(settings: Auditing, rate: float) -> dict[str, float]:
    """Return how often intervals miss the truth where this share of the answers is wrong, and how wide they are."""
    missed, widths = list[float](), list[float]()
    for number in range(settings.metrics_asked):
        draws = np.random.default_rng([settings.seed, number, round(100 * rate)])
        A, learner = 0.6 * draws.normal(size=(2, 2)), PosteriorDistance(radius=4.0, seed=number)
        for _ in range(settings.answers):
            x, y = draws.uniform(-0.7, 0.7, (2, 2))
            true = float(np.linalg.norm(A @ (x - y)))
            gap = float(np.clip(true + 0.1 * draws.normal(), 0.01, 1.0))
            learner.verdict(x, y, gap, bool((true < gap) != (draws.random() < rate)))
        pairs = draws.uniform(-0.7, 0.7, (200, 2, 2))
        distances = np.minimum(np.linalg.norm((pairs[:, 0] - pairs[:, 1]) @ A.T, axis=1), 1.0)
        low, _, high = np.transpose([learner.bounds(x, y) for x, y in pairs])
        missed.append(float(((distances < low - 1e-9) | (distances > high + 1e-9)).mean()))
        widths.append(float((high - low).mean()))
    return {"rate": rate, "missed": float(np.mean(missed)), "width": float(np.mean(widths))}


def _learned(settings: Auditing, rates: Mapping[str, float]) -> dict[str, float]:
    """Return the rates of wrong answers that are learned of auditors who answer the same questions."""
    draws, learner = np.random.default_rng(settings.seed), MomentDistance(radius=1.0, error_rate=0.1)
    A = np.array([[0.5, 0.2], [0.0, 0.4]])
    for _ in range(settings.questions):
        x, y = draws.uniform(-0.7, 0.7, (2, 2))
        true = float(np.linalg.norm(A @ (x - y)))
        gap = float(np.clip(true + 0.15 * draws.normal(), 0.01, 1.0))
        for name, rate in rates.items():
            learner.verdict(x, y, gap, bool((true < gap) != (draws.random() < rate)), auditor=name)
    return learner.error_rates


def _fitted(d: int, seed: int) -> tuple[float, ...]:
    """Return d, relative errors of three metrics on new pairs, and how many certified intervals hold the truth."""
    draws = np.random.default_rng(seed)
    away = draws.normal(size=(2000, d)) * np.sqrt(2.0 / (1.0 + np.arange(d)))
    A = np.zeros((3, d))
    A[:, :5] = draws.normal(size=(3, 5))
    A /= 2.0 * np.linalg.norm(away @ A.T, axis=1).mean()
    true, gaps = np.linalg.norm(away @ A.T, axis=1), draws.uniform(0.01, 1.0, 2000)
    said = (true < gaps) ^ (draws.random(2000) < 0.05)
    axes = np.linalg.svd(away[:1000], full_matrices=False)[2][:5]
    euclid = np.linalg.norm(away, axis=1)
    found = (
        _distances(away, said, gaps),
        _distances(away @ axes.T, said, gaps),
        euclid * (euclid[:1000] @ true[:1000]) / (euclid[:1000] @ euclid[:1000]),
    )
    errors = [float(np.sqrt(np.mean((one - true)[1000:] ** 2) / np.mean(true[1000:] ** 2))) for one in found]
    learner = EmbeddedDistance(axes, radius=1.01 * float(np.linalg.norm(A.T @ A)))
    none = np.zeros(d)
    for row in range(30):
        learner.verdict(away[row], none, float(gaps[row]), bool(true[row] < gaps[row]))
    held = 0
    for row in range(1000, 1100):
        low, _, high = learner.bounds(away[row], none)
        held += low - 1e-9 <= min(true[row], 1.0) <= high + 1e-9
    return (float(d), *errors, float(held), 100.0)


def _distances(away: NDArray[np.float64], said: NDArray[np.bool_], gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of a metric that is fitted to the first thousand pairs."""
    pairs = np.stack([away, np.zeros_like(away)], axis=1)[:1000]
    metric = fit_metric(pairs, said[:1000], gaps=gaps[:1000], rank=3)
    distances: NDArray[np.float64] = np.linalg.norm(away @ metric.A.T, axis=1)
    return distances


def _numbers(rates: Mapping[str, float]) -> str:
    return " ".join(f"{rate:.2f}" for rate in rates.values())
