"""SRIS: the best candidate whatever its gap, by successive rejects with importance sampling.

Source: R. Sen, K. Shanmugam, A. G. Dimakis, S. Shakkottai, "Identifying Best Interventions through Online Importance
Sampling" (ICML 2017), algorithm SRIS (`reuse`: version 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.interventions.estimators import Estimates
from evenhand.interventions.judgement import low
from evenhand.interventions.phases import Phase, schedule
from evenhand.interventions.problem import Problem
from evenhand.interventions.program import Rows
from evenhand.interventions.search import OUTCOME_LOW, Search
from evenhand.interventions.worlds import SimulatedTrial
from evenhand.registry import register


@register("interventions/sris")
class SRIS(Search):
    """Find the candidate of best outcome; nothing is promised about gaps, and its status is "uncertified".

    Parameters
    ----------
    problem, budget, costs, mean_cost, reuse : as for `CSR`.
    pooled : mixture weights instead of clipped ones.

    Raises
    ------
    ArgumentError
        If a cost is not as wanted, or the budget has phases without a trial.

    Examples
    --------
    >>> search, world = next(SRIS.examples())
    >>> search.ask().frame["do(sex)"].isna().all()
    np.True_

    Source: Sen et al. (2017), algorithm SRIS.
    """

    constrained = False

    def __init__(
        self, problem: Problem, *, budget: int, costs: Sequence[float] | Mapping[Any, float] | None = None,
        mean_cost: float | None = None, reuse: bool = True, pooled: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            problem, tolerance=None, budget=budget, costs=costs, mean_cost=mean_cost, reuse=reuse, pooled=pooled
        )

    def phases(self) -> list[Phase]:
        return schedule(self.budget, Rows(True, False, self.pooled))

    def judge(self, estimates: Estimates, radius: float) -> None:
        self.drop(low(estimates, self.remaining, radius), OUTCOME_LOW)
        self.over = int(self.remaining.sum()) == 1

    @classmethod
    def examples(cls) -> Iterator[tuple[SRIS, Any]]:
        """Yield pairs (search, world) for the checks."""
        for world in SimulatedTrial.examples():
            yield cls(world.problem, budget=500), world
