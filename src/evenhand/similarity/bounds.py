"""The theorems' bounds, to compare with measurements; constants that the theorems leave open are taken as one.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018),
Theorems 1, 3, 4
and Appendix A.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arguments import real, whole, yes_or_no
from evenhand.similarity.oracles import read_matrix
from evenhand.similarity.reading import MOST_INDIVIDUALS


def violations_bound(A: ArrayLike, *, individuals: int, precision: float, many: bool = False) -> float:
    """Return the bound k^2 d^2 log(d ||A'A||_F / epsilon), times k for many choices, on the number of violations above
    epsilon, which holds with probability one; A is (r, d).

    Raises
    ------
    ArgumentError
        If A is not a finite matrix, or another argument is out of range.

    Examples
    --------
    >>> round(violations_bound([[0.5, 0.0], [0.0, 0.5]], individuals=3, precision=0.02))
    128

    Source: Gillen, Jung, Kearns, Roth (2018), Theorems 1 and 4; Appendix A for many choices.
    """
    matrix = read_matrix(A)
    k, epsilon = whole("individuals", individuals, low=1, high=MOST_INDIVIDUALS), real("precision", precision, above=0)
    d = matrix.shape[1]
    scale = d * float(np.linalg.norm(matrix.T @ matrix)) / epsilon
    return k ** (3 if yes_or_no("many", many) else 2) * d**2 * (math.log(scale) if scale > math.e else 1.0)


def regret_bound(A: ArrayLike, *, individuals: int, rounds: int, precision: float, delta: float = 0.05) -> float:
    """Return the bound k^2 d^2 log(.) + k^3 epsilon T + d sqrt(T) log(T / delta) on regret to the best fair policy.

    Raises
    ------
    ArgumentError
        If A is not a finite matrix, or another argument is out of range.

    Examples
    --------
    >>> round(regret_bound([[0.5]], individuals=2, rounds=10_000, precision=1e-5))
    1262

    Source: Gillen, Jung, Kearns, Roth (2018), Theorem 3.
    """
    d = read_matrix(A).shape[1]
    learning, k = violations_bound(A, individuals=individuals, precision=precision), int(individuals)
    t, confidence = whole("rounds", rounds, low=1, high=10**15), real("delta", delta, above=0, below=1)
    return learning + k**3 * precision * t + d * math.sqrt(t) * math.log(t / confidence)
