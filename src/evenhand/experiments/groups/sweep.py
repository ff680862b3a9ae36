"""Run one sweep of the synthetic setting: settings in, a tidy table out."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.experiments.framework import Runner
from evenhand.experiments.groups.settings import Sweep
from evenhand.groups import (
    BiasedLinearArms,
    GroupFairTopInterval,
    IntervalChaining,
    NaiveFair,
    TableArms,
    TopInterval,
)
from evenhand.kernels.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

FAIR, BLIND, CHAINING, NAIVE = "GroupFairTopInterval", "TopInterval", "IntervalChaining", "NaiveFair"
POOLED, NAIVE_SIZE, PROMPT = "pooled form (ours)", "NaiveFair, odds by size", "GroupFairTopInterval, minimum norm"
SENSITIVE = "sensitive"


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


def policies(world: BiasedLinearArms, settings: Sweep, point: dict[str, Any], preset: Any) -> dict[str, Any]:
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
    """Return the table of a sweep: dimension, preset, value, policy, measure, mean, error and the share of arms.

    Figures of one sweep share it. Measures: the sensitive group's share of the pulls, and the regrets a round.
    """
    import pandas as pd

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


def summary(history: xr.Dataset, sensitive: Any) -> pd.DataFrame:
    """Return mean and standard error over replications, at the end, of the sensitive share and of the regrets a
    round."""
    import pandas as pd

    last = history.isel(round=-1)
    measures = {"share": last.group_share.sel(group=sensitive)}
    for name in ("biased_regret", "true_regret", "perceived_regret"):
        if name in last:
            measures[name.replace("_", " ")] = last[name] / float(last["round"])
    rows = []
    for measure, values in measures.items():
        spread = values.std("replication", ddof=1) / np.sqrt(values.sizes["replication"])
        for policy in history.policy.values:
            mean, error = float(values.sel(policy=policy).mean()), float(spread.sel(policy=policy))
            rows.append({"policy": str(policy), "measure": measure, "mean": mean, "error": error})
    return pd.DataFrame(rows).assign(arm_share=float(history.arm_share.sel(group=sensitive)))


def panel(table: pd.DataFrame, policy: str, measure: str, column: str = "mean") -> Floats:
    """Return the means (or the column "error") of one policy and measure, in the order of the values."""
    own = table[(table["policy"] == policy) & (table["measure"] == measure)]
    return np.asarray(own.sort_values("value")[column].to_numpy(dtype=np.float64))
