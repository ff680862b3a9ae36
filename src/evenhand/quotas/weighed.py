"""A conversation in which decisions have weights, such as tokens or money, of which shares are promised.

The rule and its theorems stand at the head of `evenhand.promises.weight_rule`.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from evenhand.errors import NOTHING, ArgumentError, InFlightError, Wording, expected
from evenhand.parameters import locked
from evenhand.promises.amounts import amount_of
from evenhand.promises.weighed import most_of, unit_of
from evenhand.promises.weight_rule import enter_weight
from evenhand.protocol import Decision
from evenhand.quotas.quota_policy import QuotaPolicy


class WeighedPolicy(QuotaPolicy):
    """What a quota policy does with weights: it is given each with the ask, or told it with the reward."""

    _asked: int | None = None
    """The weight of the decision that is being taken, -1 for one that is told later; None where none is."""

    @locked
    def tell(self, decision: Decision | int, reward: Any, *, weight: object = None) -> None:
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
    def forget(self, decision: Decision | int) -> None:
        """Close a ticket that will never be told, also not its weight: that counts as 0 for good."""
        index = self.tickets.find(decision)[1].said[2]
        super().forget(decision)
        if self._told_later:
            self.engine.state.flying[index] -= 1

    @property
    def _told_later(self) -> bool:
        return self.promise.weight is not None and self.promise.in_flight is not None

    def _round_shown(self, contexts: object = None, *, available: object = None, weight: object = None) -> Any:
        return super()._round_shown(contexts, available=available), amount_of(weight)

    def _weight_to_ask(self, weight: object) -> int | None:
        """Return the weight with which the next decision is taken; None for a promise of rounds."""
        if self.promise.weight is None or self._told_later:
            self._refuse_weight(weight)
        if self.promise.weight is None:
            return None
        if not self._told_later:
            return self._counted(weight)
        open, most = 0 if self._engine is None else int(self._engine.state.flying.sum()), self.promise.in_flight
        if open > (most or 0):
            what = f"at most {most} decisions whose {self.promise.weight} are not told, as in_flight says"
            hint = "tell their weights, or forget those that cost nothing"
            raise InFlightError(expected("ask", what, Wording(f"{open} open"), hint))
        return -1

    def _counted(self, weight: object) -> int:
        """Return a weight as the rule counts it."""
        unit = unit_of(self.promise)
        whole = unit.whole(weight, int(Fraction(self.promise.largest or 0) * unit.scale))
        before = 0 if self._engine is None else int(self._engine.state.weights.sum())
        if before + whole >= (most := most_of(self.promise)):
            what = f"{unit.name} whose sum is below {Decimal(most).scaleb(-unit.digits)}, up to which it is counted"
            raise ArgumentError(expected("weight", what, weight, "make a new policy"))
        return whole

    def _refuse_weight(self, given: object) -> None:
        if given is not None:
            way = " beside a promise of rounds" if self.promise.weight is None else " here: it is given when asking"
            way = " when asking: it is told with the reward" if self._told_later else way
            raise ArgumentError(expected("weight", Wording(NOTHING, way), given))

    @locked
    def choose(self, contexts: object = None) -> int:
        """Take the next decision without a ticket and return the arm's index.

        Raises
        ------
        ArgumentError
            If the promise is about weights, which need a ticket.
        """
        if self.promise.weight is not None:
            what = "ask and tell, which count the weights of its promise"
            raise ArgumentError(expected("choose", what, Wording("a call without a ticket")))
        return super().choose(contexts)

    def _inputs(self) -> dict[str, Any] | None:
        if self._asked is not None:
            self.engine.state.weight[0] = self._asked
        return super()._inputs()
