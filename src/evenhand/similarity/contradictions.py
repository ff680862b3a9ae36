"""Which of an auditor's verdicts cannot all hold.

Every verdict is a half-space of metrics. A linear program relaxes verdicts, each at a price, until some metric agrees
with all. A small set to relax is found by repeating it with lower prices for relaxed verdicts (Candes, Wakin,
Boyd, "Enhancing sparsity by reweighted l1 minimization", 2008); or, more closely, by removing again and again the
verdict without which the least must be relaxed (Chinneck, "An effective polynomial-time heuristic for the
minimum-cardinality IIS set-covering problem", 1996).

The fewest hold one of each few verdicts that clash: the least set that does so for those found so far is a lower bound,
and it is the answer once nothing clashes without it (Parker, Ryan, "Finding the minimum weight IIS cover of an
infeasible system of linear inequalities", 1996).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from evenhand.kernels.arrays import Floats
from evenhand.similarity.metric_state import MetricState, directions, matrix
from evenhand.similarity.verdicts import Verdict, half_spaces

YIELDS = 1e-9
"""A verdict that must yield by less than this in d^2, or has a smaller price, is not concerned."""

CLOSELY = 20
"""Where no more verdicts than this seem to yield, it is looked at closely."""

STRICTLY = 2e-9
"""Unfair is d < gap: a square as large as that of the gap must yield by this much."""

NEGATIVE = 1e-7
"""An eigenvalue of a metric that is no further below zero, relative to the largest one and to 1, is rounding."""

MOST_FACTS = 200
"""After so many cuts it is left at what they say: a few dozen are usual."""

PRECISELY = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""The learners see a contradiction of 1e-9: so must the program."""

MOST_CLASHES = 60
"""After so many sets of verdicts that clash no better lower bound is sought: more would take seconds."""

STANDING = 100.0
"""So much dearer than the newest is every other verdict: the question is which of them it clashes with."""


def disputed(
    log: Sequence[Verdict], refused: Sequence[Sequence[Verdict]], metric: MetricState, radius: float
) -> list[int]:
    """Return the ids of few verdicts of the log that no metric of the radius agrees with together with the rest, and
    with reports that were refused.

    Where several explain the refusals equally well, all are returned; where a refused report is the better explanation,
    none is.
    """
    parts: list[Sequence[Verdict]] = [*([verdict] for verdict in log), *refused]
    said = [verdict for part in parts for verdict in part]
    program, slack = _Program(metric, radius), np.zeros(len(said))
    for _ in range(4):
        slack, _ = program.yielding(said, 1.0 / (slack + 0.01))
    yielding = np.flatnonzero(slack > YIELDS)
    if not refused or yielding.size > CLOSELY:
        return [said[n].id for n in yielding if said[n].id]
    found: set[int] = set()
    while True:
        excess, priced = program.excess(parts)
        if excess <= YIELDS or not priced:
            return sorted(found)
        left = {n: program.excess(_without(parts, {n}))[0] for n in priced}
        best = [n for n in priced if left[n] <= min(left.values()) + YIELDS]
        removed = {n for n in best if parts[n][0].id} or {best[0]}
        found |= {parts[n][0].id for n in removed} - {0}
        parts = _without(parts, removed)


def fewest(log: Sequence[Verdict], metric: MetricState, radius: float) -> tuple[list[int], int]:
    """Return the ids of the fewest verdicts without which a metric of the radius agrees with the rest, and how many
    there must be at least, which is fewer only after too many clashes."""
    program, clashes, least = _Program(metric, radius), list[list[int]](), 0
    out: set[int] = set()
    while new := _apart(program, log, out):
        clashes += new
        if len(clashes) <= MOST_CLASHES:
            out = _one_of_each(clashes, len(log))
            least = len(out)
        else:
            often = Counter(n for clash in clashes for n in clash)
            out |= {max(clash, key=lambda n: often[n]) for clash in new}
    for n in sorted(out) if len(out) > least else []:
        kept = out - {n}
        out = out if program.clash(log, kept) else kept
    return [log[n].id for n in sorted(out)], least


def _apart(program: _Program, log: Sequence[Verdict], out: set[int]) -> list[list[int]]:
    """Return sets of verdicts that clash, none of them in two sets, without those that are out."""
    found, gone = list[list[int]](), set(out)
    while clash := program.clash(log, gone):
        found.append(clash)
        gone.update(clash)
    return found


