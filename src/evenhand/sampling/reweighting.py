"""Minimax reweighting: the same rows, the groups weighted until the worst-off group's error can fall no further.

Learner and regulator play: the learner fits logistic regression to weighted groups, the regulator raises the
weights of groups with a high error by exponential weights. The average of the regulator's weights tends to the
least favourable mixture, and the model fitted to it is the minimax one wherever errors are a convex function of the
model.

Source: E. Diana, W. Gill, M. Kearns, K. Kenthapadi, A. Roth, "Minimax Group Fairness: Algorithms and Experiments",
AIES 2021, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, wanted
from evenhand.sampling.logistic import LogisticModel
from evenhand.sampling.problem import checked_number, checked_whole

__all__ = ["Reweighted", "minimax_reweighting"]


class Reweighted(NamedTuple):
    """What the game ended in.

    Attributes
    ----------
    model : logistic regression fitted to the groups under `weights`.
    weights : the regulator's average weights (m,) of the sorted groups.
    errors : errors (rounds, m) of the learner's models, round by round.
    """

    model: LogisticModel
    weights: NDArray[np.float64]
    errors: NDArray[np.float64]


def minimax_reweighting(
    X: Any, y: Any, *, group: Sequence[Any] | NDArray[Any], C: float = 1.0, rounds: int = 200, step: float = 5.0
) -> Reweighted:
    """Fit logistic regression whose groups are weighted for the smallest worst-group error.

    Round t: fit to weights n lambda_z / n_z a row; then lambda_z is multiplied by exp(step error_z / sqrt(t)) and
    normalised.

    Parameters
    ----------
    X, y : features (n, d) and two labels (n,).
    group : the group (n,) of each row.
    C : inverse strength of the penalty.
    rounds : rounds of the game.
    step : the regulator's step.

    Raises
    ------
    ArgumentError
        If there is a single label, or a number is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1], [900, 100])
    >>> y = rng.integers(0, 2, 1000)
    >>> means = np.array([[2.0, 0.0], [0.0, 1.0]])[group] * (2 * y - 1)[:, None]
    >>> fair = minimax_reweighting(means + rng.normal(size=(1000, 2)), y, group=group)
    >>> bool(fair.weights[1] > 0.5)
    True

    Source: Diana, Gill, Kearns, Kenthapadi, Roth (2021), Algorithm 1.
    """
    checked_whole("rounds", rounds, 1)
    checked_number("step", step, 0.0)
    table = np.ascontiguousarray(X, dtype=np.float64)
    labels, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(labels) != 2:
        raise ArgumentError(wanted("y", "two different labels", labels.tolist()))
    index = np.unique(np.asarray(group), return_inverse=True)[1]
    sizes = np.bincount(index)
    weights = sizes / len(codes)
    average, errors = np.zeros(len(sizes)), np.zeros((rounds, len(sizes)))
    model = LogisticModel(C=C)
    for t in range(rounds):
        average += weights / rounds
        model.fit(table, np.asarray(y), (weights / sizes * len(codes))[index])
        errors[t] = np.bincount(index, model.codes(table) != codes) / sizes
        weights = weights * np.exp(step * errors[t] / np.sqrt(t + 1.0))
        weights /= weights.sum()
    model.fit(table, np.asarray(y), (average / sizes * len(codes))[index])
    return Reweighted(model, average, errors)
