"""Searches to compare CSR with: all trials at once, two stages, and the best outcome whatever the gaps.

Source: R. Gao and H. Feng, "Identifying Best Fair Intervention" (2021), the two-stage form of CSR; R. Sen, K.
Shanmugam, A. G. Dimakis, S. Shakkottai, "Identifying Best Interventions through Online Importance Sampling" (ICML
2017), algorithm SRIS (`reuse`: version 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.interventions.allocation_program import Phase, TrialNeeds, phase_count, schedule
from evenhand.interventions.estimators import Estimates
from evenhand.interventions.problem import Problem
from evenhand.interventions.radius_rules import fair, low, unfair, worst_gap
from evenhand.interventions.search import GAP_HIGH, OUTCOME_LOW, Search
from evenhand.registry import register


@register("interventions/one-shot", baseline=True)
class OneShot(Search):
    """Spend the budget on one allocation, then name the best candidate whose estimated gaps are below the tolerance.

    Parameters
    ----------
    problem, tolerance, budget, costs, mean_cost : as for `CSR`.

    Raises
    ------
    ArgumentError
        If the tolerance, the budget or a cost is invalid.

    Examples
    --------
    >>> search, world = next(OneShot._examples())
    >>> world.reset(seed=1)
    >>> allocation = search.ask()
    >>> search.tell(allocation, *world.respond(allocation))
    >>> search.finished, search.recommend().candidate
    (True, 'even')

    Source: ours, on the estimators of Gao and Feng (2021).
    """

    example = {"tolerance": 0.1, "budget": 4000}  # noqa: RUF012

    def __init__(
        self,
        problem: Problem,
        *,
        tolerance: float,
        budget: int,
        costs: Sequence[float] | Mapping[Any, float] | None = None,
        mean_cost: float | None = None,
    ) -> None:
        super().__init__(problem, tolerance=tolerance, budget=budget, costs=costs, mean_cost=mean_cost)

    def phases(self) -> list[Phase]:
        return [Phase(self.budget, phase_count(self.budget), TrialNeeds())]

    def _judge(self, estimates: Estimates, radius: float) -> None:
        self.certified = fair(estimates, self.limit, radius)
        self.drop(~(worst_gap(estimates) < self.limit), GAP_HIGH)
        self.drop(low(estimates, self.remaining, 0.0), OUTCOME_LOW)


@register("interventions/two-stage-csr", baseline=True)
class TwoStageCSR(Search):
    """Spend T/2 trials under do(S) to drop unfair candidates, and T/2 with S as it comes to drop low outcomes.

    It ends with "no_fair_candidate" where the first stage drops all. What is left was not shown to be unfair; its
    status is "certified" only where the last phase that showed any candidate to be fair showed that this one is.

    Parameters
    ----------
    problem, tolerance, budget, costs, mean_cost, reuse : as for `CSR`.

    Raises
    ------
    ArgumentError
        If the tolerance or a cost is invalid, or the budget has phases without a trial.

    Examples
    --------
    >>> search, world = next(TwoStageCSR._examples())
    >>> allocation = search.ask()
    >>> bool(allocation.frame["do(sex)"].isna().any())
    False

    Source: Gao and Feng (2021), the two-stage form of CSR.
    """

    example = {"tolerance": 0.1, "budget": 1000, "reuse": False}  # noqa: RUF012

    def phases(self) -> list[Phase]:
        first, second = self.budget // 2, self.budget - self.budget // 2
        return schedule(first, TrialNeeds(outcome=False)) + schedule(second, TrialNeeds(gap=False))

    def _judge(self, estimates: Estimates, radius: float) -> None:
        stage = self._phases[self.phase - 1].rows
        if stage.gap:
            shown = self.remaining & fair(estimates, self.limit, radius)
            self.certified = shown if shown.any() else self.certified
            self.drop(unfair(estimates, self.limit, radius), GAP_HIGH)
        else:
            self.drop(low(estimates, self.remaining, radius), OUTCOME_LOW)
        between = self.phase < len(self._phases) and self._phases[self.phase].rows.gap
        self.over = not self.remaining.any() or (int(self.remaining.sum()) == 1 and not between)


@register("interventions/sris")
class SRIS(Search):
    """Find the candidate with the best outcome; nothing is promised about gaps, and its status is "uncertified".

    Parameters
    ----------
    problem, budget, costs, mean_cost, reuse : as for `CSR`.

    Raises
    ------
    ArgumentError
        If a cost is invalid, or the budget has phases without a trial.

    Examples
    --------
    >>> search, world = next(SRIS._examples())
    >>> search.ask().frame["do(sex)"].isna().all()
    np.True_

    Source: Sen et al. (2017), algorithm SRIS.
    """

    example = {"budget": 500}  # noqa: RUF012

    constrained = False

    def __init__(
        self,
        problem: Problem,
        *,
        budget: int,
        costs: Sequence[float] | Mapping[Any, float] | None = None,
        mean_cost: float | None = None,
        reuse: bool = True,
    ) -> None:
        super().__init__(problem, tolerance=None, budget=budget, costs=costs, mean_cost=mean_cost, reuse=reuse)

    def phases(self) -> list[Phase]:
        return schedule(self.budget, TrialNeeds(gap=False))

    def _judge(self, estimates: Estimates, radius: float) -> None:
        self.drop(low(estimates, self.remaining, radius), OUTCOME_LOW)
        self.over = int(self.remaining.sum()) == 1
