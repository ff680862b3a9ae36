"""Normal intervals of contrasts, by the tables of all rows: few trials suffice, and no theorem holds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evenhand.interventions.plug_in import PlugIn
from evenhand.interventions.shown import Contrast, least

__all__ = ["Normal"]

Floats = NDArray[np.float64]


class Normal:
    """Normal intervals at a level divided by a number of looks."""

    def __init__(self, tables: PlugIn, looks: int) -> None:
        self._tables, self._looks = tables, looks

    def exceed(self, contrasts: Sequence[Contrast], limit: float, level: float) -> NDArray[np.bool_]:
        """Return which contrasts (T,) lie above the limit by z standard errors."""
        return self.lower(contrasts, level) > limit

    def lower(self, contrasts: Sequence[Contrast], level: float) -> Floats:
        """Return the lower ends (T,) at this level."""
        z = -NormalDist().inv_cdf(level / self._looks)
        found = [(least(one), *self._tables(one)) for one in contrasts]
        return np.array([max(end, middle - z * error) if middle == middle else end for end, middle, error in found])

    def estimate(self, contrasts: Sequence[Contrast]) -> Floats:
        """Return the estimates (T,), not a number where nothing is known."""
        return np.array([self._tables(one)[0] for one in contrasts])
