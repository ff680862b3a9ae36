"""The settings of the experiments of Shekhar, Fields, Ghavamzadeh and Javidi (2021), Section 5 and Appendix E; and
many collections of several schemes in fresh worlds, in parallel: the same seed gives the same table on any number of
workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evenhand.jobs import run_all
from evenhand.rng import child
from evenhand.sampling.labelling.collection import Test, collect

Scheme = Callable[[int], Any]
"""From a seed to a sampler."""
Place = Callable[[int], tuple[Any, Test]]
"""From a seed to a world that was reset and the test of a model in it."""


@dataclass(frozen=True)
class Curves:
    """Figure 1: shares of group u that are tried, rows a training set, training sets a share."""

    shares: int = 41
    rows: int = 1000
    trials: int = 20
    seed: int = 2021


@dataclass(frozen=True)
class SyntheticTrials:
    """Figures 2, 8 and 10."""

    rounds: int = 1000
    trials: int = 100
    checkpoints: int = 50
    seed: int = 2021


@dataclass(frozen=True)
class Tables:
    """Adult (Figure 3) and German (Figure 12), with the columns of Table 1."""

    rounds: int
    trials: int
    checkpoints: tuple[int, ...]
    seed: int = 2021


@dataclass(frozen=True)
class ImageTrials:
    """Figures 4-6, 11, 13 and 14."""

    data: str
    rounds: int
    trials: int
    batch: int = 50
    exploration: float = 0.1
    trend: float = 0.1
    validation_rows: int | None = None
    test_rows: int | None = None
    checkpoints: int = 20
    replace: bool = False
    device: str = "auto"
    mixed_precision: bool = False
    seed: int = 2021


def run_trials(
    schemes: dict[str, Scheme], place: Place, settings: SyntheticTrials | Tables, jobs: int, *, final: bool = False
) -> pd.DataFrame:
    """Return the histories of all schemes and trials with columns `scheme` and `trial`; all schemes meet the same
    worlds.
    """

    def one(trial: int) -> pd.DataFrame:
        parts = []
        for number, (name, scheme) in enumerate(schemes.items()):
            world, test = place(child(settings.seed, trial, 0))
            sampler = scheme(child(settings.seed, trial, 1 + number))
            history = collect(
                sampler, world, rounds=settings.rounds, checkpoints=settings.checkpoints, test=test, final=final
            )
            parts.append(history.assign(scheme=name, trial=trial))
        return pd.concat(parts)

    found = run_all(one, ((trial,) for trial in range(settings.trials)), jobs)
    return pd.concat(found, ignore_index=True)


def over_trials(frame: pd.DataFrame, value: str, by: str = "scheme") -> pd.DataFrame:
    """Return the mean over trials in each round, with its standard error and its interval of the level beside it."""
    from scipy.stats import t

    grouped = frame.groupby([by, "round"], sort=False)[value]
    found = grouped.agg(mean="mean", standard_error="sem", trials="size").reset_index()
    half = t.ppf(0.975, np.maximum(1, found["trials"] - 1)) * found["standard_error"]
    return found.assign(low=found["mean"] - half, high=found["mean"] + half, level=0.95)


def worst_risks(frame: pd.DataFrame, value: str = "test_risk", against: str | None = None) -> pd.DataFrame:
    """Return the worst group's risk for each scheme, trial and round, or how much it is above that of a scheme."""
    worst: Any = frame.groupby(["scheme", "trial", "round"], sort=False, as_index=False)[value].max()
    if against is None:
        return worst
    table = worst.pivot_table(index=["trial", "round"], columns="scheme", values=value, sort=False)
    return table.sub(table[against], axis=0).stack().rename(value).reset_index()
