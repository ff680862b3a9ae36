"""A learner from elsewhere: any object that can pick an arm and be told its reward, given `choose` and `update`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from evenhand.arguments import is_whole, whole, yes_or_no
from evenhand.errors import ArgumentError, EvenhandError, ModelError, StateFileError, expected
from evenhand.frames import dimensions
from evenhand.kernels.arrays import Floats
from evenhand.learners.functions import MissingFunction, find, know, path_of
from evenhand.parameters import Parameters
from evenhand.protocol import Label, arm_labels
from evenhand.registry import register

_dumps: ContextVar[list[Any] | None] = ContextVar("_dumps", default=None)
PLAIN = ("contextual", "features", "reward_range", "arms", "among", "own_choices")
"""The arguments of an adapter that are plain data."""


@register("learners/adapter", kind="part")
class Adapter(Parameters):
    """Wrap a foreign learner, such as a bandit of another library, so that FairLearn and simulate can play it.

    All functions but `load` take the wrapped object first, so that copies of the adapter own copies of the object.

    Parameters
    ----------
    learner : the foreign object; replications of a simulation work on deep copies of it, memory included.
    choose : `choose(learner)`, or `choose(learner, contexts)`, which returns the index of an arm, or a list of indices,
        the best first.
    update : `update(learner, index, reward)`, or `update(learner, contexts, index, reward)`.
    seed : `seed(learner, number)`, called with a copy and a seed before each replication; without it all replications
        share the learner's own randomness, and `simulate` warns.
    dump, load : how the learner is saved. `dump(learner)` returns all of its memory, its randomness included, as
        numbers, text, bytes, arrays, lists and dicts; `load(dumped)` returns a learner that goes on from there. A state
        file names the functions, so all must be at the top of a module. Without both the learner cannot be saved.
    contextual : whether the learner takes contexts. None: not under a quota, and otherwise as the world shows them.
    features : the names of the contexts' columns, in the order in which the learner takes them: data frames and dicts
        are then read by these names. None takes the order of the first data frame.
    reward_range : the lowest and the highest reward that the learner takes; None leaves it to the policy around it,
        [0, 1] under a quota. Either may be infinite.
    arms : how many arms the learner knows, or their labels; None where it does not say. A quota refuses one that knows
        another number, other labels, or the same in another order. "rows" if `choose` ranks the rows of whatever
        contexts it is given, so that `DeadlineLearn.add` can put new arms on offer: rows are all arms that there ever
        were, in the order in which they joined, retired ones too, and those of an older ticket are fewer.
    among : whether `choose` takes, last, the list of the indices to choose among. It is then asked about the arms on
        offer, and asked again among the others where its choice may not be played. Without it, the promise decides in
        such rounds, and a warning says so.
    own_choices : whether it must learn from its own choices alone, as a learner that weighs rewards by their
        probabilities must: `DeadlineLearn` then holds a proposal that it refuses.
    scores : takes what `choose` takes, and returns how much each of the arms is expected to earn, more for one that is
        worth trying, in the unit of the rewards: `DeadlineLearn(..., priced=True)` asks it in place of `choose`.
    add : `add(learner, label)`, called when an arm joins, for a learner that must be told so: from then on it may
        return the next index. Without it, and without `arms="rows"`, no arm can join.

    Raises
    ------
    ArgumentError
        If a function cannot be called, `dump` is given without `load`, a feature is named twice, the range is invalid,
        or an index is neither a whole number nor a list of them.
    ModelError
        If a function fails; `__cause__` is what was raised.

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
        learner: object,
        *,
        choose: Callable[..., Any],
        update: Callable[..., Any],
        seed: Callable[[Any, int], None] | None = None,
        dump: Callable[[Any], Any] | None = None,
        load: Callable[[Any], Any] | None = None,
        contextual: bool | None = None,
        features: Sequence[str] | None = None,
        reward_range: Sequence[float] | None = None,
        arms: int | Sequence[Label] | Literal["rows"] | None = None,
        among: bool = False,
        own_choices: bool = False,
        scores: Callable[..., Any] | None = None,
        add: Callable[[Any, Label], None] | None = None,
    ) -> None:
        functions: dict[str, Any] = {"choose": choose, "update": update, "scores": scores, "add": add}
        functions |= {"seed": seed, "dump": dump, "load": load}
        for name, function in functions.items():
            if not callable(function) and (function is not None or name in ("choose", "update")):
                given = "of what dump returned" if name == "load" else "that takes the learner first"
                raise ArgumentError(expected(name, f"a function {given}", function))
        if (dump is None) != (load is None):
            given, missing = ("dump", "load") if load is None else ("load", "dump")
            raise ArgumentError(expected(missing, f"a function together with {given}", None, "saving needs both"))
        self.learner, self.functions = learner, functions
        self.contextual = None if contextual is None else yes_or_no("contextual", contextual)
        self.features = None if features is None else read_features(features, self.contextual)
        self.reward_range = None if reward_range is None else read_range(reward_range)
        self.takes_rows = isinstance(arms, str) and arms == "rows"
        if self.takes_rows and not self.contextual:
            raise ArgumentError(expected("arms", "a number or labels, as rows need contextual=True", arms))
        said = None if self.takes_rows else arms
        self.arms = None if said is None or is_whole(said) else arm_labels(said)
        self.known_arms = len(self.arms) if self.arms else None if said is None else whole("arms", said, low=2)
        self.among = yes_or_no("among", among)
        self.own_choices = yes_or_no("own_choices", own_choices)
        if dump is not None:
            know(*functions.values())

    @property
    def reseed(self) -> Callable[[int], None] | None:
        """A function of a seed that starts the wrapped learner's randomness anew, or None if `seed` was not given."""
        seed = self.functions["seed"]
        return None if seed is None else partial(seed, self.learner)

    @property
    def scores(self) -> Callable[..., Any] | None:
        """A function that returns the wrapped learner's scores, or None if `scores` was not given."""
        return None if self.functions["scores"] is None else partial(self._called, "scores")

    def choose(self, *contexts_arms: object) -> int | list[int]:
        """Return the index that the wrapped learner picks, or its ranking."""
        given = self._called("choose", *contexts_arms)
        ranking = _listed(given)
        if not ranking or not all(map(is_whole, ranking)):
            what = "a function that returns an arm's index, or a list of them, the best first"
            raise ArgumentError(expected("choose", what, given))
        return int(ranking[0]) if len(ranking) == 1 else list(map(int, ranking))

    def update(self, *contexts_index_reward: object) -> None:
        """Tell the wrapped learner a reward."""
        self._called("update", *contexts_index_reward)

    @property
    def takes_new_arms(self) -> bool:
        """Whether arms can join."""
        return self.takes_rows or self.functions["add"] is not None

    def grow(self, arms: tuple[Label, ...]) -> None:
        """Take one more arm, the last of these."""
        if self.functions["add"] is not None:
            self._called("add", arms[-1])
        if self.known_arms is not None:
            self.arms, self.known_arms = self.arms and arms, len(arms)

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"learner": self.learner, **self.functions, **self._said}

    def __repr__(self) -> str:
        return f"Adapter({type(self.learner).__name__})"

    @property
    def sources(self) -> list[Any]:
        """The class and the functions whose code decides."""
        return [type(self.learner), *filter(None, self.functions.values())]

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
        if self.functions["dump"] is None:
            own = type(self.learner).__name__
            raise ArgumentError(
                f"Adapter cannot be saved: it does not know how to save its {own}; give it dump=, load="
            )
        dumped, apart = self._called("dump"), _dumps.get()
        if apart is not None:
            apart.append(dumped)
        return {
            "functions": {name: function and path_of(name, function) for name, function in self.functions.items()},
            "dumped": dumped if apart is None else None,
        } | self._said

    @property
    def _said(self) -> dict[str, Any]:
        """The arguments that are plain data."""
        arms = "rows" if self.takes_rows else self.known_arms if self.arms is None else list(self.arms)
        return {name: vars(self)[name] for name in PLAIN} | {"arms": arms}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the adapter that `snapshot` was taken of.

        Raises
        ------
        StateFileError
            If this process does not know one of its functions, or `load` fails.
        """
        names = snapshot["functions"]
        functions: dict[str, Any] = {name: None if path is None else find(path) for name, path in names.items()}
        load, dumped = functions["load"], snapshot["dumped"]
        try:
            learner = dumped if isinstance(load, MissingFunction) else load(dumped)
        except StateFileError:
            raise
        except Exception as error:
            raise StateFileError(f"load: {names['load']} failed on the contents of the file: {error}") from error
        return cls(learner, **functions, **{name: snapshot[name] for name in PLAIN})

    @classmethod
    def _examples(cls) -> Iterator[Self]:
        """Yield a learner to check: a list of counts that picks the arm told least often."""
        yield cls([2, 0, 1], choose=_fewest, update=_counted, dump=list, load=list, reward_range=(-1.0, math.inf))

    def _called(self, name: str, *given: object) -> Any:
        try:
            return self.functions[name](self.learner, *given)
        except EvenhandError:
            raise
        except Exception as error:
            failed = f"{name}: the call on a {type(self.learner).__name__} failed with {type(error).__name__}"
            other = isinstance(error, TypeError) and not _takes(self.functions[name], self.learner, *given)
            hint = "; contextual=True says that it takes contexts, False that it takes none" if other else ""
            raise ModelError(f"{failed}: {error}{hint}") from error


@contextmanager
def dumps_apart() -> Iterator[list[Any]]:
    """Leave out of snapshots what learners from elsewhere remember, and provide a list of that."""
    apart: list[Any] = []
    token = _dumps.set(apart)
    try:
        yield apart
    finally:
        _dumps.reset(token)


def _takes(function: Callable[..., Any], *given: object) -> bool:
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        return False
    return True


DECLARED = ("contextual", "own_choices", "reward_range", "scored")
"""What evenhand's own learners declare among their traits."""


