"""The last step of a collection: training on everything that was labelled, and how the model does on other rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.rng import generator
from evenhand.sampling.certification import Certification
from evenhand.sampling.models.classifier import Classifier
from evenhand.sampling.models.logistic import LogisticModel
from evenhand.sampling.models.losses import BOUNDED, Loss
from evenhand.sampling.models.mixture import ModelMixture
from evenhand.sampling.models.trainer import Trainer, raise_named
from evenhand.sampling.pools.pools import ArrayPool
from evenhand.sampling.reweighting import minimax_reweighting

ROUNDS = 60
"""Rounds of the game whose models are mixed."""
STREAM = 2
"""The stream of a sampler's seed that draws uniformly."""


class _Collected(NamedTuple):
    model: Any
    mixture: Floats
    rounds: int
    labels: int
    cost: float


class Collected(_Collected):
    """The result of a finished collection.

    Attributes
    ----------
    model : the final classifier.
    mixture : proportions (m,) of the groups among the training rows.
    rounds : draws that were told.
    labels : labelled examples that were paid for, training and validation.
    cost : what they cost in total.
    notes : what a careful user should know, as the sampler said it at the end; it is not a field of the tuple.
    """

    notes: tuple[str, ...] = ()


def named_columns(model: object, trainer: Trainer) -> Any:
    """Return a model that reads data frames by the names of the columns that its rows had."""
    for one in model.models if isinstance(model, ModelMixture) else [model]:
        if isinstance(one, Classifier):
            trainer.named(one)
    return model


def final_classifier(trainer: Trainer, final_refit: bool, reweighted: bool, mixture: bool = False) -> Any:
    """Return the classifier of `Sampler.finish`: a copy, a last refit on both tables, or minimax reweighting of the
    groups for the sampler's own loss, by one model or by a mixture.

    Raises
    ------
    ArgumentError
        If there are no rows yet, reweighting is asked of a model that is not `LogisticModel`, or both kinds of it are.
    """
    if reweighted and mixture:
        raise ArgumentError(expected("mixture", "False together with reweighted", True))
    model, training = trainer.model, trainer.examples.training
    if training.count == 0:
        raise ArgumentError("finish, certify: expected at least one told draw; ask(), label, tell() first")
    rows = training.joined(trainer.examples.validation) if final_refit else training
    if reweighted or mixture:
        if not isinstance(model, LogisticModel):
            name = "mixture" if mixture else "reweighted"
            raise ArgumentError(expected(name, "False for this model", True, "reweighting needs LogisticModel"))
        table, codes, group = rows.X[: rows.count], rows.y[: rows.count], rows.group[: rows.count]
        if (codes == codes[0]).all():
            return model.final(rows, training.count)
        game: dict[str, Any] = {"rounds": ROUNDS, "step": 1.0, "mixture": True} if mixture else {}
        return minimax_reweighting(
            table, np.array(trainer.classes)[codes], group=group, C=model.C, loss=trainer.loss, **game
        ).model
    try:
        return model.final(rows, training.count) if final_refit else model._alone(rows)
    except Exception as error:
        raise_named(model, error)
        raise


def fresh_risks(model: object, pool: ArrayPool, drawn: Any, loss: Loss = "zero_one") -> Any:
    """Return a data frame by group: `rows`, `risk`, `low` and `high` of a model on the rows of a pool that were not
    drawn; with 95 % confidence all intervals hold at once. A loss that is not in [0, 1] is replaced by the 0-1 loss.
    """
    bounded = loss if isinstance(loss, str) and loss in BOUNDED else "zero_one"
    check = Certification(pool.groups, model, threshold=1.0, batch=len(pool.y), loss=bounded)
    left = np.ones(len(pool.y), np.bool_)
    left[drawn] = False
    for _ in pool.groups:
        draw = check.ask()
        rows = np.flatnonzero(left & (pool.group == pool.groups.index(draw.group)))
        check.tell(draw, pool.taken(rows), pool.y[rows])
        check.retire(draw.group)
    return check.risks.drop(columns="verdict")


def uniform_draw(
    sampler: Any, pool: ArrayPool, cost: float, *, reweighted: bool = False, mixture: bool = False
) -> tuple[Any, Ints]:
    """Return the final model that a sampler would have of rows which are drawn uniformly from the whole pool, until
    they cost as much; and the rows.
    """
    order = generator(sampler.seed, STREAM).permutation(len(pool.y))
    prices = np.array([1.0 if sampler.costs is None else sampler.costs[group] for group in pool.groups])
    rows = order[: np.searchsorted(prices[pool.group[order]].cumsum(), cost * (1 + 1e-12), side="right")]
    trainer = Trainer(sampler.groups, sampler.model.fresh(), sampler.loss, sampler.known_classes, None, sampler.seed)
    for z in range(len(pool.groups)):
        own = rows[pool.group[rows] == z]
        told = trainer.validate(pool.taken(own), pool.y[own], len(own))
        trainer.examples.add(told._replace(trains=len(own)), z)
    named_columns(trainer.model, trainer)
    return final_classifier(trainer, True, reweighted, mixture), rows
