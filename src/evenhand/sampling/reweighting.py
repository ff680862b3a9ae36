"""Minimax reweighting: the same rows, the groups weighted until the worst-off group's risk can fall no further.

Learner and regulator play: the learner fits a model to weighted groups, the regulator raises the weights of groups with
a high risk by exponential weights. The average of the regulator's weights tends to the least favourable mixture, and
the model fitted to it is the minimax one wherever risks are a convex function of the model and the learner answers them
best. Where it is not, as in the 0-1 loss, which logistic regression fits by a surrogate, that model may do worse than
others of the game: the one with the lowest risk of the worst-off group on these rows is returned, in the named loss,
among the models of all rounds, of which the first is the plain fit, and the one of the average weights.

Source: E. Diana, W. Gill, M. Kearns, K. Kenthapadi, A. Roth, "Minimax Group Fairness: Algorithms and Experiments",
AIES 2021, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.data.rows import in_step
from evenhand.sampling.models.losses import BOUNDED, Loss
from evenhand.sampling.pools.labels import grouped
from evenhand.sampling.problem import checked_number, checked_whole
from evenhand.sampling.reweighting_game import game_of

__all__ = ["Reweighted", "minimax_reweighting"]


class Reweighted(NamedTuple):
    """What the game ended in.

    Attributes
    ----------
    model : fitted to the groups under `weights`.
    weights : the weights (m,) of the sorted groups: the regulator's average ones, or those of the best round.
    errors : risks (rounds, m) of the learner's models, round by round; the first is the plain fit's. NaN where no row
        of a group counts.
    """

    model: Any
    weights: NDArray[np.float64]
    errors: NDArray[np.float64]


def minimax_reweighting(
    X: Any, y: Any, *, group: Sequence[Any] | NDArray[Any], C: float = 1.0, rounds: int = 200, step: float = 5.0,
    loss: Loss | None = None, model: Any = None,
) -> Reweighted:  # fmt: skip
    """Fit a model whose groups are weighted for the smallest risk of the worst-off group.

    Round t: fit to weights n lambda_z / n_z a row; then lambda_z is multiplied by exp(step risk_z / sqrt(t)) and
    normalised. Only rows that count in the loss are weighted: n and n_z are numbers of positives for
    "false_negative". The model returned has the lowest risk of the worst-off group on these rows, in `loss`, among
    those of all rounds and the one of the average weights: never a higher one than the plain fit. What it does on other
    rows has to be measured there; of many models, the best on these rows looks better than it is.

    Parameters
    ----------
    X, y : features (n, d) and two labels (n,); more labels for a classifier, numbers (n,) for a regressor.
    group : the group (n,) of each row.
    C : inverse strength of the penalty of logistic regression.
    rounds : rounds of the game.
    step : the regulator's step; risks that are not in [0, 1] are divided by the largest one of the plain fit.
    loss : "zero_one", "log", "false_negative", "false_positive" or a function of (y, prediction); for a regressor
        "squared", "absolute" or a function. None is "zero_one", and "squared" for a regressor.
    model : None for logistic regression, or a classifier or regressor of scikit-learn whose `fit` takes
        `sample_weight`; it is cloned, and a missing `random_state` filled, so that equal rows give equal models.

    Raises
    ------
    ArgumentError
        If lengths or row labels differ, there is a single label, a number is out of range, or the model has no weights.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1], [900, 100])
    >>> y = rng.integers(0, 2, 1000)
    >>> means = np.array([[2.0, 0.0], [0.0, 1.0]])[group] * (2 * y - 1)[:, None]
    >>> fair = minimax_reweighting(means + rng.normal(size=(1000, 2)), y, group=group)
    >>> bool(fair.weights[1] > 0.5)
    True
    >>> from sklearn.linear_model import Ridge
    >>> score = means[:, 0] + rng.normal(size=1000)
    >>> fair = minimax_reweighting(means, score, group=group, model=Ridge(), rounds=50)
    >>> bool(np.nanmax(fair.errors.min(axis=0)) <= np.nanmax(fair.errors[0]))
    True

    Source: Diana, Gill, Kearns, Kenthapadi, Roth (2021), Algorithm 1.
    """
    checked_whole("rounds", rounds, 1)
    checked_number("step", step, 0.0)
    X, y, group = in_step(("X", X), ("y", y), ("group", group))
    game = game_of(X, y, grouped(group, "group")[1], C, loss, model)
    weights = game.counts / game.counts.sum()
    average, risks = np.zeros(len(weights)), np.zeros((rounds, len(weights)))
    best = (np.inf, weights, game.kept())
    scale = 1.0
    for t in range(rounds):
        average += weights / rounds
        risks[t] = game.played(weights)
        worst = float(np.nanmax(risks[t]))
        if worst < best[0]:
            best = (worst, weights, game.kept())
        if t == 0 and game.loss not in BOUNDED:
            scale = float(np.nanmax(np.abs(risks[0]))) or 1.0
        weights = weights * np.exp(step * np.nan_to_num(risks[t] - worst) / scale / np.sqrt(t + 1.0))
        weights /= weights.sum()
    if float(np.nanmax(game.played(average))) <= best[0]:
        return Reweighted(game.model, average, risks)
    best[2]()
    return Reweighted(game.model, best[1], risks)
