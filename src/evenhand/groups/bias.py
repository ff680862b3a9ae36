"""The learned bias, feature by feature, with confidence intervals: what a policy's regressions say about its groups.

A regression over n rows with noise sigma has covariance sigma^2 G, G = (X'X)^+. For groups P and R apart from each
other the difference of their regressions has sigma^2 (G_P + G_R). The pooled regression holds P's rows as well; there
it is sigma^2 (G_P - G_pool). The mean over the k arms of a group has sigma^2 sum_i G_i / k^2. The noise, where it is
not known, is estimated by the residuals of the arms' own regressions: s^2 = sum_i RSS_i / sum_i (n_i - rank_i), with
Student's quantile in place of the normal one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.groups.problem import Groups
from evenhand.kernels.arrays import Floats
from evenhand.kernels.linear import Regressions
from evenhand.policy.tickets import COPIED
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd

Balance = Literal["pulls", "arms"]
POOLED = "everyone"
INTERCEPT = "intercept"


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


def freedom_of(fit: Regressions, arms: int) -> int:
    """Return the degrees of freedom that the arms' own regressions leave for the noise."""
    return int((fit.samples[:arms] - fit.ranks[:arms]).sum())


def reach(fit: Regressions, arms: int, level: float, sigma: float | None) -> float:
    """Return half the width of an interval whose estimate has variance 1 for noise of variance 1: infinite where the
    noise has to be estimated, and no arm has more samples than its rows determine coefficients."""
    from scipy.stats import norm, t

    if sigma is not None:
        return sigma * float(norm.ppf((1 + level) / 2))
    freedom = freedom_of(fit, arms)
    if freedom < 1:
        return math.inf
    return math.sqrt(float(fit.squares[:arms].sum()) / freedom) * float(t.ppf((1 + level) / 2, freedom))


def named(features: Sequence[str] | None, count: int, intercept: bool) -> list[Any]:
    """Return the names of a regression's coefficients."""
    listed = isinstance(features, Iterable) and not isinstance(features, str)
    names: list[Any] = [str(one) for one in features or ()] if listed else list(range(count - intercept))
    if len(names) != count - intercept or not (listed or features is None):
        raise ArgumentError(wanted("features", f"{count - intercept} names, one per feature", features))
    names += [INTERCEPT] * intercept
    if len(set(names)) < count:
        raise ArgumentError(wanted("features", "names that differ" + " from 'intercept'" * intercept, features))
    return names


def estimate(
    fit: Regressions,
    membership: Groups,
    reference: Label | None,
    *,
    balance: Balance,
    level: float,
    sigma: float | None,
    features: list[Any],
) -> pd.DataFrame:
    """Return the table that `GroupFairTopInterval.bias` describes; `sigma` is the noise, None where it is estimated.

    Raises
    ------
    ArgumentError
        If nothing has been told yet, or there is no such reference.
    """
    import pandas as pd

    arms, names = len(membership.arms), membership.names
    if not fit.samples.any():
        mend = f"tell some rewards first; if a study decides, read study.policy: {COPIED}"
        raise ArgumentError(f"bias: nothing has been told yet; {mend}")
    own = None if reference is None else membership.code(reference, "reference")

    def regression(group: int | None) -> tuple[Floats, Floats]:
        if balance == "arms":
            return mean_over(fit, [i for i in range(arms) if group in (None, membership.codes[i])])
        return mean_over(fit, [arms + (len(names) if group is None else group)])

    middle, spare = regression(own)
    width = reach(fit, arms, level, sigma)
    tables = []
    for group, name in enumerate(names):
        if group == own:
            continue
        coefficients, variance = regression(group)
        if own is not None:
            total = variance + spare
        else:
            share = membership.codes.count(group) / arms
            with np.errstate(invalid="ignore"):
                both = np.maximum(variance - spare, 0.0) if balance == "pulls" else variance * (1 - 2 * share) + spare
            total = np.where(np.isinf(variance), np.inf, both)
        gap = coefficients - middle
        half = np.full(len(gap), math.inf)
        if math.isfinite(width):
            half[np.isfinite(total)] = width * np.sqrt(total[np.isfinite(total)])
        columns = {"group": name, "reference": POOLED if own is None else names[own], "feature": features}
        tables.append(pd.DataFrame(columns | {"bias": gap, "low": gap - half, "high": gap + half}))
    return pd.concat(tables, ignore_index=True)
