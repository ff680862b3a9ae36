"""The ticket of a queue of questions for auditors: two people, and what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evenhand.errors import ArgumentError, wanted
from evenhand.frames import as_pandas, is_frame
from evenhand.kernels.arrays import Floats


class _PairTask(NamedTuple):
    id: int
    round: int
    item: str
    gap: float
    reason: str
    people: dict[str, list[str]]
    choices: tuple[str, ...]


class PairTask(_PairTask):
    """One question for an auditor: were these two people treated too differently?

    Attributes
    ----------
    id : the ticket's number, unique within the queue, counted from 1.
    round : how many questions were handed out before, and this one.
    item : the two rows, "3-17".
    gap : how much the probabilities of the two differ.
    reason : why this pair, in words.
    people : what is shown of the two, by feature.
    choices : the answers, "unfair" and "acceptable".
    token : which queue handed it out; no field of the tuple.
    """

    token: str | None = None


def checked_people(people: Any, features: Floats) -> list[dict[str, str]]:
    """Return what is shown of each person, as texts."""
    if people is None:
        return [{f"feature {a}": f"{value:g}" for a, value in enumerate(row)} for row in features]
    people = as_pandas(people, "people").to_dict("records") if is_frame(people) else people
    told = list(people) if isinstance(people, (list, tuple)) else []
    if len(told) != len(features) or not all(isinstance(one, Mapping) and one for one in told):
        raise ArgumentError(wanted("people", f"{len(features)} dicts of what is shown, one a person", people))
    names = [str(name) for name in told[0]]
    for row, one in enumerate(told):
        if [str(name) for name in one] != names:
            raise ArgumentError(wanted(f"people[{row}]", f"the names {', '.join(names)}", list(one)))
    return [{str(name): str(value) for name, value in one.items()} for one in told]
