"""Logistic regression for growing data: the paper's model, refitted exactly after every draw in microseconds.

The numbers are those of scikit-learn's `LogisticRegression(C=C)` (l2 penalty, free intercept, two classes) solved
to the end. `evenhand.kernels.logistic` explains how the refits are made cheap; with many features they are L-BFGS
from the old optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from evenhand.arguments import as_floats, real
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, expected
from evenhand.kernels import logistic
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import entry
from evenhand.labels import in_columns
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.sampling.models.classifier import Classifier
from evenhand.sampling.pools.labels import read_labels
from evenhand.sampling.pools.rows import Rows
from evenhand.sampling.problem import MOST, read_rows
from evenhand.saving.saved import fill_all

TOLERANCE = 1e-8
"""How far a coefficient may be from the optimum."""
WIDE = 128
"""Beyond so many features matrix products of BLAS pay more than sweeps that skip what did not change."""
DESCENT = {"maxiter": 10_000, "maxls": 50, "maxcor": 20, "ftol": 1e-16}
FLAT = 1e-7
"""The slope at which L-BFGS stops, in units of the penalty: coefficients are off by less than 1e-6."""
FEW_FEATURES = 8
"""Up to here a new factor of the Hessian costs about a sweep, and pays as soon as it saves one."""


@register("sampling/logistic-model", kind="part")
class LogisticModel(Classifier):
    """Logistic regression with an l2 penalty and two classes, refitted by warm-started Newton steps.

    It minimises C sum_i s_i ln(1 + exp(-t_i (w.x_i + b))) + |w|^2 / 2, t_i = -1 for the first and 1 for the second
    class. As long as all rows have the same label it waits, and predicts that label.

    Parameters
    ----------
    C : inverse strength of the penalty, from 1e-12 to 1e100.

    Raises
    ------
    ArgumentError
        If `C` is out of range.

    Examples
    --------
    >>> model = LogisticModel(C=1.0).fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.4], [2.7]]).tolist(), model.coef_.round(4).tolist(), model.intercept_.round(4).tolist()
    (['no', 'yes'], [[0.9583]], [-1.4374])
    """

    flat = "logistic regression"

    def __init__(self, *, C: float = 1.0) -> None:
        super().__init__()
        self.C = real("C", C, low=1e-12, high=1e100)
        self._begin(0)

    def _begin(self, d: int) -> None:
        self._known = 0
        self.coefficients = np.zeros(d + 1)
        self._gradient, self._step, self._trial = np.zeros(d + 1), np.zeros(d + 1), np.zeros(d + 1)
        self._factor = np.zeros((d + 1, d + 1) if d <= WIDE else (0, 0))
        self._weight = np.ones(64)
        self._patience = 1e5 if d <= FEW_FEATURES else 1e3

    def fresh(self, seed: int = 0) -> Self:
        """Return a model of the same configuration that has seen nothing."""
        return type(self)(C=self.C)

    @property
    def _has_history(self) -> bool:
        """Whether it was fitted to any rows."""
        return self._known > 0 or bool(self.classes)

    def begin(self, classes: tuple[Label, ...]) -> None:
        """Learn what the labels are: two, sorted, or one as long as there is no other.

        Raises
        ------
        ArgumentError
            If there are more than two.
        """
        if len(classes) > 2:
            what = "two labels, as logistic regression here has two classes"
            raise ArgumentError(expected("classes", what, classes, "pass another model="))
        self.classes = classes

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that makes the model again what it is now."""
        kept = self.classes, self.constant, self._known
        coefficients, factor = self.coefficients.copy(), self._factor.copy()

        def undo() -> None:
            self._begin(len(coefficients) - 1)
            self.classes, self.constant, self._known = kept
            self.coefficients[:], self._factor[:] = coefficients, factor

        return undo

    def update(self, rows: Rows, first: int) -> None:
        """Refit on all rows; those from `first` on are new."""
        if not self._waits(rows):
            self._refit(rows.X, rows.y, rows.count)

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit to rows X (n, d) with labels y (n,) and weights (n,) >= 0, from the present coefficients on, and
        return the model; labels and weights that carry the row labels of X are matched by them.

        Raises
        ------
        ContextError, ArgumentError
            If X is not a table of finite numbers, or `y` or `sample_weight` has another length, other row labels or a
            value that does not fit.
        """
        X, y, sample_weight = in_step(("X", X), ("y", y), ("sample_weight", sample_weight))
        X, columns = in_columns(X, self.columns, "X")
        table = read_rows(X, None, MOST).astype(np.float64, order="C", copy=False)
        self.validate(table)
        labels = read_labels(y)
        if len(labels) != len(table) or not labels:
            raise ArgumentError(expected("y", f"{max(1, len(table))} labels, one for each row of X", len(labels)))
        weight = np.ones(len(labels)) if sample_weight is None else as_floats(sample_weight)
        fits = weight is not None and weight.shape == (len(labels),)
        if weight is None or not fits or not ((weight >= 0) & np.isfinite(weight)).all():
            raise ArgumentError(expected("sample_weight", f"{len(labels)} numbers >= 0", sample_weight))
        classes = tuple(sorted(set(labels), key=lambda label: (isinstance(label, str), label)))
        self.begin(classes)
        self.columns = columns
        self.fit_codes(table, np.array([classes.index(label) for label in labels]), weight)
        return self

    def fit_codes(self, X: Floats, codes: Ints, weight: Floats) -> None:
        """Fit to checked rows with class codes (n,) and weights (n,)."""
        self.constant = 0 if len(self.classes) == 1 else None
        if self.constant is None:
            self._weight = np.ascontiguousarray(weight, dtype=np.float64)
            self._known = 0
            self._refit(X, codes, len(codes))

    def _refit(self, X: NDArray[Any], y: Ints, count: int) -> None:
        d = X.shape[1]
        # The first fit starts at the best constant, the labels' log odds, and every later one at the last optimum.
        if len(self.coefficients) != d + 1:
            weight = self._weight
            self._begin(d)
            self._weight = weight
            share = float(y[:count].mean())
            self.coefficients[d] = math.log(share / (1.0 - share))
        if len(self._weight) < count:
            self._weight = np.ones(len(X))
        if d > WIDE:
            table, strength = X[:count].astype(np.float64, copy=False), self.C * self._weight[:count]
            self.coefficients[:] = _descended(table, y[:count], strength, self.coefficients)
        else:
            _refit(
                X,
                y,
                self._weight,
                self._known,
                count,
                self.C,
                TOLERANCE,
                self._patience,
                self.coefficients,
                self._gradient,
                self._step,
                self._trial,
                self._factor,
            )
        self._known = count

    def final(self, rows: Rows, first: int) -> Self:
        """Return a model of the same configuration fitted to all rows."""
        model = self.fresh()
        model.begin(self.classes)
        model.update(rows, 0)
        return model

    def learned_codes(self, X: Any) -> Ints:
        """Return the class codes (n,) of the sides of the hyperplane; a margin of zero says the first."""
        return (X @ self.coefficients[:-1] + self.coefficients[-1] > 0).astype(np.int64)

    def learned_probabilities(self, X: Any) -> Floats:
        """Return the probabilities (n, 2) of the classes."""
        margin = X @ self.coefficients[:-1] + self.coefficients[-1]
        positive = 0.5 * (1.0 + np.tanh(0.5 * margin))
        return np.column_stack([1.0 - positive, positive])

    def table(self, X: object) -> Floats:
        """Return what a user passes to `predict` as a checked table.

        Raises
        ------
        ContextError
            If it is no table of finite numbers with as many features as before.
        """
        d = len(self.coefficients) - 1
        table = read_rows(X, (d,) if d else None, MOST)
        self.validate(table)
        return table.astype(np.float64, copy=False)

    @property
    def coef_(self) -> Floats:
        """The coefficients (1, d), as scikit-learn names and shapes them."""
        return self.coefficients[None, :-1].copy()

    @property
    def intercept_(self) -> Floats:
        """The intercept (1,)."""
        return self.coefficients[-1:].copy()

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs."""
        return {
            "C": self.C,
            "classes": list(self.classes),
            "constant": self.constant,
            "known": self._known,
            "coefficients": self.coefficients,
            "factor": self._factor,
            "columns": self.columns,
        }

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the model that `snapshot` was taken of."""
        model = cls(C=snapshot["C"])
        model._begin(len(snapshot["coefficients"]) - 1)
        fill_all({"coefficients": model.coefficients, "factor": model._factor}, snapshot)
        model.classes, model.constant = tuple(snapshot["classes"]), snapshot["constant"]
        model._known, model.columns = snapshot["known"], snapshot["columns"]
        return model

    def __repr__(self) -> str:
        return f"LogisticModel(C={self.C})"


_refit = entry(logistic.refit)


def _descended(X: Floats, y: Ints, strength: Floats, start: Floats) -> Floats:
    """Return the coefficients (d + 1,), the intercept last, at the optimum over rows of these strengths (n,)."""
    penalty = 1.0 / (strength.sum() or 1.0)
    share = penalty * strength

    def mean_loss(theta: Floats) -> tuple[float, Floats]:
        margin = X @ theta[:-1] + theta[-1]
        pull = share * (expit(margin) - y)
        value = share @ (np.logaddexp(0.0, margin) - y * margin) + 0.5 * penalty * theta[:-1] @ theta[:-1]
        return value, np.append(pull @ X + penalty * theta[:-1], pull.sum())

    options = {**DESCENT, "gtol": FLAT * penalty}
    found: Floats = minimize(mean_loss, start, method="L-BFGS-B", jac=True, options=options).x
    return found