class LearnerFacts(NamedTuple):
    """What a learner says of itself, each under the name that it has there, and what is so where it does not say."""

    choose: Any = None
    update: Any = None
    arms: Any = None
    known_arms: int | None = None
    contextual: Any = False
    own_choices: Any = False
    promise: Any = None
    windows: Any = None
    learner: Any = None
    reward_range: Any = None
    scored: Any = None
    reseed: Any = None
    scores: Any = None


def learner_facts(learner: object) -> LearnerFacts:
    """Return what a learner says of itself: its policy asks it once."""
    declared = getattr(learner, "_traits", learner)
    said = (
        getattr(declared if name in DECLARED else learner, name, default)
        for name, default in LearnerFacts._field_defaults.items()
    )
    return LearnerFacts._make(said)


def reward_range_of(learner: object, default: tuple[float, float]) -> tuple[float, float]:
    """Return the rewards that a foreign learner takes, `default` where it does not say.

    Raises
    ------
    ArgumentError
        If what it says is no range.
    """
    own = learner_facts(learner).reward_range
    return default if own is None else read_range(own)


def read_range(
    given: Any,
    name: str = "reward_range",
    what: str = "the lowest and the highest reward",
    hint: str = "such as (0, 5), or (-math.inf, math.inf) for any reward",
) -> tuple[float, float]:
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
        raise ArgumentError(expected(name, what, given, hint))
    return low, high


