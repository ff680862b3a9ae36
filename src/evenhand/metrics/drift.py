"""Whether the arms of a log are drawn with the same chances from first to last."""

from __future__ import annotations

import numpy as np

from evenhand.kernels.arrays import Ints

REFUTED = 1e-6
"""The probability with which a log of fixed chances is said to change."""


def shares_change(codes: Ints, arms: int) -> bool:
    """Return whether the arms' shares of the second half differ from those of the first by more than chance (Pearson's
    chi-squared test).

    >>> shares_change(np.tile([0, 1], 500), 2), shares_change(np.repeat([0, 1], 500), 2)
    (False, True)
    """
    from scipy.stats import chi2_contingency

    half = len(codes) // 2
    table = np.array([np.bincount(part, minlength=arms) for part in (codes[:half], codes[half:])])
    table = table[:, table.sum(axis=0) > 0]
    if half == 0 or table.shape[1] < 2:
        return False
    return bool(chi2_contingency(table).pvalue < REFUTED)
