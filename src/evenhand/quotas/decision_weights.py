"""What decisions weigh, such as tokens or money, of which shares are promised: given with the ask, or told later.

The rule and its theorems stand at the head of `evenhand.promises.weight_rule`.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from evenhand.errors import NOTHING, ArgumentError, InFlightError, Wording, expected
from evenhand.promises.promise import Promise
from evenhand.promises.weight_promises import most_of, unit_of
from evenhand.promises.weight_rule import enter_weight


class DecisionWeights(NamedTuple):
    """The weights of decisions as a promise counts them: each is given with the ask, or told with the reward.

    Attributes
    ----------
    promise : what is promised, of a weight or of rounds.
    state : where the rule stands, a `RuleState`; None before the first round.
    """

    promise: Promise
    state: Any

    @property
    def told_later(self) -> bool:
        """Whether a weight is told with the reward."""
        return self.promise.weight is not None and self.promise.in_flight is not None

    def to_ask(self, weight: object) -> int | None:
        """Return the weight with which the next decision is taken, -1 for one that is told later; None for a promise of
        rounds.

        Raises
        ------
        ArgumentError
            If it is missing, not wanted, or larger than promised.
        InFlightError
            If too many decisions wait for their weights.
        """
        if self.promise.weight is None or self.told_later:
            self.refuse(weight)
        if self.promise.weight is None:
            return None
        if not self.told_later:
            return self.counted(weight)
        open, most = 0 if self.state is None else int(self.state.flying.sum()), self.promise.in_flight
        if open > (most or 0):
            what = f"at most {most} decisions whose {self.promise.weight} are not told, as in_flight says"
            hint = "tell their weights, or forget those that cost nothing"
            raise InFlightError(expected("ask", what, Wording(f"{open} open"), hint))
        return -1

    def counted(self, weight: object) -> int:
        """Return a weight as the rule counts it.

        Raises
        ------
        ArgumentError
            If it is none, or their sum would be too large.
        """
        unit = unit_of(self.promise)
        whole = unit.whole(weight, int(Fraction(self.promise.largest or 0) * unit.scale))
        before = 0 if self.state is None else int(self.state.weights.sum())
        if before + whole >= (most := most_of(self.promise)):
            what = f"{unit.name} whose sum is below {Decimal(most).scaleb(-unit.digits)}, up to which it is counted"
            raise ArgumentError(expected("weight", what, weight, "make a new policy"))
        return whole

    def close(self, index: int, weight: int = 0) -> None:
        """Enter the weight of an arm's decision that waited for it."""
        self.state.flying[index] -= 1
        enter_weight(self.state, index, weight)

    def refuse_without_ticket(self, name: str) -> None:
        """Refuse a call of this name that hands out no ticket, which a weight needs."""
        if self.promise.weight is not None:
            what = "ask and tell, which count the weights of its promise"
            raise ArgumentError(expected(name, what, Wording("a call without a ticket")))

    def refuse(self, given: object) -> None:
        """Refuse a weight where none is wanted."""
        if given is not None:
            way = " beside a promise of rounds" if self.promise.weight is None else " here: it is given when asking"
            way = " when asking: it is told with the reward" if self.told_later else way
            raise ArgumentError(expected("weight", Wording(NOTHING, way), given))
