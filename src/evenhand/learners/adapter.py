"""A learner from elsewhere: any object that can pick an arm and be told its reward, made to speak `choose` and
`update`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, wanted

__all__ = ["Adapter"]


class Adapter:
    """Wrap a foreign learner, such as a bandit of river or MABWiser, so that FairLearn and simulate can play it.

    Both functions take the wrapped object first, so that copies of the adapter own copies of the object.

    Parameters
    ----------
    learner : the foreign object; replications of a simulation work on deep copies of it, memory included.
    choose : `choose(learner) -> index`, or `choose(learner, contexts)`.
    update : `update(learner, index, reward)`, or `update(learner, contexts, index, reward)`.
    seed : `seed(learner, number)`, called with a copy and a seed before each replication; without it all replications
        share the learner's own randomness, and `simulate` warns.

    Raises
    ------
    ArgumentError
        If `choose`, `update` or `seed` cannot be called, or an index is not a whole number.

    Examples
    --------
    >>> class Stubborn:
    ...     told = 0
    >>> def update(learner, index, reward):
    ...     learner.told += 1
    >>> learner = Adapter(Stubborn(), choose=lambda learner: 1, update=update)
    >>> learner.choose()
    1
    >>> learner.update(1, 0.5)
    >>> learner.learner.told
    1
    """

    def __init__(
        self,
        learner: Any,
        *,
        choose: Callable[..., Any],
        update: Callable[..., Any],
        seed: Callable[[Any, int], None] | None = None,
    ) -> None:
        for name, function in (("choose", choose), ("update", update), ("seed", seed)):
            if not callable(function) and (name != "seed" or seed is not None):
                raise ArgumentError(wanted(name, "a function that takes the learner first", function))
        self.learner, self._choose, self._update, self._seed = learner, choose, update, seed

    @property
    def reseed(self) -> Callable[[int], None] | None:
        """A function of a seed that starts the wrapped learner's randomness anew, or None if `seed` was not given."""
        return None if self._seed is None else partial(self._seed, self.learner)

    def choose(self, *contexts: Any) -> int:
        """Return the index that the wrapped learner picks."""
        index = self._choose(self.learner, *contexts)
        if not is_whole(index):
            raise ArgumentError(wanted("choose", "a function that returns an arm's index", index))
        return int(index)

    def update(self, *contexts_index_reward: Any) -> None:
        """Tell the wrapped learner a reward."""
        self._update(self.learner, *contexts_index_reward)

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"learner": self.learner, "choose": self._choose, "update": self._update, "seed": self._seed}
