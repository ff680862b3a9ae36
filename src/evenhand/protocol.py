"""What ask and tell mean: the decision that is handed out, and what evenhand expects of learners, policies and worlds.

A *policy* decides: `ask` hands out a numbered `Decision`, `tell` brings back what happened. A *learner* is the bare
arithmetic that problems compose (`choose`, `update`); every learner of evenhand is a policy as well. A *world* answers
decisions, in simulations and in checks.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from evenhand.kernels.arrays import Floats

__all__ = ["Decision", "Label", "Learner", "Policy", "World"]

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