def _one_of_each(clashes: Sequence[Sequence[int]], n: int) -> set[int]:
    """Return the fewest of n verdicts that hold one of each clash."""
    from scipy.optimize import LinearConstraint, milp

    holds = np.zeros((len(clashes), n))
    for row, clash in zip(holds, clashes, strict=True):
        row[clash] = 1.0
    found = milp(np.ones(n), integrality=np.ones(n), bounds=(0.0, 1.0), constraints=LinearConstraint(holds, 1.0))
    return set(np.flatnonzero(found.x > 0.5).tolist())


def clashing(log: Sequence[Verdict], report: Sequence[Verdict], metric: MetricState, radius: float) -> list[Verdict]:
    """Return verdicts that no metric of the radius agrees with together with the last of the report; [] if it stands
    against nothing but the radius."""
    said = [*log, *report]
    weights = np.r_[np.full(len(said) - 1, STANDING), 1.0]
    _, prices = _Program(metric, radius).yielding(said, weights)
    return [verdict for verdict, price in zip(said[:-1], prices, strict=False) if price > YIELDS]


def _without(parts: Sequence[Sequence[Verdict]], removed: set[int]) -> list[Sequence[Verdict]]:
    return [part for n, part in enumerate(parts) if n not in removed]


class _Program:
    """The linear program over metrics of a radius in which verdicts may yield.

    That no square of a distance is negative is added where a solution would break it: eigenvectors of negative
    eigenvalues are cuts, which are kept for the programs that follow.
    """

    def __init__(self, metric: MetricState, radius: float) -> None:
        self._metric, self._radius = metric, radius
        self._facts: list[Floats] = []

    def excess(self, parts: Sequence[Sequence[Verdict]]) -> tuple[float, list[int]]:
        """Return how far the verdicts must yield in all, and the numbers of the parts that have a price."""
        slack, prices = self.yielding([verdict for part in parts for verdict in part], 1.0)
        owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return float(slack.sum()), np.unique(owners[prices > YIELDS]).tolist()

    def clash(self, log: Sequence[Verdict], out: set[int]) -> list[int]:
        """Return the numbers of a few verdicts that no metric agrees with, none of them out; [] where none clash."""
        rest = [n for n in range(len(log)) if n not in out]
        slack, prices = self.yielding([log[n] for n in rest], 1.0, alike=True)
        return [rest[n] for n in np.flatnonzero(prices > YIELDS)] if slack.sum() > YIELDS / 2 else []

    def yielding(
        self, verdicts: Sequence[Verdict], weights: ArrayLike, *, alike: bool = False
    ) -> tuple[Floats, Floats]:
        """Return how far each verdict must yield so that a metric agrees with all, or how far all must alike (1,), and
        the price of each (n,)."""
        from scipy.optimize import linprog
        from scipy.sparse import block_array, csc_array, eye_array

        n, state = len(verdicts), self._metric
        m = state.rows.size
        if n == 0:
            return np.zeros(0), np.zeros(0)
        away, levels, signs = half_spaces(state, verdicts)
        told, limits = signs[:, None] * away, signs * levels
        limits[signs > 0.0] -= STRICTLY
        box = [(0.0 if i == j else -self._radius, self._radius) for i, j in zip(state.rows, state.columns, strict=True)]
        yields = csc_array(np.ones((n, 1))) if alike else eye_array(n)
        costs = np.r_[np.zeros(m), np.broadcast_to(weights, yields.shape[1])]
        while True:
            facts = np.reshape(self._facts, (-1, m))
            found = linprog(
                costs,
                A_ub=block_array([[csc_array(told), -yields], [csc_array(-facts), None]], format="csc"),
                b_ub=np.r_[limits, np.zeros(len(facts))],
                bounds=[*box, *[(0.0, None)] * yields.shape[1]],
                method="highs",
                options=PRECISELY,
            )
            if len(facts) >= MOST_FACTS or not self._learned(found.x[:m]):
                return found.x[m:], -found.ineqlin.marginals[:n]

    def _learned(self, coordinates: Floats) -> bool:
        """Add the directions in which a metric would have negative squares; return whether there are any."""
        values, vectors = np.linalg.eigh(matrix(self._metric, coordinates))
        negative = vectors.T[values < -NEGATIVE * max(1.0, float(values[-1]))]
        self._facts.extend(directions(self._metric, negative))
        return len(negative) > 0
