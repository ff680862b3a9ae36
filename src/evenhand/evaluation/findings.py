"""What an evaluation finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.html import Card, Shown, Table

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.quotas import Audit

__all__ = ["Comparison", "Evaluation"]


@dataclass(frozen=True, repr=False)
class Evaluation(Shown):
    """The value of a policy, from a log of another.

    Attributes
    ----------
    value : the mean reward a round that the policy would have had.
    low, high : the interval: of a distribution its value lies inside at every round of the curve at once, with
        probability `level` (with `anytime=False`: after the last row alone, for many rows).
    rounds : the rows that were used; of a policy that learns, the rounds to which `value` refers.
    effective_rounds : (sum w)^2 / sum w^2: so many rows of the policy's own would say as much.
    curve : the value and the interval after some rounds: `round`, `value`, `low`, `high`.
    audit : whether the policy kept its promise in the rounds that were replayed; None for distributions, and for
        policies without shares.
    estimator, level, anytime : how it was done.
    reached : how many rounds the replay went on for, of which `value` takes the first `rounds`.
    weights : a row an arm: `arm`, `pulls`, `share`, `probability` (of the policy, its mean), `calibration`, the mean
        of 1{a} / p, which is 1 where the propensities are right, and how many standard errors it is away.
    notes : what to know before the value is believed, in sentences.
    """

    value: float
    low: float
    high: float
    rounds: int
    effective_rounds: float
    curve: pd.DataFrame
    audit: Audit | None
    estimator: str
    level: float
    anytime: bool
    reached: int
    weights: pd.DataFrame
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        when = "at every round" if self.anytime else "after the last row"
        where = f"between {self.low:.4g} and {self.high:.4g} with probability {self.level:g} {when}"
        rounds = f"{self.rounds} rounds, as good as {self.effective_rounds:.0f} of its own"
        return f"{self.value:.4g} a round, {where}; {rounds}"

    def card(self) -> Card:
        facts: dict[str, Any] = {"value": str(self), "estimator": self.estimator}
        if self.audit is not None:
            facts["promise"] = "kept in every replayed round" if self.audit.kept else "broken in a replayed round"
        notes = {f"note {number}": note for number, note in enumerate(self.notes, 1)}
        return Card("Evaluation", facts | notes, [Table.of(self.weights, "Arms of the log")])


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Several policies on one log.

    Attributes
    ----------
    evaluations : of each policy, by its name.
    differences : a row for each policy but the first: `policy`, `against` (the first), `difference`, `low`, `high`.
    """

    evaluations: dict[str, Evaluation]
    differences: pd.DataFrame

    def __getitem__(self, name: str) -> Evaluation:
        return self.evaluations[name]

    def card(self) -> Card:
        facts = {name: str(found) for name, found in self.evaluations.items()}
        return Card("Comparison", facts, [Table.of(self.differences, "Differences from the first")])
