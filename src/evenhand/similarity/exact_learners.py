"""Metric learners that trust every verdict: an ellipsoid, the set of all metrics itself, and a known metric.

`EllipsoidDistance` keeps an ellipsoid around all metrics that agree with the verdicts; each verdict cuts it, and the
smallest ellipsoid around the rest replaces it.

With depth alpha = sign (<c, u> - value) / ||L'u|| the half-space sign <G, u> <= sign value leaves a part of {c + L z
: |z| <= 1} whose smallest enclosing ellipsoid has the centre c - sign tau L w and the axes sqrt(delta) (L - (1 -
sqrt(1 - sigma)) L w w'), w = L'u / ||L'u||, tau = (1 + m alpha)/(m + 1), sigma = 2 (1 + m alpha)/((m + 1)(1 +
alpha)), delta = m^2 (1 - alpha^2)/(m^2 - 1). Its volume shrinks when alpha > -1/m.

Source: M. C. Cohen, I. Lobel, R. Paes Leme, "Feature-based Dynamic Pricing" (EC 2016): O(m^2 log(m/epsilon))
mistakes above epsilon; M. Grötschel, L. Lovász, A. Schrijver, "Geometric Algorithms and Combinatorial Optimization"
(1988), (3.1.16): the formulas.

`ProjectedVolumeDistance` keeps the set of all metrics that agree with the verdicts, and its guess is the centroid of a
cylinder around it.

K is the box cut by all half-spaces. S holds orthonormal directions in which K has become thinner than delta, L is
their complement, and Cyl(K, S) is the projection of K on L times the interval of K along each s in S. A guess at the
cylinder's centroid makes every verdict take away a constant part of the volume of the projection; without S the cuts
could go on in a set that is flat already.

Exact are the intervals along S and every width, by linear programs. Approximated are: the centroid on L, the mean of
the projections of hit-and-run points of K, which lie denser where K's slice along S is larger, not uniformly on the
projection; and the search for a thin direction: after a cut only the principal axis in L with the least sampled
variance is measured, one a cut. If K is thinner than delta anywhere in L, that axis is at most
sqrt(m (m + 2)) times as wide, up to sampling.

Source: I. Lobel, R. Paes Leme, A. Vladu, "Multidimensional Binary Search for Contextual Decision-Making" (EC 2017),
Section 4: at most O(m log(m/epsilon)) mistakes above epsilon, delta = epsilon^2 / (16 m^2 (m + 1)^2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from numpy.typing import ArrayLike

from evenhand.arguments import real, whole
from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import kernel, routine
from evenhand.kernels.halfspaces import walk
from evenhand.registry import register
from evenhand.rng import Seed
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.metric import (
    CONTRADICTED,
    NOTHING,
    TAUGHT,
    append,
    dull,
    farthest,
    opened,
    project,
    squeeze,
    width,
)
from evenhand.similarity.metric_state import MetricState, Structure
from evenhand.similarity.oracles import read_matrix

DEEPEST = 0.9
"""Cuts deeper than this are taken at this depth, which keeps more, so that no axis collapses in floating point."""
BURN, KEEP = 20, 60
"""Steps of the walk per coordinate: before the first point counts, and those that count."""
SWEEPS = 30
"""At most so many sweeps of rotations; eight are enough as a rule."""
FLATTEST = 1e-12
"""An axis in S is never taken to be shorter: the linear programs are no more exact."""


@routine
def cut_ellipsoid(state: MetricState, copy: int, value: float, sign: float, precision: float) -> Any:
    m = state.u.size
    mid, half = project(state, copy)
    depth = sign * (mid - value)
    if depth > half * (1.0 + 1e-9) + 1e-12:
        return CONTRADICTED
    length = state.length[0]
    if depth * m <= -half or width(state, (mid - half) * length, (mid + half) * length) <= precision:
        return NOTHING
    if state.logs:
        append(state, copy, value, sign)
    depth = min(depth / half, DEEPEST)
    stride = sign * (1.0 + m * depth) / ((m + 1.0) * half)
    for i in range(m):
        along = 0.0
        for j in range(m):
            along += state.factor[copy, i, j] * state.image[j]
        state.centre[copy, i] -= stride * along
    # The general formula divides by m^2 - 1: with one coordinate the ellipsoid is an interval.
    if m == 1:
        state.factor[copy, 0, 0] *= 0.5 * (1.0 - depth)
        return TAUGHT
    squeeze(state, copy, half, 2.0 * (1.0 + m * depth) / ((m + 1.0) * (1.0 + depth)))
    stretch = math.sqrt(m * m * (1.0 - depth * depth) / (m * m - 1.0))
    for i in range(m):
        for j in range(m):
            state.factor[copy, i, j] *= stretch
    return TAUGHT


@register("similarity/ellipsoid-distance", kind="part")
class EllipsoidDistance(DistanceLearner):
    """Learn a distance by cutting an ellipsoid of metrics through its centre.

    Parameters
    ----------
    radius : at least the Frobenius norm of A'A; None begins at 2d and doubles when the verdicts contradict every
        metric. One that is too large costs its logarithm; one that is too small fails almost silently.
    shared : one learner for all pairs; False keeps one for each pair of positions, as in the paper.
    structure : which entries of A'A are learned, see `coordinates`.
    tolerance : how far the true d^2 may be from any Mahalanobis distance; verdicts are relaxed by as much.
    precision : an interval of d narrower than this is not cut any more.
    seed : unused by this learner, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> learner = EllipsoidDistance(radius=2.0)
    >>> x, y = [1.0, 0.0], [0.0, 0.0]
    >>> first = learner.verdict(x, y, 0.6, unfair=True)
    >>> second = learner.verdict(x, y, 0.2, unfair=False)
    >>> low, guess, high = learner.bounds(x, y)
    >>> low < guess < high < 0.9
    True

    Source: Cohen, Lobel, Paes Leme (2016), Theorem 5.1.
    """

    _update_kernel = cut_ellipsoid


@routine
def cut_volume(state: MetricState, copy: int, value: float, sign: float, precision: float) -> Any:
    if dull(state, copy, value, sign):
        return NOTHING
    low, high = opened(state, copy)
    length = state.length[0]
    if sign * (low if sign > 0.0 else high) > sign * value + 1e-9:
        return CONTRADICTED
    if width(state, low * length, high * length) <= precision or not low < value < high:
        return NOTHING
    append(state, copy, value, sign)
    recentre(state, copy)
    return TAUGHT


@routine
def recentre(state: MetricState, copy: int) -> Any:
    """Set the centre to the centroid of the cylinder and the factor to its principal axes, those in S last."""
    m = state.u.size
    wide = m - state.thin[copy]
    factor, centre = state.factor[copy], state.centre[copy]
    for i in range(m):
        state.point[i] = 0.0
    for j in range(m):
        across(state, copy, j)
    for i in range(m):
        centre[i] = state.point[i]
    for i in range(wide + 1):
        for j in range(wide):
            state.moments[i, j] = 0.0
    for n in range((BURN + KEEP) * m):
        walk(
            state.cuts[copy],
            state.limits[copy],
            state.counts[copy],
            state.low,
            state.high,
            factor,
            state.point,
            state.step,
            state.excess,
            state.slopes,
            state.stream,
        )
        if n >= BURN * m:
            collect(factor, centre, state.point, wide, state.image, state.moments)
    scale = 1.0 / (KEEP * m)
    for i in range(wide):
        state.moments[wide, i] *= scale
    for i in range(wide):
        for j in range(i + 1):
            state.moments[i, j] = state.moments[i, j] * scale - state.moments[wide, i] * state.moments[wide, j]
    for i in range(m):
        for j in range(wide):
            centre[i] += factor[i, j] * state.moments[wide, j]
    reshape(factor, state.moments, wide)
    flatten(state, copy)


@routine
def across(state: MetricState, copy: int, j: int) -> Any:
    """Return the ends of the set along axis j of the factor, and add the two points that attain them to
    `state.point`, each with weight 1 / 2m."""
    m = state.u.size
    factor = state.factor[copy]
    norm = 0.0
    for i in range(m):
        norm += factor[i, j] * factor[i, j]
    norm = math.sqrt(norm)
    least, most = 0.0, 0.0
    for sign in (-1.0, 1.0):
        for i in range(m):
            state.image[i] = sign * factor[i, j] / norm
        end = farthest(state, copy, state.image)
        if sign < 0.0:
            least = -end
        else:
            most = end
        for i in range(m):
            state.point[i] += state.simplex.point[i] / (2.0 * m)
    return least, most


@kernel
def collect(factor: Floats, centre: Floats, point: Floats, wide: int, image: Floats, moments: Floats) -> Any:
    """Add the point, in units of the first `wide` axes, to the sums of squares and to their row below."""
    for j in range(wide):
        along, square = 0.0, 0.0
        for i in range(point.size):
            along += factor[i, j] * (point[i] - centre[i])
            square += factor[i, j] * factor[i, j]
        image[j] = along / square
    for i in range(wide):
        moments[wide, i] += image[i]
        for j in range(i + 1):
            moments[i, j] += image[i] * image[j]


@routine
def reshape(factor: Floats, covariance: Floats, wide: int) -> Any:
    """Multiply the first `wide` axes by a root of their covariance (Cholesky), then turn them to principal axes.

    Rotating pairs of columns until all are orthogonal (Hestenes 1958) keeps the short axes accurate.
    """
    m = factor.shape[0]
    for j in range(wide):
        pivot = covariance[j, j]
        for n in range(j):
            pivot -= covariance[j, n] * covariance[j, n]
        # A short walk may not move along an axis at all: a pivot of 0 would flatten the set where no verdict did.
        covariance[j, j] = math.sqrt(max(pivot, 1e-6))
        for i in range(j + 1, wide):
            for n in range(j):
                covariance[i, j] -= covariance[i, n] * covariance[j, n]
            covariance[i, j] /= covariance[j, j]
    for i in range(m):
        for j in range(wide):
            entry = 0.0
            for n in range(j, wide):
                entry += factor[i, n] * covariance[n, j]
            factor[i, j] = entry
    for _ in range(SWEEPS):
        turned = False
        for p in range(wide):
            for q in range(p + 1, wide):
                first, second, both = 0.0, 0.0, 0.0
                for i in range(m):
                    first += factor[i, p] * factor[i, p]
                    second += factor[i, q] * factor[i, q]
                    both += factor[i, p] * factor[i, q]
                if abs(both) > 1e-14 * math.sqrt(first * second):
                    turned = True
                    slope = (second - first) / (2.0 * both)
                    tangent = math.copysign(1.0, slope) / (abs(slope) + math.sqrt(1.0 + slope * slope))
                    cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                    for i in range(m):
                        x, y = factor[i, p], factor[i, q]
                        factor[i, p] = cosine * (x - tangent * y)
                        factor[i, q] = cosine * (tangent * x + y)
        if not turned:
            break


@routine
def flatten(state: MetricState, copy: int) -> Any:
    """Move the shortest axis of L to S if the set is thin along it, and put the centre in the middle along all of S."""
    m = state.u.size
    factor, centre = state.factor[copy], state.centre[copy]
    wide = m - state.thin[copy]
    shortest, least = 0, math.inf
    for j in range(wide):
        square = 0.0
        for i in range(m):
            square += factor[i, j] * factor[i, j]
        if square < least:
            shortest, least = j, square
    if wide > 0:
        low, high = across(state, copy, shortest)
        if high - low <= state.thin_width:
            wide -= 1
            state.thin[copy] += 1
            for i in range(m):
                factor[i, shortest], factor[i, wide] = factor[i, wide], factor[i, shortest]
    for j in range(wide, m):
        low, high = across(state, copy, j)
        norm, along = 0.0, 0.0
        for i in range(m):
            norm += factor[i, j] * factor[i, j]
            along += factor[i, j] * centre[i]
        norm = math.sqrt(norm)
        for i in range(m):
            axis = factor[i, j] / norm
            centre[i] += (0.5 * (low + high) - along / norm) * axis
            factor[i, j] = axis * max(high - low, FLATTEST) / math.sqrt(12.0)


@register("similarity/projected-volume-distance", kind="part")
class ProjectedVolumeDistance(DistanceLearner):
    """Learn a distance by halving the volume of the set of metrics that agree with the verdicts, as the paper does.

    Parameters
    ----------
    radius : at least the Frobenius norm of A'A; None begins at 2d and doubles when the verdicts contradict every
        metric.
    shared : one learner for all pairs; False keeps one for each pair of positions, as in the paper.
    structure : which entries of A'A are learned, see `coordinates`.
    tolerance : how far the true d^2 may be from any Mahalanobis distance.
    precision : an interval of d narrower than this is not cut any more.
    thin : delta, the width of the set of all A'A below which a direction belongs to S; None takes the paper's value,
        with epsilon = precision.
    seed : the seed of the random walk that approximates centroids.
    most_pairs : the most pairs that a policy's round may have, as every informative verdict takes a random walk over
        the whole log. None for no limit.

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

    _update_kernel = cut_volume
    programs = True
    plain_work = 1000

    def __init__(
        self,
        *,
        radius: float | None = None,
        shared: bool = True,
        structure: Structure = "symmetric",
        tolerance: float = 0.0,
        precision: float = 0.02,
        thin: float | None = None,
        seed: Seed = None,
        most_pairs: int | None = 200,
    ) -> None:
        super().__init__(
            radius=radius, shared=shared, structure=structure, tolerance=tolerance, precision=precision, seed=seed
        )
        self.thin = None if thin is None else real("thin", thin, low=0)

        self.most_pairs = None if most_pairs is None else whole("most_pairs", most_pairs, low=1)

    def _prior(self, m: int) -> dict[str, float]:
        thin = (self.precision / (4.0 * m * (m + 1.0))) ** 2 if self.thin is None else self.thin
        return {"prior_radius": math.sqrt(m + 2.0), "spread": 1.0 / math.sqrt(m + 2.0), "thin_width": thin}


