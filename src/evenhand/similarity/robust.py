"""What becomes of an exact learner whose verdicts cannot all hold: a belief that allows for wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.similarity.contradictions import disputed
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.moments import MomentDistance
from evenhand.similarity.verdicts import Verdict

__all__ = ["announcement", "robust_belief"]

LEAST, MOST = 0.05, 0.3
"""The share of wrong verdicts that a robust belief is prepared for is kept between these."""


def robust_belief(learner: DistanceLearner, report: Sequence[Verdict]) -> MomentDistance:
    """Return a belief that was told the log of an exact learner, before a report that contradicts it.

    It is prepared for the share of verdicts that contradict the others, kept between 0.05 and 0.3.
    """
    answers = [*learner.verdicts, *(v._replace(id=learner.log.next + n) for n, v in enumerate(report))]
    wrong = len(disputed(answers, (), learner.state, learner.widest))
    belief = MomentDistance(
        radius=learner.radius_reached,
        error_rate=min(max(LEAST, wrong / len(answers)), MOST),
        shared=learner.shared,
        structure=learner.structure,
        tolerance=learner.tolerance,
        precision=learner.precision,
        seed=learner.seed,
    )
    belief.begin(learner.dimension or 0, learner.copies)
    belief.log.entries, belief.log.next = list(learner.log.entries), learner.log.next
    belief.replay()
    return belief


def announcement(belief: DistanceLearner) -> str:
    """Word what is said once, when a policy goes over to a robust belief."""
    return (
        "verdict: no metric agrees with all verdicts, so some are wrong; from now on the policy believes that about "
        f"{belief.error_rate:.0%} of them are, and its intervals are {belief.guarantee}; suspects() lists the "
        "likeliest, withdraw(id) takes one back"
    )
