"""A learner from elsewhere: any object that can pick an arm and be told its reward, made to speak `choose` and
`update`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Self

from evenhand.arguments import is_whole, whole, yes_or_no
from evenhand.errors import ArgumentError, EvenhandError, ModelError, StateFileError, wanted
from evenhand.learners.functions import find, know, path_of
from evenhand.parameters import Parameters
from evenhand.registry import register
from evenhand.saving.saved import item, refused

__all__ = ["Adapter", "read_range", "reward_range_of"]

FUNCTIONS = ("choose", "update", "seed", "dump", "load")


@register("learners/adapter", kind="part")
class Adapter(Parameters):
    """Wrap a foreign learner, such as a bandit of river or MABWiser, so that FairLearn and simulate can play it.

    All functions but `load` take the wrapped object first, so that copies of the adapter own copies of the object.

    Parameters
    ----------
    learner : the foreign object; replications of a simulation work on deep copies of it, memory included.
    choose : `choose(learner) -> index`, or `choose(learner, contexts)`.
    update : `update(learner, index, reward)`, or `update(learner, contexts, index, reward)`.
    seed : `seed(learner, number)`, called with a copy and a seed before each replication; without it all replications
        share the learner's own randomness, and `simulate` warns.
    dump, load : how the learner is saved. `dump(learner)` returns all of its memory, its randomness included, as
        numbers, text, bytes, arrays, lists and dicts; `load(dumped)` returns a learner that goes on from there. A state
        file names the functions, so all five stand at the top of a module. Without both the learner cannot be saved.
    contextual : whether the learner takes contexts; None takes none under a quota, and by itself what the world shows.
    reward_range : the lowest and the highest reward that the learner takes; None leaves it to the policy around it,
        [0, 1] under a quota. Either may be infinite.
    arms : how many arms the learner knows; None where it does not say. A quota refuses one that knows another number.
    own_choices : whether it must learn from its own choices alone, as one that weighs rewards by their probabilities:
        `DeadlineLearn` then holds a wish that it refuses.

    Raises
    ------
    ArgumentError
        If a function cannot be called, `dump` is given without `load`, the range is none, or an index is not a whole
        number.
    ModelError
        If a function fails; its cause is what was raised.

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
        dump: Callable[[Any], Any] | None = None,
        load: Callable[[Any], Any] | None = None,
        contextual: bool | None = None,
        reward_range: Sequence[float] | None = None,
        arms: int | None = None,
        own_choices: bool = False,
    ) -> None:
        functions = dict(zip(FUNCTIONS, (choose, update, seed, dump, load), strict=True))
        for name, function in functions.items():
            if not callable(function) and (function is not None or name in ("choose", "update")):
                what = (
                    "a function of what dump returned" if name == "load" else "a function that takes the learner first"
                )
                raise ArgumentError(wanted(name, what, function))
        if (dump is None) != (load is None):
            given, missing = ("dump", "load") if load is None else ("load", "dump")
            raise ArgumentError(wanted(missing, f"a function beside {given}", None, "a learner is saved with both"))
        self.learner, self._choose, self._update, self._seed = learner, choose, update, seed
        self._dump, self._load = dump, load
        self.contextual = None if contextual is None else yes_or_no("contextual", contextual)
        self.reward_range = None if reward_range is None else read_range(reward_range)
        self.known_arms = None if arms is None else whole("arms", arms, low=2)
        self.own_choices = yes_or_no("own_choices", own_choices)
        for function in functions.values():
            if function is not None and dump is not None:
                know(function)

    @property
    def reseed(self) -> Callable[[int], None] | None:
        """A function of a seed that starts the wrapped learner's randomness anew, or None if `seed` was not given."""
        return None if self._seed is None else partial(self._seed, self.learner)

    def choose(self, *contexts: Any) -> int:
        """Return the index that the wrapped learner picks."""
        index = self._called("choose", self._choose, *contexts)
        if not is_whole(index):
            raise ArgumentError(wanted("choose", "a function that returns an arm's index", index))
        return int(index)

    def update(self, *contexts_index_reward: Any) -> None:
        """Tell the wrapped learner a reward."""
        self._called("update", self._update, *contexts_index_reward)

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        others = {"contextual": self.contextual, "reward_range": self.reward_range, "arms": self.known_arms}
        return {"learner": self.learner, **self._functions, **others, "own_choices": self.own_choices}

    @property
    def sources(self) -> list[Any]:
        """The class and the functions whose code decides."""
        return [type(self.learner), *filter(None, self._functions.values())]

    # ------------------------------------------------------------------ files

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here.

        Raises
        ------
        ArgumentError
            If `dump` and `load` were not given, or a state file cannot name a function.
        ModelError
            If `dump` fails.
        """
        if self._dump is None:
            own = type(self.learner).__name__
            raise ArgumentError(
                f"Adapter cannot be saved: it does not know how to save its {own}; give it dump=, load="
            )
        return {
            "functions": {name: function and path_of(name, function) for name, function in self._functions.items()},
            "contextual": self.contextual,
            "reward_range": self.reward_range,
            "dumped": self._called("dump", self._dump),
        } | self._said

    @property
    def _said(self) -> dict[str, Any]:
        """What of the later arguments was given, as files of before know none of them."""
        arms = {} if self.known_arms is None else {"arms": self.known_arms}
        return arms | ({"own_choices": True} if self.own_choices else {})

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the adapter that `snapshot` was taken of.

        Raises
        ------
        StateFileError
            If this process does not know one of its functions, or `load` fails.
        """
        names = item(snapshot, "functions")
        if not isinstance(names, dict) or set(names) != set(FUNCTIONS) or None in (names["dump"], names["load"]):
            raise refused("functions", f"the names of {', '.join(FUNCTIONS)}", names)
        functions: dict[str, Any] = {name: None if path is None else find(path) for name, path in names.items()}
        try:
            learner = functions["load"](item(snapshot, "dumped"))
        except StateFileError:
            raise
        except Exception as error:
            raise StateFileError(f"load: {names['load']} failed on what the file holds: {error}") from error
        try:
            others = {name: item(snapshot, name) for name in ("contextual", "reward_range")}
            own = snapshot.get("own_choices", False)
            return cls(learner, **functions, **others, arms=snapshot.get("arms"), own_choices=own)
        except ArgumentError as error:
            raise StateFileError(f"saved learner: {error}") from error

    @classmethod
    def examples(cls) -> Iterator[Self]:
        """Yield a learner to check: a list of counts that picks the arm told least often."""
        yield cls([2, 0, 1], choose=_fewest, update=_counted, dump=list, load=list, reward_range=(-1.0, math.inf))

    def _called(self, name: str, function: Callable[..., Any], *given: Any) -> Any:
        try:
            return function(self.learner, *given)
        except EvenhandError:
            raise
        except Exception as error:
            failed = f"{name}: it failed on a {type(self.learner).__name__} with {type(error).__name__}"
            raise ModelError(f"{failed}: {error}") from error

    @property
    def _functions(self) -> dict[str, Callable[..., Any] | None]:
        own = self._choose, self._update, self._seed, self._dump, self._load
        return dict(zip(FUNCTIONS, own, strict=True))


def reward_range_of(learner: Any, default: tuple[float, float]) -> tuple[float, float]:
    """Return the rewards that a foreign learner takes, `default` where it does not say.

    Raises
    ------
    ArgumentError
        If what it says is no range.
    """
    own = getattr(learner, "reward_range", None)
    return default if own is None else read_range(own)


def read_range(given: Any) -> tuple[float, float]:
    """Return a least and a largest reward.

    Raises
    ------
    ArgumentError
        If that is no range.
    """
    try:
        low, high = (float(end) for end in given if not isinstance(end, (bool, str)))
    except (OverflowError, TypeError, ValueError):
        low = high = math.nan
    if not low < high:
        mend = "such as (0, 5), or (-math.inf, math.inf) for any reward"
        raise ArgumentError(wanted("reward_range", "the lowest and the highest reward", given, mend))
    return low, high


def _fewest(counts: list[int]) -> int:
    return counts.index(min(counts))


def _counted(counts: list[int], index: int, reward: float) -> None:
    counts[index] += 1
