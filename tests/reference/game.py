"""A promise as a game: after a play, can every clause still be kept against every future? All of it is walked."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from typing import NamedTuple


class Floor(NamedTuple):
    """N >= floor(r A) - slack over these members, A the rounds in which one of them was on offer."""

    members: tuple[int, ...]
    share: Fraction
    slack: int = 0

    def begin(self):
        return 0, 0

    def after(self, books, offered, played):
        rounds, plays = books
        if not set(self.members) & set(offered):
            return books
        rounds, plays = rounds + 1, plays + len(set(self.members) & set(played))
        cycle = rounds // self.share.denominator  # what is whole is taken off, so that states come again
        return rounds - cycle * self.share.denominator, plays - cycle * self.share.numerator

    def kept(self, books):
        rounds, plays = books
        return plays >= math.floor(self.share * rounds) - self.slack


class Cap(NamedTuple):
    """N <= ceil(c A) + slack."""

    members: tuple[int, ...]
    share: Fraction
    slack: int = 0
    begin, after = Floor.begin, Floor.after

    def kept(self, books):
        rounds, plays = books
        return plays <= math.ceil(self.share * rounds) + self.slack


class Window(NamedTuple):
    """At least `count` plays of the members in any `length` consecutive rounds in which one of them is on offer."""

    members: tuple[int, ...]
    count: int
    length: int

    def begin(self):
        return (self.count,) * (self.length - 1)  # before the first round all is well

    def after(self, books, offered, played):
        if not set(self.members) & set(offered):
            return books
        return (*books, len(set(self.members) & set(played)))[-self.length :]

    def kept(self, books):
        return sum(books[-self.length :]) >= self.count or len(books) < self.length


class Game:
    """The clauses over arms 0 .. arms - 1 with so many plays a round, and which sets of arms may be on offer."""

    def __init__(self, clauses, arms, plays=1, offers="all"):
        self.clauses, self.arms, self.plays = tuple(clauses), tuple(range(arms)), plays
        every = [c for n in range(1, arms + 1) for c in itertools.combinations(self.arms, n)]
        self.offers = [self.arms] if offers == "all" else every if offers == "any" else [o for o in every if offers(o)]
        self.begin = tuple(clause.begin() for clause in self.clauses)
        self.can_be_kept = cache(self._can_be_kept)

    def slates(self, offered):
        return list(itertools.combinations(offered, min(self.plays, len(offered))))

    def after(self, books, offered, played):
        """Return the books after a round; where every arm on offer is at its cap, no cap counts a play."""
        both = list(zip(self.clauses, books, strict=True))
        caps = [(c, b) for c, b in both if isinstance(c, Cap)]
        full = {arm for c, b in caps if not c.kept(c.after(b, offered, c.members)) for arm in c.members}
        of_caps = () if full.issuperset(offered) else played
        return tuple(c.after(b, offered, of_caps if isinstance(c, Cap) else played) for c, b in both)

    def kept(self, books):
        return all(clause.kept(b) for clause, b in zip(self.clauses, books, strict=True))

    def _can_be_kept(self, books, depth):
        """Return whether some rule keeps every clause for so many rounds, whatever is on offer in them."""
        if not self.kept(books):
            return False
        if depth == 0:
            return True
        return all(
            any(self.can_be_kept(self.after(books, offered, slate), depth - 1) for slate in self.slates(offered))
            for offered in self.offers
        )

    def allowed(self, books, offered, depth):
        """Return the slates after which every clause can be kept for so many rounds."""
        return [s for s in self.slates(offered) if self.can_be_kept(self.after(books, offered, s), depth)]
