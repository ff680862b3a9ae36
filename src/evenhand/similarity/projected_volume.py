"""The set of all metrics that agree with the verdicts, guessed at its centroid.

K is the box cut by all half-spaces; a guess at its centroid makes every verdict take away a constant part of its
volume. The centroid is approximated by hit-and-run, which also measures how wide K is in each direction; linear
programs certify the ends.

The published algorithm also splits off directions in which K has become thinner than delta = epsilon^2 / (16 m^2 (m
+ 1)^2). No pair is cut any more once its interval is narrower than epsilon, and at the epsilons that make sense for
probabilities such a delta lies near the rounding of double precision; that step is left out here.

Source: I. Lobel, R. Paes Leme, A. Vladu, "Multidimensional Binary Search for Contextual Decision-Making" (EC 2017),
Section 4: at most O(m log(m/epsilon)) mistakes above epsilon.
"""

from __future__ import annotations

import math
from typing import Any

from evenhand.kernels.compose import routine
from evenhand.kernels.halfspaces import support, walk
from evenhand.registry import register
from evenhand.rng import Seed
from evenhand.similarity.learner import DistanceLearner, Structure
from evenhand.similarity.metric import CONTRADICTED, NOTHING, TAUGHT, append, dull, opened, width

__all__ = ["ProjectedVolumeDistance"]


BURN, KEEP = 20, 60
"""Steps of the walk per coordinate: before the first point counts, and those that count."""


@routine
def cut(state: Any, copy: Any, value: Any, sign: Any, precision: Any) -> Any:
    if dull(state, copy, value, sign):
        return NOTHING
    low, high = opened(state, copy)
    length = state.length[0]
    if sign * (low if sign > 0.0 else high) > sign * value + 1e-9:
        return CONTRADICTED
    if width(low * length, high * length) <= precision or not low < value < high:
        return NOTHING
    append(state, copy, value, sign)
    recentre(state, copy)
    return TAUGHT


@routine
def recentre(state: Any, copy: Any) -> Any:
    """Set the centre to the centroid and the factor to a root of the covariance, both from a walk inside the set."""
    m = state.u.size
    cuts, limits, count = state.cuts[copy], state.limits[copy], state.counts[copy]
    for i in range(m):
        state.point[i] = 0.0
        state.image[i] = 0.0
    for i in range(m):
        for sign in (-1.0, 1.0):
            state.image[i] = sign
            support(cuts, limits, count, state.low, state.high, state.image, state.excess, state.simplex)
            for j in range(m):
                state.point[j] += state.simplex.point[j] / (2.0 * m)
        state.image[i] = 0.0
    for i in range(m):
        state.centre[copy, i] = state.point[i]
    for i in range(m + 1):
        for j in range(m):
            state.moments[i, j] = 0.0
    for n in range((BURN + KEEP) * m):
        walk(
            cuts,
            limits,
            count,
            state.low,
            state.high,
            state.factor[copy],
            state.point,
            state.step,
            state.excess,
            state.slopes,
            state.stream,
        )
        if n >= BURN * m:
            for i in range(m):
                state.moments[m, i] += state.point[i]
                for j in range(i + 1):
                    state.moments[i, j] += (state.point[i] - state.centre[copy, i]) * (
                        state.point[j] - state.centre[copy, j]
                    )
    scale = 1.0 / (KEEP * m)
    for i in range(m):
        state.image[i] = state.moments[m, i] * scale - state.centre[copy, i]
    for i in range(m):
        for j in range(i + 1):
            state.moments[i, j] = state.moments[i, j] * scale - state.image[i] * state.image[j]
    for i in range(m):
        state.centre[copy, i] += state.image[i]
    root(state.moments, state.factor[copy])


@routine
def root(covariance: Any, factor: Any) -> Any:
    """Write the Cholesky factor of the lower triangle of `covariance`; a pivot that rounding has eaten becomes
    tiny."""
    m = factor.shape[0]
    for i in range(m):
        for j in range(m):
            factor[i, j] = 0.0
    for j in range(m):
        pivot = covariance[j, j]
        for n in range(j):
            pivot -= factor[j, n] * factor[j, n]
        factor[j, j] = math.sqrt(max(pivot, 1e-10 * covariance[j, j], 1e-20))
        for i in range(j + 1, m):
            rest = covariance[i, j]
            for n in range(j):
                rest -= factor[i, n] * factor[j, n]
            factor[i, j] = rest / factor[j, j]


@register("similarity/projected-volume-distance", kind="part")
class ProjectedVolumeDistance(DistanceLearner):
    """Learn a distance by halving the volume of all metrics that agree with the verdicts, as the paper does.

    Parameters
    ----------
    radius : at least the Frobenius norm of A'A; None begins at 2d and doubles when the verdicts contradict every
    metric.
    shared : one learner for all pairs; False keeps one for each pair of places, as in the paper.
    structure : which entries of A'A are learned, see `coordinates`.
    tolerance : how far the true d^2 may be from any Mahalanobis distance.
    precision : an interval of d narrower than this is not cut any more.
    seed : of the random walk that approximates centroids.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> learner = ProjectedVolumeDistance(radius=2.0, seed=1)
    >>> number = learner.verdict([1.0, 0.0], [0.0, 0.0], 0.6, unfair=True)
    >>> number = learner.verdict([1.0, 0.0], [0.0, 0.0], 0.4, unfair=False)
    >>> low, guess, high = learner.bounds([1.0, 0.0], [0.0, 0.0])
    >>> round(low, 6), round(high, 6)
    (0.4, 0.6)

    Source: Lobel, Paes Leme, Vladu (2017), Section 4; Gillen, Jung, Kearns, Roth (2018), Section 3.
    """

    cut = cut
    programs = True

    def __init__(
        self,
        *,
        radius: float | None = None,
        shared: bool = True,
        structure: Structure = "symmetric",
        tolerance: float = 0.0,
        precision: float = 0.02,
        seed: Seed = None,
    ) -> None:
        super().__init__(radius, shared, structure, tolerance, precision, seed)

    def reach(self, m: int) -> tuple[float, float]:
        return math.sqrt(m + 2.0), 1.0 / math.sqrt(m + 2.0)
