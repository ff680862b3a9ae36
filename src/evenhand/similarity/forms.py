"""Which form of distance answers support: a root of squares, or a sum of absolute differences."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.errors import VerdictError, first_few
from evenhand.kernels.arrays import Floats
from evenhand.similarity.contradictions import fewest
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.metric_state import Structure
from evenhand.similarity.moments import MomentDistance
from evenhand.similarity.posterior import PosteriorDistance, last_renewal
from evenhand.similarity.verdicts import NAMED, Verdict

ROOT, SUM = "a root of weighted squares of differences", "a weighted sum of absolute differences"
SLIPS, RARELY = 0.05, 0.01
"""No form fits where, if this share of answers were wrong, as many as contradict each form would have this probability.
The fewest that contradict a form are fewer than are wrong: of people who err this often, at most 4 in 1,000 are stopped
in 150 answers."""


def named(structure: Structure) -> str:
    """Return the form of distances under a structure, in words."""
    return SUM if structure == "absolute" else ROOT


def other(structure: Structure) -> Structure:
    """Return the structure of the other form."""
    return "symmetric" if structure == "absolute" else "absolute"


class Against(NamedTuple):
    """The ids of the fewest answers that were found whose absence leaves none against a form, and how many contradict
    the form at least: as many, unless they are too many to search through."""

    ids: list[int]
    least: int

    def __str__(self) -> str:
        """Return how many answers contradict the form, in words."""
        return str(self.least) if self.least == len(self.ids) else f"{self.least} to {len(self.ids)}"


def contradicting(verdicts: Sequence[Verdict], structure: Structure, dimension: int) -> Against:
    """Return the answers that contradict distances of this form."""
    learner = MomentDistance(structure=structure)
    learner.begin(dimension)
    return Against(*fewest(verdicts, learner.state, learner.widest))


def agreeing(verdicts: Sequence[Verdict], structure: Structure) -> MomentDistance | None:
    """Return a learner of this form that was told the verdicts; None where no distance of the form agrees with all."""
    learner = MomentDistance(structure=structure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a radius that grows is no news about a form that is only tried
        try:
            for verdict in verdicts:
                learner.verdict(verdict.x, verdict.y, verdict.gap, verdict.unfair)
        except VerdictError:
            return None
    return learner


def hull(metrics: Sequence[DistanceLearner], differences: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest distances (n,) that any of the metrics leaves possible of pairs that differ by
    so much (n, d)."""
    ends = np.array([metric._intervals(differences) for metric in metrics])
    return ends[..., 0].min(axis=0), ends[..., 2].max(axis=0)


