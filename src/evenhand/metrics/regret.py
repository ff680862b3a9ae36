"""Regret: what was lost against the best arm, and against the best policy that keeps the same promise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.arrays import Floats, Ints


def regret(pulls: NDArray[Any], gaps: Floats) -> Floats:
    """Return the expected regret sum_i Delta_i N_i of pulls (..., n_arms), given the gaps Delta_i (n_arms,).

    >>> regret(np.array([[3, 1], [6, 2]]), np.array([0.0, 0.5])).tolist()
    [0.5, 1.0]
    """
    return np.asarray(pulls @ gaps, dtype=np.float64)


def fair_regret(pulls: NDArray[Any], gaps: Floats, promise: Any, rounds: Ints, plays: int = 1) -> Floats:
    """Return the r-regret sum_i Delta_i (N_i(t) - max(0, floor(r_i t) - alpha)), the loss against the best policy that
    keeps the promise.

    It is negative where the promise is broken in the policy's favour.

    Parameters
    ----------
    pulls : pulls (n_rounds, n_arms) at the end of the given rounds.
    gaps : Delta_i (n_arms,).
    promise : `shares` as fractions and `tolerance`; alpha enters as it was given, not rounded.
    rounds : t (n_rounds,).
    plays : how many arms are played in a round: the best policy fills what is not owed with the best arms, each once a
        round.

    Source: Patil, Ghalme, Nair, Narahari (2021), Definition 4.
    """
    owed = np.array(
        [
            [max(0.0, s.numerator * t // s.denominator - promise.tolerance) for s in promise.shares]
            for t in rounds.tolist()
        ]
    )
    left = plays * rounds - owed.sum(axis=1)
    for arm in np.argsort(gaps, kind="stable") if plays > 1 else ():
        more = np.minimum(left, rounds - owed[:, arm])
        owed[:, arm] += more
        left = left - more
    return regret(pulls - owed, gaps)
