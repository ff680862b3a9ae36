"""The learned bias, feature by feature, with confidence intervals: what a policy's regressions say about its groups.

Arms of one group differ by chance: their own coefficients beta_i are like draws from one population. So do the
regressions of two groups of five arms each, and by far more than the noise of the rewards: in the paper's own worlds
intervals of the noise alone hold the bias in a quarter of the runs. The interval is therefore a jackknife over the
arms. With theta(-i) the difference of the groups' regressions without arm i of a group of k arms,

    V = sum over groups of (k - 1)/k sum_i (theta(-i) - mean of the group's)^2,

and Student's quantile with one degree of freedom less than the smallest of these groups has arms. For means over arms
that are normal the interval then holds at least as often as it says (Hsu); with Welch's degrees of freedom it does not,
where groups have two or three arms. A group of one arm says nothing of how much its arms differ: no interval.

Sources: B. Efron, C. Stein, "The Jackknife Estimate of Variance", Annals of Statistics 9 (1981); P. L. Hsu,
"Contribution to the theory of Student's t-test as applied to the problem of two samples", Statistical Research Memoirs
2 (1938).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.errors import ArgumentError, expected
from evenhand.groups.problem import Groups
from evenhand.kernels.arrays import Bools, Floats
from evenhand.kernels.linear import Regressions
from evenhand.policy.tickets import COPIED
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd

Balance = Literal["pulls", "arms"]
POOLED = "everyone"
INTERCEPT = "intercept"
SUPPOSED = "of the bias, if the groups' arms are worth the same on average"
"""What the intervals are of."""
LEFT_OUT = 1e-9
"""How much of a coefficient's direction rows may leave out that determine it."""


def without_each(fit: Regressions, arms: list[int], balance: Balance) -> Floats:
    """Return the regressions (n_arms, d) of all of these arms but one, nan where their rows determine none."""
    factors = fit.factors[arms]
    lengths = np.sqrt((factors**2).sum(axis=(0, 1)))
    unit = np.where(lengths > 0, lengths, 1.0)  # of each coefficient, as incomes and ages differ by far
    coefficients, factors = fit.coefficients[arms] / unit, factors / unit
    inverses = np.einsum("nki,nkj->nij", factors, factors)  # those of X'X, generalized: what is not in use is zero
    products = _inverse(inverses)
    if balance == "arms":
        known = np.where(_determined(products, inverses), coefficients, np.nan)
        return unit * (known.sum(axis=0) - known) / max(1, len(arms) - 1)
    sums = np.einsum("nij,nj->ni", products, coefficients)
    products, sums = products.sum(axis=0) - products, sums.sum(axis=0) - sums
    inverses = _inverse(products)
    return unit * np.where(_determined(products, inverses), np.einsum("nij,nj->ni", inverses, sums), np.nan)


def _inverse(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.pinv(matrices, rcond=1e-12, hermitian=True))


def _determined(products: Floats, inverses: Floats) -> Bools:
    """Return for X'X (n, d, d) and their inverses which coefficients (n, d) the rows determine."""
    return np.asarray(np.diagonal(inverses @ products, axis1=-2, axis2=-1) > 1 - LEFT_OUT)


def spread(differences: list[Floats], level: float) -> Floats:
    """Return half the width (d,) of the intervals of a difference, from what it is without each arm of each group."""
    from scipy.stats import t

    if min(map(len, differences)) < 2:
        return np.full(differences[0].shape[1], np.inf)
    variance = sum((len(each) - 1) * each.var(axis=0) for each in differences)
    half = t.ppf((1 + level) / 2, min(map(len, differences)) - 1) * np.sqrt(variance)
    return np.nan_to_num(half, nan=np.inf)


def named(features: Sequence[str] | None, count: int, intercept: bool) -> list[Any]:
    """Return the names of a regression's coefficients."""
    listed = isinstance(features, Iterable) and not isinstance(features, str)
    names: list[Any] = [str(one) for one in features or ()] if listed else list(range(count - intercept))
    if len(names) != count - intercept or not (listed or features is None):
        raise ArgumentError(expected("features", f"{count - intercept} names, one per feature", features))
    names += [INTERCEPT] * intercept
    if len(set(names)) < count:
        raise ArgumentError(expected("features", "names that differ" + " from 'intercept'" * intercept, features))
    return names


def estimate(
    fit: Regressions,
    membership: Groups,
    reference: Label | None,
    *,
    balance: Balance,
    level: float,
    features: list[Any],
) -> pd.DataFrame:
    """Return the table that `GroupFairTopInterval.bias` describes.

    Raises
    ------
    ArgumentError
        If nothing has been told yet, or there is no such reference.
    """
    import pandas as pd

    arms, names = len(membership.arms), membership.names
    if not fit.samples.any():
        hint = f"tell some rewards first; if a study decides, read study.policy: {COPIED}"
        raise ArgumentError(f"bias: nothing has been told yet; {hint}")
    own = None if reference is None else membership.code(reference, "reference")
    members = [[i for i in range(arms) if membership.codes[i] == group] for group in range(len(names))]

    def regression(group: int | None) -> Floats:
        if balance == "pulls":
            return fit.coefficients[arms + (len(names) if group is None else group)]
        return np.asarray(fit.coefficients[[*range(arms)] if group is None else members[group]].mean(axis=0))

    def without(group: int | None) -> Floats:
        return without_each(fit, [*range(arms)] if group is None else members[group], balance)

    spare, others, tables = regression(own), without(own), []
    for group, name in enumerate(names):
        if group == own:
            continue
        middle, each = regression(group), without(group)
        if own is None:
            less = [(each if g == group else middle) - others[inside] for g, inside in enumerate(members)]
        else:
            less = [each - spare, middle - others]
        gap, half = middle - spare, spread(less, level)
        columns = {"group": name, "reference": POOLED if own is None else names[own], "feature": features}
        tables.append(pd.DataFrame(columns | {"bias": gap, "low": gap - half, "high": gap + half}))
    found = pd.concat(tables, ignore_index=True)
    found.attrs = {"level": level, "intervals": SUPPOSED}
    return found