@kernel
def cut_nothing(state: MetricState, copy: int, value: float, sign: float, precision: float) -> Any:
    return NOTHING


@register("similarity/known-distance", kind="part")
class KnownDistance(DistanceLearner):
    """The distance ||A(x - y)||_2, known from the start; verdicts change nothing.

    With `A = 0` everybody is treated alike; a large `A` constrains nobody.

    Parameters
    ----------
    A : the matrix (r, d).

    Raises
    ------
    ArgumentError
        If A is not a finite matrix.

    Examples
    --------
    >>> KnownDistance([[0.3, 0.0]]).bounds([1.0, 0.0], [0.0, 1.0])[1]
    0.3
    """

    _update_kernel = cut_nothing

    def __init__(self, A: ArrayLike) -> None:
        self.A = read_matrix(A)
        super().__init__(radius=1.0, structure="full", precision=0.0)

    @classmethod
    def _examples(cls) -> Iterator[KnownDistance]:
        yield cls([[0.3, 0.0]])

    def _prior(self, m: int) -> dict[str, float]:
        return {"prior_radius": 0.0, "spread": 0.0}

    def _allocate(self, dimension: int, copies: int) -> None:
        if dimension != self.A.shape[1]:
            raise ArgumentError(expected("dimension", f"{self.A.shape[1]}, the columns of A", dimension))
        super()._allocate(dimension, copies)
        self.state.centre[0] = (self.A.T @ self.A).ravel()
