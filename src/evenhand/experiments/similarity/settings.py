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

__all__ = ["Grid", "Single", "clear", "instance", "last", "spread"]


@dataclass(frozen=True)
class Grid:
    """A grid over dimensions and numbers of individuals."""

    rounds: int
    replications: int
    dimensions: tuple[int, ...]
    individuals: tuple[int, ...]
    precision: float = 0.02
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


def last(history: Any, variable: str, policy: str) -> NDArray[np.float64]:
    """Return a variable at the last round, one number a replication."""
    values: NDArray[np.float64] = history[variable].sel(policy=policy).isel(round=-1).values
    return values


def clear(slack: NDArray[np.float64]) -> float:
    """Return how certain the sign of a mean slack is, from one number a replication."""
    return certainty(slack.mean(), slack.std(ddof=1) / np.sqrt(slack.size), slack.size) if slack.size > 1 else 0.0


def spread(values: NDArray[np.float64]) -> str:
    """Return mean and standard error in words."""
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else float("nan")
    return f"{values.mean():.4g} +- {error:.2g}"