class Forms:
    """The forms of distance that answers leave possible.

    Parameters
    ----------
    errors : the share of answers that may be wrong.
    """

    def __init__(self, errors: float) -> None:
        self._errors = errors
        self._tried: tuple[tuple[int, ...], DistanceLearner | None] = ((), None)
        self._searched: tuple[tuple[int, ...], list[Against]] = ((), [Against([], 0)] * 2)

    def possible(self, metric: DistanceLearner) -> list[DistanceLearner]:
        """Return the metric, and that of the other form where the answers agree with it about as well."""
        if metric.dimension == 1:
            return [metric]
        told = (metric.structure == "absolute", *(verdict.id for verdict in metric.verdicts))
        if self._tried[0] != told:
            structure = other(metric.structure)
            if metric.error_rate == 0.0:
                rival: DistanceLearner | None = agreeing(metric.verdicts, structure)
            else:
                rival = self._learner(metric)._taught_as(metric) if self._worse(metric) <= 1 else None
            self._tried = told, rival
        return [metric] if self._tried[1] is None else [metric, self._tried[1]]

    def better(self, metric: DistanceLearner, at_once: bool) -> DistanceLearner | None:
        """Return another learner where answers contradict the form that was supposed: one that trusts all of them where
        they agree with a form, or one of the other form where they agree better with it; not after every answer unless
        at once."""
        n = len(metric.verdicts)
        if metric.error_rate == 0.0 or (last_renewal(n) != n and not at_once):
            return None
        wrong, better = self._wrong(metric), -self._worse(metric)
        if self._errors == 0.0 and min(wrong) == 0:
            return MomentDistance(structure=other(metric.structure) if better > 0 else metric.structure)
        enough = metric.dimension != 1 and better >= (1 if min(wrong) == 0 else 2)  # one answer fewer may be chance
        return self._learner(metric) if enough else None

    def in_words(self, metric: DistanceLearner) -> str:
        """Return which form of distance is supposed, and whether the answers agree with it."""
        d, n = metric.dimension, len(metric.verdicts)
        mine, theirs = named(metric.structure), named(other(metric.structure))
        if d == 1 and metric.error_rate == 0.0:
            return "It is supposed that distances are proportional to the difference in the one feature"
        if metric.error_rate == 0.0:
            if len(self.possible(metric)) == 1:
                return f"Distances are {mine}: no answer contradicts this form, but {theirs} contradicts some"
            return f"The answers agree with {mine} and with {theirs}: of two distances the smaller one counts"
        root, total = self._against(metric)
        if self.fit(metric) and len(self.possible(metric)) > 1:
            either = f"{root} and {total} of {n} answers contradict these forms"
            return f"Distances may be {ROOT} or {SUM}: {either}, and of two distances the smaller one counts"
        counts = f"{root} of {n} answers contradict {ROOT}, {total} {SUM}"
        if not self.fit(metric):
            few = first_few(self.doubted(metric), NAMED)
            either = f"people may be compared in another way; one way to explain it is that these are wrong: {few}"
            return f"No form of distance fits {'the' if self.hopeless(metric) else 'all'} answers: {counts}; {either}"
        return f"It is supposed that distances are {mine}: {counts}"

    def fit(self, metric: DistanceLearner) -> bool:
        """Return whether one of the forms agrees with as many answers as are supposed to be right."""
        return metric.error_rate == 0.0 or not self._unlikely(metric, self._errors)

    def doubted(self, metric: DistanceLearner) -> list[int]:
        """Return the numbers of the answers that are probably wrong; where no form fits, of the fewest that were found
        without which one does."""
        if not self.fit(metric):
            return min((against.ids for against in self._against(metric)), key=len)
        return [one.id for one in metric.suspects() if one.wrong > 0.5]

    def hopeless(self, metric: DistanceLearner) -> bool:
        """Return whether so many answers contradict each form that no further ones would help."""
        if metric.error_rate == 0.0 or min(self._wrong(metric)) <= 2:
            return False
        return self._unlikely(metric, max(self._errors, SLIPS))

    def _unlikely(self, metric: DistanceLearner, share: float) -> bool:
        """Return whether as many wrong answers as contradict each form are unlikely where this share is wrong."""
        from scipy.stats import binom

        return bool(binom.sf(min(self._wrong(metric)) - 1, len(metric.verdicts), share) < RARELY)

    def _worse(self, metric: DistanceLearner) -> int:
        """Return how many answers more contradict the other form than that of the metric."""
        root, total = self._wrong(metric)
        return root - total if metric.structure == "absolute" else total - root

    def _learner(self, metric: DistanceLearner) -> DistanceLearner:
        """Return a learner of the other form that trusts answers as far as the metric's does, or as far as it may."""
        structure = other(metric.structure)
        if self._errors == 0.0 and self._wrong(metric)[structure == "absolute"] > 0:
            return PosteriorDistance(structure=structure)
        return MomentDistance(structure=structure, error_rate=self._errors)

    def _wrong(self, metric: DistanceLearner) -> list[int]:
        """Return how many answers one has to leave out for each of the two forms, as far as was found."""
        return [len(against.ids) for against in self._against(metric)]

    def _against(self, metric: DistanceLearner) -> list[Against]:
        """Return the answers that contradict each of the two forms."""
        told = tuple(verdict.id for verdict in metric.verdicts)
        if self._searched[0] != told:
            d = metric.dimension or 0
            self._searched = told, [contradicting(metric.verdicts, one, d) for one in ("symmetric", "absolute")]
        return self._searched[1]
