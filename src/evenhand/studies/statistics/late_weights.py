"""The weights of decisions as a log tells them: some with the ask, some with the reward, late and in any order.

They are counted in the order of the decisions. What is not told yet counts as heavy as it may be: 0 for the arm itself,
the largest for all others. So what is shown can only become better, and is what an audit of the log finds once all is
told.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from evenhand.kernels.arrays import Bools, Ints
from evenhand.promises.books import ClauseCounts
from evenhand.promises.promise import Promise
from evenhand.promises.weight_promises import unit_of


class LateWeights:
    """The weights of the last rounds, which are not in the books yet.

    Attributes
    ----------
    unit : what is shared.
    before : how many rounds there were before these.
    weights : of these rounds, as they are counted; 0 where they are not told.
    untold : the open tickets among them, in order, and how many rounds were before each.
    """

    def __init__(self, promise: Promise) -> None:
        self.unit, self._later = unit_of(promise), promise.in_flight is not None
        self._largest = int(Fraction(promise.largest or 0) * self.unit.scale)
        self.before = 0
        self.weights: list[int] = []
        self.untold: dict[int, int] = {}

    def decided(self, weight: object, ticket: int | None) -> None:
        """Take in a decision, with its weight where that is known.

        Raises
        ------
        ArgumentError
            If it is none.
        """
        if self._later:
            self.untold[ticket or 0] = self.before + len(self.weights)
        self.weights.append(0 if self._later else self.unit.whole(weight, self._largest))

    def closed(self, ticket: int | None, weight: object) -> None:
        """Take in the weight that a ticket was told; 0 for good where it was closed without.

        Raises
        ------
        ArgumentError
            If it is none.
        """
        before = self.untold.get(ticket or 0)
        if before is not None:
            self.weights[before - self.before] = self.unit.whole(weight, self._largest)
            del self.untold[ticket or 0]

    @property
    def told(self) -> int:
        """How many rounds there are before the first whose weight is not told."""
        return next(iter(self.untold.values()), self.before + len(self.weights)) - self.before

    def take(self, rounds: int) -> Ints:
        """Return the weights of the first of the rounds, which go into the books."""
        taken = np.array(self.weights[:rounds], np.int64)
        self.before += rounds
        self.weights = self.weights[rounds:]
        return taken

    def at_worst(self, books: ClauseCounts, played: Sequence[int], on: Bools) -> Ints:
        """Return q (r W - W_i) of each clause after each of the rounds (n_rounds, n_clauses), of which the first ones
        are floors of the arms in their order.

        Parameters
        ----------
        books : what there was before.
        played : the arm of each round.
        on : what was on offer in each (n_rounds, n_arms); without rows where everything was.
        """
        mine = np.array(played, np.int64)[:, None] == np.arange(len(books.clauses))
        weights = np.repeat(np.array(self.weights, np.int64)[:, None], len(books.clauses), axis=1)
        for before in self.untold.values():
            weights[before - self.before] = self._largest * ~mine[before - self.before]
        standing, rates = books.standing, books.rates
        clock = standing.weight[0] + np.cumsum(weights * on if len(on) else weights, axis=0)
        worst: Ints = rates.numerators * clock
        return worst - rates.denominators * (standing.plays[0] + np.cumsum(weights * mine, axis=0))