def read_features(given: object, contextual: bool | None) -> list[str]:
    """Return the names of features.

    Raises
    ------
    ArgumentError
        If they are none, or the learner sees no contexts.
    """
    listed = list(given) if isinstance(given, (list, tuple)) else []
    if not contextual:
        raise ArgumentError(expected("features", "None for a learner without contextual=True", given))
    if not listed or not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
        raise ArgumentError(expected("features", "a list of names, each once", given))
    return listed


def wishes_of(learner: object, contexts: Sequence[Any], arms: Sequence[int], name: str) -> list[int]:
    """Return the indices of the arms that a learner from elsewhere proposes to play, the best first; one that can be
    asked among some arms is asked among these.

    Raises
    ------
    ArgumentError
        If it returns anything but the index of such an arm, or a list of different ones; the message names `name`.
    """
    proposals = said_by(learner, contexts, arms)
    known = set(arms)
    if (
        not proposals
        or not all(is_whole(proposal) and proposal in known for proposal in proposals)
        or len(set(proposals)) < len(proposals)
    ):
        one = f"an arm's index below {len(arms)}" if known == set(range(len(arms))) else f"one of the arms {list(arms)}"
        got = proposals[0] if len(proposals) == 1 else proposals
        raise ArgumentError(expected(name, f"{one}, or a list of them, the best first", got))
    return list(map(int, proposals))


def scores_of(learner: Any, contexts: Sequence[Any], arms: Sequence[int]) -> Floats:
    """Return the score of each of these arms, by a learner from elsewhere that has scores.

    Raises
    ------
    ArgumentError
        If it returns anything but a number for each.
    """
    said = learner_facts(learner).scores(*contexts, *([list(arms)] if asks_among(learner) else []))
    try:
        scores = np.array(said, np.float64)
    except (TypeError, ValueError):
        scores = np.array(math.nan)
    if scores.shape != (len(arms),) or np.isnan(scores).any():
        raise ArgumentError(expected("learner.scores()", f"{len(arms)} numbers, one for each arm", said))
    return scores


def said_by(learner: Any, contexts: Sequence[Any], arms: Sequence[int]) -> list[Any]:
    """Return what a learner from elsewhere chooses, asked among these arms where it can be; one arm is a list too."""
    return _listed(learner.choose(*contexts, *([list(arms)] if asks_among(learner) else [])))


def asks_among(learner: object) -> bool:
    """Return whether a learner from elsewhere can be asked which of some arms it would play."""
    return bool(getattr(learner, "among", False))


def _listed(given: Any) -> list[Any]:
    """Return a ranking as a list; one proposal alone is a ranking too."""
    ranks = np.iterable(given) and dimensions(given) == 1 and not isinstance(given, (Mapping, Set))
    return list(given) if ranks else [given]


def _fewest(counts: list[int]) -> int:
    return counts.index(min(counts))


def _counted(counts: list[int], index: int, reward: float) -> None:
    counts[index] += 1
