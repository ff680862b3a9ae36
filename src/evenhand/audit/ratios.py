"""Intervals of the ratio of two rates: Koopman's for one look, and bets that may be looked at after any row.

Let rows x be 0 or 1 with a chance that is at most m. For shares c of the wealth

    K(m) = mean over c of prod (1 + c (x / m - 1))

is a non-negative supermartingale from 1 that depends on the counts alone; bets against a chance of at least m are those
of 1 - x and 1 - m. For two rates that do not change over time,

    E(r) = min over q of K(p_g <= r q) K(p_h >= q)

is at most the product at the true q, so that p_g <= r p_h is refuted with error d where E(r) is 1/d or more. Both
logarithms are convex in q. For the ratio r_g to the best rate, whichever that is: r_g >= r implies p_h <= p_g / r for
every h, so that the mean of these E over h bets against it, and the lower end is the least of those of all h. If all
ratios are at least r, rows of all groups but g have a chance of at most p_g / r and of at least r p_g, whatever their
shares: E of g against the rest, one stream, either way, and the mean over all g.

Sources: P. A. R. Koopman, "Confidence intervals for the ratio of two binomial proportions", Biometrics 40 (1984);
I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal Statistical
Society B 86 (2024), for the bets; those on ratios are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from evenhand.audit.confidence_sequences import BETS
from evenhand.kernels.arrays import Floats

FARTHEST = 1e6
"""Ratios above, and below one over this, are taken for infinite and 0."""
TINY = 1e-12
POINTS, ZOOMS = 13, 9
"""Of a convex function so many points are looked at, then those between the two beside the least one, and so on."""
LARGEST = 700.0
"""The logarithm of the largest e-value that is told from infinity."""


def koopman(hits: float, rows: float, other_hits: float, other_rows: float, error: float) -> tuple[float, float]:
    """Return the interval of the ratio of two rates in which Koopman's chi-squared statistic is below its quantile.

    >>> [round(end, 3) for end in koopman(36, 40, 16, 80, 0.05)]
    [2.94, 7.152]
    """
    from scipy.optimize import brentq
    from scipy.stats import chi2

    limit = chi2.isf(error, 1)

    def excess(logarithm: float) -> float:
        ratio = math.exp(logarithm)
        total, linear = ratio * (rows + other_rows), rows * ratio + hits + other_rows + other_hits * ratio
        root = math.sqrt(max(linear**2 - 4 * total * (hits + other_hits), 0.0))
        other = 2 * (hits + other_hits) / (linear + root)
        one = ratio * other
        return (
            _square(hits - rows * one, rows * one * (1 - one))
            + _square(other_hits - other_rows * other, other_rows * other * (1 - other))
            - limit
        )

    far = math.log(FARTHEST)
    if not hits and not other_hits:
        return 0.0, math.inf
    middle = min(max(math.log(max(hits, 1e-9) / rows * other_rows / max(other_hits, 1e-9)), -far), far)
    low = 0.0 if not hits or excess(-far) <= 0 else math.exp(brentq(excess, -far, middle))
    high = math.inf if not other_hits or excess(far) <= 0 else math.exp(brentq(excess, middle, far))
    return low, high


def _square(gap: float, variance: float) -> float:
    return gap**2 / variance if variance > TINY else (0.0 if abs(gap) < 1e-6 else math.inf)


def evidence(one: Floats, other: Floats, ratio: float) -> Floats:
    """Return ln E (n,) against the claims that the first of two rates is at most `ratio` times the second; of each the
    rows with a 1 and all rows are given (n, 2)."""
    (hits, rows), (other_hits, other_rows) = one.T[:, :, None], other.T[:, :, None]
    low, high, pairs = np.zeros(len(one)), np.ones(len(one)), np.arange(len(one))
    for _ in range(ZOOMS):
        rates = np.linspace(low, high, POINTS, axis=1)
        found = _wealth(hits, rows, np.minimum(ratio * rates, 1.0))
        found += _wealth(other_rows - other_hits, other_rows, 1 - rates)
        least = found.argmin(axis=1)
        low, high = (rates[pairs, np.clip(least + step, 0, POINTS - 1)] for step in (-1, 1))
    return found.min(axis=1)


def _wealth(hits: Floats, rows: Floats, means: Floats) -> Floats:
    """Return ln K (n, m) against each of the means (n, m); `hits` and `rows` are (n, 1)."""
    means = np.maximum(means, TINY)
    logs = hits[..., None] * np.log1p(BETS * (1 / means - 1)[..., None]) + (rows - hits)[..., None] * np.log1p(-BETS)
    most = logs.max(axis=-1)
    return np.asarray(most + np.log(np.exp(logs - most[..., None]).mean(axis=-1)))


def ends_to_best(own: Floats, others: Floats, error: float) -> tuple[float, float]:
    """Return the interval of the ratio of a group's rate to the best of the others', for any number of looks; each end
    is ever on the wrong side with half of the error. Counts are given as (2,) and (n, 2)."""
    if not len(others):  # there is no ratio that a rate could bound
        return math.inf, math.inf
    mine = np.broadcast_to(own, others.shape)
    low = _largest(lambda ratio: float(evidence(mine, others, ratio).min()), error / 2)
    high = _largest(lambda part: _mean(evidence(others, mine, part)), error / 2)
    return low, 1 / high if high > 0 else math.inf


def evidence_below(counts: Floats, ratio: float) -> float:
    """Return the e-value against the claim that no group's ratio to the best group's rate is below `ratio`."""
    rest = counts.sum(axis=0) - counts
    both = np.concatenate([counts, rest]), np.concatenate([rest, counts])
    return math.exp(min(_mean(evidence(*both, 1 / ratio)), LARGEST))


def _mean(logs: Floats) -> float:
    """Return ln of the mean of numbers by their logarithms."""
    return float(logs.max() + np.log(np.exp(logs - logs.max()).mean()))


def _largest(of: Callable[[float], float], error: float) -> float:
    """Return the largest ratio at which evidence that falls in it is 1 / error or more; 0 where there is none."""
    from scipy.optimize import brentq

    def excess(logarithm: float) -> float:
        return of(math.exp(logarithm)) + math.log(error)

    far = math.log(FARTHEST)
    if excess(-far) < 0:
        return 0.0
    return FARTHEST if excess(far) >= 0 else math.exp(brentq(excess, -far, far, xtol=1e-6))
