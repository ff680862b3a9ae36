"""Theorem 1: true regret grows like T^(2/3), where the groups are equally good on average.

With the paper's spread of the coefficients, c = 10, groups differ by chance, and what the policy takes for bias is
partly that difference; with c = 0 the assumption holds exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evenhand.experiments.framework import Claim, Report, Runner, experiment, growth, slower
from evenhand.experiments.groups.sweep import FAIR, POOLED, SEED, SENSITIVE
from evenhand.groups import BiasedLinearArms, GroupFairTopInterval


@dataclass(frozen=True)
class Rate:
    """Horizons, each of which is run from the start by a policy that knows it."""

    horizons: tuple[int, ...]
    replications: int
    spreads: tuple[float, ...] = (0.0, 10.0)
    seed: int = SEED


RATE = Claim(
    "True regret is O(T^(2/3)), up to the theorem's square root of a logarithm",
    "Theorem 1",
    "slope of log true regret against log T, and its 95 % interval, below the slope of T^(2/3) sqrt(ln(2 n T / delta))",
    {"horizons": 1_000_000, "replications": 20},
)


@experiment(
    "groups/rate",
    "True regret against the horizon",
    full=Rate((10_000, 31_623, 100_000, 316_228, 1_000_000), replications=20),
    quick=Rate((1_000, 3_162, 10_000), replications=4),
)
def rate(settings: Rate, runner: Runner) -> Report:
    """Fit the exponent of the true regret of the paper's form and of the pooled one."""
    horizons = np.array(settings.horizons)
    report = Report()
    for spread in settings.spreads:
        world = BiasedLinearArms(spread=spread)
        bound = horizons ** (2 / 3) * np.sqrt(np.log(2 * len(world.arms) * horizons / 0.1))
        allowed, _ = growth(horizons, bound[None])
        ends = []
        for horizon in settings.horizons:
            policies = {
                FAIR: GroupFairTopInterval(world.groups, SENSITIVE, delta=0.1, horizon=horizon),
                POOLED: GroupFairTopInterval(world.groups, delta=0.1, horizon=horizon),
            }
            history = runner.simulate(policies, world, settings, rounds=horizon, checkpoints=1)
            report.data[f"history_{spread:g}_{horizon}"] = history
            ends.append(history.true_regret.isel(round=-1))
        for name in (FAIR, POOLED):
            slope, wide = growth(horizons, np.transpose([end.sel(policy=name) for end in ends]))
            claim = replace(RATE, kind="ours" if name == POOLED or spread > 0 else "paper")
            report.verdicts.append(slower(claim, slope, wide, allowed, f"{name}, c = {spread:g}", settings))
    return report
