"""What a sampler asks of its model: labels and their codes, and a constant prediction while there is only one label."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ContextError, EvenhandError, ModelError, expected
from evenhand.frames import as_array, frame_or_value
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import in_columns
from evenhand.parameters import Parameters
from evenhand.protocol import Label
from evenhand.sampling.pools.frame_codes import FrameCodes
from evenhand.sampling.pools.rows import Rows


class Classifier(Parameters, ABC):
    """A model that a sampler trains round by round, with `predict` and `predict_proba`.

    A subclass writes `fresh`, `update`, `final`, `learned_codes` and `learned_probabilities`. To save it, register the
    class as a part and write `snapshot` and `restored`.

    Attributes
    ----------
    classes : the labels, sorted.
    constant : the class code that is predicted while all rows have one label, else None.
    columns : the columns in their order, where the rows came as data frames, else None.
    takes_frames : whether it is given data frames where the rows came as such, texts included.
    texts : what the numbers in columns of texts mean.
    lacking : why the model could not be trained on all rows yet; else "".
    keeps_types : whether rows are kept in the type in which they are told, such as single precision or bytes.
    flat : what takes rows of numbers alone, in words; "" where rows may be pictures.
    """

    columns: list[str] | None = None
    lacking = ""
    keeps_types = False
    takes_frames = False
    flat = ""

    def __init__(self) -> None:
        self.classes: tuple[Label, ...] = ()
        self.constant: int | None = 0
        self.texts = FrameCodes()

    @property
    def certain(self) -> bool:
        """Whether the model gives labels without probabilities."""
        return False

    @property
    def unsavable(self) -> str:
        """Why the model cannot be saved, or nothing."""
        return ""

    @property
    def _untold(self) -> bool:
        """Whether the model was trained on rows that it does not carry, so that no file can hold it alone."""
        return False

    @abstractmethod
    def fresh(self, seed: int = 0) -> Self:
        """Return a model of the same configuration that has seen nothing."""

    @abstractmethod
    def update(self, rows: Rows, first: int) -> None:
        """Train; the rows from `first` on are new."""

    @abstractmethod
    def final(self, rows: Rows, first: int) -> Self:
        """Return a model trained on training and validation rows; the latter begin at `first`."""

    @abstractmethod
    def learned_codes(self, X: object) -> Ints:
        """Return the class codes (n,) that the trained model predicts."""

    @abstractmethod
    def learned_probabilities(self, X: object) -> Floats:
        """Return the probabilities (n, k) that the trained model predicts."""

    def table(self, X: object) -> Any:
        """Return what a user passes to `predict` as an array."""
        return as_array(X, "X")

    def begin(self, classes: tuple[Label, ...]) -> None:
        """Learn what the labels are, sorted."""
        self.classes = classes

    def validate(self, X: NDArray[Any]) -> None:
        """Refuse rows that the model cannot take.

        Raises
        ------
        ContextError
            If a row is no list of numbers, as a picture is, and the model takes no others.
        """
        if self.flat and X.ndim != 2:
            hint = "flatten them with X.reshape(len(X), -1), or pass a network of skorch"
            raise ContextError(expected("X", f"rows of numbers (n, d) for {self.flat}", X.shape, hint))

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that makes the model again what it is now."""
        kept = copy.deepcopy(vars(self))

        def undo() -> None:
            vars(self).clear()
            vars(self).update(kept)

        return undo

    def _alone(self, rows: Rows) -> Self:
        """Return a copy that can be saved without the sampler, whose training rows these are."""
        return copy.deepcopy(self)

    def _waits(self, rows: Rows) -> bool:
        """Return whether all rows have one label still, and note which."""
        codes = rows.y[: rows.count]
        if self.constant is not None and len(codes):
            self.constant = int(codes[0]) if (codes == codes[0]).all() else None
        return self.constant is not None

    def codes(self, X: Any) -> Ints:
        """Return the predicted class codes (n,)."""
        return self.learned_codes(X) if self.constant is None else np.full(len(X), self.constant)

    def probabilities(self, X: Any) -> Floats:
        """Return the probabilities (n, k) of the classes."""
        if self.constant is None:
            return self.learned_probabilities(X)
        return np.eye(max(2, len(self.classes)))[np.full(len(X), self.constant)]

    def predict(self, X: object) -> NDArray[Any]:
        """Return the predicted labels (n,); of a data frame the column names decide.

        Raises
        ------
        ContextError, ModelError
            If the model has seen no labels, or the rows are not as those before.
        """
        return np.array(self.classes)[self._answered(self.codes, X)]

    def predict_proba(self, X: object) -> Floats:
        """Return the probabilities (n, k) of the sorted labels; it reads and refuses rows as `predict` does."""
        return self._answered(self.probabilities, X)

    def _answered(self, answer: Callable[[Any], NDArray[Any]], X: object) -> NDArray[Any]:
        """Return what a function answers about rows (n, d), read as `predict` reads them."""
        if not self.classes:
            raise ModelError("the model has seen no labels yet; tell a draw first")
        rows, _ = in_columns(frame_or_value(X, "X"), self.columns, "X")
        try:
            return answer(self.table(rows))
        except (TypeError, ValueError) as error:
            if isinstance(error, EvenhandError):
                raise
            raise ModelError(f"{type(self).__name__} cannot predict for these rows: {error}") from error

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.array(self.classes)

    def _resumed(self, rows: Rows) -> Self:
        """Return the model that continues after loading: this one."""
        return self
