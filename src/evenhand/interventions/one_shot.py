"""OneShot: all trials in one allocation, then the plug-in choice; the baseline that phases have to beat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.interventions.estimators import Estimates
from evenhand.interventions.judgement import fair, low, worst_gap
from evenhand.interventions.phases import Phase, phase_count
from evenhand.interventions.problem import Problem
from evenhand.interventions.program import Rows
from evenhand.interventions.search import GAP_HIGH, OUTCOME_LOW, Search
from evenhand.interventions.worlds import SimulatedTrial
from evenhand.registry import register


@register("interventions/one-shot")
class OneShot(Search):
    """Spend the budget on one allocation, then name the highest outcome among estimated gaps below the tolerance.

    Parameters
    ----------
    problem, tolerance, budget, costs, mean_cost : as for `CSR`.
    pooled : mixture weights and pooled fairness rows instead of the paper's estimators.

    Raises
    ------
    ArgumentError
        If the tolerance, the budget or a cost is not as wanted.

    Examples
    --------
    >>> search, world = next(OneShot.examples())
    >>> world.reset(seed=1)
    >>> allocation = search.ask()
    >>> search.tell(allocation, *world.respond(allocation))
    >>> search.finished, search.recommend().candidate
    (True, 'even')

    Source: ours, on the estimators of Gao and Feng (2021).
    """

    def __init__(
        self, problem: Problem, *, tolerance: float, budget: int,
        costs: Sequence[float] | Mapping[Any, float] | None = None, mean_cost: float | None = None,
        pooled: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(problem, tolerance=tolerance, budget=budget, costs=costs, mean_cost=mean_cost, pooled=pooled)

    def phases(self) -> list[Phase]:
        return [Phase(self.budget, phase_count(self.budget), Rows(pooled=self.pooled))]

    def judge(self, estimates: Estimates, radius: float) -> None:
        self.certified = fair(estimates, self.limit, radius)
        self.drop(~(worst_gap(estimates) < self.limit), GAP_HIGH)
        self.drop(low(estimates, self.remaining, 0.0), OUTCOME_LOW)

    @classmethod
    def examples(cls) -> Iterator[tuple[OneShot, Any]]:
        """Yield pairs (search, world) for the checks."""
        for world in SimulatedTrial.examples():
            yield cls(world.problem, tolerance=0.1, budget=4000, pooled=True), world
