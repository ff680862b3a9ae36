"""What is measured: regret, group shares, the cost of a promise, and whether the shares of a log change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.arrays import Floats, Ints
from evenhand.promises.best_counts import best_counts, limit_of
from evenhand.promises.promise import Promise

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

REFUTED = 1e-6
"""The probability with which a log of fixed chances is said to change."""


def regret(pulls: NDArray[Any], gaps: Floats) -> Floats:
    """Return the expected regret sum_i Delta_i N_i of pulls (..., n_arms), given the gaps Delta_i (n_arms,).

    >>> regret(np.array([[3, 1], [6, 2]]), np.array([0.0, 0.5])).tolist()
    [0.5, 1.0]
    """
    return np.asarray(pulls @ gaps, dtype=np.float64)


def fair_regret(pulls: NDArray[Any], gaps: Floats, promise: Promise, rounds: Ints, plays: int = 1) -> Floats:
    """Return the r-regret (n_rounds,): the loss of these pulls less that of the best counts that keep the promise, with
    all its shares, sets, caps and windows, at the end of each of the rounds.

    With shares alone and one play a round it is sum_i Delta_i (N_i(t) - max(0, floor(r_i t) - alpha)). It is negative
    where the promise is broken in the policy's favour, and NaN where no counts keep it.

    Parameters
    ----------
    pulls : pulls (n_rounds, n_arms) at the end of the given rounds.
    gaps : Delta_i (n_arms,).
    promise : what is kept; alpha and beta enter as they were given, not rounded.
    rounds : t (n_rounds,), every arm on offer in each.
    plays : how many arms are played in a round, each once.

    Source: Patil, Ghalme, Nair, Narahari (2021), Definition 4, and the theorem at the head of
    `evenhand.promises.best_counts`.
    """
    exact = rounds.astype(object)
    slack = {"floor": promise.tolerance, "cap": promise.cap_tolerance}
    limits = [limit_of(clause, exact, slack.get(clause.kind, 0)).astype(np.float64) for clause in promise.clauses]
    asked = np.array(limits).reshape(-1, len(rounds)).T
    best = best_counts(-gaps, promise.arms, promise.clauses, asked, rounds.astype(np.float64), plays)
    return regret(pulls - best, gaps)


def group_names(groups: Mapping[Any, Any]) -> list[Any]:
    """Return the groups of a membership arm -> group, in the order in which they first appear."""
    return list(dict.fromkeys(groups.values()))


def arm_share(groups: Mapping[Any, Any]) -> Floats:
    """Return each group's share of the arms (n_groups,).

    >>> arm_share({"a": "F", "b": "M", "c": "M", "d": "M"}).tolist()
    [0.25, 0.75]
    """
    return np.array([list(groups.values()).count(name) / len(groups) for name in group_names(groups)])


def group_share(pulls: NDArray[Any], groups: Mapping[Any, Any]) -> Floats:
    """Return each group's share of the pulls (..., n_groups), given pulls (..., n_arms) in the order of `groups`.

    Before the first pull every share is not a number.

    >>> group_share(np.array([6, 1, 2, 1]), {"a": "F", "b": "M", "c": "M", "d": "M"}).tolist()
    [0.6, 0.4]
    """
    belongs = np.array([[group == name for name in group_names(groups)] for group in groups.values()], dtype=np.float64)
    total = pulls.sum(axis=-1, keepdims=True)
    return np.divide(
        pulls @ belongs, total, out=np.full((*pulls.shape[:-1], belongs.shape[1]), np.nan), where=total > 0
    )


def selection_rate_ratio(pulls: NDArray[Any], groups: Mapping[Any, Any]) -> NDArray[Any]:
    """Return the smallest over the largest of the groups' selection rates (...), pulls an arm and round.

    Below 0.8 the four-fifths rule of the Uniform Guidelines on Employee Selection Procedures (1978) sees adverse
    impact.

    >>> float(selection_rate_ratio(np.array([6, 1, 2, 1]), {"a": "F", "b": "M", "c": "M", "d": "M"}).round(3))
    0.222
    """
    rates = group_share(pulls, groups) / arm_share(groups)
    return np.asarray(rates.min(axis=-1) / rates.max(axis=-1))


class Cost(NamedTuple):
    """What a promise costs a policy, in reward a round, with an interval of 95 %.

    Attributes
    ----------
    cost, low, high : the mean reward a round without the promise less that with it; NaN bounds for one replication.
    free : the mean reward a round without it.
    broken : in how many of the `replications` it would have been broken without it, None where that was not counted.
    """

    cost: float
    low: float
    high: float
    free: float
    broken: int | None
    replications: int

    def sentences(self, who: str, policy: str = "") -> str:
        """Return the answer in words: what the promise, that of the policy where one is named, costs a learner.

        >>> print(Cost(0.01, 0.004, 0.016, 0.2, 3, 20).sentences("thompson"))
        The promise costs thompson 5.00 % of its expected reward (95 % interval 2.00 % to 8.00 %), 0.01 per round, over
        20 replications. Without it the promise would have been broken in 3 of 20 replications.
        """
        scale, unit = (100 / self.free, " %") if self.free > 0 else (1.0, " per round")
        gains = self.high < 0
        numbers = (-self.cost, -self.high, -self.low) if gains else (self.cost, self.low, self.high)
        part, low, high = (f"{x * scale:.2f}{unit}" for x in numbers)
        sure = "" if math.isnan(self.low) else f" (95 % interval {low} to {high})"
        runs = "1 replication" if self.replications == 1 else f"{self.replications} replications"
        costs = f"gains {who}" if gains else f"costs {who}" if self.low > 0 else f"is not shown to cost {who} anything:"
        a_round = f", {numbers[0]:.2g} per round" if self.free > 0 else ""
        promise = f"The promise of {policy}" if policy else "The promise"
        said = f"{promise} {costs} {part} of its expected reward{sure}{a_round}, over {runs}."
        without = f" Without it the promise would have been broken in {self.broken} of {runs}."
        return said if self.broken is None else said + without


def cost_of(history: xr.Dataset, kept: str, free: str) -> Cost:
    """Return what the promise costs that the policy `kept` keeps and the policy `free` does not: of expected reward
    where the world knows it, and of the rewards that were drawn elsewhere."""
    last, runs = history.isel(round=-1), history.sizes["replication"]
    with_it, without = last.sel(policy=kept), last.sel(policy=free)
    apart = with_it.regret - without.regret if "regret" in last else without.reward - with_it.reward
    cost, wide, rounds = float(apart.mean()), float(half_width(apart)), int(last["round"])
    broken = None if without.violations.isnull().any() else int((without.violations > 0).sum())
    bounds = (cost - wide) / rounds, (cost + wide) / rounds
    return Cost(cost / rounds, *bounds, float(without.reward.mean()) / rounds, broken, runs)


def losses_a_round(history: xr.Dataset, against: Any = None) -> pd.DataFrame:
    """Return the expected reward a round that each policy loses against one of them, by default the best: a table with
    columns policy, against, mean, low, high, level; NaN bounds for one replication."""
    import pandas as pd

    last = history.isel(round=-1)
    regret = last.regret / float(last["round"])
    best = history.policy.values[int(regret.mean("replication").argmin("policy"))] if against is None else against
    apart = regret - regret.sel(policy=best, drop=True)
    mean, wide = apart.mean("replication").values, half_width(apart).values
    ends = {"mean": mean, "low": mean - wide, "high": mean + wide, "level": 0.95}
    return pd.DataFrame({"policy": history.policy.values, "against": str(best), **ends})


def mean_and_ends(each: xr.DataArray, level: float = 0.95) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Return the means over replications and the ends of their intervals, NaN for one replication; no end is below what
    the variable is at least, its attribute `valid_min`."""
    mean, half = each.mean("replication"), half_width(each, level)
    least = each.attrs.get("valid_min", -math.inf)
    low = mean - half
    return mean, low if (each < least).any() else np.maximum(low, least), mean + half


