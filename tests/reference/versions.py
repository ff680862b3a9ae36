"""What holds of a promise that changes in mid-run, counted clause by clause and version by version, in
fractions; and the game of what can be kept from here on."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

from tests.reference.game import Cap, Floor, Game, Window


class Owed(NamedTuple):
    """N >= floor(r A + carried - slack), A counted from `-wait`."""

    members: tuple
    share: Fraction
    slack: int
    carried: Fraction = Fraction(0)
    wait: int = 0
    after = Floor.after

    def begin(self):
        return -self.wait, 0

    def kept(self, books):
        rounds, plays = books
        return plays >= math.floor(self.share * rounds + self.carried - self.slack)

    def behind(self, books):
        rounds, plays = books
        return max(Fraction(0), self.share * rounds + self.carried - plays)


def clauses_of(promise):
    """Return every clause of a promise, as the game counts them."""
    found = []
    for kind, arms, rate, slack, _ in promise.clauses:
        if kind == "floor":
            found.append(Owed(arms, rate, slack))
        elif kind == "cap":
            found.append(Cap(arms, rate, slack))
        else:
            found.append(Window(arms, *rate))
    return found


class Versions:
    """The books of a promise that changes.

    Attributes
    ----------
    live : the arms that are not retired.
    books : [(clause, its books), ...].
    """

    def __init__(self, promise, arms):
        self.live, self.plays, self.offers = list(arms), promise.plays, promise.offers
        self.books = [(clause, clause.begin()) for clause in clauses_of(promise)]

    def enter(self, offered, played):
        """Count a round; return the clauses that it breaks."""
        self.books = [(clause, clause.after(books, offered, played)) for clause, books in self.books]
        return [clause for clause, books in self.books if not clause.kept(books)]

    def choices(self):
        """Return what may be on offer."""
        every = [c for n in range(1, len(self.live) + 1) for c in itertools.combinations(self.live, n)]
        if self.offers == "all":
            return [tuple(self.live)]
        if self.offers == "any":
            return every
        return [o for o in every if len(set(o) & set(self.offers)) >= min(self.plays, len(o))]

    def game(self, counts):
        """Return the game of these clauses, and their books."""
        game = Game([clause for clause, _ in counts], len(self.live), self.plays)
        game.arms, game.offers = tuple(self.live), self.choices()
        return game, tuple(books for _, books in counts)

    def change(self, promise):
        """Begin a new version that carries nothing; return the claims."""
        claims = {}
        for clause, books in self.books:
            if isinstance(clause, Owed) and clause.behind(books):
                stay = frozenset(set(clause.members) & set(self.live))
                claims[stay] = max(claims.get(stay, Fraction(0)), clause.behind(books))
        self.books, self.offers = [(clause, clause.begin()) for clause in clauses_of(promise)], promise.offers
        return claims

    def carried(self, carried):
        """Return the books with these claims carried; None where there is no floor to carry one."""
        found, left = [], dict(carried)
        for clause, books in self.books:
            if isinstance(clause, Owed):
                clause = clause._replace(carried=left.pop(frozenset(clause.members), Fraction(0)))
            found.append((clause, books))
        return None if left else found

    def retire(self, arm):
        self.live.remove(arm)
        if not isinstance(self.offers, str):
            stay = tuple(other for other in self.offers if other != arm)
            self.offers = stay if len(stay) >= self.plays else "any"
        self.books = [(clause, books) for clause, books in self.books if set(clause.members) & set(self.live)]

    def add(self, arm, share, slack, wait, cap=None, ahead=0):
        self.live.append(arm)
        if cap is not None:
            limit = Cap((arm,), Fraction(cap), ahead)
            self.books = [*self.books, (limit, limit.begin())]
        if share:
            late = Owed((arm,), Fraction(share), slack, wait=wait)
            self.books = [*self.books, (late, late.begin())]
