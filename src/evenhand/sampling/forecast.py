"""What the next labels are worth: how far the worst-off group's risk should still fall, and when to stop buying."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, wanted
from evenhand.rng import Seed, draw_seed, generator
from evenhand.sampling.models.losses import row_losses
from evenhand.sampling.models.models import raise_named
from evenhand.sampling.problem import checked_number, checked_whole

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.sampling.sampler import Sampler

__all__ = ["Forecast", "forecast"]

PARTS = (0.125, 0.1875, 0.25, 0.375, 0.5, 0.75, 1.0)
"""The model is trained on these parts of the training rows, in the order in which they were collected."""
LEAST = 32
"""Training rows below which there is no curve to look at."""
RESAMPLES = 500


class Forecast(NamedTuple):
    """What so many more labels should bring.

    Attributes
    ----------
    gain : by how much the worst group's risk should fall.
    low, high : an interval of 95 % for it, over resampled validation rows.
    labels : how many more labels these are, training and validation.
    stop : whether even `high` is less than the labels cost.
    curve : a data frame with `training` rows and the `worst_risk` of the model that they train.
    """

    gain: float
    low: float
    high: float
    labels: int
    stop: bool
    curve: pd.DataFrame


def forecast(sampler: Sampler, labels: int = 100, *, price: float = 0.0, seed: Seed = 0) -> Forecast:
    """Forecast what the next labels bring the worst-off group, and say whether they are worth their price.

    The model is trained again on the first 1/8, ..., 1 of its training rows, and each is judged on all validation
    rows. The curve a + b / sqrt(n), with a, b >= 0, is fitted to the worst group's risk by least squares, and read at
    n and at n + labels / 2, as half of the labels validate. The interval fits it to validation rows that are resampled
    within their groups. It knows nothing of a world that changes, nor of a model that would learn something new from
    many more rows than there are now.

    Parameters
    ----------
    sampler : one that has collected rows.
    labels : how many more.
    price : what a label costs, in units of the worst group's risk; 0.0001 says that a hundred labels must bring .01.
    seed : of the resampled rows.

    Raises
    ------
    ArgumentError
        If there are fewer than 32 training rows, a group has no validation row that counts, or a number is out of
        range.

    Examples
    --------
    >>> import evenhand as eh
    >>> world = eh.sampling.SyntheticModel1(instance="I")
    >>> world.reset(1)
    >>> sampler = eh.sampling.OptimisticSampler(["u", "v"], seed=1)
    >>> history = eh.sampling.collect(sampler, world, rounds=300)
    >>> ahead = eh.sampling.forecast(sampler, 100, price=0.001)
    >>> ahead.stop, bool(ahead.low <= ahead.gain <= ahead.high)
    (True, True)
    """
    count, cost = checked_whole("labels", labels, 1), checked_number("price", price, 0.0)
    training, validation = sampler.training, sampler.validation
    if training.count < LEAST:
        raise ArgumentError(wanted("sampler", f"at least {LEAST} training rows", training.count))
    sizes = np.unique([max(8, round(part * training.count)) for part in PARTS])
    group = validation.group[: validation.count]
    losses, counted = _losses(sampler, sizes)
    alone = [int(z) for z in range(len(sampler.groups)) if not counted[group == z].any()]
    if alone:
        label = sampler.groups[alone[0]]
        raise ArgumentError(
            wanted("sampler", "validation rows of each group that count in the loss", f"none of {label!r}")
        )
    worst = _worst(losses, counted, group, np.arange(len(group)))
    ahead = training.count + count / 2
    draws = generator(draw_seed(seed))
    places = [np.flatnonzero(group == z) for z in range(len(sampler.groups))]
    gains = [
        _gain(sizes, _worst(losses, counted, group, np.concatenate([draws.choice(p, len(p)) for p in places])), ahead)
        for _ in range(RESAMPLES)
    ]
    low, high = (float(q) for q in np.quantile(gains, [0.025, 0.975]))
    gain = _gain(sizes, worst, ahead)
    import pandas as pd

    curve = pd.DataFrame({"training": sizes, "worst_risk": worst})
    return Forecast(gain, min(low, gain), max(high, gain), count, bool(max(high, gain) < cost * count), curve)


def _losses(sampler: Sampler, sizes: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the losses (s, n) of the models of these many training rows on all validation rows, and which count."""
    rows, judged, classes = sampler.training, sampler.validation, sampler.known_classes
    X, y = judged.X[: judged.count], judged.y[: judged.count]
    found = []
    counted = np.ones(len(y), np.bool_)
    for size in sizes:
        model = sampler.model.fresh()
        model.begin(classes)
        try:
            model.update(rows.taken(np.arange(size)), 0)
            values, counted = row_losses(sampler.loss, model, X, y, classes)
        except Exception as error:
            raise_named(model, error)
            raise
        found.append(values)
    return np.array(found), counted


def _worst(
    losses: NDArray[np.float64], counted: NDArray[np.bool_], group: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the worst group's risk (s,) on these rows."""
    kept = rows[counted[rows]]
    sums = np.array([np.bincount(group[kept], values[kept], int(group.max()) + 1) for values in losses])
    counts = np.bincount(group[kept], minlength=int(group.max()) + 1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf).max(axis=1))


def _gain(sizes: NDArray[np.int64], worst: NDArray[np.float64], ahead: float) -> float:
    """Return by how much a + b / sqrt(n) falls from the last size to `ahead` rows."""
    x = 1.0 / np.sqrt(sizes)
    spread = x - x.mean()
    slope = float(spread @ worst / (spread @ spread))
    if worst.mean() - slope * x.mean() < 0.0:
        slope = float(x @ worst / (x @ x))
    return max(0.0, slope) * float(x[-1] - 1.0 / np.sqrt(ahead))
