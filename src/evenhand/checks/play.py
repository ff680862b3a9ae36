"""What every check does: converse with a copy of a policy, look at its state, expect a refusal."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, EvenhandError
from evenhand.frames import has_row_labels
from evenhand.protocol import Decision
from evenhand.saving.state import to_bytes
from evenhand.simulation.loop import begins_anew

SEED = 20211


class Skip(Exception):
    """A check does not apply; the message says why."""


def fresh_policy(policy: Any) -> Any:
    """Return a policy of the same configuration without memory, or a copy."""
    return policy.fresh() if begins_anew(policy) else copy.deepcopy(policy)


def plain(value: object) -> Any:
    """Return a ticket as values that can be compared."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if has_row_labels(value):
        return str(value.to_dict())
    if isinstance(value, Decision):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return [plain(getattr(value, field.name)) for field in fields(value)]
    return value


def converse(policy: Any, world: Any, rounds: int) -> list[Any]:
    """Play some rounds and return the tickets, as values that can be compared."""
    said = []
    for _ in range(rounds):
        ticket = policy.ask(*world.observe())
        happened = world.respond(ticket)
        policy.tell(ticket, *happened)
        said.append(plain(ticket))
    return said


def first_difference(first: Sequence[Any], second: Sequence[Any]) -> int | None:
    """Return the first place at which two conversations of one length differ, None where they are the same."""
    return next((place for place, (a, b) in enumerate(zip(first, second, strict=True)) if a != b), None)


def state_of(policy: object) -> Any:
    """Return something that changes when the policy does: its saved bytes, or a digest of its attributes."""
    try:
        return to_bytes(policy)
    except ArgumentError:
        import joblib

        try:
            return joblib.hash(policy.__getstate__())
        except Exception as error:
            raise Skip(f"its state can be neither saved nor compared: {error}") from error


def must_refuse(policy: object, call: Callable[[], Any], what: str, error: type[EvenhandError]) -> None:
    """See that a call raises an error of this kind and no other."""
    try:
        call()
    except error:
        return
    except Exception as other:
        raise AssertionError(f"{what} raised {type(other).__name__}, not {error.__name__}: {other}") from other
    raise AssertionError(f"{what} was accepted")
