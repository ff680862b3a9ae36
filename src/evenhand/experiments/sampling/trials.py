"""Many collections of several schemes in fresh worlds, in parallel; the same seed gives the same table on any
number of workers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evenhand.rng import child
from evenhand.sampling.labelling.collection import Test, collect
from evenhand.simulation.tasks import run_all

if TYPE_CHECKING:
    import pandas as pd

Scheme = Callable[[int], Any]
"""From a seed to a sampler."""
Place = Callable[[int], tuple[Any, Test]]
"""From a seed to a world that was reset and the test of a model in it."""


def run_trials(
    schemes: dict[str, Scheme],
    place: Place,
    *,
    rounds: int,
    checkpoints: int | tuple[int, ...],
    trials: int,
    seed: int,
    jobs: int,
    final: bool = False,
) -> pd.DataFrame:
    """Return the histories of all schemes and trials with columns `scheme` and `trial`; all schemes meet the same
    worlds.
    """
    import pandas as pd

    def one(trial: int) -> pd.DataFrame:
        parts = []
        for number, (name, scheme) in enumerate(schemes.items()):
            world, test = place(child(seed, trial, 0))
            sampler = scheme(child(seed, trial, 1 + number))
            history = collect(sampler, world, rounds=rounds, checkpoints=checkpoints, test=test, final=final)
            parts.append(history.assign(scheme=name, trial=trial))
        return pd.concat(parts)

    found = run_all(one, ((trial,) for trial in range(trials)), jobs)
    return pd.concat(found, ignore_index=True)


def worst(frame: pd.DataFrame, value: str = "test_risk") -> pd.DataFrame:
    """Return the worst group's value for each scheme, trial and round."""
    found: Any = frame.groupby(["scheme", "trial", "round"], sort=False, as_index=False)[value].max()
    return found
