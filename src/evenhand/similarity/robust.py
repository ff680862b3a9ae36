"""What becomes of an exact learner whose verdicts cannot all hold: a belief that allows for wrong ones."""

from __future__ import annotations

from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.posterior import PosteriorDistance

ANNOUNCEMENT = (
    "verdict: no metric agrees with all verdicts, so some are wrong; from now on the policy learns from all verdicts "
    "how many are, and its intervals are measured, not certified; those that are probably wrong can be withdrawn"
)
"""What is said once, when a policy goes over to a robust belief."""


def robust_belief(learner: DistanceLearner) -> PosteriorDistance:
    """Return a belief that was told the log of an exact learner, before a report that contradicts it."""
    belief = PosteriorDistance(
        radius=learner.radius_reached,
        shared=learner.shared,
        structure=learner.structure,
        tolerance=learner.tolerance,
        precision=learner.precision,
        seed=learner.seed,
    )
    belief.begin(learner.dimension or 0, learner.copies)
    belief.log.entries, belief.log.next = list(learner.log.verdicts), learner.log.next
    belief.replay()
    return belief
