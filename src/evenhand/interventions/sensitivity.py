"""How strong an unobserved cause has to be to change the answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import real
from evenhand.errors import ArgumentError, expected
from evenhand.interventions.confounding import (
    MOST_VALUES,
    MeanBounds,
    Terms,
    bounds,
    confounded_groups,
    confounded_values,
)
from evenhand.interventions.recommendation import report
from evenhand.kernels.arrays import Bools, Floats

if TYPE_CHECKING:
    from evenhand.interventions import Problem

STRONGEST = 1e6
NEAR = 1e-9
"""The strength is found to this relative error."""
EQUAL = 1e-12
"""Leads and gaps this near to their limits reach them."""


class Sensitivity:
    """How unobserved causes of two nodes can change the answer.

    The strength of a cause is the factor by which it may change the odds of V = v given V's parents (of S = s, for a
    cause of S and Y), either way; 1 is no such cause. A candidate that is the fitted table itself is deployed now: its
    outcome is observed and does not move under a cause of V and Y.

    Parameters
    ----------
    problem : the problem, with every table above the outcome.
    tolerance : E, in the outcome's units.
    between : V and Y, or S and Y, by these letters or by the nodes' names.

    Attributes
    ----------
    answer : the best fair candidate if there is no unobserved cause, or None.
    tolerance, between : as given, `between` by the nodes' names.
    strength : the least strength at which the named candidate may be unfair, or another fair and as good under the same
        cause; where none is fair, at which one may be. Infinite where a factor of a million is not enough.
    exact : whether some cause of this strength can change the answer; False for a cause of S and Y, where V has more
        than six values, and where Y is measured: then the answer holds at least up to this strength.

    Raises
    ------
    ArgumentError
        If the tolerance is not a number > 0, or `between` are other nodes.
    """

    def __init__(self, problem: Problem, *, tolerance: float, between: Any) -> None:
        self.tolerance = real("tolerance", tolerance, above=0)
        self.problem, self.answer = problem, problem.best(tolerance)
        self.between = _checked_between(problem, between)
        values = problem.structure.intervene in self.between
        self._world = confounded_values(problem) if values else confounded_groups(problem)
        few = len(problem.model.states[problem.structure.intervene]) <= MOST_VALUES
        self.exact = values and few and problem.structure.outcome not in problem.model.precision
        self._named = None if self.answer is None else problem.number(self.answer)

    @property
    def strength(self) -> float:
        """The least strength of a cause at which the answer may be a different one."""
        return self._least[0]

    @cached_property
    def _least(self) -> tuple[float, str]:
        """The strength, and what may be then."""
        reasons = self._reasons()
        for power in count(0):
            if 2.0**power > STRONGEST:
                return math.inf, ""
            means = self._world.means(2.0**power)
            reasons_now = [(broken, words) for broken, words in reasons if broken(means)]
            if reasons_now:
                break
        least, found = 2.0**power, reasons_now[0][1]
        # Every reason that holds here is tried: the first one found need not be the one that holds first.
        for broken, words in reasons_now if power else ():
            low, high = 2.0 ** (power - 1), least
            if broken(self._world.means(high)):
                while high > low * (1.0 + NEAR):
                    middle = math.sqrt(low * high)
                    low, high = (low, middle) if broken(self._world.means(middle)) else (middle, high)
                least, found = high, words
        return least, found

    def range(self, strength: float) -> Any:
        """Return the ranges of outcomes and gaps under a cause of this strength.

        Returns
        -------
        pandas.DataFrame
            By candidate: `outcome`, `outcome_low`, `outcome_high`, the same of each gap; `verdict`, "fair" or "unfair"
            where no cause of this strength changes that, else "undecided"; and `lead_low`, `lead_high`, by how much the
            named candidate is ahead, where one is named.

        Raises
        ------
        ArgumentError
            If the strength is not a number from 1 to a million.
        """
        strength = real("strength", strength, low=1.0, high=STRONGEST)
        one, means = self._world.means(1.0), self._world.means(strength)
        outcomes = (bounds(self._world.outcomes, one)[0], *bounds(self._world.outcomes, means))
        gaps = [bounds(self._world.gaps, one)[0], *bounds(self._world.gaps, means)]
        shape = (-1, len(self.problem.candidates))
        unfair = self._may_be_unfair(means)
        fair = np.array([self._may_be_fair(j, means) for j in range(len(self.problem.candidates))])
        verdicts = np.where(unfair & fair, "undecided", np.where(fair, "fair", "unfair")).tolist()
        ends = tuple(part.reshape(shape) for part in gaps)
        table = report(self.problem, outcomes, ends, verdicts, {}).drop(columns=["phase", "reason"])
        if self._named is None:
            return table
        low, high = (self.problem.scale * end for end in bounds(self._lead, means))
        return table.assign(lead_low=low, lead_high=high)

    def curve(self, *, points: int = 21) -> Any:
        """Return a data frame for pictures: for strengths from 1 to well beyond `strength`, by candidate `lead_low`,
        and the smallest and largest possible |gap|, `gap_low` and `gap_high`."""
        import pandas as pd

        last = 4.0 if math.isinf(self.strength) else 1.0 + 2.0 * max(self.strength - 1.0, 0.05)
        scale, frames = self.problem.scale, []
        for strength in np.linspace(1.0, last, points):
            means = self._world.means(float(strength))
            low, high = (end.reshape(-1, len(self.problem.candidates)) for end in bounds(self._world.gaps, means))
            lead = np.full(low.shape[1], np.nan)
            if self._named is not None:
                lead = self._lead.fixed + means.least(self._lead.weights)
            columns = {"lead_low": lead, "gap_low": np.maximum(low, 0.0).max(0), "gap_high": high.max(0)}
            frame = pd.DataFrame({name: scale * column for name, column in columns.items()})
            frames.append(frame.assign(strength=strength, candidate=list(self.problem.candidates)))
        return pd.concat(frames, ignore_index=True)

    def __repr__(self) -> str:
        return f"Sensitivity: {self}"

    def __str__(self) -> str:
        answer = "No rule is fair" if self.answer is None else f"{self.answer!r} is the best fair rule"
        first, both = self.between[0], f"influences both {self.between[0]} and {self.between[1]}"
        if math.isinf(self.strength):
            return f"{answer}, however strongly something unrecorded {both}."
        if round(self.strength, 2) == 1.0:
            return f"{answer}, but it may be otherwise if something unrecorded {both} ever so little: {self._least[1]}."
        share = f"{100.0 * self.strength / (1.0 + self.strength):.3g} %"
        even = f"it would have to turn a chance of 50 % for a value of {first} into {share} or more"
        odds = f"(the odds, the chance for over the chance against, change by a factor of {self.strength:.2f})"
        return f"{answer} unless something unrecorded {both}: {even} {odds}; {self._least[1]}."

    def _reasons(self) -> list[tuple[Callable[[MeanBounds], bool], str]]:
        """Return what would be another answer, and its words: whether there may be means that make it so."""
        labels, k = self.problem.candidates, self._named
        if k is None:
            return [(partial(self._may_be_fair, j), f"then {label!r} may be fair") for j, label in enumerate(labels)]
        rivals = [
            (partial(self._may_be_better, j), f"then {label!r} may be fair and as good")
            for j, label in enumerate(labels)
            if j != k
        ]
        return [(lambda means: bool(self._may_be_unfair(means)[k]), "then it may be unfair"), *rivals]

    def _may_be_unfair(self, means: MeanBounds) -> Bools:
        """Return which candidates (K,) may have a gap that is not below the tolerance."""
        high = bounds(self._world.gaps, means)[1].reshape(-1, len(self.problem.candidates))
        return np.asarray((high >= self._limit - EQUAL).any(0))

    def _may_be_fair(self, j: int, means: MeanBounds) -> bool:
        """Return whether a candidate may have every gap below the tolerance at once."""
        return math.isfinite(means.value(np.zeros_like(means.low), *self._fairness(j)))

    def _may_be_better(self, j: int, means: MeanBounds) -> bool:
        """Return whether a candidate may be fair and at the same time as good as the named one."""
        weights, fixed = self._lead
        return means.value(weights[j], *self._fairness(j)) + fixed[j] <= EQUAL

    def _fairness(self, j: int) -> tuple[Floats, Floats]:
        """Return the limits on the means under which a candidate's gaps are at most the tolerance."""
        weights, fixed = self._world.gaps
        k = len(self.problem.candidates)
        return weights[j::k], self._limit - fixed[j::k]

    @property
    def _limit(self) -> float:
        return self.tolerance / self.problem.scale

    @property
    def _lead(self) -> Terms:
        """The lead of the named candidate over each."""
        weights, fixed = self._world.outcomes
        return Terms(weights[self._named] - weights, fixed[self._named] - fixed)


def _checked_between(problem: Problem, between: Any) -> tuple[str, str]:
    """Return the two nodes, by their names."""
    structure = problem.structure
    causes = (*(() if problem.lot is not None else (structure.intervene,)), *structure.sensitive)
    letters = {"V": structure.intervene, "Y": structure.outcome, "S": structure.sensitive[0]}
    if isinstance(between, (tuple, list)) and len(between) == 2 and all(isinstance(node, str) for node in between):
        first, last = (node if node in problem.model.states else letters.get(node) for node in between)
        if last == structure.outcome and first is not None and first in causes:
            return first, last
    by_lot = f"{structure.intervene!r} was drawn by lot, so it has no such cause" if problem.lot is not None else ""
    choices = [(node, structure.outcome) for node in causes]
    raise ArgumentError(expected("between", f"one of {choices}", between, by_lot))