def whole_plays(shortfall: Any) -> Any:
    """Return a shortfall in whole plays, rounded down but for errors of arithmetic."""
    return np.floor(shortfall + 1e-9)


def half_width(each: xr.DataArray, level: float = 0.95) -> Any:
    """Return half the width of the intervals of means over replications, NaN for one replication."""
    from scipy.stats import t

    return standard_error(each) * t.ppf((1 + level) / 2, each.notnull().sum("replication") - 1)


def standard_error(each: xr.DataArray) -> Any:
    """Return the standard errors of means over the replications that have a value, NaN for one."""
    freedom = each.notnull().sum("replication") - 1
    return each.std("replication") / np.sqrt(freedom.where(freedom > 0))


def shares_change(codes: Ints, arms: int) -> bool:
    """Return whether the arms' shares of the second half differ from those of the first by more than chance (Pearson's
    chi-squared test).

    >>> shares_change(np.tile([0, 1], 500), 2), shares_change(np.repeat([0, 1], 500), 2)
    (False, True)
    """
    from scipy.stats import chi2_contingency

    half = len(codes) // 2
    table = np.array([np.bincount(part, minlength=arms) for part in (codes[:half], codes[half:])])
    table = table[:, table.sum(axis=0) > 0]
    if half == 0 or table.shape[1] < 2:
        return False
    return bool(chi2_contingency(table).pvalue < REFUTED)
