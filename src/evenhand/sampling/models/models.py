"""What a sampler asks of its model, and how it deals with one that fails."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol, Self

from numpy.typing import NDArray

from evenhand.errors import ArgumentError, EvenhandError, ModelError, wanted
from evenhand.parameters import untaught
from evenhand.protocol import Label
from evenhand.sampling.models.estimators import EstimatorModel
from evenhand.sampling.models.logistic import LogisticModel
from evenhand.sampling.pools.rows import Rows


class Model(Protocol):
    """A classifier that a sampler trains round by round; register its class as a part, with `snapshot` and `restored`,
    to save it.

    Attributes
    ----------
    constant : the class code that is predicted while all rows have one label, else None.
    """

    constant: int | None

    def fresh(self, seed: int = 0) -> Self:
        """Return a model of the same configuration that has seen nothing."""
        ...

    def begin(self, classes: tuple[Label, ...]) -> None:
        """Learn what the labels are, sorted."""
        ...

    def update(self, rows: Rows, first: int) -> None:
        """Train; the rows from `first` on are new."""
        ...

    def codes(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the predicted class codes (n,)."""
        ...

    def probabilities(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the probabilities (n, k) of the classes."""
        ...

    def final(self, rows: Rows, first: int) -> Self:
        """Return a model trained on training and validation rows; the latter begin at `first`."""
        ...

    def resumed(self, rows: Rows) -> Self:
        """Return the model that goes on after loading."""
        ...


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
            wanted("model", "a torch module inside skorch.NeuralNetClassifier(...)", type(model).__name__)
        )
    return EstimatorModel(model)


def untaught_model(model: Any) -> Any:
    """Return a model, or what is made one, that was not trained yet: samplers train it from the start.

    Raises
    ------
    ArgumentError
        If it was trained.
    """
    return untaught("model", as_model(model), "pass model.fresh(), or sklearn.base.clone(model)")


def checkpoint(model: Any) -> Callable[[], None]:
    """Return a function that makes the model again what it is now."""
    if hasattr(model, "checkpoint"):
        undo: Callable[[], None] = model.checkpoint()
        return undo
    kept = copy.deepcopy(vars(model))

    def undo_all() -> None:
        vars(model).clear()
        vars(model).update(kept)

    return undo_all


def raise_named(model: Any, error: BaseException) -> None:
    """Raise what a user's model or loss raised as a refusal that says so; running out of memory passes as it is.

    Raises
    ------
    ModelError
        If the error is neither a refusal already nor one of the machine.
    """
    refusal = isinstance(error, (EvenhandError, MemoryError)) or not isinstance(error, Exception)
    if refusal or type(error).__name__ == "OutOfMemoryError":  # torch's own is no MemoryError
        return
    name = " ".join(repr(model).split())
    shown = name if len(name) <= 60 else f"{name[:57]}..."
    raise ModelError(f"{shown} failed; nothing has changed: {type(error).__name__}: {error}") from error
