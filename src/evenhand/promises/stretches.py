"""Stretches of a log: where the books stand at their ends, and what they show together.

Each stretch is counted from nothing first, which says where the books stand at the start of the next (`Standing.then`);
then each is entered from there, anywhere and in any order, and what they show is joined (`join`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.promises.clause import Clause
from evenhand.promises.counts import Counts
from evenhand.protocol import Label

FIRSTS = {"begun": ("begun",), "first": ("first_by", "first")}
LARGEST = {"most": "most_at", "worst": "worst_at"}
SHOWN = ("begun", "times", "first", "first_by", "most", "most_at", "worst", "worst_at", "clock", "plays", "broken")


class Standing(NamedTuple):
    """Where books are: of each key (n_keys,) its ticks and the round of the last; of each key and clause (n_keys,
    n_clauses) the ticks of its clock, the round of the last, its plays, and (n_keys, n_clauses, most) the ticks of the
    last plays of a window, the latest last."""

    tick: Ints
    round: Ints
    clock: Ints
    seen: Ints
    plays: Ints
    recent: Ints

    @classmethod
    def of_floors(cls, clauses: Sequence[Clause], pulls: Mapping[Label, int], rounds: int, round: int) -> Self:
        """Return where books of floors and caps stand after so many rounds, up to this one, in which every arm was on
        offer and was played so often."""
        plays = np.array([[sum(pulls[arm] for arm in clause.arms) for clause in clauses]])
        clock, seen = np.full_like(plays, rounds), np.full_like(plays, round)
        return cls(np.array([rounds]), np.array([round]), clock, seen, plays, np.zeros((*plays.shape, 1), np.int64))

    def then(self, later: Standing, windows: Ints) -> Standing:
        """Return where books are after a stretch that stands like this one and then one that stood like `later`, both
        counted from nothing; `windows` (n_clauses,) are the plays that each window looks at."""
        recent = self.recent.copy()
        for key, q in np.argwhere(np.broadcast_to(windows > 0, self.plays.shape)):
            fresh = min(int(later.plays[key, q]), n := int(windows[q]))
            if fresh:
                moments = [*recent[key, q, :n], *(later.recent[key, q, n - fresh : n] + self.clock[key, q])]
                recent[key, q, :n] = moments[-n:]
        ticked, on = later.tick > 0, later.clock > 0
        return Standing(
            self.tick + later.tick,
            np.where(ticked, later.round, self.round),
            self.clock + later.clock,
            np.where(on, later.seen, self.seen),
            self.plays + later.plays,
            recent,
        )


def join(parts: Sequence[Counts]) -> Counts:
    """Return what stretches that follow one another show together, of which each is closed; in any order."""
    whole = parts[0]._replace(**{name: getattr(parts[0], name).copy() for name in SHOWN})
    for part in parts[1:]:
        for name, others in FIRSTS.items():
            mine, theirs = getattr(whole, name), getattr(part, name)
            earlier = (theirs > 0) & ((mine <= 0) | (theirs < mine))
            for field in others:
                getattr(whole, field)[earlier] = getattr(part, field)[earlier]
        for name, at in LARGEST.items():
            mine, theirs = getattr(whole, name), getattr(part, name)
            sooner = getattr(part, at) < getattr(whole, at)
            further = (theirs > mine) | ((theirs == mine) & sooner & (theirs > 0))
            getattr(whole, at)[further] = getattr(part, at)[further]
            mine[further] = theirs[further]
        for mine, theirs in ((whole.clock, part.clock), (whole.plays, part.plays)):
            np.maximum(mine, theirs, out=mine)
        whole.times[:] += part.times
        whole.broken[0] += part.broken[0]
    return whole
