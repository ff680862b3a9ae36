"""The bias that a table shows: each group's regression less that of the others, with intervals over the table's rows.

With A = X (X'X)^+, h the leverages and e the residuals of a group's least squares, coefficient j has the variance
sum_i A_ij^2 e_i^2 / (1 - h_i) (HC2), which needs neither equal noise nor a true linear model; where that is larger,
s^2 sum_i A_ij^2 with the mean squared residual s^2 of both sides is taken, as where few rows happen to be alike. Two
groups share no rows, so that variances add. Student's quantile has Bell and McCaffrey's degrees of freedom. The errors
of all intervals add up to 1 - level, so that all hold together: half is the intercepts', whose interval is then as
narrow with many features as with few.

Source: R. Bell, D. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
Survey Methodology 28 (2002); G. Imbens, M. Kolesar, "Robust standard errors in small samples", Review of Economics and
Statistics 98 (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.groups.bias import INTERCEPT
from evenhand.groups.problem import Groups
from evenhand.kernels.arrays import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

OTHERS = "all others"
CUT = 1e-10
"""Singular values below this part of the largest are taken for 0, and rows whose leverage lacks less to 1 as fitted
exactly."""

NAMED = 3
"""How many features a sentence names."""
CHEAP = 1e10
"""From how many products on the degrees of freedom are bounded from below, which widens intervals by a little."""


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
    if len(rows) * rank**2 * rows.shape[1] < CHEAP:
        crossed = np.array([np.square((left.T * part) @ left).sum() for part in parts.T])
    else:  # no less: the squared hat matrix has the leverages as the sums of its rows
        crossed = (1 - free) @ parts**2
    spread = (2 * free - 1) @ parts**2 + crossed
    robust = (parts * residuals[:, None] ** 2).sum(axis=0)
    unknown = (right**2).sum(axis=0) < 1 - CUT
    robust[unknown | (parts[exact] > CUT * parts.max(axis=0)).any(axis=0)] = np.inf
    unit = (weights**2).sum(axis=0)
    return Fit(weights.T @ rewards, robust, unit, spread, float(residuals @ residuals), len(rows) - rank)


def difference(mine: Fit, others: Fit, error: Floats) -> tuple[Floats, Floats]:
    """Return the difference of the coefficients and half the width of its interval, each (k,), as `error` is."""
    from scipy.stats import t

    half = np.full(len(mine.values), np.inf)
    noise = (mine.squares + others.squares) / max(mine.freedom + others.freedom, 1)
    unit = mine.unit + others.unit
    variance = np.maximum(mine.robust + others.robust, noise * unit)
    known = np.isfinite(variance) & (mine.freedom > 0) & (others.freedom > 0)
    freedom = unit[known] ** 2 / (mine.spread + others.spread)[known]
    half[known] = t.ppf(1 - error[known] / 2, freedom) * np.sqrt(variance[known])
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
    k = rows.shape[1]
    error = np.full(k, (1 - level) / (len(compared) * k))
    if features[-1] == INTERCEPT and k > 1:
        error[:-1], error[-1] = error[0] * k / (2 * (k - 1)), error[0] * k / 2
    for code in compared:
        inside = codes == code
        gap, half = difference(fitted(rows[inside], rewards[inside]), fitted(rows[~inside], rewards[~inside]), error)
        reference = names[1 - code] if len(names) == 2 else OTHERS
        columns = {"group": names[code], "reference": reference, "feature": list(features)}
        tables.append(pd.DataFrame(columns | {"bias": gap, "low": gap - half, "high": gap + half}))
    return pd.concat(tables, ignore_index=True)


def in_words(found: pd.DataFrame, reward: str, level: float = 0.95) -> list[str]:
    """Return what `bias_of_table` shows of each group it compares, for the average person, as a sentence."""
    said = []
    for row in found[found["feature"] == INTERCEPT].to_dict("records"):
        group, reference, gap, low, high = (row[name] for name in ("group", "reference", "bias", "low", "high"))
        if not np.isfinite(low):
            unknown = found.loc[np.isinf(found["low"]) & (found["group"] == group), "feature"].tolist()[:-1]
            why = f"the rows of {group} or of {reference} do not tell the effect of {', '.join(unknown[:NAMED])}"
            why += ", ..." if len(unknown) > NAMED else ""
            said.append(f"Whether {reward} differs for the average person cannot be told: {why}; leave that out.")
            continue
        way = "lower" if gap < 0 else "higher"
        near, far = sorted((abs(low), abs(high)))
        between = f"{near:.2g} to {far:.2g} {way}"
        if low <= 0 <= high:
            between = f"{-low:.2g} lower to {high:.2g} higher, so it may be chance"
        said.append(
            f"For the average person of the table, {reward} is {abs(gap):.2g} {way} for {group} than for {reference} "
            f"({100 * level:g} % interval: {between})."
        )
    return said
