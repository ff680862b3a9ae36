"""How a policy learns what an auditor says about a round, and how an exact metric learner whose verdicts cannot all
hold becomes a belief that allows for wrong ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.errors import VerdictError
from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import flat
from evenhand.similarity.learner import DistanceLearner
from evenhand.similarity.metric import CONTRADICTED, EQUAL, MOVED, TAUGHT
from evenhand.similarity.posterior import PosteriorDistance
from evenhand.similarity.reading import Pairs, RoundTicket
from evenhand.similarity.verdicts import Verdict

if TYPE_CHECKING:
    from evenhand.similarity import LipschitzUCB

ROBUST_BELIEF_WARNING = (
    "verdict: no metric agrees with all verdicts, so some are wrong; from now on the policy estimates how many "
    "are wrong, and its intervals are measured, not certified; you can withdraw those that are probably wrong"
)
"""What is said once, when a policy goes over to a robust belief."""


def learn_verdicts(policy: LipschitzUCB, ticket: RoundTicket, said: Ints, auditor: str | None) -> None:
    """Learn the verdicts said (k, k) about a round: 1 unfair, -1 acceptable, 0 silent.

    Raises
    ------
    VerdictError
        If they contradict every metric, and the policy refuses that; nothing has changed.
    """
    k, metric = len(said), policy.metric
    metric._make_room(2 * k * k)
    before = metric._copied_arrays()
    status = np.zeros((k, k), np.int64)
    gaps = ticket.gaps
    shown, p, undecided = ticket.contexts, ticket.probabilities, ticket.undecided
    arrays = flat(metric.state)
    contradicted = policy._kernels.learn_verdicts(shown, p, undecided, said, status, policy.params, arrays)
    taken = {
        (i, j): Verdict(0, shown[i], shown[j], float(gaps[i, j]), bool(said[i, j] > 0), number, auditor)
        for i, j, number in policy.pairs(k)
        if status[i, j] != 0 or said[i, j] != 0
    }
    verdicts = list(taken.values())
    opposite = [pair for n, pair in enumerate(taken) if metric.contradicts(verdicts[n], verdicts[:n])]
    if contradicted or opposite:
        # The kernels have learned the round's other pairs already: without this a refused report would leave traces.
        metric._put_back(before)
        if switches_on_contradiction(policy):
            switch_to_robust_belief(policy)
            learn_verdicts(policy, ticket, said, auditor)
            return
        i, j = next(pair for pair in taken if status[pair] == CONTRADICTED or pair in opposite)
        beside = [verdict for pair, verdict in taken.items() if pair < (i, j)]
        raise metric.refusal(*beside, taken[i, j], where=f"pair ({i}, {j}): ")
    silent = _silent(policy, said)
    for i, j, number in policy.pairs(k):
        if status[i, j] in (TAUGHT, MOVED) or said[i, j] != 0:
            metric.log.record(taken[i, j])
        elif silent and gaps[i, j] > EQUAL:
            heard = Verdict(0, shown[i], shown[j], float(gaps[i, j]), False, number, auditor)
            metric.log.record(heard, idle=not isinstance(metric, PosteriorDistance))


def named_pairs(policy: LipschitzUCB, number: int, violations: Pairs | bool) -> Pairs:
    """Return the pairs that an auditor of an open decision names.

    Raises
    ------
    VerdictError
        If it is only said that something was unfair; the message lists the pairs to choose from.
    """
    if not isinstance(violations, (bool, np.bool_)):
        return violations
    if not violations:
        return ()
    pairs = policy.questions(number)
    told = f"Candidates, most telling first: {pairs}" if pairs else "No pair of this round teaches anything new"
    which = "true says too little; which pair was unfair?"
    raise VerdictError(f"violations: {which} {told}; nothing has changed")


def _silent(policy: LipschitzUCB, said: Ints) -> bool:
    """Return whether the pairs that were not named count as answers that are kept.

    Nothing is wrong where every verdict is trusted: what follows from the others then need not be kept.
    """
    errs = policy.metric.error_rate > 0.0 or policy.on_contradiction == "robust"
    unnamed = policy.silence == "acceptable" or not (said > 0).any()
    return errs and policy.silence != "nothing" and unnamed


def switches_on_contradiction(policy: LipschitzUCB) -> bool:
    """Return whether a contradiction makes the policy go over to a robust belief."""
    return policy.on_contradiction == "robust" and policy.metric.error_rate == 0.0


def switch_to_robust_belief(policy: LipschitzUCB) -> None:
    """Believe from now on that some verdicts are wrong: the belief is told the whole log of the exact learner."""
    exact = policy.metric
    shape = {name: vars(exact)[name] for name in ("shared", "structure", "tolerance", "precision", "seed")}
    believe_anew(policy, PosteriorDistance(radius=exact.radius_reached, **shape))


def believe_anew(policy: LipschitzUCB, belief: DistanceLearner) -> None:
    """Let another learner take the place of the policy's, and tell it the whole log."""
    exact = policy.metric
    belief._taught_as(exact)
    # Whoever waits for the old learner's lock must not run beside whoever takes the new one's.
    belief._lock = exact._lock
    policy.adopt(belief)
    policy.exact = policy.exact or exact.fresh()
