"""What both comparisons do: play learners in one changing world, order them by dynamic regret, draw the curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.experiments.claims import certainty
from evenhand.experiments.framework import Claim, Report, Runner, Verdict
from evenhand.quotas import ChangingArms
from evenhand.simulation import simulate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["TOLERANCE", "Settings", "compare", "order"]

TOLERANCE = "in the same worlds, mean dynamic regret at T lower by more than three standard errors"


@dataclass(frozen=True)
class Settings:
    """A comparison: the horizon, and in how many worlds it is played."""

    rounds: int
    replications: int
    seed: int


def compare(learners: dict[str, Any], world: ChangingArms, settings: Settings, runner: Runner) -> Report:
    """Play the learners in the same worlds; the report has the history, a table and a picture."""
    history = simulate(
        learners,
        world,
        rounds=settings.rounds,
        replications=settings.replications,
        seed=settings.seed,
        checkpoints=100,
        jobs=runner.jobs,
        progress=runner.progress,
        store=runner.store,
    )
    return Report({"history": history, "table": _table(history)}, figures={"regret": _draw(history, world)})


def order(claim: Claim, history: Any, better: list[str], worse: list[str], settings: Settings) -> Verdict:
    """Return the verdict on the claim that each of some learners loses less than each of others."""
    last = history.regret.isel(round=-1)
    said, slacks, errors = [], [], []
    for one in better:
        for other in worse:
            gain = (last.sel(policy=other) - last.sel(policy=one)).values
            error = float(gain.std(ddof=1)) / np.sqrt(gain.size) if gain.size > 1 else np.inf
            slacks.append(float(gain.mean()) - 3 * error)
            errors.append(error)
            said.append(f"{one} {gain.mean():+.0f} +- {error:.0f} against {other}")
    sure = certainty(slacks, errors, settings.replications)
    return claim.verdict(min(slacks) > 0, "less regret by: " + ", ".join(said), settings, certainty=sure)


def _table(history: Any) -> pd.DataFrame:
    import pandas as pd

    last = history.regret.isel(round=-1)
    error = last.std("replication", ddof=1) / np.sqrt(last.sizes["replication"])
    mean = last.mean("replication").values.round(1)
    return pd.DataFrame({"learner": last.policy.values, "regret": mean, "standard_error": error.values.round(1)})


def _draw(history: Any, world: ChangingArms) -> Figure:
    from evenhand.plots import plot_regret
    from evenhand.plots.style import DASHED, figure

    drawn, axes = figure(width=8.4, height=4.0)
    plot_regret(history, ax=axes)
    for change in world.changes:
        axes.axvline(change, zorder=0.5, **DASHED)
    axes.set_title("Regret against the best arm of each round; dashed: the means change", loc="left", fontsize=10.5)
    return drawn
