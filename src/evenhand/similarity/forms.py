"""Which form of distance answers support: a root of squares, or a sum of absolute differences."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from evenhand.errors import VerdictError
from evenhand.similarity.contradictions import disputed
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.metric_state import Structure
from evenhand.similarity.moments import MomentDistance
from evenhand.similarity.verdicts import Verdict

ROOT, SUM = "a root of weighted squares of differences", "a weighted sum of absolute differences"


def named(structure: Structure) -> str:
    """Return the form of distances under a structure, in words."""
    return SUM if structure == "absolute" else ROOT


def other(structure: Structure) -> Structure:
    """Return the structure of the other form."""
    return "symmetric" if structure == "absolute" else "absolute"


def contradicting(verdicts: Sequence[Verdict], structure: Structure, dimension: int) -> int:
    """Return how many verdicts must be wrong, about the fewest, if distances have this form."""
    learner = MomentDistance(structure=structure)
    learner.begin(dimension)
    return len(disputed(verdicts, [], learner.state, learner.widest))


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


def hull(metrics: Sequence[DistanceLearner], x: object, y: object) -> tuple[float, float]:
    """Return the least and the largest distance that any of the metrics leaves possible."""
    ends = [metric.bounds(x, y) for metric in metrics]  # type: ignore[arg-type]
    return min(low for low, _, _ in ends), max(high for _, _, high in ends)
