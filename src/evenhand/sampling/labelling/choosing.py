"""Which item of a group to label next: any, the one that the model is least sure of, or the one unlike all before."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["CHOICES", "Choice", "Spread", "most_uncertain"]

Choice = Literal["uncertainty", "uniform", "diverse"]
CHOICES = ("uncertainty", "uniform", "diverse")


def most_uncertain(model: Any, X: NDArray[Any]) -> int:
    """Return the row whose most probable label is least probable, the first of several such rows.

    While the model has seen fewer than two labels it is sure of every row alike, and the first one is returned.
    """
    if model.constant is not None:
        return 0
    return int(np.argmin(np.asarray(model.predict_proba(X)).max(axis=1)))


class Spread:
    """Farthest-first traversal: the next row is the one with the greatest distance to the rows chosen before.

    Distances are Euclidean, of features (n, d) divided by their standard deviation over the whole pool.

    Source: Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985.
    """

    def __init__(self, features: NDArray[Any]) -> None:
        flat = features.reshape(len(features), -1).astype(np.float64)
        deviation = flat.std(axis=0)
        self._scaled = flat / np.where(deviation > 0, deviation, 1.0)
        self._nearest = np.full(len(flat), np.inf)

    def note(self, position: int, group: NDArray[np.int64]) -> None:
        """Note that an item was chosen; `group` holds the positions of its group."""
        away = ((self._scaled[group] - self._scaled[position]) ** 2).sum(axis=1)
        self._nearest[group] = np.minimum(self._nearest[group], away)

    def farthest(self, positions: NDArray[np.int64]) -> int:
        """Return the index into `positions` of the item that is farthest from those noted, the first of several."""
        return int(np.argmax(self._nearest[positions]))
