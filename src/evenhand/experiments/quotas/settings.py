"""Settings of the quota experiments as data.

The published text gives the instances, the shares and most horizons; LFG's eta is not given. Instance 1 reads mu_i =
mu_1 - 0.01 i for i >= 2; whether i counts from one (0.78 ... 0.70) or from zero (0.79 ... 0.71) changes no claim, and
both are run.

Source: V. Patil, G. Ghalme, V. Nair, Y. Narahari, Journal of Machine Learning Research 22 (2021), section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

INSTANCE_1 = {
    "counting from 1": (0.80, 0.78, 0.77, 0.76, 0.75, 0.74, 0.73, 0.72, 0.71, 0.70),
    "counting from 0": (0.80, 0.79, 0.78, 0.77, 0.76, 0.75, 0.74, 0.73, 0.72, 0.71),
}
SHARES_1 = (0.05,) * 10
INSTANCE_2 = (0.7, 0.5, 0.4)
SHARES_2 = (0.2, 0.3, 0.25)


@dataclass(frozen=True)
class Fig2:
    """Cost of fairness against the tolerance."""

    rounds: int
    replications: int
    seed: int = 2
    tolerances: tuple[float, ...] = (0.0, 0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
    """As parts of r T, so that the grid reaches from the strict promise to none."""


@dataclass(frozen=True)
class Fig3:
    """r-regret over time, Fair-UCB against LFG."""

    rounds: int
    replications: int
    seed: int = 3
    etas: tuple[float, ...] = (1.0, 3.0, 10.0)
    """As multiples of sqrt(T)."""


@dataclass(frozen=True)
class Fig4:
    """Violation of the promise over time, Fair-UCB against LFG."""

    rounds: int
    replications: int
    seed: int = 4
    etas: tuple[float, ...] = (1.0, 3.0)
    """As multiples of sqrt(T)."""
    tolerance: float = 0.0


def lfg_etas(settings: Fig3 | Fig4) -> dict[str, float]:
    """Return LFG's eta by the policy's name."""
    etas = [eta * math.sqrt(settings.rounds) for eta in settings.etas]
    return {f"LFG, eta = {eta:.0f}": eta for eta in etas}
