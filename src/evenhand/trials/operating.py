"""What a trial can be expected to show: its operating characteristics, from simulated trials with their effects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import real
from evenhand.errors import ArgumentError, TableError, expected, expected_one_of
from evenhand.evaluation.effects import effects
from evenhand.labels import Labels
from evenhand.protocol import Label
from evenhand.quotas import BernoulliArms
from evenhand.rng import Seed
from evenhand.sampling.one_look import exact_limits
from evenhand.simulation.frames import frame
from evenhand.simulation.simulate import simulate

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

FOUND = ("missing", "difference", "low", "high", "adjusted")
COLUMNS = ("allocated", "observed", "rate", "compared", "p_value", *FOUND)
"""What `effects` says of each arm."""
YES_OR_NO = ("most_used", "shown", "coverage", "any_shown")
"""What each trial answers with yes or no."""


def operating(
    policy: Any,
    means: Sequence[float] | Mapping[Label, float],
    *,
    patients: int,
    control: Label,
    delay: object = None,
    missing: float = 0.0,
    replications: int = 1000,
    alpha: float = 0.05,
    seed: Seed = None,
    jobs: int = -1,
    progress: bool = False,
) -> pd.DataFrame:
    """Return the operating characteristics of a trial with outcomes of 0 and 1, from simulated trials.

    Parameters
    ----------
    policy : the rule, one that states the chance of every arm, such as `DeadlineLearn(..., lottery=0.5)`; or a dict
        name -> rule.
    means : the rate that is assumed of each arm: a list, or a dict arm -> rate.
    patients : how many patients the trial has.
    control : the arm that the others are compared with by `eh.effects`.
    delay, missing : when outcomes become known, and how many never do, as for `eh.simulate`.
    replications : how many trials are simulated.
    alpha : an arm is shown to differ if its p-value, adjusted by Holm's method, is at most this; 1 - alpha is the level
        of the intervals.
    seed, jobs, progress : as for `eh.simulate`.

    Returns
    -------
    pandas.DataFrame
        See `operating_characteristics`.

    Raises
    ------
    ArgumentError
        If an argument is invalid, the control is no arm, or a rule does not fit the arms.

    Examples
    --------
    >>> import evenhand as eh
    >>> rates = {"old": 0.2, "new": 0.5}
    >>> rule = eh.quotas.DeadlineLearn(eh.learners.EpsilonGreedy(1.0), {"old": 0.3, "new": 0.3}, lottery=1)
    >>> found = operating(rule, rates, patients=100, control="old", missing=0.1, replications=8, seed=1, jobs=1)
    >>> float(found[found.variable == "patients"]["mean"].sum())
    100.0

    Source: the measures that a protocol for an adaptive trial states; see `eh.effects` for the intervals.
    """
    world = BernoulliArms(means)
    place = Labels(world.arms).place(control)
    if place is None:
        raise ArgumentError(expected_one_of("control", world.arms, control))
    real("alpha", alpha, above=0, below=1)
    history = simulate(
        policy,
        world,
        rounds=patients,
        replications=replications,
        seed=seed,
        checkpoints=1,
        delay=delay,
        missing=missing,
        analyse=effects_on(world.arms[place], alpha),
        jobs=jobs,
        progress=progress,
    )
    return operating_characteristics(history, means, control=control, alpha=alpha)


def effects_on(control: Label, alpha: float = 0.05) -> Any:
    """Return what computes the effects of all arms in the log of a simulated trial, for `eh.simulate(analyse=)`; those
    of a rule that decides with certainty compare nothing, and are empty."""
    return partial(_effects, control=control, alpha=alpha)


def _effects(log: pd.DataFrame, control: Label, alpha: float) -> pd.DataFrame:
    import pandas as pd

    with suppress(TableError):
        return effects(log, control=control, alpha=alpha).arms
    return pd.DataFrame({"arm": log["arm"].unique()}).assign(**dict.fromkeys(COLUMNS, math.nan))


def operating_characteristics(
    history: xr.Dataset, means: Sequence[float] | Mapping[Label, float], *, control: Label, alpha: float = 0.05
) -> pd.DataFrame:
    """Return the means over simulated trials of what a protocol states, each with its Monte Carlo error.

    Parameters
    ----------
    history : what `eh.simulate` returns with `analyse=lambda log: eh.effects(log, control=...).arms`.
    means : the rate of each arm that was simulated: a list, or a dict arm -> rate.
    control : the arm that others were compared with.
    alpha : an arm is shown to differ if its p-value, adjusted by Holm's method, is at most this.

    Returns
    -------
    pandas.DataFrame
        Columns policy, variable, arm (empty for the whole trial), mean, standard_error, low, high, level and
        replications. Of each arm: `patients`, `missing` outcomes, `most_used` (the probability that no arm has more
        patients, shared between equals), `shown` (that it is shown to differ from the control: power, or the type I
        error where the rates are the same), `bias`, `coverage` and `width` of its effect. Of the trial: `successes`,
        `successes_equal` (of equal allocation, expected), `any_shown`. Trials in which an arm cannot be
        compared count as not showing it, and are left out of its bias, coverage and width; if there is no other, all
        four are empty. Of what each trial answers with yes or no the ends are Clopper and Pearson's.

    Raises
    ------
    ArgumentError
        If the history has no effects, the means are not those of its arms, or the control is none of them.

    Examples
    --------
    >>> import evenhand as eh
    >>> rates = {"old": 0.2, "new": 0.5}
    >>> rule = eh.quotas.DeadlineLearn(eh.learners.EpsilonGreedy(1.0), {"old": 0.3, "new": 0.3}, lottery=1)
    >>> history = eh.simulate(rule, eh.quotas.BernoulliArms(rates), rounds=100, replications=8, seed=1, jobs=1,
    ...                       missing=0.1, analyse=lambda log: eh.effects(log, control="old").arms)
    >>> found = operating_characteristics(history, rates, control="old")
    >>> float(found[found.variable == "patients"]["mean"].sum())
    100.0
    """
    import xarray as xr

    real("alpha", alpha, above=0, below=1)
    if not {*FOUND} <= {*history.data_vars}:
        hint = "pass analyse=lambda log: eh.effects(log, control=...).arms to eh.simulate"
        raise ArgumentError(expected("history", "a simulation with effects", list(history.data_vars), hint))
    arms = history.arm.values.tolist()
    given = Labels(arms).read(means, "means", "a rate for each arm: a list, or a dict arm -> rate")
    rates = given if not isinstance(given, dict) else [given[arm] for arm in arms if arm in given]
    if len(rates) != len(arms):
        raise ArgumentError(expected("means", f"a rate for each of the {len(arms)} arms", means))
    if (place := Labels(arms).place(control)) is None:
        raise ArgumentError(expected_one_of("control", arms, control))
    rate = xr.DataArray(np.array(rates, np.float64), dims="arm", coords={"arm": history.arm})
    last, effect = history.isel(round=[-1]), rate - rate[place]
    known, others = last.low.notnull(), xr.DataArray(np.arange(len(arms)) != place, dims="arm")
    first = last.pulls == last.pulls.max("arm")
    each = {
        "patients": last.pulls,
        "missing": last.missing,
        "most_used": first / first.sum("arm"),
        "shown": (last.adjusted <= alpha).where(others & known.any("replication")),
        "bias": last.difference - effect,
        "coverage": ((last.low <= effect) & (effect <= last.high)).where(known),
        "width": last.high - last.low,
        "successes": last.reward,
        "successes_equal": xr.full_like(last.reward, float(history["round"][-1] * rate.mean())),
        "any_shown": (last.adjusted <= alpha).any("arm").where(known.any(["arm", "replication"])),
    }
    found = frame(xr.Dataset(each).assign_coords(round=last["round"])).drop(columns="round")
    for name in YES_OR_NO:
        counts = [each[name].sum("replication"), each[name].notnull().sum("replication")]
        said, trials = (count.to_series().to_numpy() for count in counts)
        ends = [exact_limits(*of, 0.025) if of[1] else (math.nan,) * 2 for of in zip(said, trials, strict=True)]
        found.loc[found["variable"] == name, ["low", "high"]] = ends
    return found
