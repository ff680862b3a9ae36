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
from evenhand.kernels.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

OTHERS = "all others"
CUT = 1e-10
"""Rows whose leverage lacks less to 1 are fitted exactly."""

ALIKE = 1e-9
"""Which part of a column is rounding, where the columns before it make up the rest."""
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
    """Return the least squares of rewards (n,) on rows (n, k), of whose columns `told` keeps all."""
    scale = np.abs(rows).max(axis=0)
    left, right = np.linalg.qr(rows / scale)
    weights = left @ np.linalg.inv(right).T / scale
    free, residuals = 1 - (left**2).sum(axis=1), rewards - left @ (left.T @ rewards)
    parts = weights**2 / free[:, None]
    if len(rows) * rows.shape[1] ** 3 < CHEAP:
        crossed = np.array([np.square((left.T * part) @ left).sum() for part in parts.T])
    else:  # no less: the squared hat matrix has the leverages as the sums of its rows
        crossed = (1 - free) @ parts**2
    robust, spread = residuals**2 @ parts, (2 * free - 1) @ parts**2 + crossed
    freedom = len(rows) - rows.shape[1]
    return Fit(weights.T @ rewards, robust, (weights**2).sum(axis=0), spread, float(residuals @ residuals), freedom)


def told(rows: Floats) -> Bools:
    """Return of which columns (k,) these rows tell the effect: not of one that those before it make up, such as a
    category that nobody here has, nor of one that a single row shows. The last column comes first."""
    count, width = rows.shape
    kept, basis, leverage = np.zeros(width, bool), np.zeros((count, min(count, width))), np.zeros(count)
    for j in (width - 1, *range(width - 1)):
        mine, rest = basis[:, : kept.sum()], rows[:, j]
        for _ in range(2):  # once leaves what rounding makes
            rest = rest - mine @ (mine.T @ rest)
        size = np.linalg.norm(rest)
        if size > ALIKE * np.linalg.norm(rows[:, j]) and (leverage + (rest / size) ** 2).max() < 1 - CUT:
            basis[:, kept.sum()] = rest / size
            leverage += (rest / size) ** 2
            kept[j] = True
    return kept


def difference(mine: Fit, others: Fit, error: Floats) -> tuple[Floats, Floats]:
    """Return the difference of the coefficients and half the width of its interval, each (k,), as `error` is."""
    from scipy.stats import t

    noise, unit = (mine.squares + others.squares) / (mine.freedom + others.freedom), mine.unit + others.unit
    variance = np.maximum(mine.robust + others.robust, noise * unit)
    half = t.ppf(1 - error / 2, unit**2 / (mine.spread + others.spread)) * np.sqrt(variance)
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
    groups that it holds. A column whose effect the rows of either side do not tell is left out of both."""
    import pandas as pd

    names, tables = membership.names, []
    k = rows.shape[1]
    error = np.full(k, (1 - level) / (len(compared) * k))
    if features[-1] == INTERCEPT and k > 1:
        error[:-1], error[-1] = error[0] * k / (2 * (k - 1)), error[0] * k / 2
    for code in compared:
        inside = codes == code
        kept, gap, half = told(rows[inside]) & told(rows[~inside]), np.full(k, np.nan), np.full(k, np.inf)
        if kept.any():
            mine, others = (fitted(rows[side][:, kept], rewards[side]) for side in (inside, ~inside))
            gap[kept], half[kept] = difference(mine, others, error[kept])
        middle = np.nan_to_num(gap)
        reference = names[1 - code] if len(names) == 2 else OTHERS
        columns = {"group": names[code], "reference": reference, "feature": list(features)}
        tables.append(pd.DataFrame(columns | {"bias": gap, "low": middle - half, "high": middle + half}))
    return pd.concat(tables, ignore_index=True)


def in_words(found: pd.DataFrame, reward: str, level: float = 0.95) -> list[str]:
    """Return what `bias_of_table` shows of each group it compares, for the average person, as a sentence."""
    said = []
    for row in found[found["feature"] == INTERCEPT].to_dict("records"):
        group, reference, gap, low, high = (row[name] for name in ("group", "reference", "bias", "low", "high"))
        own = found[(found["group"] == group) & np.isinf(found["low"]) & (found["feature"] != INTERCEPT)]
        names = ", ".join(map(str, own["feature"].head(NAMED))) + (", ..." if len(own) > NAMED else "")
        left_out = f" Left out, as {group} or {reference} tells no effect: {names} (counted as the first category)."
        if not np.isfinite(low):
            why = f"{group} or {reference} has too few rows for so many features"
            said.append(f"Whether {reward} differs for the average person cannot be told: {why}.")
            continue
        way = "lower" if gap < 0 else "higher"
        near, far = sorted((abs(low), abs(high)))
        between = f"{near:.2g} to {far:.2g} {way}"
        if low <= 0 <= high:
            between = f"{-low:.2g} lower to {high:.2g} higher, so it may be chance"
        said.append(
            f"For the average person of the table, {reward} is {abs(gap):.2g} {way} for {group} than for {reference} "
            f"({100 * level:g} % interval: {between})." + (left_out if len(own) else "")
        )
    return said
