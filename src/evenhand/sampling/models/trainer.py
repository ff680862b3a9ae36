"""The model with the examples that it learns from: a draw is added as a whole, or not at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evenhand.arguments import whole
from evenhand.errors import ArgumentError, EvenhandError, ModelError, expected
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.parameters import require_fresh
from evenhand.protocol import Label
from evenhand.sampling.models.classifier import Classifier
from evenhand.sampling.models.estimators import EstimatorModel
from evenhand.sampling.models.logistic import LogisticModel
from evenhand.sampling.models.losses import Loss, read_loss, row_losses, summed_losses
from evenhand.sampling.pools.rows import Examples, Rows, Told
from evenhand.sampling.problem import MOST

MANY = 10
"""Validation rows of a group that should have shown its risk."""


def as_model(model: object) -> Classifier:
    """Return the model behind a sampler's argument: logistic regression for None, a classifier of scikit-learn
    wrapped.

    Raises
    ------
    ArgumentError
        If it is neither, or a bare torch module.
    """
    if model is None:
        return LogisticModel()
    if isinstance(model, Classifier):
        return model
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        what = "a torch module inside skorch.NeuralNetClassifier(...)"
        raise ArgumentError(expected("model", what, type(model).__name__))
    return EstimatorModel(model)


def raise_named(model: object, error: BaseException) -> None:
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


class Trainer:
    """The current model, its rows and its losses on the validation rows, computed once for each draw."""

    def __init__(
        self,
        groups: tuple[Label, ...],
        model: object,
        loss: Loss,
        classes: Sequence[Label] | None,
        validation_rows: int | None,
        seed: int,
    ) -> None:
        self.groups, self.loss = groups, read_loss(loss)
        recent = validation_rows
        self.validation_rows = None if recent is None else whole("validation_rows", recent, low=1, high=MOST)
        self.examples = Examples(len(groups), classes)
        self._seed = seed
        hint = "pass model.fresh(), or sklearn.base.clone(model)"
        self.model = require_fresh("model", as_model(model), hint).fresh(seed)
        if self.loss == "log" and self.model.certain:
            raise ArgumentError(expected("loss", "one that needs no probabilities, for a model without them", loss))
        self.model.begin(self.classes)
        self._losses: tuple[Floats, Ints] | None = None

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels that are known so far, sorted."""
        return self.examples.classes.known

    def validate(self, X: object, y: object, count: int) -> Told:
        """Return up to `count` rows with their labels; the model looks at the first rows of all.

        Raises
        ------
        ContextError, ArgumentError
            If they do not fit those before, or the model cannot take such rows.
        """
        keep, texts = self.model.keeps_types, self.model.takes_frames
        told = self.examples.validate(X, y, count, keep=keep, texts=texts)
        if not self.examples.training.count and len(told.X):
            self.model.validate(told.X)
        return told

    def learn(self, told: Told, index: int, then: Callable[[int], None]) -> None:
        """Add the rows of a draw, train, and call `then`; where any of it fails, everything is as before.

        Raises
        ------
        ModelError
            If the model cannot be trained, or its losses on the new rows cannot be computed.
        """
        undo, losses = (self.examples.checkpoint(), self.model.checkpoint()), self._losses
        try:
            self._train(told, index)
            then(index)  # inside, as a loss may fail here too: its rows would fail every later choice
        except BaseException as error:
            for part in undo:
                part()
            self._losses = losses
            raise_named(self.model, error)
            raise

    def _train(self, told: Told, index: int) -> None:
        known, first = self.classes, self.examples.training.count
        self.examples.add(told, index)
        if self.classes != known:
            self.model.begin(self.classes)
        self.named(self.model)
        if told.trains or not len(told.X) or self.classes != known:
            self.model.update(self.examples.training, first)
        self._losses = None
        validation, new = self.examples.validation, len(told.X) - told.trains
        if new and (callable(self.loss) or not isinstance(self.model, LogisticModel)):
            # a row whose loss cannot be computed must not come in: every later choice would fail on it
            codes = validation.y[validation.count - new : validation.count]
            row_losses(self.loss, self.model, told.X[-new:], codes, self.classes)

    def named(self, model: Classifier) -> None:
        """Let a model read data frames by the names of the columns that the rows have."""
        model.columns, model.texts = self.examples.columns or None, self.examples.codes

    def relabel(self, part: Rows, row: int, label: Label) -> None:
        """Give a row of `examples.training` or `examples.validation` another label, and train again from the start.

        Raises
        ------
        ModelError
            If the model cannot be trained; everything is as before.
        """
        (checked,) = self.examples.classes.validate([label], 1)
        known, code, model, losses = self.classes, int(part.y[row]), self.model, self._losses
        undo = self.examples.checkpoint()
        try:
            self.examples.admit([checked])
            code = int(part.y[row])
            part.y[row] = self.classes.index(checked)
            self._losses = None
            if part is self.examples.training or self.classes != known:
                # From the start: a model fed in parts cannot unlearn a label, and a warm start would remember it.
                self.model = model.fresh(self._seed)
                self.model.begin(self.classes)
                self.named(self.model)
                self.model.update(self.examples.training, 0)
        except BaseException as error:
            part.y[row] = code
            undo()
            self.model, self._losses = model, losses
            raise_named(self.model, error)
            raise

    def losses(self) -> tuple[Floats, Ints]:
        """Return the summed losses (m,) of the model on each group's validation rows, and how many counted (m,)."""
        if self._losses is None:
            rows = self.examples.validation
            self._losses = summed_losses(self.model, rows, self.loss, self.classes, self.validation_rows)
        return self._losses

    def notes(self, closed: Bools) -> list[str]:
        """Return what a careful user should know of the model: it waits for a label or for rows, a risk is unknown.

        A group of which no more rows come is `closed` (m,).
        """
        training, validation = self.examples.training, self.examples.validation.by_group
        notes = []
        lacking = self.model.lacking
        if training.count and self.model.constant is not None:
            only = self.classes[self.model.constant]
            why = f"all {training.count} training rows have the label {only!r}"
            if lacking:
                why = f"it cannot be trained on {training.count} rows yet, and predicts {only!r} ({lacking})"
            notes.append(f"the model waits: {why}")
        elif lacking:
            notes.append(f"the model has not learned from the last rows, as it needs more of them ({lacking})")
        for z in np.flatnonzero((self.losses()[1] == 0) & ((validation >= MANY) | closed)):
            why = f"none of its {validation[z]} validation rows counts" if validation[z] else "no row validates it"
            notes.append(f"the risk of {self.groups[z]!r} is unknown: {why}")
        return notes

    def snapshot(self) -> dict[str, Any]:
        """Return the model, the rows and the classes as plain data."""
        return {"model": self.model, **self.examples.snapshot()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Take over the model, the rows and the classes of a snapshot."""
        self.examples.restore(snapshot)
        self.model = snapshot["model"]._resumed(self.examples.training)
