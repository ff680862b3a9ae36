"""A metric from a batch of judgements, of low rank, by maximum likelihood.

The probability that a difference of treatment `gap` is called unfair is modelled as a logistic function of s gap^2 -
|L(x - y)|^2, so that d(x, y)^2 = |L(x - y)|^2 / s is where both answers are equally likely. Without the gaps the
scale of d is not determined by any number of judgements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arguments import array, whole
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, wanted
from evenhand.rng import Seed, draw_seed, generator
from evenhand.similarity.reading import LARGEST_FEATURE

__all__ = ["FittedMetric", "fit_metric"]

RIDGE = 1e-3
STARTS, STEPS = 2, 500
MOST_RANK = 5
"""The rank where none is given, or d if that is smaller."""


@dataclass(frozen=True, eq=False)
class FittedMetric:
    """A metric d(x, y) = |A(x - y)| that was fitted to judgements; a callable of two individuals.

    It is an estimate without a certificate. Its `basis` is a start for `EmbeddedDistance`, whose intervals have one.

    Attributes
    ----------
    A : the matrix (rank, d).
    slope : how sharply judgements change from acceptable to unfair as gap^2 passes d^2.
    loss : the mean negative log likelihood of a judgement.
    """

    A: NDArray[np.float64]
    slope: float
    loss: float

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        """Return the distance between two individuals."""
        d = self.A.shape[1]
        one, other = (
            array(name, value, f"{d} finite numbers", dimensions=1, largest=LARGEST_FEATURE)
            for name, value in zip("xy", in_step(("x", x), ("y", y)), strict=True)
        )
        for name, value in (("x", one), ("y", other)):
            if value.size != d:
                raise ArgumentError(wanted(name, f"{d} finite numbers", value.size))
        return float(np.linalg.norm(self.A @ (one - other)))

    @property
    def basis(self) -> NDArray[np.float64]:
        """Orthonormal rows (rank, d) that span the directions in which people differ, the most important first."""
        rows: NDArray[np.float64] = np.linalg.svd(self.A, full_matrices=False)[2]
        return rows


def fit_metric(
    pairs: ArrayLike, judgements: ArrayLike, *, gaps: ArrayLike | None = None, rank: int | None = None, seed: Seed = 0
) -> FittedMetric:
    """Fit a metric to judgements about pairs of individuals.

    Parameters
    ----------
    pairs : the individuals (n, 2, d).
    judgements : whether treating them differently was unfair, n times true or false, or 1 or 0.
    gaps : how differently they were treated, n numbers in (0, 1]. They are needed: without them the scale of the
        metric is unknown.
    rank : of the metric; by default 5, or d if that is smaller.
    seed : of the second of two starts.

    Raises
    ------
    ArgumentError
        If the gaps are missing, all judgements are the same, or an argument is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pairs, gaps = rng.uniform(-0.5, 0.5, (400, 2, 2)), rng.uniform(0, 1, 400)
    >>> true = abs(pairs[:, 0, 0] - pairs[:, 1, 0])
    >>> metric = fit_metric(pairs, true < gaps, gaps=gaps, rank=1)
    >>> round(metric([0.5, 0.0], [0.0, 0.3]), 1)
    0.5
    """
    from scipy.optimize import minimize

    pairs, judgements, gaps = in_step(("pairs", pairs), ("judgements", judgements), ("gaps", gaps))
    x = array("pairs", pairs, "finite numbers (n, 2, d)", dimensions=3, largest=LARGEST_FEATURE)
    if x.shape[1] != 2 or x.shape[2] == 0:
        raise ArgumentError(wanted("pairs", "finite numbers (n, 2, d)", f"an array of shape {x.shape}"))
    n, d = len(x), x.shape[2]
    unfair, squares = _checked_judgements(judgements, n), _checked_gaps(gaps, n) ** 2
    rows = whole("rank", min(d, MOST_RANK) if rank is None else rank, low=1, high=d)
    away = x[:, 0] - x[:, 1]
    scale = float(np.sqrt(np.square(away).sum(axis=1).mean()))
    if scale == 0.0:
        raise ArgumentError(wanted("pairs", "individuals that differ", "pairs of equal ones"))
    away = away / scale

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        slope, factor = np.exp(point[0]), point[1:].reshape(rows, d)
        image = away @ factor.T
        margin = slope * squares - np.square(image).sum(axis=1)
        signed = np.where(unfair, margin, -margin)
        wrong = np.exp(-np.logaddexp(0.0, signed)) * np.where(unfair, -1.0, 1.0)
        by_factor = -2.0 * (wrong[:, None] * image).T @ away / n + RIDGE * factor
        value = float(np.logaddexp(0.0, -signed).mean() + 0.5 * RIDGE * np.square(factor).sum())
        return value, np.r_[slope * float((wrong * squares).mean()), by_factor.ravel()]

    leading = np.linalg.svd(away, full_matrices=False)[2][:rows]
    leading = np.vstack([leading, np.zeros((rows - len(leading), d))])
    random = generator(draw_seed(seed)).normal(size=(rows, d)) / np.sqrt(d)
    best: Any = None
    for start in (leading, random)[:STARTS]:
        first, bounds = np.r_[np.log(10.0), start.ravel()], [(-5.0, 9.0), *[(None, None)] * (rows * d)]
        found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
        best = found if best is None or found.fun < best.fun else best
    slope = float(np.exp(best.x[0]))
    return FittedMetric(best.x[1:].reshape(rows, d) / (scale * np.sqrt(slope)), slope, float(best.fun))


def _checked_judgements(judgements: Any, n: int) -> NDArray[np.bool_]:
    what = f"{n} times true or 1 (unfair), false or 0 (acceptable), one a pair"
    if isinstance(judgements, (str, bytes, dict, set)) or np.ndim(np.asarray(judgements, dtype=object)) != 1:
        raise ArgumentError(wanted("judgements", what, judgements))
    given = np.asarray(judgements).tolist()
    if len(given) != n:
        raise ArgumentError(wanted("judgements", what, f"{len(given)} of them"))
    for place, value in enumerate(given):
        if not isinstance(value, (bool, int, float)) or value not in (0, 1):
            raise ArgumentError(wanted(f"judgements[{place}]", "true or 1 (unfair), false or 0 (acceptable)", value))
    told = np.array(given, dtype=bool)
    if told.all() or not told.any():
        raise ArgumentError(wanted("judgements", "some that are unfair and some that are acceptable", "one kind only"))
    return told


def _checked_gaps(gaps: Any, n: int) -> NDArray[np.float64]:
    what = f"{n} numbers in (0, 1], how differently each pair was treated"
    if gaps is None:
        raise ArgumentError(wanted("gaps", what, None, "without them the scale of the metric is unknown"))
    given = array("gaps", gaps, what, dimensions=1)
    if given.size != n or not ((given > 0.0) & (given <= 1.0)).all():
        raise ArgumentError(wanted("gaps", what, given.tolist()))
    return given
