"""Any classifier of scikit-learn or skorch as the model, refitted from scratch each round or fed by `partial_fit`."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arguments import one_of
from evenhand.errors import ArgumentError, expected
from evenhand.frames import is_frame
from evenhand.kernels.arrays import Floats, Ints
from evenhand.protocol import gives_probabilities
from evenhand.registry import register
from evenhand.rng import child
from evenhand.sampling.models.classifier import Classifier
from evenhand.sampling.pools.frame_codes import FrameCodes
from evenhand.sampling.pools.rows import Rows
from evenhand.saving.objects import rebuilt, recipe

ENOUGH = 1000
"""A classifier that cannot be trained on so many rows does not fail for lack of rows."""


@register("sampling/estimator-model", kind="part")
class EstimatorModel(Classifier):
    """A scikit-learn classifier or `Pipeline`, trained on all rows each round ("exact") or on the new rows alone
    ("partial_fit").

    As long as all rows have the same label it waits, and predicts that label. Where the classifier needs more rows, as
    a `PCA(3)` in a pipeline needs three, it waits as well, and predicts the most frequent label; where a label is new
    and has too few rows, the earlier model stays. Whether only rows are lacking is found by a fit to the same
    rows many times over; a classifier that fails there too is refused. Saving keeps the classes and parameters of the
    classifier and of its steps, and loading trains it again on the same rows in the same order. Steps that are not
    scikit-learn's can be saved if their class is registered as a part.

    A network is a `skorch.NeuralNetClassifier`: with `warm_start=True, max_epochs=1` it trains one more epoch per round
    on all rows. It is given single precision in place of double, and numbers from 0 as labels. What torch draws in
    training, first weights included, it draws from the sampler's seed.

    Attributes
    ----------
    lacking : the classifier's error about too few rows, as long as it cannot be trained on all of them; else "".

    Parameters
    ----------
    estimator : the classifier; it is cloned, not changed. A missing `random_state`, in steps too, is filled from the
        sampler's seed.
    refit : "exact" or "partial_fit".

    Raises
    ------
    ArgumentError
        If `estimator` is not a classifier, or has no `partial_fit` though "partial_fit" was asked for.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> EstimatorModel(DecisionTreeClassifier(max_depth=2), refit="exact").refit
    'exact'
    """

    def __init__(self, estimator: Any, *, refit: Literal["exact", "partial_fit"] = "exact") -> None:
        from sklearn.pipeline import Pipeline

        super().__init__()
        lacks = {name for name in ("fit", "predict", "get_params", "partial_fit") if not hasattr(estimator, name)}
        if isinstance(estimator, type) or lacks - {"partial_fit"} or _kind(estimator) not in (None, "classifier"):
            raise ArgumentError(expected("estimator", "a scikit-learn classifier", estimator))
        one_of("refit", refit, ("exact", "partial_fit"))
        if refit == "partial_fit" and "partial_fit" in lacks:
            raise ArgumentError(expected("estimator", "a classifier with partial_fit", estimator, "use refit='exact'"))
        self.estimator, self.refit = estimator, refit
        self._untrained = estimator
        self._goes_on = refit == "partial_fit" or any(
            bool(value) for name, value in estimator.get_params().items() if name.split("__")[-1] == "warm_start"
        )
        self._ends: list[int] = []
        self._own: Rows | None = None
        self.seed = 0
        skorch = sys.modules.get("skorch")
        self._network = self.keeps_types = skorch is not None and isinstance(estimator, skorch.NeuralNet)
        self._pipeline = self.takes_frames = isinstance(estimator, Pipeline)
        self.flat = "" if self._network or self._pipeline else type(estimator).__name__

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments, the classifier as it was given."""
        return {"estimator": self._untrained, "refit": self.refit}

    def fresh(self, seed: int = 0) -> Self:
        """Return a model of the same configuration that has seen nothing; `seed` fills every missing random_state."""
        from sklearn.base import clone

        model = type(self)(clone(self._untrained), refit=self.refit)
        model.estimator.set_params(**random_states(model.estimator.get_params(), seed))
        model.seed = seed
        return model

    @property
    def unsavable(self) -> str:
        """Why the classifier cannot be saved, or nothing."""
        try:
            recipe(self._untrained, "model")
        except ArgumentError as error:
            return str(error)
        return ""

    @property
    def certain(self) -> bool:
        """Whether the classifier gives labels without probabilities."""
        return not gives_probabilities(self.estimator)

    @property
    def _untold(self) -> bool:
        """Whether the model was trained on rows that it does not carry, or not at all."""
        return self._own is None

    @property
    def _has_history(self) -> bool:
        """Whether it was trained here, or the classifier or a step of it before."""
        if self._network:
            return bool(self._ends or self.estimator.initialized_)
        steps = self.estimator.steps if self._pipeline else ()
        parts = [self.estimator, *(step for _, step in steps if not isinstance(step, str))]
        own = (name for part in parts for name in vars(part))
        return bool(self._ends) or any(name.endswith("_") and not name.startswith("_") for name in own)

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that makes the model again what it is now; a trained classifier is never changed."""
        kept = self.estimator, self.classes, self.constant, self.lacking
        count, last = len(self._ends), self._ends[-2:]

        def undo() -> None:
            self.estimator, self.classes, self.constant, self.lacking = kept
            self._ends[:] = self._ends[: count - len(last)] + last

        return undo

    def update(self, rows: Rows, first: int) -> None:
        """Train; the rows from `first` on are new."""
        codes, waited, goes_on = rows.y[: rows.count], self.constant is not None, self._goes_on
        self.lacking = ""
        if waited and (len(codes) == 0 or (codes == codes[0]).all()):
            self.constant = int(codes[0]) if len(codes) else 0
        elif self.refit == "partial_fit" and not waited:
            if first < rows.count:
                self.estimator = self._trained(rows.X[first : rows.count], codes[first:], waited)
        else:
            try:
                self.estimator, self.constant = self._trained(rows.X[: rows.count], codes, waited), None
            except Exception as error:
                if not self._lacks_rows(rows.X[: rows.count], codes, waited):
                    raise
                self.lacking = f"{type(error).__name__}: {error}"
                if waited:
                    self.constant = int(np.bincount(codes).argmax())
                elif not goes_on:
                    del self._ends[1:]
                    goes_on = True
        # Loading trains again to these ends in this order: a warm start ends elsewhere if one of them is skipped.
        if not goes_on:
            self._ends.clear()
        self._ends.append(rows.count)

    def _trained(self, X: NDArray[Any], codes: Ints, waited: bool) -> Any:
        """Return the classifier trained on rows (n, ...) with these codes (n,), as it is trained next."""
        trained, y = copy.deepcopy(self.estimator if self._goes_on else self._untrained), self._names[codes]
        table = self._table(X)
        before = self._ends[-1] if self._goes_on and self._ends else 0
        with _repeatable(child(self.seed, before, len(X))):
            if self.refit == "exact":
                trained.fit(table, y)
            else:
                trained.partial_fit(table, y, classes=self._names)
            if waited:  # nearest neighbours train on any rows, and predict only with enough of them
                trained.predict(table[:1])
        if self._network and not all(bool(weights.isfinite().all()) for weights in trained.module_.parameters()):
            hint = "lower lr, or scale X"
            raise ArgumentError(expected("estimator", "weights that stay finite in training", "ones that do not", hint))
        return trained

    @property
    def _names(self) -> NDArray[Any]:
        """What the classifier calls the classes (k,)."""
        return np.arange(len(self.classes)) if self._network else np.array(self.classes)

    def _table(self, X: Any) -> Any:
        """Return rows as the classifier is given them."""
        if self.takes_frames and self.columns and not is_frame(X):
            return self.texts.frame(X, self.columns)
        return X.astype(np.float32) if self._network and X.dtype == np.float64 else X

    def table(self, X: object) -> Any:
        """Return what a user passes to `predict` as the classifier takes it."""
        return X if self.takes_frames and is_frame(X) else super().table(X)

    def _lacks_rows(self, X: NDArray[Any], codes: Ints, waited: bool) -> bool:
        """Return whether the classifier fails on these rows again, and can be trained on them many times over."""
        times = max(2, -(-ENOUGH // len(X)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self._trained(X, codes, waited)
            except Exception:
                with suppress(Exception):
                    self._trained(np.repeat(X, times, axis=0), np.repeat(codes, times), waited)
                    return True
        return False

    def learned_codes(self, X: Any) -> Ints:
        """Return the class codes (n,) that the classifier predicts."""
        return np.searchsorted(self._names, self._asked(self.estimator.predict, X)).astype(np.int64)

    def learned_probabilities(self, X: Any) -> Floats:
        """Return the probabilities (n, k) that the classifier predicts.

        Raises
        ------
        ArgumentError
            If the classifier has no `predict_proba`.
        """
        if self.certain:
            hint = "use loss='zero_one'"
            raise ArgumentError(expected("model", "a classifier with predict_proba", self.estimator, hint))
        known = self._names if self._network else self.estimator.classes_
        chances = np.zeros((len(X), max(2, len(self.classes))))
        found = self._asked(self.estimator.predict_proba, X)
        chances[:, np.searchsorted(self._names, known)] = found[:, : len(known)]
        return chances

    def _asked(self, answer: Callable[[Any], Any], X: object) -> NDArray[Any]:
        with _repeatable(child(self.seed, 1)):
            return np.asarray(answer(self._table(X)))

    def final(self, rows: Rows, first: int) -> Self:
        """Return a model trained on all rows, or fed with those from `first` on where it is fed in parts."""
        model = self._alone(rows)
        model.update(rows, first)
        return model

    def _alone(self, rows: Rows) -> Self:
        """Return a copy that carries its rows, to be saved without the sampler."""
        model = copy.deepcopy(self)
        model._own = rows.joined(Rows(len(rows.by_group)))
        return model

    def _resumed(self, rows: Rows) -> Self:
        """Return this model as it was when it was saved, trained again on the same rows in the same order."""
        ends, self._ends = self._ends if self._goes_on else self._ends[-2:], []
        everything, first = rows.count, 0
        for end in ends:
            rows.count = end
            self.update(rows, first)
            first = end
        rows.count = everything
        return self

    def snapshot(self) -> dict[str, Any]:
        """Return the untrained classifier as plain data and where each round's rows ended.

        Raises
        ------
        ArgumentError
            If the classifier, or a step of it, is neither scikit-learn's nor registered.
        """
        return {
            "estimator": recipe(self._untrained, "model"),
            "refit": self.refit,
            "classes": list(self.classes),
            "ends": self._ends,
            "rows": None if self._own is None else self._own.snapshot(),
            "seed": self.seed,
            "columns": self.columns,
            "texts": self.texts.texts,
        }

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the model that `snapshot` was taken of; without rows of its own it waits for `resumed`."""
        model = cls(rebuilt(snapshot["estimator"]), refit=snapshot["refit"])
        model.begin(tuple(snapshot["classes"]))
        model._ends, model.seed = list(snapshot["ends"]), snapshot["seed"]
        model.columns, model.texts = snapshot["columns"], FrameCodes(snapshot["texts"])
        if snapshot["rows"] is not None:
            model._own = Rows.restored(snapshot["rows"])
            model._resumed(model._own)
        return model

    def __repr__(self) -> str:
        return f"EstimatorModel({self._untrained!r}, refit={self.refit!r})"


@contextmanager
def _repeatable(seed: int) -> Iterator[None]:
    """Draw from a seed what torch draws, where it is in use, and leave its own generators as they were."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    with torch.random.fork_rng(range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


def _kind(estimator: object) -> str | None:
    """Return what scikit-learn calls the estimator, such as "classifier"; None where it does not know."""
    from sklearn.utils import get_tags

    try:
        found: str | None = get_tags(estimator).estimator_type
    except (AttributeError, TypeError):
        return None
    return found


def random_states(parameters: dict[str, Any], seed: int) -> dict[str, int]:
    """Return a number for each `random_state` that is none: what is drawn must be drawn again after loading."""
    names = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state"]
    numbers = {}
    for number, name in enumerate(names):
        given = parameters[name]
        if given is None:
            numbers[name] = seed % 2**32 if name == "random_state" else child(seed, number) % 2**32
        elif not isinstance(given, (int, np.integer)):
            numbers[name] = int(copy.deepcopy(given).randint(2**31))
    return numbers
