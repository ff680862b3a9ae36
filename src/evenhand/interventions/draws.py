"""Trials drawn as sufficient statistics: one multinomial a candidate and kind of trial, however many there are."""

from __future__ import annotations

import numpy as np

from evenhand.interventions.cells import Cells, Evidence
from evenhand.kernels.arrays import Ints


class Draws:
    """Draw the evidence of a plan from the exact law of the cells, or of those of a true model of the same nodes."""

    def __init__(self, cells: Cells, truth: Cells | None = None) -> None:
        law = cells.law_of(cells if truth is None else truth)
        law = law / law.sum((2, 3), keepdims=True)
        k, values = law.shape[:2]
        self._cells = cells
        self._shape = law.shape[2:]
        self._natural = (law * (cells if truth is None else truth).prior[:, None, None]).reshape(k, -1)
        self._forced = law.reshape(k * values, -1)

    def __call__(self, plan: Ints, random: np.random.Generator) -> Evidence:
        """Return what the trials (1 + S, K) of a plan show."""
        k, values = self._cells.density.shape[:2]
        counts = np.zeros((2, k, values, *self._shape))
        chosen = np.flatnonzero(plan[0])
        counts[0, chosen] = random.multinomial(plan[0, chosen], self._natural[chosen]).reshape(-1, values, *self._shape)
        wished = plan[1:].T.reshape(-1)
        chosen = np.flatnonzero(wished)
        drawn = random.multinomial(wished[chosen], self._forced[chosen]).reshape(-1, *self._shape)
        counts[1].reshape(-1, *self._shape)[chosen] = drawn
        return self._cells.evidence(counts)
