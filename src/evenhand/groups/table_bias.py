"""The bias that a table shows: each group's regression less that of the others, with intervals over the table's rows.

With A = X (X'X)^+, h the leverages and e the residuals of a group's least squares, coefficient j has the variance
sum_i A_ij^2 e_i^2 / (1 - h_i) (HC2), which needs neither equal noise nor a true linear model; where that is larger,
s^2 sum_i A_ij^2 with the mean squared residual s^2 of both sides is taken, as where few rows happen to be alike. Two
groups share no rows, so that variances add. Student's quantile has Bell and McCaffrey's degrees of freedom, and each of
m intervals the level 1 - (1 - level) / m, so that all hold together.

Source: R. Bell, D. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
Survey Methodology 28 (2002); G. Imbens, M. Kolesar, "Robust standard errors in small samples", Review of Economics and
Statistics 98 (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.groups.problem import Groups
from evenhand.kernels.arrays import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OTHERS", "bias_of_table"]

OTHERS = "all others"
CUT = 1e-10
"""Singular values below this part of the largest are taken for 0, and rows whose leverage lacks less to 1 as fitted
exactly."""


class Fit(NamedTuple):
    """Least squares of some rows: per coefficient (k,) its value, its variance by HC2, its variance at unit noise and
    the sum that its degrees of freedom divide by; the squared residuals and their degrees of freedom."""

    values: Floats
    robust: Floats
    unit: Floats
    spread: Floats
    squares: float
    freedom: int


def fitted(rows: Floats, rewards: Floats) -> Fit:
    """Return the least squares of rewards (n,) on rows (n, k); what the rows do not determine is infinite."""
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1.0
    left, sizes, right = np.linalg.svd(rows / scale, full_matrices=False)
    rank = int((sizes > CUT * sizes[0]).sum())
    left, right = left[:, :rank], right[:rank]
    weights = (left / sizes[:rank]) @ right / scale
    free = 1 - (left**2).sum(axis=1)
    exact = free < CUT
    residuals = np.where(exact, 0.0, rewards - left @ (left.T @ rewards))
    parts = weights**2 / np.where(exact, 1.0, free)[:, None]
    crossed = np.array([((left.T * part) @ left) for part in parts.T])
    spread = (parts**2 * (2 * free - 1)[:, None]).sum(axis=0) + (crossed**2).sum(axis=(1, 2))
    robust = (parts * residuals[:, None] ** 2).sum(axis=0)
    unknown = (right**2).sum(axis=0) < 1 - CUT
    robust[unknown | (parts[exact] > CUT * parts.max(axis=0)).any(axis=0)] = np.inf
    unit = (weights**2).sum(axis=0)
    return Fit(weights.T @ rewards, robust, unit, spread, float(residuals @ residuals), len(rows) - rank)


def difference(mine: Fit, others: Fit, error: float) -> tuple[Floats, Floats]:
    """Return the difference of the coefficients and half the width of its interval, each (k,)."""
    from scipy.stats import t

    half = np.full(len(mine.values), np.inf)
    noise = (mine.squares + others.squares) / max(mine.freedom + others.freedom, 1)
    unit = mine.unit + others.unit
    variance = np.maximum(mine.robust + others.robust, noise * unit)
    known = np.isfinite(variance) & (mine.freedom > 0) & (others.freedom > 0)
    freedom = unit[known] ** 2 / (mine.spread + others.spread)[known]
    half[known] = t.ppf(1 - error / 2, freedom) * np.sqrt(variance[known])
    return mine.values - others.values, half


def bias_of_table(
    rows: Floats,
    rewards: Floats,
    codes: Ints,
    membership: Groups,
    *,
    compared: Sequence[int],
    level: float,
    features: Sequence[str],
) -> pd.DataFrame:
    """Return the table that `TableArms.bias` describes, from rows (n, k) of groups `codes` (n,); `compared` are the
    groups that it holds."""
    import pandas as pd

    names, tables = membership.names, []
    error = (1 - level) / (len(compared) * rows.shape[1])
    for code in compared:
        inside = codes == code
        gap, half = difference(fitted(rows[inside], rewards[inside]), fitted(rows[~inside], rewards[~inside]), error)
        reference = names[1 - code] if len(names) == 2 else OTHERS
        columns = {"group": names[code], "reference": reference, "feature": list(features)}
        tables.append(pd.DataFrame(columns | {"bias": gap, "low": gap - half, "high": gap + half}))
    return pd.concat(tables, ignore_index=True)
