"""A conversation in which decisions have weights, such as tokens or money, of which shares are promised.

The rule and its theorems stand at the head of `evenhand.promises.weight_rule`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evenhand.errors import NOTHING, ArgumentError, Wording, first_few, wanted
from evenhand.kernels.arrays import Floats
from evenhand.parameters import locked
from evenhand.promises.weighed import most_of, unit_of
from evenhand.promises.weight_rule import enter_weight, worst_completion
from evenhand.protocol import Decision, Label
from evenhand.quotas.quota_policy import QuotaPolicy


class WeighedPolicy(QuotaPolicy):
    """What a quota policy does with weights: it is given each with the ask, or told it with the reward."""

    _asked: int | None = None
    """The weight of the decision that is being taken, -1 for one that is told later; None where none is."""

    @property
    @locked
    def _weights(self) -> dict[Label, Decimal]:
        """The weight of each arm's decisions so far, in the unit of the promise; {} for a promise of rounds."""
        if self.promise.weight is None:
            return {}
        digits, sums = unit_of(self.promise).digits, self.engine.state.weights.tolist()
        return {arm: Decimal(whole).scaleb(-digits) for arm, whole in zip(self.promise.arms, sums, strict=True)}

    @property
    @locked
    def _most_behind(self) -> Fraction | None:
        """By how much an arm is behind its share of the weights at most, however heavy what is not told yet turns out
        to be; None for a promise of rounds."""
        if self.promise.weight is None:
            return None
        worst: int = worst_completion(self.engine.params, self.engine.state)
        return Fraction(worst, self.engine.params.denominator * unit_of(self.promise).scale)

    @locked
    def tell(self, decision: Decision | int, reward: Any, *, weight: Any = None) -> None:
        """Record the reward of a ticket, and its weight where the promise is about weights that are told later.

        Raises
        ------
        ArgumentError
            If a weight is missing, not wanted, or not from 0 to the largest.
        RewardError, UnknownTicketError, ClosedTicketError, ForeignTicketError
            As without weights.
        """
        if not self._told_later:
            self._refuse_weight(weight)
            super().tell(decision, reward)
            return
        index = self.tickets.find(decision)[1].said[2]
        whole = self._counted(weight)
        super().tell(decision, reward)
        self.engine.state.flying[index] -= 1
        enter_weight(self.engine.state, index, whole)

    @locked
    def tell_all(
        self, decisions: Sequence[Decision | int], rewards: Sequence[Any], *, weights: Sequence[Any] | None = None
    ) -> None:
        """Record the rewards of many tickets, all or none, and their weights where these are told later.

        Raises
        ------
        ArgumentError, RewardError, UnknownTicketError, ClosedTicketError, ForeignTicketError
            As `tell` does.
        """
        if not self._told_later:
            self._refuse_weight(weights)
            super().tell_all(decisions, rewards)
            return
        told = [None] * len(decisions) if weights is None else list(weights)
        if not len(told) == len(decisions) == len(rewards):
            what = f"as many as the {len(decisions)} decisions"
            raise ArgumentError(wanted("rewards and weights", what, Wording(f"{len(rewards)} and {len(told)}")))
        with self._all_or_none():
            for decision, reward, weight in zip(decisions, rewards, told, strict=True):
                self.tell(decision, reward, weight=weight)

    @locked
    def forget(self, decision: Decision | int) -> None:
        """Close a ticket that will never be told, also not its weight: that counts as 0 for good."""
        index = self.tickets.find(decision)[1].said[2]
        super().forget(decision)
        if self._told_later:
            self.engine.state.flying[index] -= 1

    @property
    def _told_later(self) -> bool:
        return self.promise.weight is not None and self.promise.in_flight is not None

    def _weight_to_ask(self, weight: Any) -> int | None:
        """Return the weight with which the next decision is taken; None for a promise of rounds."""
        if self.promise.weight is None or self._told_later:
            self._refuse_weight(weight)
        if self.promise.weight is None:
            return None
        if not self._told_later:
            return self._counted(weight)
        open, most = self.tickets.open, self.promise.in_flight
        if len(open) > (most or 0):
            named = first_few([f"{number} (round {one.round})" for number, one in open.items()], 5)
            what = f"at most {most} decisions whose {self.promise.weight} are not told, as in_flight says"
            mend = "tell their weights, or forget those that cost nothing"
            raise ArgumentError(wanted("ask", what, Wording(f"the open tickets {named}"), mend))
        return -1

    def _counted(self, weight: Any) -> int:
        """Return a weight as the rule counts it."""
        unit = unit_of(self.promise)
        whole = unit.whole(weight, int(Fraction(self.promise.largest or 0) * unit.scale))
        before = 0 if self._engine is None else int(self._engine.state.weights.sum())
        if before + whole >= (most := most_of(self.promise)):
            what = f"{unit.name} whose sum is below {Decimal(most).scaleb(-unit.digits)}, up to which it is counted"
            raise ArgumentError(wanted("weight", what, weight, "make a new policy"))
        return whole

    def _refuse_weight(self, given: Any) -> None:
        if given is not None:
            way = " beside a promise of rounds" if self.promise.weight is None else " here: it is given when asking"
            way = " when asking: it is told with the reward" if self._told_later else way
            raise ArgumentError(wanted("weight", Wording(NOTHING, way), given))

    def _choose(self, shown: Floats) -> tuple[int, int, float]:
        if self.promise.weight is not None:
            if self._asked is None:
                what = "ask and tell, which count the weights of its promise"
                raise ArgumentError(wanted("choose", what, Wording("a call without a ticket")))
            self.engine.state.weight[0] = self._asked
        return super()._choose(shown)
