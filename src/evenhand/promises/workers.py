"""One promise kept by workers that decide at the same time and do not hear each other: exact, in integers.

A promise is kept if each of its clauses is, at every round of any merge order of the workers' logs, each log's own
order kept. Every clause has a balance B that adds over logs (`evenhand.promises.balance`). For a share r_i = p_i/q_i,
in lowest terms, with the whole tolerance a, N_i(t) >= floor(r_i t) - a, it is D_i = N_i - r_i t.

As N is whole, N >= floor(x) - a iff N + a + 1 > x. So the floor is D_i > -(a + 1), which is D_i >= -A_i with A_i = a
+ 1 - 1/q_i. No rounding is left, and D_i adds over logs. Where an arm is not always on offer, t counts only the rounds
in which it was. The floor of a set of arms is the same of their plays together, with one play a round or several. A cap
N <= ceil(c t) + b is E = c t - N >= -(b + 1 - 1/q).

Theorem 1 (all merge orders at once). Behind a common prefix `base` every merge order keeps a clause iff

    B(base) + sum_w min over prefixes of w of B(prefix) > -(a + 1).

Proof. A prefix of a merge order is one prefix of each log; every choice of prefixes occurs; a sum is least where each
of its terms is. QED. A missing log is a prefix of length 0 and breaks nothing.

Windows. A stretch of a merge order is one stretch of each log, and every choice occurs. So every order has a play in
any w rounds iff the longest stretches without one sum to w - 1 at most; c plays iff that holds for every split of c - 1
plays over the stretches. Workers that each play once in any b rounds of their own keep it iff W (b - 1) + (c - 1) b + 1
<= w, so b = floor((w - 1 + W) / (W + c - 1)).

Endowments. A worker that is given e >= 0 keeps B >= -e on its own rounds. If what there is, A + B(base), is at least
the sum of what is given, all of them keep the clause together, whatever happens to any of them: add up. A worker alone
can keep D_i >= -e_i for ever iff sum_i max(0, ceil(r_i s - e_i)) <= s for every s, by earliest deadlines first; e_i = 1
- 1/q_i, which is a tolerance of 0, always can, and so can a whole promise of floors, sets and caps of tolerance 0.

Surplus in advance. If sum_i r_i < 1, a serial beginning can earn what the endowments need: with c_i = (W - 1)(1 -
1/q_i) - a, the least t with sum_i max(0, ceil(r_i t + c_i)) <= t rounds are enough, and any rule that plays arm i at
least floor(n_i s / t) times in its first s rounds, n_i = max(0, ceil(r_i t + c_i)), keeps the promise meanwhile. If the
shares sum to one no surplus can be earned: without such a beginning, W workers of tolerance 0 need a >= max_i (W - 1 -
floor((W - 1) / q_i)). Here promises of shares of single arms have such a beginning, others need the tolerance.

Segments, versions. Each has clocks and balances of its own, and every worker its whole endowment in each of them. No
beginning comes before a later segment, so a tolerance is needed that does without.

Membership. What no worker holds is the pool, A + B(base) - sum_w e. A worker that joins is paid from it. One that
leaves gives back e plus its least B so far, which nothing in its log touches: that keeps every merge order. (All that
is left, e + B now, keeps only those orders in which its rounds come before those of the one who takes it.)

Source: ours; endowments are related to the escrow method, P. E. O'Neil, ACM Transactions on Database Systems 11 (1986).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from evenhand.promises.balance import reach
from evenhand.promises.clause import Clause
from evenhand.promises.plain import arguments_of
from evenhand.promises.promise import Promise
from evenhand.promises.reading import key_of

__all__ = [
    "Plan",
    "burn_in",
    "endow",
    "feasible",
    "is_plain",
    "least_tolerance",
    "limits",
    "lowest",
    "own_promise",
    "owned",
    "plan",
    "pool_of",
]

MOST_DEADLINES = 100_000
"""How many deadlines `feasible` looks at before it gives up."""
LONGEST = 1_000_000
"""The most rounds of a serial beginning."""
STEPS = 20_000
"""How many lengths of it are tried, each too short by the pulls that the one before lacks."""

Shares = Sequence[Fraction]


class Plan(NamedTuple):
    """How workers begin.

    Attributes
    ----------
    rounds : the length of the serial beginning, 0 for none.
    pulls : how often each arm must be played in it (n_arms,).
    endowment : what each worker is given, for every clause (n_clauses,).
    """

    rounds: int
    pulls: list[int]
    endowment: list[Fraction]


def owned(promise: Promise) -> list[Clause]:
    """Return the clauses that workers are given a part of: the floor of every arm, one of 0 too, and then those of
    sets, the caps and the windows."""
    shares = zip(promise.arms, promise.shares, strict=True)
    floors = [Clause("floor", (arm,), share, promise.slack) for arm, share in shares]
    return floors + [clause for clause in promise.clauses if clause.kind != "floor" or len(clause.arms) > 1]


def is_plain(clauses: Sequence[Clause]) -> bool:
    """Return whether shares of single arms are all that is promised."""
    return all(clause.kind == "floor" and len(clause.arms) == 1 for clause in clauses)


def lowest(clause: Clause) -> Fraction:
    """Return what a worker must be given at least, for a tolerance of 0; of a window nothing is known beforehand."""
    return Fraction(0) if isinstance(clause.rate, tuple) else 1 - Fraction(1, clause.rate.denominator)


def limits(clauses: Sequence[Clause]) -> list[Fraction]:
    """Return A, by how much the balance of each clause may be below 0 (n_clauses,)."""
    return [reach(c) - 1 + lowest(c) for c in clauses]


def pool_of(clauses: Sequence[Clause], given: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Return what there is to be given to workers of each clause, where these have been given so much: of a window with
    several plays, c - 1 of the longest own windows may be inside one stretch."""
    pool = limits(clauses)
    for place, clause in enumerate(clauses):
        if isinstance(clause.rate, tuple):
            most = max((endowment[place] for endowment in given), default=Fraction(0))
            pool[place] -= (clause.rate[0] - 1) * (most + 1)
    return pool


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


