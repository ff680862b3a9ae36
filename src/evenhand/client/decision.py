"""A decision as a client has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Decision:
    """A decision of a study, with the ticket under which its outcome is told.

    Attributes
    ----------
    ticket : the signed text that `tell` takes; it may be stored and told by another program.
    id : the ticket's number in the study.
    round : the round, 1, 2, ...; None for policies without rounds.
    arm : the arm to play, or None for policies that decide something else.
    index : the arm's position, from 0.
    arms : all arms of the round, the best first; one of them unless several are played.
    probabilities : what the arm was drawn from, or None.
    reason, reason_code : why, in words and for programs.
    fields : everything that the service sent, such as the `group` and `count` of a draw, or the `item` to label.
    """

    ticket: str
    id: int
    round: int | None = None
    arm: Any = None
    index: int | None = None
    arms: tuple[Any, ...] = ()
    probabilities: tuple[float, ...] | None = None
    reason: str | None = None
    reason_code: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def propensity(self) -> float | None:
        """The probability with which the arm was drawn, or None where it was not drawn."""
        if self.probabilities is None or self.index is None or not 0 <= self.index < len(self.probabilities):
            return None
        return self.probabilities[self.index]


def decision_of(sent: Mapping[str, Any]) -> Decision:
    """Return the decision that a service sent.

    >>> decision_of({"ticket": "ads.1.5f0c", "id": 1, "arm": "b", "index": 1, "probabilities": [0.25, 0.75]}).propensity
    0.75
    """
    arm, drawn = sent.get("arm"), sent.get("probabilities")
    return Decision(
        sent["ticket"],
        sent["id"],
        sent.get("round"),
        arm,
        sent.get("index"),
        tuple(sent.get("arms") or (() if arm is None else (arm,))),
        None if drawn is None else tuple(drawn),
        sent.get("reason"),
        sent.get("reason_code"),
        dict(sent),
    )
