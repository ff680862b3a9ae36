"""Questions about two people that were treated differently: as they wait, as they are handed out, what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from evenhand.errors import ArgumentError, expected
from evenhand.frames import as_pandas, is_frame
from evenhand.kernels.arrays import Floats


@dataclass(frozen=True, slots=True)
class PairTask:
    """One question for an auditor: were these two people treated too differently?

    Attributes
    ----------
    id : the ticket's number, unique within the queue, counted from 1.
    round : how many questions were handed out so far, this one included.
    item : the two rows, "3-17".
    gap : how much the probabilities of the two differ.
    reason : why this pair, in words.
    people : what is shown of the two, by feature.
    choices : the answers, "unfair" and "acceptable".
    token : which queue handed it out; questions are compared without it.
    """

    id: int
    round: int
    item: str
    gap: float
    reason: str
    people: dict[str, list[str]] = field(hash=False)
    choices: tuple[str, ...]
    token: str | None = field(default=None, kw_only=True, repr=False, compare=False)


def as_shown(gap: float, up_to: float = 1.0) -> float:
    """Return a difference of chances as people read it, in tenths of a percentage point, no larger than a limit."""
    return min(round(1000.0 * gap), int(1000.0 * up_to + 1e-6)) / 1000.0


class Question(NamedTuple):
    """A question that waits for answers: two rows, how differently they were treated, and who has answered."""

    one: int
    other: int
    gap: float
    answered: tuple[str, ...] = ()
    proposed: bool = False
    """Whether the chances that follow from the answers would differ by the gap: then it is no question but a check."""

    def saved(self) -> list[Any]:
        """Return what a file keeps of it."""
        return [*self[:3], list(self.answered), self.proposed]

    @classmethod
    def restored(cls, saved: list[Any]) -> Self:
        """Return the question that a file kept."""
        one, other, gap, answered, proposed = saved
        return cls(one, other, gap, tuple(answered), proposed)


def read_people(people: object, features: Floats) -> list[dict[str, str]]:
    """Return what is shown of each person, as texts."""
    if people is None:
        return [{f"feature {a}": f"{value:g}" for a, value in enumerate(row)} for row in features]
    people = as_pandas(people, "people").to_dict("records") if is_frame(people) else people
    rows = list(people) if isinstance(people, (list, tuple)) else []
    if len(rows) != len(features) or not all(isinstance(person, Mapping) and person for person in rows):
        raise ArgumentError(expected("people", f"{len(features)} dicts of what is shown, one per person", people))
    names = [str(name) for name in rows[0]]
    for number, person in enumerate(rows):
        if [str(name) for name in person] != names:
            raise ArgumentError(expected(f"people[{number}]", f"the names {', '.join(names)}", list(person)))
    return [{str(name): str(value) for name, value in person.items()} for person in rows]
