"""What "risk" means for the worst-off group: 0-1 loss, log loss, false negatives, false positives, or a user's
function.

A loss turns labels and predictions of rows into one number per row, and says which rows count: false negatives are
counted among the positives alone. The positive label is the last of the sorted ones, once two labels are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, Wording, expected
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.protocol import Label
from evenhand.sampling.pools.rows import Rows

Loss = str | Callable[[Any, Any], Any]
LOSSES = ("zero_one", "log", "false_negative", "false_positive")
BOUNDED = ("zero_one", "false_negative", "false_positive")
"""The losses that lie in [0, 1]."""
SMALLEST = 1e-15
"""Probabilities are clipped here before their logarithm is taken."""


def read_loss(loss: object) -> Loss:
    """Return the loss.

    Raises
    ------
    ArgumentError
        If it is neither one of the names nor a function.
    """
    if (isinstance(loss, str) and loss in LOSSES) or callable(loss):
        return loss
    known = f"one of {', '.join(LOSSES)}"
    raise ArgumentError(expected("loss", Wording(f"{known} or a function of (y, prediction)", shell=known), loss))


def row_losses(loss: Loss, model: Any, X: NDArray[Any], y: Ints, classes: tuple[Label, ...]) -> tuple[Floats, Bools]:
    """Return the loss (n,) of each row under a model and which rows count (n,).

    Raises
    ------
    ArgumentError
        If a user's function does not return one finite number a row.
    """
    every = np.ones(len(y), bool)
    if len(y) == 0:
        return np.zeros(0), every
    if loss == "log":
        chance = model.probabilities(X)[np.arange(len(y)), y]
        if not np.isfinite(chance).all():
            raise ArgumentError(expected("model", "finite probabilities", chance))
        return -np.log(np.clip(chance, SMALLEST, 1.0)), every
    codes = model.codes(X)
    if not callable(loss):
        counted = counted_rows(loss, y == len(classes) - 1)
        return (codes != y).astype(np.float64), counted & (len(classes) > 1 or loss == "zero_one")
    names = np.array(classes)
    values = np.asarray(loss(names[y], names[codes]))
    if values.shape != y.shape or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        raise ArgumentError(expected("loss", "a function that returns one finite number for each row", values))
    return values.astype(np.float64), every


def counted_rows(loss: str, positive: Bools) -> Bools:
    """Return which rows (n,) count in a loss that lies in [0, 1], given which of them are positive (n,)."""
    return {"zero_one": positive | ~positive, "false_negative": positive, "false_positive": ~positive}[loss]


def summed_losses(
    model: object, rows: Rows, loss: Loss, classes: tuple[Label, ...], recent: int | None = None
) -> tuple[Floats, Ints]:
    """Return each group's summed loss (m,) and the number of its rows that count (m,), over its last `recent` rows
    or all.
    """
    m = len(rows.by_group)
    X, y, group = rows.X[: rows.count], rows.y[: rows.count], rows.group[: rows.count]
    if recent is not None:
        chosen = np.concatenate([np.flatnonzero(group == z)[-recent:] for z in range(m)])
        X, y, group = X[chosen], y[chosen], group[chosen]
    values, counted = row_losses(loss, model, X, y, classes)
    counts = np.bincount(group[counted], minlength=m).astype(np.int64)
    return np.bincount(group, values * counted, m).astype(np.float64), counts
