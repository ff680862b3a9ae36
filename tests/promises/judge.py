"""What a promise comes to, counted from its clauses alone in whole numbers, and the game of what can still be kept.

A clause counts A, the rounds in which one of its arms was on offer, and N, the plays of its arms in them. A floor needs
N >= floor(r A + carried) - a; a cap N <= ceil(c A) + b; so each has a limit (p A + s) // q of plays. No cap counts the
play of a round in which every arm on offer is at its cap.
Nothing here is shared with the rules that keep promises. Arms are bits: arm i is 1 << i.

The game goes through every state that a small promise can come to. Plays by which a floor is ahead, or a cap has room,
are forgotten beyond `AHEAD`. That can only make a promise harder to keep, so that a state is safe where the game says
so. It is lost where some offers break a clause within so few rounds that what was forgotten cannot have helped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from evenhand.promises.clause import Clause
from evenhand.promises.promise import Offers
from evenhand.protocol import Label

__all__ = ["Allowed", "CheckerCounts", "Game", "bits", "choices"]

AHEAD = 4
MOST_STATES = 1_500
"""How many states a game may have before it is given up."""

At = tuple[int, int, tuple[int, ...]]
"""Where a clause stands: the rounds of its clock, the plays in them, and of a window the last of these plays."""
START: At = (0, 0, ())
NOTHING: Mapping[frozenset[Label], Fraction] = {}


class Count(NamedTuple):
    """How a clause is counted."""

    clause: Clause
    members: int
    step: int = 0
    start: int = 0
    period: int = 1
    length: int = 0

    def after(self, at: At, offered: int, played: int) -> At:
        """Return where the clause stands after one more round."""
        if not self.members & offered:
            return at
        rounds, plays, last = at
        now = (self.members & played).bit_count()
        return rounds + 1, plays + now, (*last, now)[-self.length :] if self.length else last

    def limit(self, rounds: int) -> int:
        """Return how many plays a floor asks for, or a cap allows, after so many rounds of its clock."""
        return (self.step * rounds + self.start) // self.period

    def short(self, at: At) -> int:
        """Return by how many plays the clause is broken; at most 0 while it is kept."""
        rounds, plays, last = at
        if self.length:
            return self.start - sum(last) if len(last) == self.length else 0
        return plays - self.limit(rounds) if self.clause.kind == "cap" else self.limit(rounds) - plays

    def cycled(self, at: At) -> At:
        """Return the same standing as one that comes again."""
        rounds, plays, last = at
        if self.length:
            return 0, 0, last
        cycles = rounds // self.period
        return rounds - cycles * self.period, plays - cycles * self.step, ()

    def state(self, at: At) -> At:
        """Return the same standing as a state that comes again; what is beyond `AHEAD` is forgotten."""
        rounds, plays, last = self.cycled(at)
        if self.length:
            return rounds, plays, last
        limit = self.limit(rounds)
        return rounds, max(plays, limit - AHEAD) if self.clause.kind == "cap" else min(plays, limit + AHEAD), ()

    def broken(self, at: At) -> str:
        """Say how the clause is broken."""
        arms = self.clause.arms
        who = f"arm {arms[0]!r}" if len(arms) == 1 else f"the arms {', '.join(map(repr, arms))} together"
        rounds, plays, last = at
        if self.length:
            return f"{who} had {sum(last)} of the {self.start} plays owed in the last {self.length} rounds"
        of = "allowed" if self.clause.kind == "cap" else "owed"
        return f"{who} had {plays} plays where {self.limit(rounds)} are {of} in {rounds} rounds"


def bits(arms: Sequence[Label], all_arms: Sequence[Label]) -> int:
    """Return arms as bits."""
    return sum(1 << all_arms.index(arm) for arm in arms)


@lru_cache(maxsize=4096)
def count_of(clause: Clause, arms: tuple[Label, ...], carried: Fraction = Fraction(0)) -> Count:
    """Return how a clause is counted; a floor may carry what it was behind by, or begin late."""
    members, rate, slack = bits(clause.arms, arms), clause.rate, clause.slack
    if isinstance(rate, tuple):
        return Count(clause, members, start=rate[0], length=rate[1])
    period = math.lcm(rate.denominator, carried.denominator)
    start = (carried - slack) * period if clause.kind == "floor" else slack * period + period - 1
    return Count(clause, members, int(rate * period), int(start), period)


def after_round(counts: Sequence[Count], at: Sequence[At], offered: int, played: int) -> tuple[At, ...]:
    """Return where clauses stand after one more round; where every arm on offer is at its cap, no cap counts a play."""
    caps = [(count, one) for count, one in zip(counts, at, strict=True) if count.clause.kind == "cap"]
    full = sum(count.members for count, one in caps if count.short(count.after(one, offered, count.members)) > 0)
    counted = 0 if offered & ~full == 0 else played
    return tuple(
        count.after(one, offered, counted if count.clause.kind == "cap" else played)
        for count, one in zip(counts, at, strict=True)
    )


def choices(live: Sequence[Label], offers: Offers, plays: int) -> list[tuple[Label, ...]]:
    """Return everything that may be on offer, of the arms that are not retired."""
    if offers == "all":
        return [tuple(live)]
    some = [c for n in range(1, len(live) + 1) for c in itertools.combinations(live, n)]
    named = set(live if offers == "any" else offers)
    return [offer for offer in some if len(named & {*offer}) >= min(plays, len(offer))]


def slates(offered: int, plays: int) -> list[int]:
    """Return what may be played of an offer."""
    arms = [1 << arm for arm in range(offered.bit_length()) if offered >> arm & 1]
    return [sum(slate) for slate in itertools.combinations(arms, min(plays, len(arms)))]


class CheckerCounts:
    """Where every clause of a promise stands,"""

    def __init__(
        self, clauses: Sequence[Clause], arms: Sequence[Label], carried: Mapping[frozenset[Label], Fraction] = NOTHING
    ) -> None:
        self.arms = tuple(arms)
        none = Fraction(0)
        floors = [carried.get(frozenset(c.arms), none) if c.kind == "floor" else none for c in clauses]
        self.counts = tuple(count_of(clause, self.arms, due) for clause, due in zip(clauses, floors, strict=True))
        self.at: tuple[At, ...] = (START,) * len(self.counts)
        self._short: list[int] = []

    def enter(self, offered: int, played: int) -> str | None:
        """Count a round and return what is broken by it, None where every clause holds."""
        self.at = after_round(self.counts, self.at, offered, played)
        self._short = [count.short(at) for count, at in zip(self.counts, self.at, strict=True)]
        if max(self._short, default=0) <= 0:
            return None
        first = next(n for n, short in enumerate(self._short) if short > 0)
        return self.counts[first].broken(self.at[first])

    def worst(self) -> int | None:
        """Return the largest number of plays by which a floor is behind what is owed, None without floors."""
        pairs = zip(self.counts, self._short, strict=False)
        return max((short for count, short in pairs if count.clause.kind == "floor"), default=None)

    def claims(self, live: Sequence[Label]) -> dict[frozenset[Label], Fraction]:
        """Return by how many plays each floor is behind r A, by those of its arms that are not retired."""
        found: dict[frozenset[Label], Fraction] = {}
        for count, (rounds, plays, _) in zip(self.counts, self.at, strict=True):
            stay = frozenset(count.clause.arms) & frozenset(live)
            if count.clause.kind == "floor" and stay:
                lag = Fraction(count.step * rounds + count.start, count.period) + count.clause.slack - plays
                found[stay] = max(lag, found.get(stay, Fraction(0)))
        return {members: lag for members, lag in found.items() if lag > 0}

    def retire(self, arm: Label) -> None:
        """An arm is owed nothing any more."""
        kept = [(count, at) for count, at in zip(self.counts, self.at, strict=True) if count.clause.arms != (arm,)]
        self.counts, self.at = tuple(count for count, _ in kept), tuple(at for _, at in kept)

    def add(
        self, arm: Label, share: Fraction, slack: int, wait: int, cap: Fraction | None = None, ahead: int = 0
    ) -> None:
        """An arm is owed a share from so many rounds on, and has a cap."""
        if share:
            self.counts += (count_of(Clause("floor", (arm,), share, slack), self.arms, -wait * share),)
        if cap is not None:
            self.counts += (count_of(Clause("cap", (arm,), cap, ahead), self.arms),)
        self.at += (START,) * (len(self.counts) - len(self.at))


class Allowed(NamedTuple):
    """What becomes of each slate of an offer.

    Attributes
    ----------
    slates : all that might be played.
    granted : those after which every clause can be kept, whatever is on offer.
    barred : those after which some offers break a clause, whatever is played. Of the others it is not known.
    """

    slates: frozenset[int]
    granted: frozenset[int]
    barred: frozenset[int]

    def may_play(self, arm: int) -> bool:
        """Return whether some rule could play an arm, given by its position."""
        return any(slate >> arm & 1 for slate in self.granted)

    def must_not(self, arm: int) -> bool:
        """Return whether no rule could play an arm."""
        return not any(slate >> arm & 1 for slate in self.slates - self.barred)


class Game:
    """Every state that clauses can come to, and from which of them they can be kept whatever is on offer."""

    def __init__(self, counts: Sequence[Count], plays: int, offers: Sequence[int]) -> None:
        self._counts, self._plays, self._offers = tuple(counts), plays, tuple(offers)
        self._states: set[tuple[At, ...]] = set()
        self._lost: dict[tuple[At, ...], int] = {}
        self._sure, self._too_many = AHEAD // plays, False

    def allowed(self, at: tuple[At, ...], offered: int) -> Allowed | None:
        """Return what may be played of an offer; None where nobody knows, as there are too many states."""
        granted, barred = set(), set()
        for slate in slates(offered, self._plays):
            state = self._after(at, offered, slate)
            if state is not None and not self._explore(state):
                return None
            within = 0 if state is None else self._lost.get(state)
            if within is None:
                granted.add(slate)
            elif within < self._sure:
                barred.add(slate)
        return Allowed(frozenset(slates(offered, self._plays)), frozenset(granted), frozenset(barred))

    def _after(self, at: tuple[At, ...], offered: int, slate: int) -> tuple[At, ...] | None:
        """Return the state after a round, None where it breaks a clause."""
        found = after_round(self._counts, at, offered, slate)
        if any(count.short(one) > 0 for count, one in zip(self._counts, found, strict=True)):
            return None
        return tuple(count.state(one) for count, one in zip(self._counts, found, strict=True))

    def _explore(self, start: tuple[At, ...]) -> bool:
        """Find every state from here on, and within how many rounds those are lost that are; False if too many."""
        if start in self._states or self._too_many:
            return not self._too_many
        edges: dict[tuple[At, ...], list[set[tuple[At, ...] | None]]] = {}
        todo = [start]
        while todo:
            state = todo.pop()
            if state in edges:
                continue
            if len(edges) >= MOST_STATES:
                self._too_many = True
                return False
            edges[state] = [
                {self._after(state, offered, slate) for slate in slates(offered, self._plays)} - {None}
                for offered in self._offers
            ]
            todo += [after for offer in edges[state] for after in offer if after is not None and after not in edges]
        self._states |= edges.keys()
        lost: dict[tuple[At, ...], int] = {}
        within = 0
        while True:  # a state is lost in one round more than the best answer to the worst offer
            now = [s for s, offers in edges.items() if s not in lost and any(o <= lost.keys() for o in offers)]
            if not now:
                break
            lost |= dict.fromkeys(now, within := within + 1)
        self._lost |= lost
        return True
