"""Whether a log's plays fit its propensities.

Where the propensity p of an arm never changes, its plays are binomial. Where it changes, bets are made on each row
before it is drawn: with y = 1 where the arm was played,

    more often than stated:    1 + c (y / p - 1)
    more seldom:               1 - c (y - p) / (1 - p)

The mean of their products over the shares c of the wealth is an e-value: it is 1/d or more with probability d at most,
whatever the propensities depend on. Of units, y / p and (1 - y) / (1 - p) are means over their rows, which are one bet.
Where only the propensity of the arm that was played is known, the first bet alone can be settled. Holm's method holds
for all arms together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.audit.confidence_sequences import BETS, gains_of
from evenhand.evaluation.logged import Logged
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import entry

if TYPE_CHECKING:
    import pandas as pd

ERROR = 1e-3
"""The probability with which true propensities of a log are doubted."""


def fit_of(logged: Logged) -> Floats:
    """Return the p-value (n_arms,) of each arm's propensities, adjusted for all tests of the log."""
    arms, places = len(logged.arms), len(logged.places)
    if logged.counted:
        return np.ones(arms)
    if not logged.fixed or logged.units is not None:
        return adjusted(np.array([_p_value(logged, code) for code in range(arms)]))
    cell = logged.at * arms + logged.codes
    stated = np.full(places * arms, np.nan)
    stated[cell] = logged.chances
    if logged.every is not None:
        stated = logged.every.ravel()
    rows = np.bincount(logged.at, minlength=places).repeat(arms)
    found = _binomial(np.bincount(cell, minlength=places * arms), rows, stated)
    return np.asarray(adjusted(found).reshape(places, arms).min(axis=0))


def _binomial(plays: Any, rows: Any, chances: Floats) -> Floats:
    """Return twice the smaller tail of so many plays, 1 where the chance is not known."""
    from scipy.stats import binom

    tails = np.minimum(binom.cdf(plays, rows, chances), binom.sf(plays - 1, rows, chances))
    return np.where(np.isnan(chances), 1.0, np.minimum(2 * tails, 1.0))


def _p_value(logged: Logged, code: int) -> float:
    """Return the p-value of the propensities of an arm, by bets: where some change, or where rows are of units."""
    mine = logged.codes == code
    if logged.every is None:
        logs = _logs(logged.by_unit(mine / logged.chances))
    else:
        chance = logged.every[logged.at, code] if logged.fixed else logged.every[:, code]
        if logged.units is None and chance.min() == chance.max():
            return float(_binomial(mine.sum(), len(mine), chance[:1])[0])
        given, open_ = chance > 0, (chance > 0) & (chance < 1)
        more = np.divide(mine, chance, out=np.ones(len(mine)), where=given)
        seldom = np.divide(~mine, 1 - chance, out=np.ones(len(mine)), where=open_)
        logs = np.append(_logs(logged.by_unit(more)), _logs(logged.by_unit(seldom)))
    return min(1.0, math.exp(math.log(logs.size) - max(float(np.logaddexp.reduce(logs)), -700.0)))


def _logs(values: Floats) -> Floats:
    """Return the logarithm of the wealth at each share c after bets on values of the mean 1, that win c (value - 1)."""
    lost, times = np.unique(values[values < 1], return_counts=True)  # of rows these are all 0
    gains = np.log1p(BETS[:, None] * (lost - 1)) @ times
    entry(gains_of)(values[values > 1] - 1, BETS, gains)
    return np.asarray(gains)


def adjusted(found: Floats) -> Floats:
    """Return p-values adjusted by Holm's method."""
    order = np.argsort(found)
    adjusted = np.minimum(np.maximum.accumulate(found[order] * np.arange(len(found), 0, -1)), 1.0)
    return adjusted[np.argsort(order)]


def doubts(logged: Logged, table: pd.DataFrame) -> Iterator[str]:
    """Yield what speaks against the propensities, and what cannot be found, in sentences; `table` is that of the arms'
    weights."""
    if not logged.counted and not logged.fixed and logged.every is None:
        yield (
            "Only arms that were played more often than their propensities say can be found, not ones played more "
            "seldom, as only those of the arms that were played are known."
        )
    wrong = int((table["p_value"] < ERROR).sum())
    if wrong:
        worst = int(table["p_value"].argmin())
        more = f"; nor do those of {wrong - 1} of the {len(table) - 1} others" if wrong > 1 else ""
        yield (
            f"The plays of arm {logged.arms[worst]!r} do not fit its propensity (p = {table['p_value'][worst]:.2g}, "
            f"its mean of 1{{a}} / p is {table['calibration'][worst]:.3g}, expected 1){more}: the column may be that "
            "of another policy, or rows may be repeated or missing."
        )
