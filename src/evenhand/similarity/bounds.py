"""The theorems' bounds, to stand beside what was measured. Constants that the theorems leave open are taken as one.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018),
Theorems 1, 3, 4
and Appendix A.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import ArgumentError, wanted
from evenhand.similarity.oracles import checked_matrix

__all__ = ["regret_bound", "violations_bound"]


def violations_bound(A: ArrayLike, *, individuals: int, precision: float, many: bool = False) -> float:
    """Return k^2 d^2 log(d ||A'A||_F / epsilon), another k for many choices: violations above epsilon, with
    probability one.

    Raises
    ------
    ArgumentError
        If `individuals` or `precision` is not positive.

    Examples
    --------
    >>> round(violations_bound([[0.5, 0.0], [0.0, 0.5]], individuals=3, precision=0.02))
    128

    Source: Gillen, Jung, Kearns, Roth (2018), Theorems 1 and 4; Appendix A for many choices.
    """
    matrix = checked_matrix(A)
    _check(individuals, precision)
    d = matrix.shape[1]
    scale = d * float(np.linalg.norm(matrix.T @ matrix)) / precision
    return individuals ** (3 if many else 2) * d**2 * max(math.log(scale), 1.0)


def regret_bound(A: ArrayLike, *, individuals: int, rounds: int, precision: float, delta: float = 0.05) -> float:
    """Return k^2 d^2 log(.) + k^3 epsilon T + d sqrt(T) log(T / delta): regret to the best fair policy.

    Raises
    ------
    ArgumentError
        If `individuals` or `precision` is not positive.

    Examples
    --------
    >>> round(regret_bound([[0.5]], individuals=2, rounds=10_000, precision=1e-5))
    1262

    Source: Gillen, Jung, Kearns, Roth (2018), Theorem 3.
    """
    d = checked_matrix(A).shape[1]
    learning = violations_bound(A, individuals=individuals, precision=precision)
    return learning + individuals**3 * precision * rounds + d * math.sqrt(rounds) * math.log(rounds / delta)


def _check(individuals: int, precision: float) -> None:
    if not individuals >= 1:
        raise ArgumentError(wanted("individuals", "a number >= 1", individuals))
    if not precision > 0:
        raise ArgumentError(wanted("precision", "a number > 0", precision))
