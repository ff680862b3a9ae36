"""Minimax reweighting: the groups of given rows are weighted until the worst-off group's risk can fall no further.

A learner and a regulator play: the learner fits a model to weighted groups, the regulator raises the weights of groups
with a high risk by exponential weights. The average of its weights tends to the least favourable mixture, and
the model fitted to it is the minimax one wherever risks are a convex function of the model and the learner's model is a
best response. Where this fails, as with the 0-1 loss, which logistic regression fits by a surrogate, that model may do
worse than others of the game. So the model returned has the lowest worst-group risk on these rows, in the named loss,
among the models of all rounds, of which the first is the plain fit, and the one of the average weights.

Source: E. Diana, W. Gill, M. Kearns, K. Kenthapadi, A. Roth, "Minimax Group Fairness: Algorithms and Experiments",
AIES 2021, Algorithm 1.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arguments import real, whole, yes_or_no
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.protocol import Label
from evenhand.sampling.models.logistic import LogisticModel
from evenhand.sampling.models.losses import BOUNDED, Loss, read_loss, row_losses
from evenhand.sampling.models.mixture import ModelMixture
from evenhand.sampling.pools.labels import grouped, read_labels
from evenhand.sampling.problem import MOST


class Reweighted(NamedTuple):
    """The result of minimax reweighting.

    Attributes
    ----------
    model : logistic regression, fitted to the groups under `weights`, or the mixture of all rounds' models.
    weights : the weights (m,) of the groups: the regulator's averages, or those of the best round.
    errors : risks (rounds, m) of the learner's models, round by round; the first is the plain fit's. NaN where no row
        of a group counts.
    groups : the groups (m,), in the order of their categories where they have one, otherwise sorted.
    """

    model: LogisticModel | ModelMixture
    weights: Floats
    errors: Floats
    groups: tuple[Label, ...]


def minimax_reweighting(
    X: object,
    y: object,
    *,
    group: Sequence[Any] | NDArray[Any],
    C: float = 1.0,
    rounds: int = 200,
    step: float = 5.0,
    loss: Loss = "zero_one",
    mixture: bool = False,
) -> Reweighted:
    """Fit logistic regression with groups weighted for the smallest risk of the worst-off group.

    Round t: fit with weights n lambda_z / n_z per row; then lambda_z is multiplied by exp(step risk_z / sqrt(t)) and
    normalised. Only rows that count in the loss are weighted: n and n_z are numbers of positives for
    "false_negative". The model returned has the lowest risk of the worst-off group on these rows, in `loss`, among
    those of all rounds and the one of the average weights: never a higher one than the plain fit. Its risk on other
    rows has to be measured there: the best of many models on these rows looks better than it is.

    Parameters
    ----------
    X, y : features (n, d) and two labels (n,).
    group : the group (n,) of each row.
    C : inverse strength of the penalty of logistic regression.
    rounds : rounds of the game.
    step : the regulator's step; risks that are not in [0, 1] are divided by the largest one of the plain fit.
    loss : "zero_one", "log", "false_negative", "false_positive" or a function of (y, prediction).
    mixture : return the mixture of all rounds' models, with a step that does not shrink (Hedge). It serves groups that
        contradict each other, for which no single model is good.

    Raises
    ------
    ArgumentError
        If lengths or row labels differ, there are not two labels, or a number is out of range.

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
    whole("rounds", rounds, low=1, high=MOST)
    mixture = yes_or_no("mixture", mixture)
    real("step", step, low=0.0)
    X, y, group = in_step(("X", X), ("y", y), ("group", group))
    loss = read_loss(loss)
    groups, index = grouped(group, "group")
    game = _Game(X, y, index, C, loss)
    weights = game.counts / game.counts.sum()
    average, risks = np.zeros(len(weights)), np.zeros((rounds, len(weights)))
    best = (np.inf, weights, game.model.checkpoint())
    scale, models = 1.0, list[LogisticModel]()
    for t in range(rounds):
        average += weights / rounds
        risks[t] = game.played(weights)
        worst = float(np.nanmax(risks[t]))
        if mixture:
            models.append(copy.deepcopy(game.model))
        if worst < best[0]:
            best = (worst, weights, game.model.checkpoint())
        if t == 0 and loss not in BOUNDED:
            scale = float(np.nanmax(np.abs(risks[0]))) or 1.0
        rate = step if mixture else step / np.sqrt(t + 1.0)
        weights = weights * np.exp(rate * np.nan_to_num(risks[t] - worst) / scale)
        weights /= weights.sum()
    if mixture:
        return Reweighted(ModelMixture(models), average, risks, groups)
    if float(np.nanmax(game.played(average))) <= best[0]:
        return Reweighted(game.model, average, risks, groups)
    best[2]()
    return Reweighted(game.model, best[1], risks, groups)


class _Game:
    """The learner's side: logistic regression, refitted from where it is, and the groups' risks under the fit."""

    def __init__(self, X: object, y: object, index: Ints, C: float, loss: Loss) -> None:
        labels = read_labels(y)
        if len(set(labels)) != 2:
            raise ArgumentError(expected("y", "two different labels", sorted(set(labels), key=str)))
        self.model = LogisticModel(C=C).fit(X, y)
        self._X = np.ascontiguousarray(X, dtype=np.float64)
        if len(index) != len(self._X):
            raise ArgumentError(expected("group", f"{len(self._X)} groups, one for each row of X", len(index)))
        self._codes = np.array([self.model.classes.index(label) for label in labels])
        self._index, self._loss = index, loss
        _, self._counted = row_losses(loss, self.model, self._X, self._codes, self.model.classes)
        self.counts = np.bincount(index[self._counted], minlength=int(index.max()) + 1)
        """Of each group (m,), the rows that count in the loss."""

    def played(self, weights: Floats) -> Floats:
        """Fit under weights of the groups (m,) and return their risks (m,), NaN where no row counts."""
        each = weights * self.counts.sum() / np.maximum(self.counts, 1)
        self.model.fit_codes(self._X, self._codes, np.where(self._counted, each[self._index], 1.0))
        values, _ = row_losses(self._loss, self.model, self._X, self._codes, self.model.classes)
        sums = np.bincount(self._index, values * self._counted, len(self.counts))
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / self.counts)
