"""Two-stage CSR: first drop unfair candidates with half the budget, then look for the best outcome among the rest.

Source: T. Gao and Y. Feng, "Identifying Best Fair Intervention" (2021), the two-stage form of CSR.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evenhand.interventions.estimators import Estimates
from evenhand.interventions.judgement import fair, low, unfair
from evenhand.interventions.phases import Phase, schedule
from evenhand.interventions.program import Rows
from evenhand.interventions.search import GAP_HIGH, OUTCOME_LOW, Search
from evenhand.interventions.worlds import SimulatedTrial
from evenhand.registry import register


@register("interventions/two-stage-csr")
class TwoStageCSR(Search):
    """Spend T/2 trials under do(S) on dropping unfair candidates, and T/2 with S as it comes on dropping low ones.

    It ends with "no_fair_candidate" where the first stage drops all. What is left was not shown to be unfair; its
    status is "certified" only where the last phase that showed any candidate to be fair showed this one to be.

    Parameters
    ----------
    problem, tolerance, budget, costs, mean_cost, reuse, pooled : as for `CSR`.

    Raises
    ------
    ArgumentError
        If the tolerance or a cost is not as wanted, or the budget has phases without a trial.

    Examples
    --------
    >>> search, world = next(TwoStageCSR.examples())
    >>> allocation = search.ask()
    >>> bool(allocation.frame["do(sex)"].isna().any())
    False

    Source: Gao and Feng (2021), the two-stage form of CSR.
    """

    def phases(self) -> list[Phase]:
        first, second = self.budget // 2, self.budget - self.budget // 2
        stages = []
        for trials, rows in ((first, Rows(False, True, self.pooled)), (second, Rows(True, False, self.pooled))):
            stages += schedule(trials, rows)
        return stages

    def judge(self, estimates: Estimates, radius: float) -> None:
        stage = self._phases[self.phase - 1].rows
        if stage.gap:
            shown = self.remaining & fair(estimates, self.limit, radius)
            self.certified = shown if shown.any() else self.certified
            self.drop(unfair(estimates, self.limit, radius), GAP_HIGH)
        else:
            self.drop(low(estimates, self.remaining, radius), OUTCOME_LOW)
        between = self.phase < len(self._phases) and self._phases[self.phase].rows.gap
        self.over = not self.remaining.any() or (int(self.remaining.sum()) == 1 and not between)

    @classmethod
    def examples(cls) -> Iterator[tuple[TwoStageCSR, Any]]:
        """Yield pairs (search, world) for the checks."""
        for world in SimulatedTrial.examples():
            yield cls(world.problem, tolerance=0.1, budget=1000, reuse=False), world
