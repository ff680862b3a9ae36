"""The allocation program: how to split trials so that every remaining candidate is known as well as can be.

    maximise t   subject to   sum_j nu_{Y,j} / M_kj >= t            for every remaining k,
                              sum_j nu_{b,j} / D_kj^{a,b} >= t      for every remaining k and ordered pair (a, b),
                              sum_j c_j nu_j <= B,   sum nu = 1,   nu >= 0.

Source: Gao and Feng (2021), the allocation problem of CSR. The pooled form (ours) has one fairness row per
pair, to which both directions add, and counts a natural trial with S = b as one under do(S = b).

Tests assume no law of S's children, so rows of one group are not informative about another's mean: for tests (ours) a
fairness row is the mean of a candidate in a group, to which trials with that S add, natural or not. Of plans that serve
all rows equally the one with most natural trials is taken: these are informative about everything.

HiGHS solves it. One program is built per problem; a row is switched off by a lower bound that always holds, each solve
starts from the basis of the full set, and solutions are kept by the set that remains: the solution depends on the set
alone, never on what was solved before.

A search spends its budget in phases, each with its own program; shares become whole numbers of trials.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import ArgumentError, EvenhandError, expected
from evenhand.extras import optional
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.parameters import locked
from evenhand.processes import Lock

Gaps = dict[tuple[int, int], Floats]
"""Coefficients by the numbers of two values of S."""
ALWAYS = -2.0
"""A lower bound that every row satisfies: 1/M <= 1 and 1/D <= 1/ln 2, so t < 2."""
NATURAL = 1e-5
"""What a natural trial is worth beside t: it decides between plans of the same t."""


class TrialNeeds(NamedTuple):
    """What the trials have to serve: the outcome, the gaps, or both; gaps pooled, or one direction at a time; and
    whether tests judge, for which only its own trials inform about a candidate whose table is unknown."""

    outcome: bool = True
    gap: bool = True
    pooled: bool = False
    tested: bool = False


class Plan(NamedTuple):
    """The program's optimum: t, and the shares (1 + S, K) of trials: S as it comes in row 0, do(S = s) in row 1 + s."""

    value: float
    shares: Floats


class AllocationProgram:
    """The program of one problem for given costs and budget, kept hot.

    Parameters
    ----------
    outcome : (K, K) 1/M, zero where M is infinite.
    gap : (K, K) 1/D^{a,b} at (a, b), or, where groups are known one by one, 1/M under do(S = s) at (s, s).
    prior : (S,) law of S, for the pooled form.
    costs, budget : cost a trial of each candidate (K,), and the mean cost a trial that may be spent.
    """

    def __init__(
        self, outcome: Floats, gap: Gaps, prior: Floats, costs: Floats, budget: float, rows: TrialNeeds
    ) -> None:
        if costs.min() > budget:
            what = f"a candidate that costs at most {budget:g} a trial"
            raise ArgumentError(expected("costs", what, float(costs.min()), "raise mean_cost"))
        self._candidates, self._values = outcome.shape[0], prior.size
        self._blocks = _blocks(outcome, gap, prior, rows)
        self._costs, self._budget, self._tested = costs, budget, rows.tested
        self._lock = Lock()
        self._plans: dict[bytes, Plan] = {}
        self._solver: Any = None

    @locked
    def solve(self, remaining: Bools) -> Plan:
        """Return the optimum for the candidates that remain (K,)."""
        key = remaining.tobytes()
        if key not in self._plans:
            self._plans[key] = self._solved(remaining)
        return self._plans[key]

    def _solved(self, remaining: Bools) -> Plan:
        if self._solver is None:
            self._build()
        solver = self._solver
        off = np.flatnonzero(np.tile(~remaining, len(self._blocks))).astype(np.int32)
        # From the basis of the solve before, HiGHS may reach another optimum: plans would depend on their history.
        solver.clearSolver()
        solver.setBasis(self._basis)
        solver.changeRowsBounds(off.size, off, np.full(off.size, ALWAYS), np.full(off.size, np.inf))
        solver.run()
        status = solver.modelStatusToString(solver.getModelStatus())
        solution = np.array(solver.getSolution().col_value)
        solver.changeRowsBounds(off.size, off, np.zeros(off.size), np.full(off.size, np.inf))
        if status != "Optimal":
            raise EvenhandError(f"the allocation program was not solved: HiGHS says {status!r}")
        shares = np.maximum(solution[:-1], 0.0).reshape(1 + self._values, self._candidates)
        return Plan(float(solution[-1]), shares / shares.sum())

    def _build(self) -> None:
        highspy = optional("highspy", "a search for the best fair candidate")
        width = (1 + self._values) * self._candidates
        matrix = np.concatenate([np.pad(block, ((0, 0), (0, 1)), constant_values=-1.0) for block in self._blocks])
        cost = np.append(np.tile(self._costs, 1 + self._values), 0.0)
        total = np.append(np.ones(width), 0.0)
        matrix = np.vstack([matrix, cost, total])
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = width + 1, len(matrix)
        natural = np.arange(width) < self._candidates if self._tested else np.zeros(width)
        program.col_cost_ = np.append(natural * -NATURAL, -1.0)
        program.col_lower_, program.col_upper_ = np.zeros(width + 1), np.full(width + 1, np.inf)
        program.row_lower_ = np.concatenate([np.zeros(len(matrix) - 2), [-np.inf, 1.0]])
        program.row_upper_ = np.concatenate([np.full(len(matrix) - 2, np.inf), [self._budget, 1.0]])
        rows, columns = np.nonzero(matrix)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.searchsorted(rows, np.arange(len(matrix) + 1))
        program.a_matrix_.index_, program.a_matrix_.value_ = columns, matrix[rows, columns]
        self._solver = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off"), ("simplex_strategy", 1)):
            self._solver.setOptionValue(option, value)
        self._solver.passModel(program)
        self._solver.run()
        self._basis = self._solver.getBasis()


