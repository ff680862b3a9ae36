"""What becomes of an exact learner whose verdicts cannot all hold: a belief that allows for wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from evenhand.similarity.contradictions import disputed
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.moments import MomentDistance
from evenhand.similarity.posterior import PosteriorDistance
from evenhand.similarity.verdicts import Verdict

__all__ = ["Robust", "announcement", "robust_belief"]

Robust = Literal["posterior", "moments"]
LEAST, MOST = 0.05, 0.3
"""The share of wrong verdicts that a belief by moments is prepared for is kept between these."""


def robust_belief(learner: DistanceLearner, report: Sequence[Verdict], kind: Robust) -> DistanceLearner:
    """Return a belief that was told the log of an exact learner, before a report that contradicts it."""
    belief = _by_moments(learner, report) if kind == "moments" else _by_walks(learner)
    belief.begin(learner.dimension or 0, learner.copies)
    log = learner.log
    belief.log.entries, belief.log.next = list(log.entries if kind == "moments" else log.verdicts), log.next
    belief.replay()
    return belief


def announcement(belief: DistanceLearner) -> str:
    """Word what is said once, when a policy goes over to a robust belief."""
    many = "learns from all verdicts how many are"
    if isinstance(belief, MomentDistance):
        many = f"believes that about {belief.error_rate:.0%} of them are"
    return (
        f"verdict: no metric agrees with all verdicts, so some are wrong; from now on the policy {many}, and its "
        "intervals are measured, not certified; suspects() lists the likeliest, withdraw(id) takes one back"
    )


def _by_walks(learner: DistanceLearner) -> PosteriorDistance:
    return PosteriorDistance(
        radius=learner.radius_reached,
        shared=learner.shared,
        structure=learner.structure,
        tolerance=learner.tolerance,
        precision=learner.precision,
        seed=learner.seed,
    )


def _by_moments(learner: DistanceLearner, report: Sequence[Verdict]) -> MomentDistance:
    """Return a belief that is prepared for the share of verdicts that contradict the others, within 0.05 and 0.3."""
    answers = [*learner.verdicts, *(v._replace(id=learner.log.next + n) for n, v in enumerate(report))]
    wrong = len(disputed(answers, (), learner.state, learner.widest))
    return MomentDistance(
        radius=learner.radius_reached,
        error_rate=min(max(LEAST, wrong / len(answers)), MOST),
        shared=learner.shared,
        structure=learner.structure,
        tolerance=learner.tolerance,
        precision=learner.precision,
        seed=learner.seed,
    )
