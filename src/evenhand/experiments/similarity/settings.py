"""Settings of the similarity experiments as data; the paper has no experiments, these test its theorems and our
additions.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.experiments.claims import certainty
from evenhand.plots.similarity import plot_total
from evenhand.plots.style import figure
from evenhand.similarity import LinearContexts, LipschitzUCB, MahalanobisOracle
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.program import Select
from evenhand.similarity.worlds import Appearance

__all__ = ["Grid", "Single", "clear", "draw_total", "halves", "instance", "last", "late", "learning", "spread", "world"]


@dataclass(frozen=True)
class Grid:
    """A grid over dimensions and numbers of individuals."""

    rounds: int
    replications: int
    dimensions: tuple[int, ...]
    individuals: tuple[int, ...]
    precision: float = 0.02
    noise: float = 0.1
    seed: int = 5


@dataclass(frozen=True)
class Single:
    """One dimension and number of individuals."""

    rounds: int
    replications: int
    dimension: int = 3
    individuals: int = 5
    precision: float = 0.02
    noise: float = 0.1
    seed: int = 5


def instance(dimension: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (theta, A) of an instance: theta of length 1 in the positive orthant, A of rank ceil(d / 2) with normal
    entries of deviation 0.3."""
    rng = np.random.default_rng([seed, dimension])
    theta = np.abs(rng.normal(size=dimension))
    return theta / np.linalg.norm(theta), 0.3 * rng.normal(size=((dimension + 1) // 2, dimension))


def world(
    settings: Grid | Single,
    dimension: int,
    individuals: int,
    *,
    contexts: Appearance = "orthant",
    select: Select = "one",
    error_rate: float = 0.0,
) -> LinearContexts:
    """Return the world of an instance."""
    theta, A = instance(dimension, settings.seed)
    oracle = MahalanobisOracle(A, error_rate=error_rate, seed=settings.seed)
    return LinearContexts(
        theta, oracle, individuals=individuals, precision=settings.precision, contexts=contexts, select=select,
        noise=settings.noise,
    )  # fmt: skip


def learning(
    settings: Grid | Single,
    dimension: int,
    metric: DistanceLearner | None,
    *,
    margin: bool = True,
    select: Select = "one",
    individuals: int | None = None,
) -> LipschitzUCB:
    """Return a policy with this metric learner that knows the scale of the noise."""
    return LipschitzUCB(
        dimension, precision=settings.precision, metric=metric, margin=margin, select=select, noise_scale=0.1,
        individuals=individuals,
    )  # fmt: skip


def halves(history: Any, policy: str) -> tuple[float, float]:
    """Return how many violations the first half of the rounds brought, and the second, in the mean."""
    counts = history.violations.sel(policy=policy).mean("replication")
    half = float(counts.sel(round=int(history["round"].values[-1]) // 2, method="nearest"))
    return half, float(counts.isel(round=-1)) - half


def late(history: Any, policy: str) -> float:
    """Return the part of all violations that the second half of the rounds added."""
    first, second = halves(history, policy)
    return second / (first + second) if first + second else 0.0


def last(history: Any, variable: str, policy: str) -> NDArray[np.float64]:
    """Return a variable at the last round, one number a replication."""
    values: NDArray[np.float64] = history[variable].sel(policy=policy).isel(round=-1).values
    return values


def draw_total(history: Any, variable: str, *, log: bool = False) -> Any:
    """Return the figure of a cumulative variable."""
    drawn, axes = figure()
    plot_total(history, variable, log=log, ax=axes)
    return drawn


def clear(slack: NDArray[np.float64]) -> float:
    """Return how certain the sign of a mean slack is, from one number a replication."""
    return certainty(slack.mean(), slack.std(ddof=1) / np.sqrt(slack.size), slack.size) if slack.size > 1 else 0.0


def spread(values: NDArray[np.float64]) -> str:
    """Return mean and standard error in words."""
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else float("nan")
    return f"{values.mean():.4g} +- {error:.2g}"
