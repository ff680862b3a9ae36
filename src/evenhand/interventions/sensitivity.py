"""How strong an unobserved cause has to be to change the answer."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arguments import real
from evenhand.errors import ArgumentError, wanted
from evenhand.interventions.confounding import Terms, bounds, confounded_groups, confounded_values
from evenhand.interventions.question import Question
from evenhand.interventions.report import report
from evenhand.protocol import Label

__all__ = ["Sensitivity"]

Floats = NDArray[np.float64]
STRONGEST = 1e6
HALVINGS = 60


class Sensitivity:
    """What unobserved causes of two nodes can do to the answer.

    The strength of a cause is the factor by which it may change the odds of V = v given V's parents (of S = s, for a
    cause of S and Y), either way; 1 is no such cause. A candidate that is the fitted table itself runs now: its
    outcome is observed and does not move under a cause of V and Y.

    Parameters
    ----------
    question : the problem, with every table above the outcome.
    answer : the best fair candidate where nothing is unobserved, or None.
    tolerance : E, in the outcome's units.
    between : V and Y, or S and Y, by these letters or by the nodes' names.

    Attributes
    ----------
    answer, tolerance, between : as given, `between` by the nodes' names.
    strength : the least strength at which the named candidate may be unfair or another fair one as good; where none is
        fair, at which one may be. Infinite where a factor of a million does not do it. Whether another is fair and
        whether it is as good is judged one by one, so that the answer holds at least up to here.

    Raises
    ------
    ArgumentError
        If the tolerance is not a number > 0, or `between` are other nodes.
    """

    def __init__(self, question: Question, answer: Label | None, *, tolerance: float, between: Any) -> None:
        self.tolerance = real("tolerance", tolerance, above=0)
        self.question, self.answer = question, answer
        self.between = _checked_between(question, between)
        values = question.structure.intervene in self.between
        self._world = confounded_values(question) if values else confounded_groups(question)
        self._named = None if answer is None else question.number(answer)

    @cached_property
    def strength(self) -> float:
        """The least strength at which the answer may be another."""
        if self._broken(1.0):
            return 1.0
        low, high = 1.0, next(2.0**power for power in count(1) if self._broken(2.0**power) or 2.0**power > STRONGEST)
        if high > STRONGEST:
            return math.inf
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self._broken(middle) else (middle, high)
        return high

    def range(self, strength: float) -> Any:
        """Return what outcomes and gaps may be under a cause of this strength.

        Returns
        -------
        pandas.DataFrame
            By candidate: `outcome`, `outcome_low`, `outcome_high`, the same of each gap; `verdict`, "fair" or "unfair"
            where no cause of this strength changes that, else "remains"; and `lead_low`, `lead_high`, by how much the
            named candidate is ahead, where one is named.

        Raises
        ------
        ArgumentError
            If the strength is not a number from 1 to a million.
        """
        strength = real("strength", strength, low=1.0, high=STRONGEST)
        one, effects = self._world.effects(1.0), self._world.effects(strength)
        outcomes = (bounds(self._world.outcomes, one)[0], *bounds(self._world.outcomes, effects))
        gaps = [bounds(self._world.gaps, one)[0], *bounds(self._world.gaps, effects)]
        shape = (-1, len(self.question.candidates))
        unfair, fair = self._fairness(effects)
        verdicts = np.where(unfair & fair, "remains", np.where(fair, "fair", "unfair")).tolist()
        ends = tuple(part.reshape(shape) for part in gaps)
        table = report(self.question, outcomes, ends, verdicts, {}).drop(columns=["phase", "reason"])
        if self._named is None:
            return table
        low, high = (self.question.scale * end for end in self._leads(effects))
        return table.assign(lead_low=low, lead_high=high)

    def curve(self, *, points: int = 41) -> Any:
        """Return a data frame for pictures: for strengths from 1 to well beyond `strength`, by candidate `lead_low`,
        and the smallest and largest |gap| that there may be, `gap_low` and `gap_high`."""
        import pandas as pd

        last = 4.0 if math.isinf(self.strength) else 1.0 + 2.0 * max(self.strength - 1.0, 0.05)
        scale, frames = self.question.scale, []
        for strength in np.linspace(1.0, last, points):
            effects = self._world.effects(float(strength))
            low, high = (end.reshape(-1, len(self.question.candidates)) for end in bounds(self._world.gaps, effects))
            lead = np.full(low.shape[1], np.nan) if self._named is None else self._leads(effects)[0]
            columns = {"lead_low": lead, "gap_low": np.maximum(low, 0.0).max(0), "gap_high": high.max(0)}
            frame = pd.DataFrame({name: scale * column for name, column in columns.items()})
            frames.append(frame.assign(strength=strength, candidate=list(self.question.candidates)))
        return pd.concat(frames, ignore_index=True)

    def __repr__(self) -> str:
        return f"Sensitivity: {self}"

    def __str__(self) -> str:
        kind = f"an unobserved cause of {self.between[0]} and {self.between[1]}"
        answer = "No candidate is fair" if self.answer is None else f"The best fair candidate is {self.answer!r}"
        if math.isinf(self.strength):
            return f"{answer}, however strong {kind} is."
        if self.strength == 1.0:
            return f"{answer}, and the weakest {kind.removeprefix('an ')} may change that: {self._reason()}."
        odds = f"changes the odds of a value of {self.between[0]} by a factor of {self.strength:.2f} or more"
        return f"{answer} unless {kind} {odds}; {self._reason()}."

    def _reason(self) -> str:
        labels, effects = self.question.candidates, self._world.effects(self.strength)
        unfair, fair = self._fairness(effects)
        if self._named is None:
            return f"then {labels[int(fair.argmax())]!r} may be fair"
        if unfair[self._named]:
            return "then it may be unfair"
        rivals = fair & (self._leads(effects)[0] <= 0)
        rivals[self._named] = False
        return f"then {labels[int(rivals.argmax())]!r} may be fair and as good"

    def _broken(self, strength: float) -> bool:
        """Whether the answer may be another under a cause of this strength."""
        effects = self._world.effects(strength)
        unfair, fair = self._fairness(effects)
        if self._named is None:
            return bool(fair.any())
        rivals = fair & (self._leads(effects)[0] <= 0)
        rivals[self._named] = False
        return bool(unfair[self._named] or rivals.any())

    def _fairness(self, effects: tuple[Floats, Floats]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which candidates (K,) may be unfair, and which may be fair."""
        limit = self.tolerance / self.question.scale
        low, high = (end.reshape(-1, len(self.question.candidates)) for end in bounds(self._world.gaps, effects))
        return np.asarray((high >= limit).any(0)), np.asarray((low < limit).all(0))

    def _leads(self, effects: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Return the least and the largest lead of the named candidate over each (K,), from the differences."""
        weights, fixed = self._world.outcomes
        return bounds(Terms(weights[self._named] - weights, fixed[self._named] - fixed), effects)


def _checked_between(question: Question, between: Any) -> tuple[str, str]:
    """Return the two nodes, by their names."""
    structure = question.structure
    letters = {"V": structure.intervene, "Y": structure.outcome, "S": structure.sensitive[0]}
    if isinstance(between, (tuple, list)) and len(between) == 2 and all(isinstance(node, str) for node in between):
        first, last = (node if node in question.model.states else letters.get(node) for node in between)
        if last == structure.outcome and first is not None and first in (structure.intervene, *structure.sensitive):
            return first, last
    choices = [(node, structure.outcome) for node in (structure.intervene, *structure.sensitive)]
    raise ArgumentError(wanted("between", f"one of {choices}", between))
