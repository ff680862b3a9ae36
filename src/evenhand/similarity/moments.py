"""A Gaussian belief about the metric, updated by matching moments, with a rate of wrong verdicts.

A verdict that <G, u> lies on one side of a value is believed with probability 1 - q, whatever the truth: the
likelihood is q + (1 - 2q) 1{the verdict is right}. The posterior's mean and covariance are matched by a Gaussian
(assumed-density filtering), a rank-one step. With q = 0 the half-spaces are logged as well and linear programs over
the log certify intervals, because the Gaussian alone can become overconfident; with q > 0 no half-space is certain
and only the belief is kept.

Source: T. Minka, "A family of algorithms for approximate Bayesian inference" (2001), Section 3.2: moment matching of
step likelihoods.
"""

from __future__ import annotations

import math
from typing import Any

from evenhand.arguments import real
from evenhand.kernels.compose import routine
from evenhand.registry import register
from evenhand.rng import Seed
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.metric import (
    CONTRADICTED,
    MOVED,
    NOTHING,
    TAUGHT,
    append,
    dull,
    opened,
    project,
    squeeze,
    width,
)
from evenhand.similarity.metric_state import MetricState, Structure

FAR = 8.0
"""A verdict that was this many standard deviations from being in doubt teaches nothing."""


@routine
def cut(state: MetricState, copy: int, value: float, sign: float, precision: float) -> Any:
    error = state.error_rate
    length = state.length[0]
    if error > 0.0:
        return believe(state, copy, value, sign, error)
    if dull(state, copy, value, sign):
        return NOTHING
    low, high = opened(state, copy)
    if sign * (low if sign > 0.0 else high) > sign * value + 1e-9:
        return CONTRADICTED
    prior_radius = state.prior_radius
    if width(state, low * length, high * length) <= precision:
        mid, half = project(state, copy)
        if width(state, (mid - prior_radius * half) * length, (mid + prior_radius * half) * length) > precision:
            believe(state, copy, low, -1.0, 0.0)
            believe(state, copy, high, 1.0, 0.0)
            return MOVED
        return NOTHING
    mid, half = project(state, copy)
    status = NOTHING
    if prior_radius * half < 0.25 * (high - low):
        status = MOVED
        squeeze(state, copy, half, 1.0 - ((high - low) / (4.0 * prior_radius * half)) ** 2)
    # The verdict follows from the log; a guess outside the certified ends must still move, or it is played for ever.
    if not low < value < high:
        if mid < low:
            status = MOVED
            believe(state, copy, low, -1.0, 0.0)
        elif mid > high:
            status = MOVED
            believe(state, copy, high, 1.0, 0.0)
        return status
    append(state, copy, value, sign)
    believe(state, copy, value, sign, 0.0)
    return TAUGHT


@routine
def believe(state: MetricState, copy: int, value: float, sign: float, error: float) -> Any:
    """Match the moments of the belief times the likelihood of the verdict."""
    mid, half = project(state, copy)
    doubt = sign * (value - mid) / half
    if doubt > FAR:
        return NOTHING
    # This far out density and mass underflow to 0 / 0: their asymptotes stand in.
    if doubt < -25.0 and error == 0.0:
        pull, shrink = -doubt, 1.0 - 1.0 / (doubt * doubt)
    else:
        density = math.exp(-0.5 * doubt * doubt) * 0.3989422804014327
        mass = error + (1.0 - 2.0 * error) * 0.5 * math.erfc(-doubt * 0.7071067811865476)
        pull = (1.0 - 2.0 * error) * density / mass
        shrink = pull * (pull + doubt)
    for i in range(state.u.size):
        along = 0.0
        for j in range(state.u.size):
            along += state.factor[copy, i, j] * state.image[j]
        state.centre[copy, i] -= sign * pull * along / half
    # A factor of 1 would leave no width in this direction, and no later verdict could move the belief along it.
    squeeze(state, copy, half, min(shrink, 0.9999))
    return TAUGHT


def cautious_rate(error_rate: float) -> float:
    """Return the rate of wrong verdicts that a belief must assume so that it does not shrink too fast.

    Asked again and again about what it is least sure of, a belief with the rate q shrinks by the factor sqrt(1 - c^2) a
    verdict and moves by c standard deviations, c = (1 - 2q) sqrt(2/pi), whatever is answered. Where a share r of the
    verdicts is wrong it can travel (1 - 2r) c / (1 - sqrt(1 - c^2)) standard deviations in all; q is chosen so that
    these are 3.

    >>> [round(cautious_rate(r), 2) for r in (0.0, 0.05, 0.1, 0.2, 0.3)]
    [0.12, 0.16, 0.19, 0.26, 0.34]
    """
    ratio = 3.0 / (1.0 - 2.0 * error_rate)
    return 0.5 - math.sqrt(math.pi / 8.0) * 2.0 * ratio / (1.0 + ratio * ratio)


@register("similarity/moment-distance", kind="part")
class MomentDistance(DistanceLearner):
    """Learn a distance by a Gaussian belief over metrics that allows for wrong verdicts.

    Parameters
    ----------
    radius : at least the Frobenius norm of A'A; None begins at 2d and doubles when the verdicts contradict every
        metric.
    error_rate : the share of verdicts that may be wrong, at least the true one; 0 trusts all, and then intervals are
        certified. The belief assumes a higher rate, see `cautious_rate`, so that intervals still contain the truth as
        they shrink.
    shared : one learner for all pairs; False keeps one for each pair of positions, as in the paper.
    structure : which entries of A'A are learned, see `coordinates`.
    tolerance : how far the true d^2 may be from any Mahalanobis distance.
    precision : an interval of d narrower than this is not cut any more.
    seed : unused by this learner, kept so that learners are interchangeable.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> learner = MomentDistance(radius=2.0, error_rate=0.1)
    >>> for _ in range(20):
    ...     number = learner.verdict([1.0, 0.0], [0.0, 0.0], 0.6, unfair=True)
    ...     number = learner.verdict([1.0, 0.0], [0.0, 0.0], 0.4, unfair=False)
    >>> 0.4 < learner.bounds([1.0, 0.0], [0.0, 0.0])[1] < 0.6
    True

    Source: Minka (2001), Section 3.2, for the update; the use for metrics is ours.
    """

    _update_kernel = cut

    def __init__(
        self,
        *,
        radius: float | None = None,
        error_rate: float = 0.0,
        shared: bool = True,
        structure: Structure = "symmetric",
        tolerance: float = 0.0,
        precision: float = 0.02,
        seed: Seed = 0,
    ) -> None:
        super().__init__(
            radius=radius, shared=shared, structure=structure, tolerance=tolerance, precision=precision, seed=seed
        )
        self.error_rate = real("error_rate", error_rate, low=0, below=0.5)
        self.programs = self.error_rate == 0.0

    def _prior(self, m: int) -> dict[str, float]:
        assumed = cautious_rate(self.error_rate) if self.error_rate > 0.0 else 0.0
        return {"prior_radius": 3.0, "spread": 1.0 / math.sqrt(m + 2.0), "error_rate": assumed}
