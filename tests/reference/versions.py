"""What holds of a promise that changes in mid-run, counted clause by clause, version by version and segment by segment,
in fractions; and the game of what can be kept from here on."""

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
    for kind, arms, rate, slack in promise.clauses:
        if kind == "floor":
            found.append(Owed(arms, rate, slack))
        elif kind == "cap":
            found.append(Cap(arms, rate, slack))
        else:
            found.append(Window(arms, *rate))
    return found


class Versions:
    """The books of every segment.

    Attributes
    ----------
    live : the arms that are not retired.
    parts : segment -> [(clause, its books), ...].
    """

    def __init__(self, promise, arms):
        self.live, self.plays, self.offers = list(arms), promise.plays, promise.offers
        self.clauses, self.parts = clauses_of(promise), {}

    def part(self, segment):
        return self.parts.setdefault(segment, [(clause, clause.begin()) for clause in self.clauses])

    def enter(self, segment, offered, played):
        """Count a round; return the clauses that it breaks."""
        after = [(clause, clause.after(books, offered, played)) for clause, books in self.part(segment)]
        self.parts[segment] = after
        return [clause for clause, books in after if not clause.kept(books)]

    def choices(self):
        """Return what may be on offer."""
        every = [c for n in range(1, len(self.live) + 1) for c in itertools.combinations(self.live, n)]
        if self.offers == "all":
            return [tuple(self.live)]
        if self.offers == "any":
            return every
        return [o for o in every if len(set(o) & set(self.offers)) >= min(self.plays, len(o))]

    def game(self, part):
        """Return the game of these clauses, and their books."""
        game = Game([clause for clause, _ in part], len(self.live), self.plays)
        game.arms, game.offers = tuple(self.live), self.choices()
        return game, tuple(books for _, books in part)

    def change(self, promise):
        """Begin a new version that carries nothing; return the claims of each segment."""
        claims = {}
        for segment, part in self.parts.items():
            found = claims[segment] = {}
            for clause, books in part:
                if isinstance(clause, Owed) and clause.behind(books):
                    stay = frozenset(set(clause.members) & set(self.live))
                    found[stay] = max(found.get(stay, Fraction(0)), clause.behind(books))
        self.clauses, self.offers = clauses_of(promise), promise.offers
        self.parts = {segment: [(clause, clause.begin()) for clause in self.clauses] for segment in self.parts}
        return claims

    def carried(self, segment, carried):
        """Return a segment's books with these claims carried; None where there is no floor to carry one."""
        part, left = [], dict(carried)
        for clause, books in self.parts[segment]:
            if isinstance(clause, Owed):
                clause = clause._replace(carried=left.pop(frozenset(clause.members), Fraction(0)))
            part.append((clause, books))
        return None if left else part

    def retire(self, arm):
        self.live.remove(arm)

        def goes_on(clause):
            return bool(set(clause.members) & set(self.live))

        if not isinstance(self.offers, str):
            stay = tuple(other for other in self.offers if other != arm)
            self.offers = stay if len(stay) >= self.plays else "any"
        self.clauses = [clause for clause in self.clauses if goes_on(clause)]
        self.parts = {s: [(c, books) for c, books in part if goes_on(c)] for s, part in self.parts.items()}

    def add(self, arm, share, slack, wait):
        self.live.append(arm)
        owed = Owed((arm,), Fraction(share), slack)
        if share:
            late = owed._replace(wait=wait)
            self.parts = {s: [*part, (late, late.begin())] for s, part in self.parts.items()}
            self.clauses = [*self.clauses, owed]
