"""A refused wish is held: what a learner needs that must be told of its own choices alone.

Under a promise that forces plays, a learner that weighs rewards by the probabilities of its own choices, such as Exp3,
learns from arms that it did not choose, and never sees some that it did. So its wish is held: it stays the wish of the
next rounds until it is granted, and the learner is told the rewards of granted wishes alone. With rewards that are
drawn independently it then lives through an ordinary run, in its own rounds, and under floors of single arms

    E r-regret(T) <= regret of the learner alone after at most T rounds + (n_+ - 1) max gap,

n_+ being the number of arms that are owed something: a play is forced only towards a round s by which all plays up to s
are owed, so that the arm forced has at most its floor at s after it, and what all arms are ahead of their floors by
for that reason is less than n_+.

While the arm of a held wish is not on offer, or is at its cap, the learner goes on with new wishes, as the held one may
wait for ever; those that are refused meanwhile are given up. None of this is covered by the bound, which is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.policy.kernel_set import Kernels, Ticket, certain, drawn
from evenhand.quotas.quota_kernels import rank_wish

learner_choose = learner_update = learner_probability = rule_choose = may_come = OPEN


class Held(NamedTuple):
    """The state of a learner whose refused wishes are held."""

    wish: Ints
    """(2,): the wish that is held, -1 where none is, and the wish of the latest round."""
    why: Ints
    """(2,): their reasons."""
    chance: Floats
    """(2,): the probabilities with which the learner wished them, -1 where nobody knows."""
    told: Floats
    """(1,): that of the latest round's wish if it was granted, 0 if it was not."""
    granted: Ints
    """(1,): how many wishes were granted."""
    learner: Any


def no_wish(learner: Any) -> Held:
    """Return the state before the first round, around that of a learner."""
    return Held(
        np.full(2, -1), np.zeros(2, np.int64), np.full(2, -1.0), np.full(1, -1.0), np.zeros(1, np.int64), learner
    )


@kernel
def always(state: Any, arm: int, now: int) -> bool:
    """Stand for `has_room` where every arm is on offer and none has a cap."""
    return True


@kernel
def has_room(state: Any, arm: int, now: int) -> bool:
    """Return whether an arm is on offer in the next round and may be played as far as its cap goes."""
    return state.offered[arm] == 1 and state.cap_whole[arm] <= now


@kernel
def propose(held: Held, wish: int, why: int, chance: float) -> None:
    """Make this the wish of the round."""
    held.wish[1], held.why[1], held.chance[1] = wish, why, (-1.0 if math.isnan(chance) else chance)


@kernel
def recall(state: Any, now: int) -> bool:
    """Make the wish that is held that of the round; return whether there is one that may come."""
    held = state.learner
    if held.wish[0] < 0 or not may_come(state, held.wish[0], now):
        return False
    held.wish[1], held.why[1], held.chance[1] = held.wish[0], held.why[0], held.chance[0]
    held.wish[0] = -1
    return True


@kernel
def settle(held: Held, arm: int) -> None:
    """Hold the wish of the round if another arm is played, and none is held already."""
    if arm == held.wish[1]:
        held.told[0] = held.chance[1]
        held.granted[0] += 1
        return
    held.told[0] = 0.0
    if held.wish[0] < 0:
        held.wish[0], held.why[0], held.chance[0] = held.wish[1], held.why[1], held.chance[1]


@kernel
def _choose(params: Any, state: Any, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    held = state.learner
    if not recall(state, round - 1):
        wish, why = learner_choose(params.learner, held.learner, contexts, held.granted[0] + 1, waiting)
        propose(held, wish, why, learner_probability(params.learner, held.learner, wish))
    arm, why = rule_choose(params, state, contexts, round, waiting)
    settle(held, arm)
    return arm, why


@kernel
def _update(params: Any, state: Any, contexts: Floats, index: int, reward: float, ticket: Ticket) -> None:
    held = state.learner
    if ticket.probability != 0.0:
        own = Ticket(held.granted[0], ticket.probability)
        learner_update(params.learner, held.learner, contexts, index, reward, own)


@kernel
def _wish(params: Any, held: Held, contexts: Floats, round: int, waiting: Ints) -> tuple[int, int]:
    return held.wish[1], held.why[1]


@kernel
def _wish_first(params: Any, held: Held, contexts: Floats, round: int, waiting: Ints, scores: Floats) -> int:
    """Rank the wish first, and then what the learner is the most likely to wish."""
    for arm in range(scores.size):
        scores[arm] = held.learner.probabilities[arm]
    scores[held.wish[1]] = 2.0
    return held.why[1]


@kernel
def _told(params: Any, state: Any, index: int) -> float:
    told = state.learner.told[0]
    return math.nan if told < 0.0 else float(told)


CALLED_FROM_PYTHON = Kernels(_choose, _update, _told)
"""Of a learner from elsewhere: what is said to it is decided in Python."""


def holding(learner: Kernels, under_rule: Callable[[Kernels], Kernels], may_come: Any) -> Kernels:
    """Return the kernels of a learner whose refused wishes are held.

    Parameters
    ----------
    under_rule : returns the kernels of a learner under the rule.
    may_come : `has_room` where the rule's state says which arms are on offer and how far their caps go, else `always`.
    """
    ranks = _wish_first if learner.probability is drawn else bind(rank_wish, learner_choose=_wish)
    rule = under_rule(Kernels(_wish, _update, certain, rank=ranks))
    callees = {"learner_choose": learner.choose, "learner_probability": learner.probability}
    choose = bind(_choose, rule_choose=rule.choose, recall=bind(recall, may_come=may_come), **callees)
    return Kernels(choose, bind(_update, learner_update=learner.update), _told)
