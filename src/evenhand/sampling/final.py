"""The last step of a collection: one training on everything that was labelled."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, wanted
from evenhand.sampling.models.classifier import Classifier
from evenhand.sampling.models.logistic import LogisticModel
from evenhand.sampling.models.models import raise_named
from evenhand.sampling.models.trainer import Trainer
from evenhand.sampling.reweighting import minimax_reweighting

__all__ = ["Collected", "final_classifier", "named_columns"]


class _Collected(NamedTuple):
    model: Any
    mixture: NDArray[np.float64]
    rounds: int
    labels: int
    cost: float


class Collected(_Collected):
    """What a finished collection amounts to.

    Attributes
    ----------
    model : the final classifier.
    mixture : proportions (m,) of the groups among the training rows.
    rounds : draws that were told.
    labels : labelled examples that were paid for, training and validation.
    cost : what they cost.
    notes : what a careful user should know, as the sampler said it at the end; no field of the tuple.
    """

    notes: tuple[str, ...] = ()


def named_columns(model: Any, trainer: Trainer) -> Any:
    """Return a model that reads data frames by the names of the columns that its rows had."""
    if isinstance(model, Classifier):
        model.columns = trainer.examples.columns or None
    return model


def final_classifier(trainer: Trainer, final_refit: bool, reweighted: bool) -> Any:
    """Return the classifier of `Sampler.finish`: a copy, a last refit on both tables, or minimax reweighting of the
    groups for the sampler's own loss.

    Raises
    ------
    ArgumentError
        If there are no rows yet, or reweighting is asked of a model that is not `LogisticModel`.
    """
    model, training = trainer.model, trainer.examples.training
    if training.count == 0:
        raise ArgumentError("finish, certify: wanted at least one told draw; ask(), label, tell() first")
    rows = training.joined(trainer.examples.validation) if final_refit else training
    if reweighted:
        if not isinstance(model, LogisticModel):
            raise ArgumentError(wanted("reweighted", "False for this model", True, "reweighting needs LogisticModel"))
        table, codes, group = rows.X[: rows.count], rows.y[: rows.count], rows.group[: rows.count]
        if (codes == codes[0]).all():
            return model.final(rows, training.count)
        return minimax_reweighting(
            table, np.array(trainer.classes)[codes], group=group, C=model.C, loss=trainer.loss
        ).model
    try:
        if final_refit:
            return model.final(rows, training.count)
        return model.alone(rows) if hasattr(model, "alone") else copy.deepcopy(model)
    except Exception as error:
        raise_named(model, error)
        raise
