"""The paper's settings as data (section 5.2 and the experiments on real data).

Where the paper names no values for a knob they are those of the program published with it; mu goes on to 20 here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

SEED = 20220519
FEW = 12


@dataclass(frozen=True)
class Sweep:
    """One knob of the synthetic setting varied, all others at their defaults."""

    vary: str
    values: tuple[Any, ...]
    dimensions: tuple[int, ...] = (2,)
    presets: tuple[str, ...] = ("paper",)
    rounds: int = 1000
    arms: int = 10
    sensitive: int = 5
    bias: float = 10.0
    spread: float = 10.0
    delta: float = 0.1
    replications: int = 100
    seed: int = SEED


@dataclass(frozen=True)
class RealData:
    """Horizons T = 2 n_arms * multiple on a real data set."""

    data: str
    multiples: tuple[int, ...] = tuple(range(1, 21))
    deltas: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)
    presets: tuple[str, ...] = ("authors", "paper")
    noise: float = 1.0
    """The program published with the paper adds standard normal noise to every reward."""
    replications: int = 100
    seed: int = SEED


SWEEPS = {
    "a": Sweep("rounds", tuple(range(40, 1001, 40)), presets=("paper", "authors")),
    "b": Sweep("arms", tuple(range(10, 101, 10)), presets=("paper", "authors")),
    "c": Sweep("bias", (0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20), dimensions=(2, 5)),
    "d": Sweep("sensitive", tuple(range(1, 10))),
    "spread": Sweep("spread", tuple(range(2, 11))),
    "dimension": Sweep("dimension", (2, 4, 6, 8, 10, 15, 20, 25, 30, 35, 40)),
    "delta": Sweep("delta", (0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5)),
}
FEWER = {
    "a": (100, 300, 1000),
    "b": (10, 50, 100),
    "c": (0, 10, 20),
    "d": (1, 5, 9),
    "spread": (2, 10),
    "dimension": (2, 20),
    "delta": (0.001, 0.5),
}
QUICK = {knob: replace(SWEEPS[knob], values=values, replications=FEW) for knob, values in FEWER.items()}