def endow(clauses: Sequence[Clause], pool: Sequence[Fraction], workers: int) -> list[Fraction] | None:
    """Return what each of so many new workers is given, None where the pool is too small.

    Each is given a whole tolerance, as large as possible while half of the pool stays for workers that join later; a
    tolerance of 0 where that is all the pool can pay; else, of shares of single arms, an equal part of the pool, if a
    worker can live on that. Of windows each is given an equal part, as a longer own window leaves a learner more.
    """
    zero = [lowest(clause) for clause in clauses]
    if any(workers * e > left for left, e in zip(pool, zero, strict=True)):
        equal = [left / workers for left in pool]
        return equal if is_plain(clauses) and feasible(list(map(_rate, clauses)), equal) else None
    slack: dict[str, int] = {}
    for clause, e, left in zip(clauses, zero, pool, strict=True):
        most = max(0, math.floor(left / (2 * workers) - e))
        slack[clause.kind] = min(slack.get(clause.kind, most), most)
    return [
        Fraction(left // workers) if clause.kind == "window" else e + slack[clause.kind]
        for clause, e, left in zip(clauses, zero, pool, strict=True)
    ]


def _rate(clause: Clause) -> Fraction:
    return Fraction(0) if isinstance(clause.rate, tuple) else clause.rate


def own_promise(promise: Promise, endowment: Sequence[Fraction]) -> Promise:
    """Return what a worker promises of its own rounds that was given this much of each clause.

    Raises
    ------
    SharesError
        If no worker can keep it: its own windows are too short to be kept together.
    """
    given = list(zip(owned(promise), endowment, strict=True))
    over = {(clause.kind, e - lowest(clause)) for clause, e in given if clause.kind != "window"}
    slack, said = dict(over), arguments_of(promise)
    if len(over) > len(slack) or any(more.denominator > 1 for more in slack.values()):
        return Promise(**said | {"tolerance": 0.0}).exactly(dict(zip(promise.arms, endowment, strict=True)))
    said |= {"tolerance": float(slack.get("floor", 0)), "cap_tolerance": float(slack.get("cap", 0))}
    own = {key_of(clause.arms): (1, int(e) + 1) for clause, e in given if clause.kind == "window"}
    return Promise(**said | ({"windows": own} if own else {}))


def burn_in(shares: Shares, slack: int, workers: int) -> int | None:
    """Return the length of the shortest serial beginning after which so many workers can each have a tolerance of 0, 0
    where they need none; None where there is none of at most `LONGEST` rounds.

    >>> burn_in([Fraction(1, 2), Fraction(1, 4)], 0, 4), burn_in([Fraction(1, 2), Fraction(9, 20)], 0, 4)
    (15, 87)
    """
    rounds = 0
    spare = 1 - sum(shares)
    if not spare and sum((workers - 1) * e - slack for e in map(_zero, shares)) > 0:
        return None  # what the arms are behind by sums to zero, whatever is played
    for _ in range(STEPS):
        needed = sum(_lacking(shares, slack, workers, rounds))
        if needed <= rounds or needed > LONGEST:
            return rounds if needed <= rounds else None
        rounds = needed
    return None


def _lacking(shares: Shares, slack: int, workers: int, rounds: int) -> list[int]:
    """Return how often each arm must be played in a serial beginning of so many rounds."""
    return [max(0, math.ceil(r * rounds + (workers - 1) * _zero(r) - slack)) for r in shares]


def _zero(share: Fraction) -> Fraction:
    return 1 - Fraction(1, share.denominator)


def least_tolerance(clauses: Sequence[Clause], workers: int) -> int:
    """Return the least whole tolerance, the same for all these floors or caps, under which so many workers need no
    serial beginning.

    >>> least_tolerance([Clause("floor", (arm,), Fraction(1, 3)) for arm in "abc"], 4)
    2
    >>> least_tolerance([Clause("floor", (arm,), Fraction(1, 20)) for arm in range(10)], 2)
    0
    """
    enough = max((workers - 1 - (workers - 1) // _rate(clause).denominator for clause in clauses), default=0)
    tried = ((slack, [clause._replace(slack=slack) for clause in clauses]) for slack in range(enough))
    return next((slack for slack, each in tried if endow(each, limits(each), workers) is not None), enough)


def plan(promise: Promise, workers: int) -> Plan | None:
    """Return how so many workers keep a promise together, None where they cannot."""
    clauses, none = owned(promise), [0] * len(promise.arms)
    pool = limits(clauses)
    for place, clause in enumerate(clauses):
        if isinstance(clause.rate, tuple):
            plays, rounds = clause.rate
            pool[place] = Fraction(max(0, (rounds - plays) // (workers + plays - 1)) * workers)
    endowment = endow(clauses, pool, workers)
    if endowment is not None:
        return Plan(0, none, endowment)
    if not is_plain(clauses) or promise.plays > 1:
        return None
    length = burn_in(promise.shares, promise.slack, workers)
    if length is None:
        return None
    return Plan(length, _lacking(promise.shares, promise.slack, workers, length), list(map(lowest, clauses)))
