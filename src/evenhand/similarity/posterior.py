"""A belief about the metric for auditors who err, together with the rate of their errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arguments import real
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import routine
from evenhand.parameters import locked
from evenhand.registry import register
from evenhand.rng import Seed, generator
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.line_walk import (
    RATES,
    Answers,
    MetricCone,
    log_weights,
    rate_density,
    start,
    walk,
    wrong_under,
)
from evenhand.similarity.metric import EQUAL, NOTHING, TAUGHT
from evenhand.similarity.metric_state import MetricState, Structure, directions, root
from evenhand.similarity.misfit import ALARM, Misfit, misfit
from evenhand.similarity.verdicts import Suspect, Verdict, half_spaces, ranked

WALKS, STEPS, DRAWS = 2, 300, 500
"""Two walks of so many steps per coordinate; the first quarter is left out, and of the rest so many are kept."""

GROWN = 1.1
"""The belief is formed anew when there are so many times as many answers."""

JUDGED = 5
"""Every fifth draw is judged by whether answers fit it."""

LEVEL = 0.99
"""Of each walk's interval; what is quoted as 95 %."""

EDGE = 0.1
"""Where the lower end of d^2 is this small beside the upper one, it is 0.

Matrices that are nearly singular have nearly no volume, so that walks keep away from a distance of 0, which metrics
that leave out a feature have."""

COIN = 0.45
"""Where the rate of wrong answers may be this large, answers say nothing."""

UNKNOWN_SPREAD = 1e6
"""Policies are shown intervals as much wider where distances are not known."""


class MetricDraws(NamedTuple):
    """What is believed of one metric.

    Attributes
    ----------
    metrics : the draws (walks, n, m).
    rate : the upper 95 % bound of the rate of wrong answers, of the auditor who errs least.
    misfit : what speaks against every metric; None where `at_most` says how many answers are wrong, whichever.
    possible : whether any metric was found that the answers allow.
    """

    metrics: Floats
    rate: float
    misfit: Misfit | None
    possible: bool = True

    def against(self, features: Sequence[str] = ()) -> str | None:
        """Return what speaks against every metric, in words; None where nothing does."""
        if not self.possible:
            return f"no metric was found under which at most {self.rate:.0%} of the answers are wrong"
        if self.misfit is None or self.misfit.e < ALARM:
            return None
        return f"the answers fit no metric (e-value {self.misfit.e:.3g}): {self.misfit.words(features)}"

    def unknown(self, features: Sequence[str] = ()) -> str | None:
        """Return why nothing is known, in words; None where something is."""
        many = self.rate >= COIN and self.misfit is not None
        return self.against(features) or (f"up to {self.rate:.0%} of the answers may be wrong" if many else None)


@routine
def cut(state: MetricState, copy: int, value: float, sign: float, precision: float) -> Any:
    return TAUGHT if value > 0.0 else NOTHING


