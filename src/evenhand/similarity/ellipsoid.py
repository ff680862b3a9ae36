"""An ellipsoid around all metrics that agree with the verdicts, cut through its middle and wrapped anew.

With depth alpha = sign (<c, u> - value) / ||L'u|| the half-space sign <G, u> <= sign value leaves a part of {c + L z
: |z| <= 1} whose smallest enclosing ellipsoid has the centre c - sign tau L w and the axes sqrt(delta) (L - (1 -
sqrt(1 - sigma)) L w w'), w = L'u / ||L'u||, tau = (1 + m alpha)/(m + 1), sigma = 2 (1 + m alpha)/((m + 1)(1 +
alpha)), delta = m^2 (1 - alpha^2)/(m^2 - 1). Its volume shrinks when alpha > -1/m.

Source: M. C. Cohen, I. Lobel, R. Paes Leme, "Feature-based Dynamic Pricing" (EC 2016): O(m^2 log(m/epsilon))
mistakes above epsilon; M. Grötschel, L. Lovász, A. Schrijver, "Geometric Algorithms and Combinatorial Optimization"
(1988), (3.1.16): the formulas.
"""

from __future__ import annotations

import math
from typing import Any

from evenhand.kernels.compose import routine
from evenhand.registry import register
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.metric import CONTRADICTED, NOTHING, TAUGHT, append, project, squeeze, width

DEEPEST = 0.9
"""Cuts deeper than this are taken at this depth, which keeps more, so that no axis collapses in floating point."""


@routine
def cut(state: Any, copy: Any, value: Any, sign: Any, precision: Any) -> Any:
    m = state.u.size
    mid, half = project(state, copy)
    depth = sign * (mid - value)
    if depth > half * (1.0 + 1e-9) + 1e-12:
        return CONTRADICTED
    length = state.length[0]
    if depth * m <= -half or width((mid - half) * length, (mid + half) * length) <= precision:
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
        metric. Too large costs its logarithm, too small fails almost silently.
    shared : one learner for all pairs; False keeps one for each pair of places, as in the paper.
    structure : which entries of A'A are learned, see `coordinates`.
    tolerance : how far the true d^2 may be from any Mahalanobis distance; every verdict is believed only that far.
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

    cut = cut

    def reach(self, m: int) -> tuple[float, float]:
        return 1.0, 1.0