def _blocks(outcome: Floats, gap: Gaps, prior: Floats, rows: TrialNeeds) -> list[Floats]:
    """Return the coefficients of the shares, one block (K, (1 + S) K) a promise."""
    parts = [{0: outcome}] if rows.outcome else []
    for (a, b), own in gap.items() if rows.gap else ():
        if a == b:
            parts.append({0: prior[a] * own, 1 + a: own})
        elif not rows.pooled:
            parts.append({1 + b: own})
        elif a < b:
            parts.append({0: prior[b] * own + prior[a] * gap[b, a], 1 + b: own, 1 + a: gap[b, a]})
    nothing = np.zeros_like(outcome)
    return [np.hstack([part.get(row, nothing) for row in range(1 + prior.size)]) for part in parts]


class Phase(NamedTuple):
    """One phase: how many trials, the level l that sets clips and radii, and what its trials serve."""

    size: int
    level: int
    rows: TrialNeeds


def phase_count(trials: int) -> int:
    """Return n(T) = ceil(log2(10 sqrt T)).

    >>> phase_count(10_000)
    10

    Source: Gao and Feng (2021), algorithm CSR, after Sen et al. (2017), algorithm SRIS.
    """
    return math.ceil(math.log2(10.0 * math.sqrt(trials)))


def phase_sizes(trials: int, phases: int) -> list[int]:
    """Return how many trials each phase has, in proportion to 1/l, rounded so that all are spent.

    >>> phase_sizes(100, 3)
    [55, 27, 18]
    """
    ends = np.cumsum(1.0 / np.arange(1, phases + 1))
    return [int(n) for n in np.diff(np.rint(trials * ends / ends[-1]), prepend=0.0)]


def schedule(trials: int, rows: TrialNeeds) -> list[Phase]:
    """Return the phases that spend so many trials, all of which serve the same."""
    sizes = phase_sizes(trials, phase_count(max(trials, 1)))
    return [Phase(size, level, rows) for level, size in enumerate(sizes, 1)]


def looks(trials: int, least: int, rows: TrialNeeds) -> list[Phase]:
    """Return phases for tests, which may look at any time: each at least so large, or a quarter of all before it.

    >>> [phase.size for phase in looks(100, 20, TrialNeeds())]
    [20, 20, 20, 20, 20]
    >>> [phase.size for phase in looks(100_000, 30, TrialNeeds())][4:10]
    [30, 38, 47, 59, 74, 92]
    """
    found: list[Phase] = []
    spent = 0
    while spent < trials:
        size = min(max(least, -(-spent // 4)), trials - spent)
        found.append(Phase(size, len(found) + 1, rows))
        spent += size
    return found


def rounded(exact: Floats, size: int, costs: Floats, allowed: float) -> Ints:
    """Return whole numbers near `exact` that sum to `size` and cost at most `allowed`, if the cheapest can be paid.

    What the fractions leave goes to the largest ones that can still be paid, then to the cheapest ones.

    >>> rounded(np.array([2.5, 0.75, 0.75]), 4, np.array([0.0, 1.0, 1.0]), 1.0)
    array([3, 1, 0])
    """
    flat, price = np.maximum(exact.reshape(-1), 0.0), costs.reshape(-1)
    extra = price - price.min()
    # A whole share may come as 2.999...: without the slack it would lose a trial to rounding.
    plan = np.floor(flat + 1e-9).astype(np.int64)
    money = allowed - size * float(price.min()) + 1e-9
    while plan.sum() > size or plan @ extra > money:
        over = np.where(plan > 0, extra if plan @ extra > money else plan, -1)
        plan[over.argmax()] -= 1
    order = np.argsort(plan - flat, kind="stable")[: size - int(plan.sum())]
    bill = np.cumsum(extra[order])
    plan[order[(bill <= money - plan @ extra) | (extra[order] == 0.0)]] += 1
    cheapest = np.flatnonzero(extra == 0.0)
    plan[cheapest[flat[cheapest].argmax()]] += size - plan.sum()
    return plan.reshape(exact.shape)
