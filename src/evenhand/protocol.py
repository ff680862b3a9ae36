"""What ask and tell mean: the decision that is handed out, and what evenhand expects of learners, policies and worlds.

A *policy* decides: `ask` hands out a numbered `Decision`, `tell` brings back what happened. A *learner* is the bare
arithmetic that problems compose (`choose`, `update`); every learner of evenhand is a policy as well. A *world* answers
decisions, in simulations and in checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Floats

__all__ = ["Decision", "Label", "Learner", "Policy", "World", "arm_labels"]

Label = str | int


class Decision(NamedTuple):
    """One decision: a ticket to be told, with the reason why.

    Attributes
    ----------
    id : the ticket's number, unique within the policy, counted from 1.
    round : the round t = 1, 2, ... in which it was taken.
    arm : the user's label of the arm.
    index : the arm's position, 0 .. n_arms - 1.
    probabilities : the distribution (n_arms,) that the arm was drawn from, or None where the choice is not drawn from
        one.
    reason : why this arm, in words.
    """

    id: int
    round: int
    arm: Label
    index: int  # type: ignore[assignment]
    probabilities: Floats | None
    reason: str

    def __eq__(self, other: object) -> bool:
        """Say whether all fields are equal, probabilities entry by entry."""
        if not isinstance(other, Decision):
            return NotImplemented
        same = np.array_equal(self.probabilities, other.probabilities)  # type: ignore[arg-type]
        return same and self._replace(probabilities=None)[:] == other._replace(probabilities=None)[:]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.id, self.round, self.index))


@runtime_checkable
class Learner(Protocol):
    """Anything that picks an arm's index and learns from its reward; contextual learners take the contexts first."""

    def choose(self, *contexts: Any) -> int:
        """Return the index of the arm to play in this round."""
        ...

    def update(self, *contexts_index_reward: Any) -> None:
        """Learn from `(index, reward)`, or `(contexts, index, reward)`."""
        ...


@runtime_checkable
class Policy(Protocol):
    """A conversation: every ticket that `ask` hands out may be told once, at any later time, in any order."""

    def ask(self, *observed: Any) -> Any:
        """Hand out a ticket; contextual policies are shown what the round shows."""
        ...

    def tell(self, ticket: Any, *happened: Any) -> None:
        """Bring back what happened, by ticket or by its id."""
        ...


@runtime_checkable
class World(Protocol):
    """Whatever answers decisions: `policy.tell(d := policy.ask(*world.observe()), *world.respond(d))` is one round."""

    def reset(self, seed: int) -> None:
        """Start anew from a seed."""
        ...

    def observe(self) -> tuple[Any, ...]:
        """Begin a round and return what `ask` is shown, () where rounds show nothing."""
        ...

    def respond(self, ticket: Any) -> tuple[Any, ...]:
        """Return what `tell` is told about the ticket of the round that was observed last."""
        ...


def arm_labels(arms: int | Sequence[Label], name: str = "arms") -> tuple[Label, ...]:
    """Return the labels of the arms: those given, or 0 .. n-1 for a number; refusals speak of `name`.

    >>> arm_labels(3), arm_labels(["ads", "news"])
    ((0, 1, 2), ('ads', 'news'))

    Raises
    ------
    ArgumentError
        If there are fewer than two arms, a label twice, or a label that is neither str nor int.
    """
    if isinstance(arms, (int, np.integer)) and not isinstance(arms, bool):
        labels: tuple[Label, ...] = tuple(range(int(arms)))
    elif isinstance(arms, str) or not hasattr(arms, "__iter__"):
        raise ArgumentError(wanted(name, f"a number of {name} or a list of labels", arms))
    else:
        labels = tuple(label.item() if isinstance(label, np.generic) else label for label in arms)
    if len(labels) < 2:
        raise ArgumentError(wanted(name, f"at least two {name}", arms))
    for label in labels:
        if not isinstance(label, (str, int)) or isinstance(label, bool):
            raise ArgumentError(wanted(name, "labels that are str or int", label, "turn them into text first"))
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ArgumentError(wanted(name, "each label once", twice, "it stands there twice"))
    return labels
