"""One promise kept by workers that decide at the same time and do not hear each other: exact, in integers.

A share r_i = p_i/q_i, in lowest terms, with the whole tolerance a is promised at every round t of any merge order of
the workers' logs, each log's own order kept: N_i(t) >= floor(r_i t) - a. Let D_i = N_i - r_i t over a log, exactly.

As N is whole, N >= floor(x) - a iff N + a + 1 > x. So the promise is D_i > -(a + 1), which is D_i >= -A_i with A_i = a
+ 1 - 1/q_i. No floor is left, and D_i adds over logs. Where an arm is not always on offer, t counts only the rounds in
which it was; nothing below changes.

Theorem 1 (all merge orders at once). Behind a common prefix `base` every merge order keeps the promise iff for every i

    D_i(base) + sum_w min over prefixes of w of D_i(prefix) > -(a + 1).

Proof. A prefix of a merge order is one prefix of each log; every choice of prefixes occurs; a sum is least where each
of its terms is. QED. A missing log is a prefix of length 0 and breaks nothing.

Endowments. A worker that is given e_i >= 0 keeps D_i >= -e_i on its own rounds. If D_i(base) + A_i >= sum_w e_i for
every i, all of them keep the promise together, whatever happens to any of them: add up. A worker alone can keep D_i >=
-e_i for ever iff sum_i max(0, ceil(r_i s - e_i)) <= s for every s, by earliest deadlines first; e_i = 1 - 1/q_i, which
is a tolerance of 0, always can.

Surplus in advance. If sum_i r_i < 1, a serial beginning can earn what the endowments need: with c_i = (W - 1)(1 -
1/q_i) - a, the least t with sum_i max(0, ceil(r_i t + c_i)) <= t rounds are enough, and any rule that plays arm i at
least floor(n_i s / t) times in its first s rounds, n_i = max(0, ceil(r_i t + c_i)), keeps the promise meanwhile. If the
shares sum to one no surplus can be earned: without such a beginning, W workers of tolerance 0 need a >= max_i (W - 1 -
floor((W - 1) / q_i)).

Membership. What no worker holds is the pool, A_i + D_i(base) - sum_w e_i. A worker that joins is paid from it. One that
leaves gives back e_i plus its least D_i so far, which nothing in its log touches: that keeps every merge order. (All
that is left, e_i + D_i now, keeps only those orders in which its rounds come before those of the one who takes it.)

Source: ours; endowments are related to the escrow method, P. E. O'Neil, ACM Transactions on Database Systems 11 (1986).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

__all__ = ["Balance", "Plan", "burn_in", "endow", "feasible", "least_tolerance", "limits", "plan", "room"]

MOST_DEADLINES = 100_000
"""How many deadlines `feasible` looks at before it gives up."""
LONGEST = 1_000_000
"""The most rounds of a serial beginning."""
STEPS = 20_000
"""How many lengths of it are tried, each too short by the pulls that the one before lacks."""

Shares = Sequence[Fraction]


class Balance:
    """The rounds of one log, the pulls in them, and the least D_i of all its prefixes.

    >>> balance = Balance([Fraction(1, 2), Fraction(1, 2)])
    >>> for arm in (0, 0, 1):
    ...     balance.play(arm)
    >>> balance.now(), balance.least()
    ([Fraction(1, 2), Fraction(-1, 2)], [Fraction(0, 1), Fraction(-1, 1)])
    """

    def __init__(self, shares: Shares) -> None:
        self.shares = tuple(shares)
        self.rounds = 0
        self.pulls = [0] * len(self.shares)
        self._missed = [0] * len(self.shares)
        """The rounds in which the arm was not on offer, which do not count for it."""
        self._least = [0] * len(self.shares)
        """q_i D_i at its least before a pull of the arm; between two pulls D_i only falls."""

    def play(self, arm: int, offered: Collection[int] | None = None) -> None:
        """Count the next round, in which this arm was played, and only these arms were on offer, None for all."""
        share = self.shares[arm]
        before = share.denominator * self.pulls[arm] - share.numerator * (self.rounds - self._missed[arm])
        self._least[arm] = min(self._least[arm], before)
        self.pulls[arm] += 1
        self.rounds += 1
        if offered is not None:
            for other in set(range(len(self.shares))) - set(offered):
                self._missed[other] += 1

    def now(self) -> list[Fraction]:
        """Return D_i after the last round (n_arms,)."""
        counted = zip(self.pulls, self.shares, self._missed, strict=True)
        return [n - r * (self.rounds - missed) for n, r, missed in counted]

    def least(self) -> list[Fraction]:
        """Return the least D_i of all prefixes, the empty one among them (n_arms,)."""
        before = (Fraction(low, r.denominator) for low, r in zip(self._least, self.shares, strict=True))
        return [min(low, last) for low, last in zip(before, self.now(), strict=True)]


class Plan(NamedTuple):
    """How workers begin.

    Attributes
    ----------
    rounds : the length of the serial beginning, 0 for none.
    pulls : how often each arm must be played in it (n_arms,).
    endowment : what each worker is given, for every arm (n_arms,).
    """

    rounds: int
    pulls: list[int]
    endowment: list[Fraction]


def limits(shares: Shares, slack: int) -> list[Fraction]:
    """Return A_i, by how much D_i may be below 0 under a tolerance of `slack` pulls (n_arms,)."""
    return [slack + 1 - Fraction(1, share.denominator) for share in shares]


def room(slack: int, base: Balance, workers: Iterable[Balance]) -> list[Fraction]:
    """Return for each arm by how much every prefix of every merge order behind `base` stays above what breaks the
    promise: it is kept iff all are above 0."""
    worst = base.now()
    for worker in workers:
        worst = [sum_ + low for sum_, low in zip(worst, worker.least(), strict=True)]
    return [min(low, alone) + slack + 1 for low, alone in zip(worst, base.least(), strict=True)]


def feasible(shares: Shares, endowment: Sequence[Fraction]) -> bool:
    """Say whether one worker can keep D_i >= -e_i for ever; False also where that takes too long to find out.

    >>> halves = [Fraction(1, 2), Fraction(1, 2)]
    >>> feasible(halves, [Fraction(1, 2), Fraction(1, 2)]), feasible(halves, [Fraction(1, 4), Fraction(1, 4)])
    (True, False)
    >>> feasible([Fraction(1, 20)] * 10, [Fraction(9, 20)] * 10)
    True
    """
    owed = [(r, e) for r, e in zip(shares, endowment, strict=True) if r]
    if sum(r for r, _ in owed) > 1 or any(e < 0 for e in endowment):
        return False
    whole = max((math.ceil(e / r) for r, e in owed), default=0) + math.lcm(*(r.denominator for r, _ in owed))
    deadlines = [(_deadline(r, e, 1), arm, 1) for arm, (r, e) in enumerate(owed)]
    heapq.heapify(deadlines)
    for due in range(1, MOST_DEADLINES if owed else 0):
        s, arm, n = deadlines[0]
        if due > s:
            return False
        if s > whole or sum(max(Fraction(0), r * s - e + 1) for r, e in owed) <= s:
            return True
        heapq.heapreplace(deadlines, (_deadline(*owed[arm], n + 1), arm, n + 1))
    return not owed


def _deadline(share: Fraction, limit: Fraction, n: int) -> int:
    """Return the first round by which n pulls are owed."""
    return math.floor((n - 1 + limit) / share) + 1


def endow(shares: Shares, pool: Sequence[Fraction], workers: int) -> list[Fraction] | None:
    """Return what each of so many new workers is given, None where the pool is too small.

    Each is given a whole tolerance, as large as possible while half of the pool stays for workers that join later; a
    tolerance of 0 where that is all the pool can pay; else an equal part of the pool, if a worker can live on that.
    """
    zero = limits(shares, 0)
    slack = min(math.floor(left / (2 * workers) - e) for left, e in zip(pool, zero, strict=True))
    if all(workers * e <= left for left, e in zip(pool, zero, strict=True)):
        return limits(shares, max(0, slack))
    equal = [left / workers for left in pool]
    return equal if feasible(shares, equal) else None


def burn_in(shares: Shares, slack: int, workers: int) -> int | None:
    """Return the length of the shortest serial beginning after which so many workers can each have a tolerance of 0, 0
    where they need none; None where there is none of at most `LONGEST` rounds.

    >>> burn_in([Fraction(1, 2), Fraction(1, 4)], 0, 4), burn_in([Fraction(1, 2), Fraction(9, 20)], 0, 4)
    (15, 87)
    """
    rounds = 0
    spare = 1 - sum(shares)
    if not spare and sum((workers - 1) * e - slack for e in limits(shares, 0)) > 0:
        return None  # what the arms are behind by sums to zero, whatever is played
    for _ in range(STEPS):
        needed = sum(_lacking(shares, slack, workers, rounds))
        if needed <= rounds or needed > LONGEST:
            return rounds if needed <= rounds else None
        rounds = needed
    return None


def _lacking(shares: Shares, slack: int, workers: int, rounds: int) -> list[int]:
    """Return how often each arm must be played in a serial beginning of so many rounds."""
    zero = limits(shares, 0)
    return [max(0, math.ceil(r * rounds + (workers - 1) * e - slack)) for r, e in zip(shares, zero, strict=True)]


def least_tolerance(shares: Shares, workers: int) -> int:
    """Return the least whole tolerance under which so many workers need no serial beginning.

    >>> least_tolerance([Fraction(1, 3)] * 3, 4), least_tolerance([Fraction(1, 20)] * 10, 2)
    (2, 0)
    """
    enough = max((workers - 1 - (workers - 1) // share.denominator for share in shares), default=0)
    tried = (slack for slack in range(enough) if endow(shares, limits(shares, slack), workers) is not None)
    return next(tried, enough)


def plan(shares: Shares, slack: int, workers: int) -> Plan | None:
    """Return how so many workers keep a promise together, None where they cannot."""
    endowment = endow(shares, limits(shares, slack), workers)
    if endowment is not None:
        return Plan(0, [0] * len(shares), endowment)
    rounds = burn_in(shares, slack, workers)
    if rounds is None:
        return None
    return Plan(rounds, _lacking(shares, slack, workers, rounds), limits(shares, 0))
