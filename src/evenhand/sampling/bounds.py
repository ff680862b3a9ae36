"""How far a group's validation risk may be off: uniform deviations e(N), and the Mann-Kendall trend of its
accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.arguments import as_floats, real, whole
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels import sampling
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import entry
from evenhand.sampling.problem import MOST


def mann_kendall(values: Any) -> tuple[int, float, float]:
    """Return the Mann-Kendall trend (S, variance, z) of a series, the variance corrected for ties.

    S = sum_{i<j} sgn(x_j - x_i); var S = [n(n-1)(2n+5) - sum over ties q(q-1)(2q+5)] / 18; z = S / sqrt(var S), and 0
    where the variance is 0 or the series has fewer than two values.

    Examples
    --------
    >>> s, variance, z = mann_kendall([0.1, 0.2, 0.3, 0.4])
    >>> s, round(variance, 3), round(z, 3)
    (6, 8.667, 2.038)
    >>> mann_kendall([0.5, 0.5, 0.5])
    (0, 0.0, 0.0)

    Raises
    ------
    ArgumentError
        If the series is no list of numbers, or holds not-a-number, which has no order.

    Source: Mann (1945), Kendall (1975); Shekhar, Fields, Ghavamzadeh, Javidi (2021), Section 4.
    """
    series = as_floats(values)
    if series is None or series.ndim != 1 or np.isnan(series).any():
        raise ArgumentError(wanted("values", "a list of numbers, in the order of time", values))
    score, variance = entry(sampling.mann_kendall)(series, len(series))
    return int(score), float(variance), score / math.sqrt(variance) if variance > 0 else 0.0


def vc_deviation(n: float, *, dimension: float, groups: int = 2, delta: float = 0.05) -> float:
    """Return e(n) for a class of VC dimension d: uniform over the class, the groups and all n at once.

    e(n) = 2 sqrt((2 d ln(2 e n / d) + 2 ln(2 n^2 pi^2 m / (3 delta))) / n), and infinity where 2n < d.

    Parameters
    ----------
    n : number of samples of the group.
    dimension : the VC dimension d; d + 1 features for a linear classifier with intercept.
    groups : the number of groups m.
    delta : probability with which some bound may fail.

    Raises
    ------
    ArgumentError
        If `n` is no number, or `dimension`, `groups` or `delta` is out of range.

    Examples
    --------
    >>> round(vc_deviation(1000, dimension=3, groups=2, delta=0.1), 3), vc_deviation(1, dimension=3)
    (0.574, inf)

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), Lemma 1. The printed form turns imaginary where 2n < d.
    """
    n, d = real("n", n), real("dimension", dimension, low=1.0)
    m = whole("groups", groups, low=1, high=MOST)
    failure = real("delta", delta, low=1e-300, high=1.0)
    if n <= 0 or 2 * n < d:
        return math.inf
    chance = math.log(2 * n * n * math.pi**2 * m / (3 * failure))
    return 2 * math.sqrt((2 * d * math.log(2 * math.e * n / d) + 2 * chance) / n)


def rademacher_deviation(n: float, *, complexity: float, groups: int = 2, delta: float = 0.05) -> float:
    """Return e(n) = 2 R_n + sqrt(ln(n^2 pi^2 m / (3 delta)) / n) for a class of Rademacher complexity R_n at n
    samples.

    Examples
    --------
    >>> round(rademacher_deviation(1000, complexity=0.05, groups=2, delta=0.1), 3)
    0.234

    Raises
    ------
    ArgumentError
        If `n` is no number, or `complexity`, `groups` or `delta` is out of range.
    """
    n, complexity = real("n", n), real("complexity", complexity, low=0.0)
    m = whole("groups", groups, low=1, high=MOST)
    failure = real("delta", delta, low=1e-300, high=1.0)
    return math.inf if n < 1 else 2 * complexity + math.sqrt(math.log(n * n * math.pi**2 * m / (3 * failure)) / n)


def theory_bounds(risks: Floats, samples: Ints, deviation: Callable[[float], float], constant: float) -> Floats:
    """Return U(z) = risk(z) + e(N_z) + (2C / pi(z)) sum_z' pi(z') e(N_z'), infinite where a risk or a deviation is.

    Source: Shekhar, Fields, Ghavamzadeh, Javidi (2021), equation (4).
    """
    deviations = np.array([deviation(float(n)) for n in samples])
    if not (samples > 0).all():
        return np.full(len(samples), np.inf)
    mixture = samples / samples.sum()
    return np.nan_to_num(risks, nan=np.inf) + deviations + 2 * constant / mixture * (mixture @ deviations)
