"""A refused proposal is held: what a learner needs that must be told of its own choices alone.

Under a promise that forces plays, a learner that weighs rewards by the probabilities of its own choices, such as
Tsallis-INF, learns from arms that it did not choose, and never sees some that it did. So its proposal is held: it stays
the proposal of the next rounds until it is granted, and the learner is told the rewards of granted proposals alone.
With rewards that are drawn independently it then lives through an ordinary run, in its own rounds, and under floors of
single arms

    E r-regret(T) <= regret of the learner alone after at most T rounds + (n_+ - 1) max gap,

n_+ being the number of arms that are owed something: a play is forced only towards a round s by which all plays up to s
are owed, so that the arm forced has at most its floor at s after it, and what all arms are ahead of their floors by
for that reason is less than n_+.

While the arm of a pending proposal is not on offer, or is at its cap, the learner goes on with new proposals, as the
held one may wait for ever; those that are refused meanwhile are given up. None of this is covered by the bound, which
is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, Kernel, bind, kernel
from evenhand.learners.adapter import learner_facts
from evenhand.policy.kernel_set import Kernels, RewardContext, deterministic, sampled
from evenhand.promises.promise import Promise
from evenhand.promises.rule_state import RuleState
from evenhand.quotas.quota_kernels import Around, rank_proposal

learner_choose = learner_update = learner_probability = rule_choose = may_come = OPEN


class PendingProposal(NamedTuple):
    """The state of a learner whose refused proposals are pending."""

    proposal: Ints
    """(2,): the proposal that is pending, -1 where none is, and the proposal of the latest round."""
    why: Ints
    """(2,): their reasons."""
    chance: Floats
    """(2,): the probabilities with which the learner proposed them, -1 where nobody knows."""
    told: Floats
    """(1,): that of the latest round's proposal if it was granted, 0 if it was not."""
    granted: Ints
    """(1,): how many proposals were granted."""
    learner: Any


def holds_proposals(learner: object, promise: Promise, contextual: bool) -> bool:
    """Return whether a learner's refused proposals are held under a promise.

    Raises
    ------
    ArgumentError
        If they would have to be, and cannot.
    """
    if not learner_facts(learner).own_choices:
        return False
    cases = (promise.plays > 1, "several are played"), (contextual, "it sees contexts")
    for so, why in (*cases, (promise.weight is not None, "shares are of a weight")):
        if so:
            what = f"one without own_choices, as {why}"
            raise ArgumentError(expected("learner", what, type(learner).__name__, "draw by lottery="))
    return True


def no_proposal(learner: object) -> PendingProposal:
    """Return the state before the first round, around that of a learner."""
    return PendingProposal(
        np.full(2, -1), np.zeros(2, np.int64), np.full(2, -1.0), np.full(1, -1.0), np.zeros(1, np.int64), learner
    )


@kernel
def always(state: object, arm: int, now: int) -> bool:
    """Stand for `has_room` where every arm is on offer and none has a cap."""
    return True


@kernel
def has_room(state: RuleState, arm: int, now: int) -> bool:
    """Return whether an arm is on offer in the next round and may be played as far as its cap goes."""
    return state.offered[arm] == 1 and state.cap_whole[arm] <= now


@kernel
def propose(pending: PendingProposal, proposal: int, why: int, chance: float) -> None:
    """Make this the proposal of the round."""
    pending.proposal[1], pending.why[1], pending.chance[1] = proposal, why, (-1.0 if math.isnan(chance) else chance)


@kernel
def restore_proposal(state: Around, now: int) -> bool:
    """Make the pending proposal that of the round; return whether there is one that may come."""
    pending = state.learner
    if pending.proposal[0] < 0 or not may_come(state, pending.proposal[0], now):
        return False
    pending.proposal[1], pending.why[1], pending.chance[1] = pending.proposal[0], pending.why[0], pending.chance[0]
    pending.proposal[0] = -1
    return True


@kernel
def resolve_proposal(pending: PendingProposal, arm: int) -> None:
    """Keep the proposal of the round if another arm is played, and none is pending already."""
    if arm == pending.proposal[1]:
        pending.told[0] = pending.chance[1]
        pending.granted[0] += 1
        return
    pending.told[0] = 0.0
    if pending.proposal[0] < 0:
        pending.proposal[0], pending.why[0], pending.chance[0] = pending.proposal[1], pending.why[1], pending.chance[1]


@kernel
def _choose(params: Around, state: Around, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    pending = state.learner
    if not restore_proposal(state, round - 1):
        proposal, why = learner_choose(params.learner, pending.learner, contexts, pending.granted[0] + 1, waiting)
        propose(pending, proposal, why, learner_probability(params.learner, pending.learner, proposal))
    arm, why = rule_choose(params, state, contexts, round, waiting)
    resolve_proposal(pending, arm)
    return arm, why


@kernel
def _update(params: Around, state: Around, contexts: Floats, index: int, reward: float, ticket: RewardContext) -> None:
    pending = state.learner
    if ticket.probability != 0.0:
        own = RewardContext(pending.granted[0], ticket.probability)
        learner_update(params.learner, pending.learner, contexts, index, reward, own)


@kernel
def _proposal(params: object, pending: PendingProposal, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    return pending.proposal[1], pending.why[1]


@kernel
def _proposal_first(
    params: object, pending: PendingProposal, contexts: Floats, round: int, waiting: Ints, scores: Floats
) -> int:
    """Rank the proposal first, and then what the learner is the most likely to propose."""
    for arm in range(scores.size):
        scores[arm] = pending.learner.probabilities[arm]
    scores[pending.proposal[1]] = 2.0
    return pending.why[1]


@kernel
def _told(params: object, state: Around, index: int) -> float:
    told = state.learner.told[0]
    return math.nan if told < 0.0 else float(told)


CALLED_FROM_PYTHON = Kernels(_choose, _update, _told)
"""Of a learner from elsewhere: what is said to it is decided in Python."""


def with_pending_proposal(learner: Kernels, under_rule: Callable[[Kernels], Kernels], may_come: Kernel) -> Kernels:
    """Return the kernels of a learner whose refused proposals are pending.

    Parameters
    ----------
    under_rule : returns the kernels of a learner under the rule.
    may_come : `has_room` where the rule's state says which arms are on offer and how far their caps go, else `always`.
    """
    ranks = _proposal_first if learner.probability is sampled else bind(rank_proposal, learner_choose=_proposal)
    rule = under_rule(Kernels(_proposal, _update, deterministic, rank=ranks))
    callees = {"learner_choose": learner.choose, "learner_probability": learner.probability}
    choose = bind(
        _choose, rule_choose=rule.choose, restore_proposal=bind(restore_proposal, may_come=may_come), **callees
    )
    return Kernels(choose, bind(_update, learner_update=learner.update), _told)
