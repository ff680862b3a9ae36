"""How a simulation counts what is promised: in the books of `evenhand.promises`, as studies and audits do.

The first clauses of the books are the floors of the arms, in their order, of those
that are owed nothing too; what else is promised follows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.kernels.compose import kernel
from evenhand.promises.books import ClauseCounts
from evenhand.promises.clause import Clause
from evenhand.promises.clause_counts import ClauseRates, Counts
from evenhand.promises.round_kernels import FLOOR, pause, play


class Trace(NamedTuple):
    """What a replication leaves behind at its checkpoints, a row each."""

    pulls: Ints
    """(n_checkpoints, n_arms)."""
    worst: Floats
    """(n_checkpoints,): the largest r A - N of all floors so far, -inf where none is owed, as the next."""
    behind: Floats
    """(n_checkpoints,): the largest r A - N now, by the clock of each floor."""
    violations: Ints
    """(n_checkpoints,): pairs of a clause and a round after which it was broken, so far."""
    forced: Ints
    reward: Floats
    totals: Floats
    """(n_checkpoints, n_scores): the world's scores, cumulative."""


def empty_trace(rows: int, arms: int, scores: int) -> Trace:
    """Return a trace of so many checkpoints before the first round."""
    broken, forced = np.zeros((2, rows), np.int64)
    behind = np.full(rows, -math.inf), np.full(rows, -math.inf)
    return Trace(np.zeros((rows, arms), np.int64), *behind, broken, forced, np.zeros(rows), np.zeros((rows, scores)))


@kernel
def all_offered(offers: Bools, state: object, rates: ClauseRates, counts: Counts, round: int) -> int:
    """Stand for `set_offer` where every arm is always on offer."""
    return 0


@kernel
def set_offer(offers: Bools, state: Any, rates: ClauseRates, counts: Counts, round: int) -> int:
    """Tell the policy and the books which arms are on offer (n_rounds, n_arms); return how many of the clauses that
    pause are broken."""
    for arm in range(offers.shape[1]):
        state.offered[arm] = 1 if offers[round - 1, arm] else 0
    paused: int = pause(rates, counts, 0, offers[round - 1], round)
    return paused


@kernel
def count(rates: ClauseRates, counts: Counts, arm: int, round: int) -> None:
    """Count a play for the arm's own floor, which stands at the arm's place, and then for what else it belongs to."""
    # Read from `owners`, the floor's place could be an index from the end: a twentieth of a round under caps.
    play(rates, counts, 0, arm, round)
    for i in range(rates.first[arm] + 1, rates.first[arm + 1]):
        play(rates, counts, 0, rates.owners[i], round)


@kernel
def note(trace: Trace, row: int, rates: ClauseRates, counts: Counts, before: Trace) -> None:
    """Write what was counted so far to a row of the trace; `before` (of one row) is what earlier promises showed, and
    the sums so far of what goes on from one promise to the next: forced, reward and totals."""
    clauses, arms = rates.kinds.size, trace.pulls.shape[1]
    trace.behind[row], trace.worst[row], trace.violations[row] = -math.inf, before.worst[0], before.violations[0]
    for arm in range(arms):
        trace.pulls[row, arm] = before.pulls[0, arm]
    for q in range(clauses):
        clock = counts.tick[0] - counts.idle[q]
        if q < arms:
            trace.pulls[row, q] += counts.plays[q]
        if clock > 0:
            trace.violations[row] += counts.times[q]
            if counts.missed[q] > 0:
                trace.violations[row] += clock - counts.since[q] + 1
            if rates.kinds[q] == FLOOR and rates.numerators[q] > 0:
                behind = rates.shares[q] * clock - counts.plays[q]
                trace.behind[row] = max(trace.behind[row], behind)
                trace.worst[row] = max(trace.worst[row], max(counts.worst[q], behind))
    trace.forced[row] = before.forced[0]
    trace.reward[row] = before.reward[0]
    for i in range(before.totals.shape[1]):
        trace.totals[row, i] = before.totals[0, i]


def open_books(promise: Any, arms: Any, rounds: int) -> ClauseCounts:
    """Return the books of a promise, or of none, after so many rounds."""
    nothing = tuple(Clause("floor", (arm,), Fraction(0), 0) for arm in arms)
    floors, others = (nothing, ()) if promise is None else (promise.floors, promise.clauses)
    clauses = [*floors, *(clause for clause in others if clause.kind != "floor" or len(clause.arms) > 1)]
    start: dict[str, Any] = {"worst": -math.inf, "rounds": rounds, "excuses": promise is not None and promise.excuses}
    return ClauseCounts(clauses, arms if promise is None else promise.arms, **start)
