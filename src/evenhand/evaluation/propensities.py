"""Whether a log's plays fit its propensities.

Where the propensity p of an arm never changes, its plays are binomial. Where it changes, bets are made on each row
before it is drawn: with y = 1 where the arm was played,

    more often than stated:    1 + c (y / p - 1)
    more seldom:               1 - c (y - p) / (1 - p)

The mean of their products over the shares c of the wealth is an e-value: it is 1/d or more with probability d at most,
whatever the propensities depend on. Where only the propensity of the arm that was played is known, the first bet alone
can be settled. Holm's method holds for all arms together.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.audit.sequences import BETS, gains_of
from evenhand.evaluation.logged import Logged
from evenhand.kernels.arrays import Bools, Floats
from evenhand.kernels.compose import entry

ERROR = 1e-3
"""The probability with which true propensities of a log are doubted."""


def fit_of(logged: Logged) -> Floats:
    """Return the p-value (n_arms,) of each arm's propensities, adjusted for all tests of the log."""
    arms, places = len(logged.arms), len(logged.places)
    if logged.counted:
        return np.ones(arms)
    if not logged.fixed:
        return _holm(np.array([_p_value(logged, code) for code in range(arms)]))
    from scipy.stats import binom

    cell = logged.at * arms + logged.codes
    plays = np.bincount(cell, minlength=places * arms)
    stated = np.full(places * arms, np.nan)
    stated[cell] = logged.chances
    if logged.every is not None:
        stated = logged.every.ravel()
    rows = np.bincount(logged.at, minlength=places).repeat(arms)
    tails = np.minimum(binom.cdf(plays, rows, stated), binom.sf(plays - 1, rows, stated))
    found = np.where(np.isnan(stated), 1.0, np.minimum(2 * tails, 1.0))
    return np.asarray(_holm(found).reshape(places, arms).min(axis=0))


def _p_value(logged: Logged, code: int) -> float:
    """Return the p-value of the propensities of an arm that change."""
    mine = logged.codes == code
    if logged.every is None:
        logs = [_logs(1 / logged.chances[mine] - 1, len(mine) - int(mine.sum()))]
    else:
        chance = logged.every[:, code]
        if chance.min() == chance.max():
            from scipy.stats import binomtest

            return float(binomtest(int(mine.sum()), len(mine), float(chance[0])).pvalue)
        given, open_ = chance > 0, (chance > 0) & (chance < 1)
        more = _logs(1 / chance[given & mine] - 1, int((given & ~mine).sum()))
        odds = chance[open_ & ~mine]
        logs = [more, _logs(odds / (1 - odds), int((open_ & mine).sum()))]
    return min(1.0, math.exp(-min(float(_log_mean(np.array(logs))), 700.0)))


def _logs(wins: Floats, losses: int) -> Floats:
    """Return the logarithm of the wealth at each share c after these wins, of c times so much, and so many losses."""
    gains = np.zeros(len(BETS))
    entry(gains_of)(np.ascontiguousarray(wins, np.float64), BETS, gains)
    return np.asarray(gains + losses * np.log1p(-BETS))


def _log_mean(logs: Floats) -> float:
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).mean()))


def _holm(found: Floats) -> Floats:
    """Return p-values adjusted by Holm's method."""
    order = np.argsort(found)
    adjusted = np.minimum(np.maximum.accumulate(found[order] * np.arange(len(found), 0, -1)), 1.0)
    return adjusted[np.argsort(order)]


def one_sided(logged: Logged) -> bool:
    """Return whether only arms that were played more often than stated can be found."""
    return not logged.counted and not logged.fixed and logged.every is None


def doubts(logged: Logged, fit: Floats, calibration: Floats) -> tuple[str, ...]:
    """Return what speaks against the propensities, in sentences; `calibration` (n_arms,) is each arm's mean of
    1{a} / p."""
    wrong: Bools = fit < ERROR
    if not wrong.any():
        return ()
    worst = int(fit.argmin())
    which = "its propensity" if wrong.sum() == 1 else f"their propensities in {wrong.sum()} of {len(fit)} arms"
    return (
        f"The plays of arm {logged.arms[worst]!r} do not fit {which} (p = {fit[worst]:.2g}, its mean of 1{{a}} / p is "
        f"{calibration[worst]:.3g}, expected 1): the column may be that of another policy, or rows may be repeated or "
        "missing.",
    )
