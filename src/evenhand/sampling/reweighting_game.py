"""The learner's side of minimax reweighting: fits under weights of the groups, and the groups' risks under the fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, wanted
from evenhand.sampling.models.estimators import random_states
from evenhand.sampling.models.logistic import LogisticModel
from evenhand.sampling.models.losses import SMALLEST, Loss, checked_loss, row_losses
from evenhand.sampling.models.models import raise_named
from evenhand.sampling.pools.labels import checked_labels
from evenhand.sampling.problem import MOST, checked_rows

__all__ = ["EstimatorGame", "Game", "LogisticGame", "game_of"]

REGRESSION: dict[str, Callable[[Any, Any], Any]] = {
    "squared": lambda y, guess: (y - guess) ** 2,
    "absolute": lambda y, guess: np.abs(y - guess),
}


class Game(Protocol):
    """What the regulator plays against.

    Attributes
    ----------
    model : the model that was fitted last.
    loss : by which groups are judged.
    counts : of each group (m,), the rows that count in the loss.
    """

    model: Any
    loss: Loss
    counts: NDArray[np.int64]

    def played(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fit under weights of the groups (m,) and return their risks (m,), NaN where no row counts."""
        ...

    def kept(self) -> Callable[[], None]:
        """Return a function that makes the model again what it is now."""
        ...


def game_of(X: Any, y: Any, index: NDArray[np.int64], C: float, loss: Loss | None, model: Any) -> Game:
    """Return the game over rows of the groups `index` (n,).

    Raises
    ------
    ArgumentError
        If rows, labels, loss and model do not fit each other.
    """
    if model is None:
        return LogisticGame(X, y, index, C, checked_loss("zero_one" if loss is None else loss))
    from sklearn.base import is_classifier, is_regressor

    takes = hasattr(model, "fit") and not isinstance(model, type)
    if not takes or not (is_classifier(model) or is_regressor(model)):
        raise ArgumentError(wanted("model", "a classifier or regressor of scikit-learn, or None", model))
    if "sample_weight" not in inspect.signature(model.fit).parameters:
        raise ArgumentError(wanted("model", "one whose fit takes sample_weight", model))
    table = checked_rows(X, None, MOST)
    if len(index) != len(table):
        raise ArgumentError(wanted("group", f"{len(table)} groups, one for each row of X", len(index)))
    if is_regressor(model):
        return EstimatorGame(table, _numbers(y, len(table)), index, _regression_loss(loss), model)
    labels = np.array(checked_labels(y))
    if len(labels) != len(table):
        raise ArgumentError(wanted("y", f"{len(table)} labels, one for each row of X", len(labels)))
    if len(set(labels.tolist())) < 2:
        raise ArgumentError(wanted("y", "at least two different labels", labels[:1].tolist()))
    return EstimatorGame(table, labels, index, checked_loss("zero_one" if loss is None else loss), model)


def _regression_loss(loss: Loss | None) -> Loss:
    if callable(loss) or loss in REGRESSION:
        return loss
    if loss is None:
        return "squared"
    raise ArgumentError(wanted("loss", "squared, absolute or a function of (y, prediction), for a regressor", loss))


def _numbers(y: Any, rows: int) -> NDArray[np.float64]:
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(wanted("y", "numbers, for a regressor", y)) from error
    if values.shape != (rows,) or not np.isfinite(values).all():
        raise ArgumentError(wanted("y", f"{rows} finite numbers, one for each row of X", values.shape))
    return values


class LogisticGame:
    """Logistic regression, refitted from where it is."""

    def __init__(self, X: Any, y: Any, index: NDArray[np.int64], C: float, loss: Loss) -> None:
        labels = checked_labels(y)
        if len(set(labels)) != 2:
            mend = "pass model= for more" if len(set(labels)) > 2 else ""
            raise ArgumentError(wanted("y", "two different labels", sorted(set(labels), key=str), mend))
        self.model: Any = LogisticModel(C=C).fit(X, y)
        self._X = np.ascontiguousarray(X, dtype=np.float64)
        if len(index) != len(self._X):
            raise ArgumentError(wanted("group", f"{len(self._X)} groups, one for each row of X", len(index)))
        self._codes = np.array([self.model.classes.index(label) for label in labels])
        self._index, self.loss = index, loss
        _, self._counted = row_losses(loss, self.model, self._X, self._codes, self.model.classes)
        self.counts = np.bincount(index[self._counted], minlength=int(index.max()) + 1)

    def played(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fit under weights of the groups (m,) and return their risks (m,), NaN where no row counts."""
        each = weights * self.counts.sum() / np.maximum(self.counts, 1)
        self.model.fit_codes(self._X, self._codes, np.where(self._counted, each[self._index], 1.0))
        values, _ = row_losses(self.loss, self.model, self._X, self._codes, self.model.classes)
        return _risks(values, self._counted, self._index, self.counts)

    def kept(self) -> Callable[[], None]:
        """Return a function that makes the model again what it is now."""
        undo: Callable[[], None] = self.model.checkpoint()
        return undo


class EstimatorGame:
    """Any estimator of scikit-learn, fitted anew each time; a missing `random_state` is 0, in steps derived from it."""

    def __init__(
        self, X: NDArray[Any], y: NDArray[Any], index: NDArray[np.int64], loss: Loss, estimator: Any
    ) -> None:  # fmt: skip
        from sklearn.base import clone

        self._X, self._y, self._index, self.loss = X, y, index, loss
        self._estimator = clone(estimator).set_params(**random_states(estimator.get_params(), 0))
        self.model: Any = estimator
        self._counted = np.ones(len(y), np.bool_)
        if loss in ("false_negative", "false_positive"):
            labels = np.unique(y)
            if len(labels) != 2:
                raise ArgumentError(wanted("loss", "zero_one, log or a function, for more than two labels", loss))
            self._counted = (y == labels[1]) == (loss == "false_negative")
        self.counts = np.bincount(index[self._counted], minlength=int(index.max()) + 1)

    def played(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fit under weights of the groups (m,) and return their risks (m,), NaN where no row counts."""
        from sklearn.base import clone

        each = weights * self.counts.sum() / np.maximum(self.counts, 1)
        try:
            self.model = clone(self._estimator).fit(
                self._X, self._y, sample_weight=np.where(self._counted, each[self._index], 1.0)
            )
            values = self._losses()
        except Exception as error:
            raise_named(self._estimator, error)
            raise
        return _risks(values, self._counted, self._index, self.counts)

    def _losses(self) -> NDArray[np.float64]:
        if self.loss == "log":
            codes = np.searchsorted(self.model.classes_, self._y)
            chances = self.model.predict_proba(self._X)[np.arange(len(codes)), codes]
            return np.asarray(-np.log(np.clip(chances, SMALLEST, 1.0)))
        guesses = self.model.predict(self._X)
        if not callable(self.loss) and self.loss not in REGRESSION:
            return (guesses != self._y).astype(np.float64)
        function = self.loss if callable(self.loss) else REGRESSION[self.loss]
        values = np.asarray(function(self._y, guesses))
        if values.shape != self._y.shape or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise ArgumentError(wanted("loss", "a function that returns one finite number for each row", values))
        return values.astype(np.float64)

    def kept(self) -> Callable[[], None]:
        """Return a function that makes the model again what it is now."""
        model = self.model

        def undo() -> None:
            self.model = model

        return undo


def _risks(
    values: NDArray[np.float64], counted: NDArray[np.bool_], index: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    sums = np.bincount(index, values * counted, len(counts))
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts)
