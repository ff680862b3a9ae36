"""The effect of one arm against another where either was drawn with a known chance: the overlap score.

Of the rows with an outcome y in which one of the two was drawn, let a be 1 where it was the arm and 0 where it was the
control, p the chance of the arm given that it was one of the two, d = a - p and w = p (1 - p). Given the past, a has
the mean p, so that under equal distributions of the outcomes

    N(y) = sum of d (y - sum w y / sum w)

is the end of a martingale whose variance is known, V(y) = sum of w (y - sum w y / sum w)^2, however the rates drift.
The estimate is N(y) / N(a), and the interval holds all effects e with

    N(y - e a)^2 <= z^2 V(y - e a)      or      N(y - e a)^2 <= z^2 sum of d^2 (y - e a - their weighted mean)^2.

The first variance is right where the distributions are equal; where rates are far apart it weighs the two arms'
variances the wrong way round, which more rows do not cure, and the second one is then larger. The test is that of
e = 0 by the larger of both. Rows in which only one of the two could be drawn have d = w = 0.

At any time: with the mean m of the outcomes before and B = max(p, 1 - p) max(m, 1 - m), every product of
1 + l d (y - m) / B is a martingale from 1 under equal distributions of outcomes in [0, 1], and so is their mean over
several l of both signs: it ever reaches 1 / alpha with probability alpha at most (Ville's inequality).

Source: ours. The weights are those of F. Li, K. L. Morgan, A. M. Zaslavsky, "Balancing covariates via propensity score
weighting", JASA 113 (2018); the interval of a ratio is that of E. C. Fieller, "Some problems in interval estimation",
JRSS B 16 (1954).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats

BETS = np.geomspace(0.03, 0.6, 7)
"""The sizes l of the bets."""


class Difference(NamedTuple):
    """An arm's rate less the control's, nan where no row compares them; the interval, at most [-1, 1]; and the p-value
    of the test of equal distributions."""

    estimate: Floats
    low: Floats
    high: Floats
    p_value: Floats


def difference(
    drawn: Floats, chance: Floats, outcomes: Floats, alpha: float, times: Floats | float = 1.0
) -> Difference:
    """Return the effect in each of several logs.

    Parameters
    ----------
    drawn, chance, outcomes : a, p and y in [0, 1] of each row (..., n_rows).
    alpha : one less the probability with which each interval holds.
    times : how often each row stands in its log.
    """
    from scipy.stats import norm

    spread, weights = times * (drawn - chance), times * chance * (1 - chance)
    total = weights.sum(axis=-1, keepdims=True)
    total = np.where(total > 0, total, 1.0)
    y, a = (x - (weights * x).sum(axis=-1, keepdims=True) / total for x in (outcomes, drawn))
    top, bottom, least = (spread * y).sum(axis=-1), (spread * a).sum(axis=-1), norm.isf(alpha / 2) ** 2
    ends, everything, largest = [], bottom == 0, np.zeros(np.shape(top))
    for by in (weights, spread * (drawn - chance)):
        largest = np.maximum(largest, (by * y**2).sum(axis=-1))
        lead = bottom**2 - least * (by * a**2).sum(axis=-1)
        middle = top * bottom - least * (by * y * a).sum(axis=-1)
        root = np.sqrt(np.maximum(middle**2 - lead * (top**2 - least * (by * y**2).sum(axis=-1)), 0.0))
        everything = everything | (lead <= 0)
        lead = np.where(lead > 0, lead, 1.0)
        ends += [(middle - root) / lead, (middle + root) / lead]
    low, high = np.where(everything, -1.0, np.minimum(*ends[::2])), np.where(everything, 1.0, np.maximum(*ends[1::2]))
    estimate = np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom != 0)
    tested = np.divide(top**2, largest, out=np.zeros(np.shape(top)), where=largest > 0)
    return Difference(estimate, np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0), 2 * norm.sf(np.sqrt(tested)))


def evidence(drawn: Floats, chance: Floats, outcomes: Floats) -> Floats:
    """Return the logarithm of the e-value against equal distributions after each row (n_rows,); a, p and y as above, in
    the order of the decisions."""
    count = np.arange(len(outcomes))
    mean = (0.5 + np.cumsum(outcomes) - outcomes) / (1 + count)
    most = np.maximum(chance, 1 - chance) * np.maximum(mean, 1 - mean)
    gains = (drawn - chance) * (outcomes - mean) / most
    logs = np.cumsum(np.log1p(np.outer(np.concatenate([BETS, -BETS]), gains)), axis=1)
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))
