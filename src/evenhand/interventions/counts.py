"""What all rows so far say of the candidates: how often each place was seen, and guesses that rest on it."""

from __future__ import annotations

import numpy as np

from evenhand.interventions.cells import Cells
from evenhand.kernels.arrays import Floats, Ints


class Counts:
    """How often each state (x, v) of pa(V) and V was seen with each state of Y, by kind, candidate and value of S.

    Attributes
    ----------
    rules : (K, S, X, V) the candidates' tables P_k(v | x, s).
    unknown : (K,) which candidates run by a law that is itself an estimate, the table of a fitted model.
    scores : (Y states,) the outcome's numbers, scaled to [0, 1].
    rows : (2, K, S, X, V, Y states) counts; natural rows first, then those under do(S).
    """

    def __init__(self, cells: Cells, unknown: tuple[bool, ...]) -> None:
        self.rules, self.unknown, self.scores = cells.rules, np.array(unknown), cells.scores
        self.rows = np.zeros((2, *self.rules.shape, self.scores.size))

    def dense(self, at: Ints, times: Floats) -> Floats:
        """Return counts in the shape of `rows` from their positions."""
        return np.bincount(at, times, self.rows.size).astype(np.float64).reshape(self.rows.shape)

    def guesses(self) -> Floats:
        """Return guesses of E[Y | x, v] (X, V), 1/2 where nothing was seen."""
        seen = self.rows.sum((0, 1, 2))
        return np.asarray((seen @ self.scores + 1.0) / (seen.sum(-1) + 2.0))

    def centres(self, guesses: Floats) -> tuple[Floats, Floats]:
        """Return guesses of the candidates' outcomes by value of S (K, S), and of natural rows (K,); those of unknown
        law from their own rows, the others from how often each x was seen."""
        drawn = (self.rules * guesses).sum(-1)
        of_x = self.rows.sum((0, 1, 4, 5))
        natural = self.rows[0].sum((0, 3, 4))
        own = self.rows[:, self.unknown].sum((0, 3, 4))
        by_group, overall = _weighed(drawn, of_x, (2,)), _weighed(drawn, natural, (1, 2))
        by_group[self.unknown] = _smoothed(own, self.scores)
        overall[self.unknown] = _smoothed(self.rows[0, self.unknown].sum((1, 2, 3)), self.scores)
        return by_group, overall


def _weighed(values: Floats, weights: Floats, axes: tuple[int, ...]) -> Floats:
    """Return means over axes, evenly weighed where no weight is there."""
    weights = np.broadcast_to(weights, values.shape)
    weights = np.where(weights.sum(axes, keepdims=True) > 0, weights, 1.0)
    return np.asarray((values * weights).sum(axes) / weights.sum(axes))


def _smoothed(seen: Floats, scores: Floats) -> Floats:
    return np.asarray((seen @ scores + 1.0) / (seen.sum(-1) + 2.0))