@register("similarity/posterior-distance", kind="part")
class PosteriorDistance(DistanceLearner):
    """Learn a distance from answers that may be wrong, together with the rate of wrong answers.

    The belief is the posterior of the metric (uniform up to the radius) and of each auditor's rate of wrong answers
    (Beta(1, 4), at most a half), by two random walks over all answers; see `line_walk`. An interval is the hull of the
    two walks' 99 % intervals; read it as 95 %, because walks are finite. It assumes that the distance is a Mahalanobis
    distance and that every answer of an auditor is wrong with the same probability, whatever was asked. If answers are
    evidence against this (`misfit`), or the rate may be near a half, intervals are [0, 1] and `caveat()` says why. A
    few auditors who always lie about the same kind of pair are not noticed: `at_most` allows for them.

    Parameters
    ----------
    radius : at least the Frobenius norm of A'A; None is 2d.
    at_most : the largest share of wrong answers, whoever lies about what; None for errors at random. An interval then
        covers every metric under which no more answers are wrong, as far as the walks find them.
    shared : one learner for all pairs; False keeps one for each pair of positions.
    structure : which entries of A'A are learned, see `coordinates`.
    tolerance : how far the true d^2 may be from any Mahalanobis distance.
    precision : an interval of d narrower than this is not asked about any more.
    seed : the seed of the walks.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> learner, draws = PosteriorDistance(radius=1.0, seed=1), np.random.default_rng(1)
    >>> for _ in range(100):
    ...     x, gap = draws.uniform(0.2, 1.0), draws.uniform(0.05, 0.95)
    ...     number = learner.verdict([x], [0.0], gap, bool((0.6 * x < gap) != (draws.random() < 0.1)))
    >>> low, guess, high = learner.bounds([1.0], [0.0])
    >>> low < 0.6 < high, high - low < 0.2
    (True, True)

    Source: R. L. Smith (1984) for the walk; the belief and the test of fit are ours.
    """

    _update_kernel = cut
    error_rate = 0.2
    """The mean of the rate's prior; what was learned is in `rate`."""
    stepped = True

    def __init__(
        self,
        *,
        radius: float | None = None,
        at_most: float | None = None,
        shared: bool = True,
        structure: Structure = "symmetric",
        tolerance: float = 0.0,
        precision: float = 0.02,
        seed: Seed = 0,
    ) -> None:
        super().__init__(
            radius=radius, shared=shared, structure=structure, tolerance=tolerance, precision=precision, seed=seed
        )
        self.at_most = None if at_most is None else real("at_most", at_most, low=0, below=0.5)
        self._told, self._draws = 0, list[MetricDraws | None]()

    def _prior(self, m: int) -> dict[str, float]:
        return {"prior_radius": 2.5758, "spread": 1.0 / math.sqrt(m + 2.0)}

    # ------------------------------------------------------------------ what is believed

    @locked
    def bounds(self, x: ArrayLike, y: ArrayLike, *, pair: int = 0) -> tuple[float, float, float]:
        """Return (low, guess, high) of the distance between two individuals x and y (d,), all in [0, 1]; the ends are
        0 and 1 where it is not known, see `caveat`.

        Raises
        ------
        ArgumentError
            If x or y are not finite vectors of one dimension, or `pair` has no learner.
        """
        low, guess, high = super().bounds(x, y, pair=pair)
        return (0.0, guess, 1.0) if self.caveat() and not np.array_equal(x, y) else (low, guess, high)

    @locked
    def caveat(self, features: Sequence[str] = ()) -> str | None:
        """Return why no distance is known, in words, features by these names; None where distances are known."""
        self._renew()
        reasons = [reason for draws in self._draws if draws is not None and (reason := draws.unknown(features))]
        return f"distances are unknown: {reasons[0]}" if reasons else None

    @property
    def guarantee(self) -> str:
        """How far the intervals can be trusted: "measured, not certified", or "not known"."""
        return "not known" if self.caveat() else "measured, not certified"

    @property
    @locked
    def rate(self) -> float | None:
        """The upper 95 % bound of the share of wrong answers, of the auditor who errs least; None before any."""
        self._renew()
        return max((draws.rate for draws in self._draws if draws is not None), default=None)

    @property
    @locked
    def misfit(self) -> Misfit | None:
        """What speaks most against every metric, with its e-value; None before any answer."""
        self._renew()
        found = [draws.misfit for draws in self._draws if draws is not None and draws.misfit is not None]
        return max(found, key=lambda one: one.e, default=None)

    @locked
    def suspects(self) -> list[Suspect]:
        """Return each verdict with the probability that it is wrong, the largest first: the share of the drawn metrics
        under which it is wrong, or, before any draw, the prior's rate of errors."""
        verdicts = self.verdicts
        self._renew()
        chances = np.full(len(verdicts), self.error_rate)
        for copy, draws in enumerate(self._draws):
            mine = [n for n, verdict in enumerate(verdicts) if self.shared or verdict.pair == copy]
            if draws is not None and mine:
                answers = self._answers([verdicts[n] for n in mine])
                chances[mine] = wrong_under(np.concatenate(draws.metrics), answers).mean(axis=0)
        return ranked(verdicts, chances)

    # ------------------------------------------------------------------ for policies

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The kernels' fields: the mean and the covariance of the draws, far wider where distances are not known."""
        self._renew()
        return self._arrays

    def replay(self) -> None:
        """Believe what the log says, from the beginning."""
        assert self.dimension is not None
        self._allocate(self.dimension, self.copies)

    # ------------------------------------------------------------------ files

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        drawn = [
            None if one is None else [one.metrics, one.rate, one.misfit and list(one.misfit), one.possible]
            for one in self._draws
        ]
        return super().snapshot() | {"told": self._told, "draws": drawn}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the learner that `snapshot` was taken of."""
        learner = super().restored(snapshot)
        learner._told = snapshot["told"]
        learner._draws = [
            kept and MetricDraws(metrics=kept[0], rate=kept[1], misfit=kept[2] and Misfit(*kept[2]), possible=kept[3])
            for kept in snapshot["draws"]
        ]
        return learner

    # ------------------------------------------------------------------ inside

    def _allocate(self, dimension: int, copies: int) -> None:
        super()._allocate(dimension, copies)
        self._told, self._draws = 0, []

    def _ends(self, x: ArrayLike, y: ArrayLike, pair: int) -> tuple[float, float, float]:
        first, second = self._checked_pair(x, y, pair)
        self._renew()
        draws = self._draws[0 if self.shared else int(pair)] if self._draws else None
        if draws is None:
            return super()._ends(x, y, pair)
        squares = np.einsum("wnm,m->wn", draws.metrics, directions(self.state, first - second))
        tails = (0.0, 1.0) if self.at_most is not None else (0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL)
        low, high = np.quantile(squares, tails, axis=1)
        least, most = float(low.min()), float(high.max()) + self.tolerance
        least = 0.0 if least <= EDGE * most else least - self.tolerance
        return least, min(root(self.state, min(max(float(squares.mean()), least), most)), 1.0), most

    def _renew(self) -> None:
        """Draw metrics anew where there are a tenth more answers than they were drawn for.

        What is believed is a function of the first answers of the log, so that a withdrawn one leaves no trace.
        """
        told = last_renewal(len(self.log.entries))
        if self.dimension is None or told == self._told:
            return
        alarmed = any(draws is not None and draws.against() for draws in self._draws)
        answers = [verdict for verdict in self.log.entries[:told] if verdict.gap > EQUAL]
        self._told, self._draws = told, []
        for copy in range(self.copies):
            mine = [verdict for verdict in answers if self.shared or verdict.pair == copy]
            self._draws.append(self._drawn(mine, copy) if mine else None)
        reasons = [reason for draws in self._draws if draws is not None and (reason := draws.against())]
        if reasons and not alarmed:
            warnings.warn(f"verdict: {reasons[0]}; no distance is known, intervals are [0, 1]", stacklevel=5)

    def _drawn(self, told: Sequence[Verdict], copy: int) -> MetricDraws:
        """Return the belief that these answers leave, and show it to the kernels."""
        answers, state = self._answers(told), self.state
        metrics = MetricCone(state.rows, state.columns, state.scales, float(state.radius[copy]))
        weights, first = log_weights(answers, self.at_most), start(answers, metrics)
        steps = STEPS * first.size
        passed = np.stack(
            [
                walk(answers, metrics, weights, first, steps, generator(self.seed, self._told, copy, number))[
                    steps // 4 :
                ]
                for number in range(WALKS)
            ]
        )
        people = np.array([verdict.x for verdict in told]), np.array([verdict.y for verdict in told])
        draws = believed(passed, answers, people) if self.at_most is None else allowed(passed, answers, self.at_most)
        all, wider = np.concatenate(draws.metrics), UNKNOWN_SPREAD if draws.unknown() else 1.0
        state.centre[copy] = all.mean(axis=0)
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(all.T)))
        state.factor[copy] = vectors * np.sqrt(np.maximum(values, 1e-18)) * wider
        return draws

    def _answers(self, told: Sequence[Verdict]) -> Answers:
        names = list(dict.fromkeys(verdict.auditor for verdict in told))
        return Answers(*half_spaces(self.state, told), np.array([names.index(verdict.auditor) for verdict in told]))


def believed(passed: Floats, answers: Answers, people: Any) -> MetricDraws:
    """Return what is believed after walks (walks, steps, m), where auditors err at random."""
    kept = passed[:, np.linspace(0, passed.shape[1] - 1, DRAWS).astype(np.int64)]
    wrong, bounds = wrong_under(np.concatenate(kept), answers), list[float]()
    for auditor in np.unique(answers.auditors):
        mine = answers.auditors == auditor
        density = rate_density(wrong[:, mine].sum(axis=1), int(mine.sum()))
        bounds.append(float(RATES[np.searchsorted(np.cumsum(density), 0.95)]))
    return MetricDraws(kept, min(bounds), misfit(np.concatenate(kept[:, ::JUDGED]), answers, people))


def allowed(passed: Floats, answers: Answers, at_most: float) -> MetricDraws:
    """Return the metrics among those of walks under which at most this share of the answers is wrong."""
    metrics = np.concatenate(passed)
    counts = np.concatenate([wrong_under(part, answers).sum(axis=1) for part in np.array_split(metrics, 20)])
    few = counts <= int(at_most * len(answers.signs))
    return MetricDraws((metrics[few] if few.any() else metrics)[None], at_most, None, bool(few.any()))


def last_renewal(count: int) -> int:
    """Return how many of so many answers the belief is formed by: 1, 2, ..., 10, 11, 13, ..., a tenth more each.

    >>> [last_renewal(n) for n in (0, 7, 11, 12, 13, 100)]
    [0, 7, 11, 11, 13, 94]
    """
    due, after = 0, 1
    while after <= count:
        due, after = after, max(after + 1, math.ceil(GROWN * after))
    return due
