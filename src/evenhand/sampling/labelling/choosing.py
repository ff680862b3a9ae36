"""Which item of a group to label next: any, or the one that the model is least sure of."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["CHOICES", "Choice", "most_uncertain"]

Choice = Literal["uncertainty", "uniform"]
CHOICES = ("uncertainty", "uniform")


def most_uncertain(model: Any, X: NDArray[Any]) -> int:
    """Return the row whose most probable label is least probable, the first of several such rows.

    While the model has seen fewer than two labels it is sure of every row alike, and the first one is returned.
    """
    if model.constant is not None:
        return 0
    return int(np.argmin(np.asarray(model.predict_proba(X)).max(axis=1)))
