"""The responses of a service: decisions, and errors as exceptions of evenhand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from evenhand import errors
from evenhand.errors import EvenhandError, ServiceError

SHOWN = 200
"""Characters of a foreign response in an error."""


@dataclass(frozen=True)
class ServiceDecision:
    """A decision of a study, with the ticket under which its outcome is told.

    Attributes
    ----------
    ticket : the signed text that `tell` takes; it may be stored and told by another program.
    id : the ticket's number in the study.
    round : the round, 1, 2, ...; None for policies without rounds.
    arm : the arm to play, or None for policies that decide something else.
    index : the arm's position, from 0.
    arms : all arms played in the round, the best first; only one unless the policy plays several.
    probabilities : the probabilities (n_arms,) with which the arm was drawn, or None.
    reason, reason_code : why it was decided, in words and as a code for programs.
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


def decision_of(sent: Mapping[str, Any]) -> ServiceDecision:
    """Return the decision that a service sent.

    >>> decision_of({"ticket": "ads.1.5f0c", "id": 1, "arm": "b", "index": 1, "probabilities": [0.25, 0.75]}).propensity
    0.75
    """
    arm, drawn = sent.get("arm"), sent.get("probabilities")
    own = {name: sent.get(name) for name in ("round", "arm", "index", "reason", "reason_code")}
    arms = tuple(sent.get("arms") or (() if arm is None else (arm,)))
    drawn = None if drawn is None else tuple(drawn)
    return ServiceDecision(sent["ticket"], sent["id"], **own, arms=arms, probabilities=drawn, fields=dict(sent))


def label_of(sent: Any) -> Any:
    """Return the label of an arm, or of a set of arms, as a program has it."""
    return tuple(sent) if isinstance(sent, list) else sent


def error_of(envelope: Any, status: int | None = None) -> EvenhandError:
    """Return the exception for the {"name", "message", "repeatable"} of an error, with the parts of its refusal where
    it has any.

    It is of the kind that the library raises for the same cause, and a ServiceError for what only a service refuses.

    >>> error_of({"name": "RewardError", "message": "reward: expected a number in [0, 1], got 7.0"})
    RewardError('reward: expected a number in [0, 1], got 7.0')
    """
    error = _error_of(str(envelope["name"]), str(envelope["message"]), envelope, status)
    error.repeatable = bool(envelope.get("repeatable"))
    return error


def _error_of(name: str, message: str, envelope: Any, status: int | None) -> EvenhandError:
    kind = vars(errors)[name] if name in errors.__all__ else None
    if isinstance(kind, type) and issubclass(kind, EvenhandError) and kind is not ServiceError:
        return kind(errors.read_refusal(message, envelope) if "argument" in envelope else message)
    said = "the service refuses this" if status is None else f"the service answers {status} ({name})"
    return ServiceError(f"{said}: {message}", status, name)


def refusal_of(status: int, content: bytes) -> EvenhandError:
    """Return the exception for a response that is no success, from whatever answers at the address."""
    try:
        return error_of(json.loads(content)["error"], status)
    except (ValueError, KeyError, TypeError):
        said = content[:SHOWN].decode("utf-8", "replace").strip()
        phrase = HTTPStatus(status).phrase if status in list(HTTPStatus) else "an unknown status"
        hint = "this is not the answer of an evenhand service: check the address, and the proxies before it"
        return ServiceError(f"{status} ({phrase}) from the service's address: {said!r}; {hint}", status)


def unreadable(content: bytes) -> ServiceError:
    """Return the exception for a success whose body is not what the service sends."""
    said = content[:SHOWN].decode("utf-8", "replace").strip()
    return ServiceError(f"the answer is not one of an evenhand service: {said!r}; check the address", 200)
