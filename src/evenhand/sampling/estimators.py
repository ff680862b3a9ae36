"""Any scikit-learn classifier as the model, refitted from scratch each round or fed by `partial_fit`."""

from __future__ import annotations

import copy
import importlib
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, wanted
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.sampling.logistic import LogisticModel
from evenhand.sampling.rows import Rows

__all__ = ["EstimatorModel", "as_model"]


@register("sampling/estimator-model", kind="part")
class EstimatorModel:
    """A scikit-learn classifier, trained on all rows each round ("exact") or on the new rows alone ("partial_fit").

    As long as all rows have the same label it waits, and predicts that label. Saving keeps the classifier's class
    and parameters, and loading trains it again on the same rows in the same order; only classifiers of scikit-learn
    itself can be saved.

    Parameters
    ----------
    estimator : the classifier; it is cloned, not changed. A missing `random_state` is filled from the sampler's seed.
    refit : "exact" or "partial_fit".

    Raises
    ------
    ArgumentError
        If `estimator` is no classifier, or cannot be fed in parts though "partial_fit" was asked for.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> EstimatorModel(DecisionTreeClassifier(max_depth=2), refit="exact").refit
    'exact'
    """

    def __init__(self, estimator: Any, *, refit: Literal["exact", "partial_fit"] = "exact") -> None:
        if not hasattr(estimator, "fit") or not hasattr(estimator, "predict") or not hasattr(estimator, "get_params"):
            raise ArgumentError(wanted("estimator", "a scikit-learn classifier", estimator))
        if refit not in ("exact", "partial_fit"):
            raise ArgumentError(wanted("refit", "'exact' or 'partial_fit'", refit))
        if refit == "partial_fit" and not hasattr(estimator, "partial_fit"):
            raise ArgumentError(wanted("estimator", "a classifier with partial_fit", estimator, "use refit='exact'"))
        self.estimator, self.refit = estimator, refit
        self.classes: tuple[Label, ...] = ()
        self.constant: int | None = 0
        self._ends: list[int] = []

    def fresh(self, seed: int = 0) -> Self:
        """Return a model of the same configuration that has seen nothing; `seed` fills a missing random_state."""
        from sklearn.base import clone

        model = type(self)(clone(self.estimator), refit=self.refit)
        if "random_state" in model.estimator.get_params() and model.estimator.get_params()["random_state"] is None:
            model.estimator.set_params(random_state=seed % 2**32)
        return model

    def begin(self, classes: tuple[Label, ...]) -> None:
        """Learn what the labels are, sorted."""
        self.classes = classes

    def update(self, rows: Rows, first: int) -> None:
        """Train; the rows from `first` on are new."""
        codes = rows.y[: rows.count]
        waited = self.constant is not None
        if waited and (len(codes) == 0 or (codes == codes[0]).all()):
            self.constant = int(codes[0]) if len(codes) else 0
        else:
            names = np.array(self.classes)
            start = 0 if waited else first
            if self.refit == "exact":
                self.estimator.fit(rows.X[: rows.count], names[codes])
            elif start < rows.count:
                self.estimator.partial_fit(rows.X[start : rows.count], names[codes[start:]], classes=names)
            self.constant = None
        self._ends.append(rows.count)

    def codes(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return the predicted class codes (n,)."""
        if self.constant is not None:
            return np.full(len(X), self.constant)
        return np.searchsorted(np.array(self.classes), self.estimator.predict(X)).astype(np.int64)

    def probabilities(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probabilities (n, k) of the classes.

        Raises
        ------
        ArgumentError
            If the classifier has no `predict_proba`.
        """
        k = max(2, len(self.classes))
        if self.constant is not None:
            return np.eye(k)[np.full(len(X), self.constant)]
        if not hasattr(self.estimator, "predict_proba"):
            raise ArgumentError(
                wanted("model", "a classifier with predict_proba", self.estimator, "use loss='zero_one'")
            )
        chances = np.zeros((len(X), k))
        chances[:, np.searchsorted(np.array(self.classes), self.estimator.classes_)] = self.estimator.predict_proba(X)
        return chances

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted labels (n,)."""
        return np.array(self.classes)[self.codes(np.asarray(X))]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities (n, k) of the sorted labels."""
        return self.probabilities(np.asarray(X))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.array(self.classes)

    def final(self, rows: Rows, first: int) -> Self:
        """Return a model trained on all rows, or fed with those from `first` on where it is fed in parts."""
        model = copy.deepcopy(self)
        model.update(rows, first)
        return model

    def resumed(self, rows: Rows) -> Self:
        """Return this model as it was when it was saved, trained again on the same rows in the same order."""
        ends, self._ends = self._ends, []
        replayed = ends if self.refit == "partial_fit" else ends[-1:]
        everything, first = rows.count, 0
        for end in replayed:
            rows.count = end
            self.update(rows, first)
            first = end
        rows.count, self._ends = everything, ends
        return self

    def snapshot(self) -> dict[str, Any]:
        """Return the class, the parameters and where each round's rows ended.

        Raises
        ------
        ArgumentError
            If the classifier is not one of scikit-learn's.
        """
        cls = type(self.estimator)
        if not cls.__module__.startswith("sklearn."):
            raise ArgumentError(
                wanted("model", "a classifier of scikit-learn, the only ones that can be saved", cls.__name__,
                       "give a class of your own @register(name, kind='part'), snapshot() and restored()")
            )  # fmt: skip
        return {
            "class": f"{cls.__module__}:{cls.__name__}", "params": self.estimator.get_params(deep=False),
            "refit": self.refit, "classes": list(self.classes), "ends": self._ends,
        }  # fmt: skip

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the untrained model that `snapshot` was taken of; `resumed` brings it up to date."""
        module, name = snapshot["class"].split(":")
        if not module.startswith("sklearn."):
            raise ArgumentError(wanted("model", "a classifier of scikit-learn", snapshot["class"]))
        model = cls(getattr(importlib.import_module(module), name)(**snapshot["params"]), refit=snapshot["refit"])
        model.begin(tuple(snapshot["classes"]))
        model._ends = list(snapshot["ends"])
        return model

    def __repr__(self) -> str:
        return f"EstimatorModel({self.estimator!r}, refit={self.refit!r})"


def as_model(model: Any) -> Any:
    """Return the model behind a sampler's argument: logistic regression for None, a classifier of scikit-learn
    wrapped.

    Raises
    ------
    ArgumentError
        If it is neither, or a bare torch module.
    """
    if model is None:
        return LogisticModel()
    if hasattr(model, "update") and hasattr(model, "codes"):
        return model
    if hasattr(model, "state_dict"):
        raise ArgumentError(
            wanted("model", "a torch module inside evenhand.sampling.TorchModel(...)", type(model).__name__)
        )
    return EstimatorModel(model)
