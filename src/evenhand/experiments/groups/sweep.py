"""The paper's settings as data (section 5.2 and the experiments on real data), and one sweep of the synthetic setting:
settings in, a tidy table out.

Where the paper names no values of a parameter they are those of the program published with it; mu goes up to 20 here.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evenhand.experiments.framework import Runner
from evenhand.groups import (
    BiasedLinearArms,
    GroupFairTopInterval,
    IntervalChaining,
    NaiveFair,
    TableArms,
    TopInterval,
)
from evenhand.kernels.arrays import Floats
from evenhand.simulation.frames import frame

if TYPE_CHECKING:
    import xarray as xr


SEED = 20220519
FEW = 12
FEWER = {
    "a": (100, 300, 1000),
    "b": (10, 50, 100),
    "c": (0, 10, 20),
    "d": (1, 5, 9),
    "spread": (2, 10),
    "dimension": (2, 20),
    "delta": (0.001, 0.5),
}
FAIR, BLIND, CHAINING, NAIVE = "GroupFairTopInterval", "TopInterval", "IntervalChaining", "NaiveFair"
POOLED, NAIVE_SIZE, PROMPT = "pooled form (ours)", "NaiveFair, odds by size", "GroupFairTopInterval, minimum norm"
SENSITIVE = "sensitive"


@dataclass(frozen=True)
class Sweep:
    """One parameter of the synthetic setting varied, all others at their defaults."""

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
QUICK = {knob: replace(SWEEPS[knob], values=values, replications=FEW) for knob, values in FEWER.items()}


def rivals(world: BiasedLinearArms | TableArms, sensitive: Any, shared: dict[str, Any]) -> dict[str, Any]:
    """Return the policies that every figure compares, with the settings that they share."""
    groups = world.groups
    return {
        FAIR: GroupFairTopInterval(groups, sensitive, **shared),
        BLIND: TopInterval(groups, **shared),
        CHAINING: IntervalChaining(groups, **shared),
        NAIVE: NaiveFair(groups, inner=TopInterval(groups, **shared)),
        POOLED: GroupFairTopInterval(groups, **shared),
    }


def policies(world: BiasedLinearArms, settings: Sweep, point: dict[str, Any], preset: object) -> dict[str, Any]:
    """Return the policies that a point of a sweep compares."""
    shared = {"delta": point["delta"], "horizon": point["rounds"], "preset": preset}
    found = rivals(world, SENSITIVE, shared)
    if settings.vary == "sensitive":
        found[NAIVE_SIZE] = NaiveFair(world.groups, "size", inner=TopInterval(world.groups, **shared))
    if settings.vary == "dimension":
        found[PROMPT] = GroupFairTopInterval(world.groups, SENSITIVE, **shared, cold_start="minimum_norm")
    return found


@functools.lru_cache(maxsize=32)
def sweep(settings: Sweep, runner: Runner) -> pd.DataFrame:
    """Return the table of a sweep: dimension, preset, value, policy, measure, mean, its interval, the share of arms.

    Figures of one sweep share it. Measures: the sensitive group's share of the pulls, and the regrets per round.
    """
    tables = []
    for dimension in settings.dimensions:
        for preset in settings.presets:
            for value in settings.values:
                point = vars(settings) | {"dimension": dimension, settings.vary: value}
                if settings.vary == "arms":
                    point["sensitive"] = value // 2
                knobs = {name: point[name] for name in ("arms", "sensitive", "dimension", "bias", "spread")}
                world = BiasedLinearArms(**knobs)
                compared, rounds = policies(world, settings, point, preset), point["rounds"]
                history = runner.simulate(compared, world, settings, rounds=rounds, checkpoints=1)
                where = {"dimension": dimension, "preset": preset, "value": value}
                tables.append(summary(history, SENSITIVE).assign(**where))
    return pd.concat(tables, ignore_index=True)


def summary(history: xr.Dataset, sensitive: object) -> pd.DataFrame:
    """Return the means over replications at the end, with their intervals, of the sensitive share and of the regrets a
    round."""
    measures = {"share": history.group_share.sel(group=sensitive, drop=True)}
    losses = [name for name in ("biased_regret", "true_regret", "perceived_regret") if name in history]
    measures |= {name.replace("_", " "): history[name] / history.attrs["rounds"] for name in losses}
    found = frame(history.drop_vars([*history.data_vars]).assign(measures)).rename(columns={"variable": "measure"})
    return found.assign(arm_share=float(history.arm_share.sel(group=sensitive)))


def panel(table: pd.DataFrame, policy: str, measure: str, column: str = "mean") -> Floats:
    """Return the means (or the column "standard_error") of one policy and measure, in the order of the values."""
    own = table[(table["policy"] == policy) & (table["measure"] == measure)]
    return np.asarray(own.sort_values("value")[column].to_numpy(dtype=np.float64))
