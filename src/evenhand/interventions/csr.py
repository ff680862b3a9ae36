"""CSR: constrained search by importance sampling, with outcome and fairness pursued in the same phases.

After phase l, F are the remaining candidates with |zeta| + 3/2^l below the tolerance in every direction. Where F is
not empty, candidates with |zeta| - 3/2^l above the tolerance are dropped, and those whose outcome lies more than
5/2^l below the best of F.

Source: T. Gao and Y. Feng, "Identifying Best Fair Intervention" (2021), algorithm CSR (V1: the estimates use one
phase's samples; V2, `reuse`: all so far).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.interventions.estimators import Estimates
from evenhand.interventions.judgement import fair, low, unfair
from evenhand.interventions.phases import Phase, phase_count, phase_sizes
from evenhand.interventions.problem import Problem
from evenhand.interventions.program import Rows
from evenhand.interventions.search import GAP_HIGH, OUTCOME_LOW, Search
from evenhand.registry import register

__all__ = ["CSR"]


@register("interventions/csr")
class CSR(Search):
    """Find the best fair candidate, dropping unfair and low ones phase by phase.

    Parameters
    ----------
    problem : the problem.
    tolerance : E, in the outcome's units: a candidate is fair where every |gap| < E.
    budget : T, the number of trials, spent in ceil(log2(10 sqrt T)) phases.
    costs : cost of a trial of each candidate, (K,) or label -> cost; by default 0 for the deployed candidate and 1
        for the others.
    mean_cost : how much a trial may cost on average; 1 / sqrt(T) by default, the paper's choice.
    reuse : use all samples so far (V2) or those of the phase alone (V1).
    pooled : our extension instead of the paper's form: mixture weights, one fairness row a pair, natural trials count
        for gaps, unfair candidates are always dropped, and the last one must be certified.

    Raises
    ------
    ArgumentError
        If the tolerance or a cost is not as wanted, or the budget has phases without a trial.

    Examples
    --------
    >>> search, world = next(CSR.examples())
    >>> world.reset(seed=1)
    >>> while not search.finished:
    ...     allocation = search.ask()
    ...     search.tell(allocation, *world.respond(allocation))
    >>> search.recommend()[:2], search.problem.best(0.1)
    (('even', 'certified'), 'even')

    Source: Gao and Feng (2021), algorithm CSR. The bounds of its theorems are vacuous at budgets of practice: read the
    intervals of `recommend` instead.
    """

    certifies = True

    def __init__(
        self,
        problem: Problem,
        *,
        tolerance: float,
        budget: int,
        costs: Sequence[float] | Mapping[Any, float] | None = None,
        mean_cost: float | None = None,
        reuse: bool = True,
        pooled: bool = False,
    ) -> None:
        super().__init__(problem, tolerance, budget, costs, mean_cost, reuse, pooled)

    def phases(self) -> list[Phase]:
        count = phase_count(self.budget)
        rows = Rows(pooled=self.pooled)
        return [Phase(size, level, rows) for level, size in enumerate(phase_sizes(self.budget, count), 1)]

    def judge(self, estimates: Estimates, radius: float) -> None:
        shown = self.remaining & fair(estimates, self.limit, radius)
        if shown.any() or self.pooled:
            self.drop(unfair(estimates, self.limit, radius), GAP_HIGH)
        if shown.any():
            self.certified = shown
            self.drop(low(estimates, shown, radius), OUTCOME_LOW)
        left = int(self.remaining.sum())
        self.over = left == 0 or (left == 1 and bool((self.remaining & self.certified).any()))

    @classmethod
    def examples(cls) -> Iterator[tuple[CSR, Any]]:
        """Yield pairs (search, world) for the checks."""
        from evenhand.interventions.worlds import SimulatedTrial

        for world in SimulatedTrial.examples():
            yield cls(world.problem, tolerance=0.1, budget=4000), world
            yield cls(world.problem, tolerance=0.1, budget=500, pooled=True), world
