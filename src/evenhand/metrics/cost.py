"""What a promise costs, from a history in which a policy plays with it and without."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import xarray as xr


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

    def sentences(self, who: str) -> str:
        """Return the answer in words.

        >>> print(Cost(0.01, 0.004, 0.016, 0.2, 3, 20).sentences("thompson"))
        The promise costs thompson 5.00 % of its expected reward (95 % interval 2.00 % to 8.00 %), 0.01 a round, over
        20 replications. Without it the promise would have been broken in 3 of 20 replications.
        """
        scale, unit = (100 / self.free, " %") if self.free > 0 else (1.0, " a round")
        part, low, high = (f"{x * scale:.2f}{unit}" for x in (self.cost, self.low, self.high))
        sure = "" if math.isnan(self.low) else f" (95 % interval {low} to {high})"
        runs = "1 replication" if self.replications == 1 else f"{self.replications} replications"
        costs = f"costs {who}" if self.low > 0 else f"is not shown to cost {who} anything:"
        a_round = f", {self.cost:.2g} a round" if self.free > 0 else ""
        said = f"The promise {costs} {part} of its expected reward{sure}{a_round}, over {runs}."
        without = f" Without it the promise would have been broken in {self.broken} of {runs}."
        return said if self.broken is None else said + without


def cost_of(history: xr.Dataset, kept: str, free: str) -> Cost:
    """Return what the promise costs that the policy `kept` keeps and the policy `free` does not: of expected reward
    where the world knows it, and of the rewards that were drawn elsewhere."""
    last, runs = history.isel(round=-1), history.sizes["replication"]
    with_it, without = last.sel(policy=kept), last.sel(policy=free)
    apart = with_it.regret - without.regret if "regret" in last else without.reward - with_it.reward
    cost, wide, rounds = float(apart.mean()), half_width(apart), int(last["round"])
    broken = None if without.violations.isnull().any() else int((without.violations > 0).sum())
    bounds = (cost - wide) / rounds, (cost + wide) / rounds
    return Cost(cost / rounds, *bounds, float(without.reward.mean()) / rounds, broken, runs)


def half_width(each: xr.DataArray) -> float:
    """Return half the width of the 95 % interval of a mean over replications, NaN for one replication."""
    from scipy.stats import t

    runs = each.size
    return float(t.ppf(0.975, runs - 1) * each.std(ddof=1)) / runs**0.5 if runs > 1 else math.nan
