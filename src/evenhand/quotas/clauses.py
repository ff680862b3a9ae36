"""Each promise of an audit, checked after every round of its clock, in exact integers.

The clock of a promise counts the rounds in which it applies: those of its segment, since its share was set, in which
its arm was on offer. With n such rounds gone by and N plays in them

    a floor is broken if    floor(r n - alpha) - N > 0,
    a cap is broken if      N - ceil(c n) - beta > 0,
    a window is broken if   c - (the plays in the last a rounds) > 0, once a rounds have gone by,

and the left side is by how many plays.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import entry, kernel
from evenhand.protocol import Label
from evenhand.quotas.findings import Breach, Kind

__all__ = ["Clause", "Verdict", "judge"]

Flags = NDArray[np.bool_]


class Clause(NamedTuple):
    """A promise to an arm or a set of arms, with the rounds that it is about, counted from 0, and how often these arms
    were played in each of them."""

    promise: Kind
    arms: tuple[Label, ...]
    limit: Any
    slack: int | Fraction
    """alpha or beta, by how many plays it may be missed; of a floor the fraction that stands for an exact limit."""
    segment: Label | None
    rounds: Ints
    plays: Flags | Ints


class Verdict(NamedTuple):
    """What came of a clause; rounds are places among the clause's own."""

    clause: Clause
    times: int
    """After how many of its rounds it is broken."""
    first: int
    first_by: int
    most: int
    most_by: int
    worst: float
    """The largest r n - N of a floor, 0 before its first round."""
    worst_at: int
    """The round after which that was reached, counted from 1 over the whole log."""
    left: float
    """r n - N in the end."""

    def first_breach(self) -> Breach:
        """Return where a clause that was broken was so first."""
        kind, arms, limit, _, segment, rounds, _ = self.clause
        return Breach(kind, arms, limit, int(rounds[self.first]) + 1, self.first_by, segment)

    def row(self) -> dict[str, Any]:
        """Return the clause's row in the table of promises."""
        kind, arms, limit, _, segment, rounds, _ = self.clause
        return {
            "promise": kind,
            "arm": arms[0] if len(arms) == 1 else arms,
            "segment": segment,
            "since": int(rounds[0]) + 1 if rounds.size else 0,
            "limit": f"{limit[0]} in {limit[1]}" if kind == "window" else str(limit),
            "first_broken": int(rounds[self.first]) + 1 if self.times else 0,
            "broken_by": self.most_by,
            "worst_round": int(rounds[self.most]) + 1 if self.times else 0,
            "rounds_in_violation": self.times,
        }


class Sums(NamedTuple):
    """What a kernel finds of a clause."""

    breaks: Ints
    """(5,): after how many rounds it is broken, the first of them and by how much, the worst and by how much."""
    worst: Floats
    """(2,): the largest r n - N so far, and the present one."""
    worst_at: Ints


@kernel
def enter(sums: Sums, n: int, missed: int) -> None:
    """Note that a clause is broken after its round n."""
    breaks = sums.breaks
    if breaks[0] == 0:
        breaks[1], breaks[2] = n, missed
    breaks[0] += 1
    if missed > breaks[4]:
        breaks[3], breaks[4] = n, missed


@kernel
def follow_floor(
    plays: Flags | Ints,
    rounds: Ints,
    share: float,
    numerator: int,
    denominator: int,
    slack: int,
    rest: int,
    sums: Sums,
    now: Floats,
    broken: Flags,
) -> None:
    """Check floor(r n + rest / q) - N <= slack after each round, for r = p / q; `now` gets the largest r n - N of any
    floor. No product r n is formed where it decides."""
    owed, played, step = -slack, 0, numerator // denominator
    numerator -= step * denominator
    behind, worst, worst_at = 0.0, 0.0, 0
    for n in range(plays.size):
        owed += step
        rest += numerator
        if rest >= denominator:
            rest -= denominator
            owed += 1
        played += plays[n]
        behind = share * (n + 1) - played
        round = rounds[n]
        if behind > now[round]:
            now[round] = behind
        if behind > worst:
            worst, worst_at = behind, round + 1
        if owed > played:
            enter(sums, n, owed - played)
            broken[round] = True
    sums.worst[0], sums.worst[1], sums.worst_at[0] = worst, behind, worst_at


@kernel
def follow_cap(
    plays: Flags | Ints, rounds: Ints, numerator: int, denominator: int, slack: int, sums: Sums, broken: Flags
) -> None:
    """Check N <= ceil(c n) + slack after each round."""
    allowed, rest, played = slack, 0, 0
    for n in range(plays.size):
        rest += numerator
        if rest >= denominator:
            rest -= denominator
            allowed += 1
        played += plays[n]
        most = allowed + (1 if rest > 0 else 0)
        if played > most:
            enter(sums, n, played - most)
            broken[rounds[n]] = True


@kernel
def follow_window(plays: Flags | Ints, rounds: Ints, least: int, length: int, sums: Sums, broken: Flags) -> None:
    """Check that at least so many of the last rounds had a play, after each round from the first full window on."""
    recent = 0
    for n in range(plays.size):
        recent += plays[n]
        if n >= length:
            recent -= plays[n - length]
        if n >= length - 1 and recent < least:
            enter(sums, n, least - recent)
            broken[rounds[n]] = True


def judge(clause: Clause, now: Floats, broken: Flags) -> Verdict:
    """Check a clause after each of its rounds, and enter into `now` (n_rounds,) the largest r n - N of any floor, into
    `broken` (n_rounds,) where it is broken."""
    kind, _, limit, slack, _, rounds, plays = clause
    sums = Sums(np.zeros(5, np.int64), np.zeros(2), np.zeros(1, np.int64))
    if kind == "window":
        entry(follow_window)(plays, rounds, *limit, sums, broken)
    elif kind == "cap":
        entry(follow_cap)(plays, rounds, limit.numerator, limit.denominator, slack, sums, broken)
    else:
        whole = math.ceil(slack)
        part = float(limit), limit.numerator, limit.denominator, whole, int((whole - slack) * limit.denominator)
        entry(follow_floor)(plays, rounds, *part, sums, now, broken)
    times, first, first_by, most, most_by = sums.breaks.tolist()
    worst, left = sums.worst.tolist()
    return Verdict(clause, times, first, first_by, most, most_by, worst, int(sums.worst_at[0]), left)
