"""The numeric core of a policy: the kernels that its author writes, and what they may know of a decision."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.policy.chances import Chances


class Ticket(NamedTuple):
    """What a learner may know about the decision whose reward it is told.

    Attributes
    ----------
    round : the round in which it was decided.
    probability : the probability with which it was decided: 1 by a rule that draws nothing, nan where it is unknown.
    """

    round: int
    probability: float


learn: Any = OPEN


@kernel
def without_ticket(params: Any, state: Any, contexts: Floats, index: int, reward: float, ticket: Ticket) -> None:
    """Update by a kernel that does not look at the ticket."""
    learn(params, state, contexts, index, reward)


@kernel
def certain(params: Any, state: Any, index: int) -> float:
    """Return the probability of a decision that followed from what had happened before."""
    return 1.0


@kernel
def unknown(params: Any, state: Any, index: int) -> float:
    """Return nan, where decisions are drawn and nobody knows their distribution in numbers."""
    return math.nan


@kernel
def drawn(params: Any, state: Any, index: int) -> float:
    """Return the probability of the arm that was just drawn from `state.probabilities` (n_arms,)."""
    return state.probabilities[index]


class _Kernels(NamedTuple):
    choose: Any
    update: Any
    probability: Any
    rank: Any
    chances: Chances | None


class Kernels(_Kernels):
    """The numeric core of a policy, see the head of this module.

    Parameters
    ----------
    choose, update : its kernels.
    probability : `probability(params, state, index)`, with which the last `choose` picked an arm: `certain`, `unknown`,
        or `drawn` where the state keeps the distribution in a field `probabilities`.
    rank : `rank(params, state, contexts, round, waiting, scores) -> reason`, which fills scores (n_arms,) so that the
        arm that `choose` would take comes first; None for a policy that only knows the best. Where arms are not on
        offer, or several are played in a round, it is asked in place of `choose`.
    chances : how the probabilities of all arms are computed where `probability` is `unknown`, as they take longer than
        the decision; None where nobody knows them.
    """

    __slots__ = ()

    def __new__(
        cls, choose: Any, update: Any, probability: Any = certain, rank: Any = None, chances: Chances | None = None
    ) -> Self:
        if update.function.__code__.co_argcount == 5:
            update = bind(without_ticket, learn=update)
        return super().__new__(cls, choose, update, probability, rank, chances)
