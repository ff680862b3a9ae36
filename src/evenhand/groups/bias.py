"""The learned bias, feature by feature, with confidence intervals: what a policy's regressions say about its groups.

A regression over n rows with noise sigma has covariance sigma^2 G, G = (X'X)^+. For groups P and R apart from each
other the difference of their regressions has sigma^2 (G_P + G_R). The pooled regression holds P's rows as well; there
it is sigma^2 (G_P - G_pool). The mean over the k arms of a group has sigma^2 sum_i G_i / k^2. The noise, where it is
not given, is estimated by the residuals of the arms' own regressions: s^2 = sum_i RSS_i / sum_i (n_i - rank_i), with
Student's quantile in place of the normal one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.groups.problem import Groups
from evenhand.kernels.arrays import Floats
from evenhand.kernels.least_squares import Regressions
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Balance", "estimate"]

Balance = Literal["pulls", "arms"]
POOLED = "everyone"


def variances(fit: Regressions, row: int) -> Floats:
    """Return the variance of each coefficient (d,) for noise of variance 1, infinite where the rows seen do not
    determine it."""
    rank, d = int(fit.ranks[row]), fit.coefficients.shape[1]
    variance = (fit.factors[row, :rank] ** 2).sum(axis=0)
    if rank < d:
        variance[(fit.basis[row, :rank] ** 2).sum(axis=0) < 1 - 1e-9] = np.inf
    return np.asarray(variance)


def mean_over(fit: Regressions, rows: list[int]) -> tuple[Floats, Floats]:
    """Return the mean of some regressions' coefficients and its variance for noise of variance 1, each (d,)."""
    return fit.coefficients[rows].mean(axis=0), np.sum([variances(fit, row) for row in rows], axis=0) / len(rows) ** 2


def deviation(fit: Regressions, arms: int) -> tuple[float, int]:
    """Return the noise's standard deviation as the arms' residuals tell it, and its degrees of freedom."""
    freedom = int((fit.samples[:arms] - fit.ranks[:arms]).sum())
    if freedom < 1:
        raise ArgumentError(wanted("noise", "'given' while no arm has more samples than features", "estimated"))
    return math.sqrt(float(fit.squares[:arms].sum()) / freedom), freedom


def estimate(
    fit: Regressions,
    membership: Groups,
    reference: Label | None,
    balance: Balance,
    level: float,
    sigma: float | None,
    features: Sequence[str] | None,
) -> pd.DataFrame:
    """Return the table that `GroupFairTopInterval.bias` describes.

    Raises
    ------
    ArgumentError
        If nothing has been told yet, there is no such reference, or there is not one name a feature.
    """
    import pandas as pd
    from scipy.stats import norm, t

    arms, names, d = len(membership.arms), membership.names, fit.coefficients.shape[1]
    if not fit.samples.any():
        raise ArgumentError("bias: nothing has been told yet; tell some rewards first")
    labels = list(range(d)) if features is None else [str(feature) for feature in features]
    if len(labels) != d:
        raise ArgumentError(wanted("features", f"{d} names, one a feature", features))
    own = None if reference is None else membership.code(reference, "reference")

    def regression(group: int | None) -> tuple[Floats, Floats]:
        if balance == "arms":
            return mean_over(fit, [i for i in range(arms) if group in (None, membership.codes[i])])
        return mean_over(fit, [arms + (len(names) if group is None else group)])

    middle, spare = regression(own)
    freedom = None
    if sigma is None:
        sigma, freedom = deviation(fit, arms)
    reach = norm.ppf((1 + level) / 2) if freedom is None else t.ppf((1 + level) / 2, freedom)
    tables = []
    for group, name in enumerate(names):
        if group == own:
            continue
        coefficients, variance = regression(group)
        if own is not None:
            total = variance + spare
        elif balance == "pulls":
            with np.errstate(invalid="ignore"):
                total = np.where(np.isinf(variance), np.inf, np.maximum(variance - spare, 0.0))
        else:
            share = membership.codes.count(group) / arms
            total = variance * (1 - 2 * share) + spare
        gap, half = coefficients - middle, reach * sigma * np.sqrt(total)
        tables.append(
            pd.DataFrame(
                {
                    "group": name,
                    "reference": POOLED if own is None else names[own],
                    "feature": labels,
                    "bias": gap,
                    "low": gap - half,
                    "high": gap + half,
                }
            )
        )
    return pd.concat(tables, ignore_index=True)
