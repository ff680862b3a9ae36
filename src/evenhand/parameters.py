"""Constructor arguments as parameters, the way scikit-learn has them: `get_params`, `set_params` and `clone`.

Policies, samplers and searches are used by the threads of a web service, so each has one lock, and every method that
reads or writes more than one thing holds it.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, Self, TypeVar, cast, overload

from evenhand.display.html import shortened
from evenhand.errors import ArgumentError, expected
from evenhand.processes import Lock
from evenhand.protocol import Configurable

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Value = TypeVar("_Value")


def locked(method: _Method) -> _Method:
    """Decorate a method of an object with a `_lock`: one thread at a time runs it or any other such method."""

    @functools.wraps(method)
    def alone(self: Any, /, *args: object, **named: object) -> Any:
        with self._lock:
            return method(self, *args, **named)

    return cast(_Method, alone)


class replaceable(Generic[_Value]):
    """Decorate a method as a property that an attribute replaces, so that a subclass may have an argument of its name.

    >>> class Half:
    ...     @replaceable
    ...     def share(self) -> float:
    ...         return 0.5
    >>> one, other = Half(), Half()
    >>> other.share = 0.25
    >>> one.share, other.share
    (0.5, 0.25)
    """

    def __init__(self, read: Callable[[Any], _Value]) -> None:
        self.read = read
        self.__doc__ = read.__doc__

    @overload
    def __get__(self, owner: None, cls: object) -> Self: ...
    @overload
    def __get__(self, owner: object, cls: object) -> _Value: ...
    def __get__(self, owner: object, cls: object) -> _Value | Self:
        return self if owner is None else self.read(owner)


def require_fresh(name: str, thing: object, hint: str) -> Any:
    """Return what is about to be copied without its memory, if it has none to lose.

    Raises
    ------
    ArgumentError
        If it has decided or learned; the message says what to do: `mend`.
    """
    decided = rounds_of(thing)
    if getattr(thing, "_has_history", bool(decided)):
        got = f"one at round {decided}" if decided else "one that has learned already"
        raise ArgumentError(expected(name, "one that has neither decided nor learned anything", got, hint))
    return thing


def rounds_of(thing: object) -> int:
    """Return how many rounds an object has decided, 0 where it does not say."""
    round = getattr(thing, "round", 0)
    return round if type(round) is int else 0


class Parameters:
    """An object defined by its constructor's arguments, each kept under its own name."""

    _lock: AbstractContextManager[Any] = nullcontext()
    """What keeps other threads out; nothing, but for what several use."""

    def __init__(self) -> None:
        self._lock = Lock()

    def __repr__(self) -> str:
        return self._described(shortened)

    def _described(self, shown: Callable[[Any], str]) -> str:
        """Return the call that makes it, without its seed."""
        given = ", ".join(f"{name}={shown(value)}" for name, value in self.config().items() if name != "seed")
        return f"{type(self).__name__}({given})"

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles are made of: of what several threads use, as it is at one moment."""
        with self._lock:
            return copy.deepcopy(self.__dict__) if "_lock" in self.__dict__ else self.__dict__

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {name: getattr(self, name) for name in _names(type(self).__init__)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments, and those of a learner or model among them as `learner__epsilon`.

        Parameters
        ----------
        deep : whether to look inside.

        Examples
        --------
        >>> from evenhand.learners import EpsilonGreedy
        >>> from evenhand.quotas import FairLearn
        >>> FairLearn(EpsilonGreedy(0.2), [0.1, 0.1], seed=1).get_params()["learner__epsilon"]
        0.2
        """
        found = self.config()
        for name, value in [*found.items()] if deep else ():
            if isinstance(value, Configurable) and not isinstance(value, type):
                found |= {f"{name}__{inner}": given for inner, given in value.get_params().items()}
        return found

    def set_params(self, **params: object) -> Self:  # scikit-learn calls it so
        """Set constructor arguments, `learner__epsilon` inside an argument, and return the object itself.

        Raises
        ------
        ArgumentError
            If there is no such parameter, the constructor refuses a value, or the object has decided or learned
            already; nothing has changed.

        Examples
        --------
        >>> from evenhand.learners import EpsilonGreedy
        >>> from evenhand.quotas import FairLearn
        >>> policy = FairLearn(EpsilonGreedy(0.2), [0.1, 0.1], seed=1)
        >>> policy.set_params(tolerance=2, learner__epsilon=0.3).get_params()["learner__epsilon"]
        0.3
        """
        with self._lock:
            require_fresh(type(self).__name__, self, "set the parameters of sklearn.base.clone(...) of it")
            made = type(self)(**self._changed(params))
            state = vars(made) | {name: value for name, value in vars(self).items() if name == "_lock"}
            self._become(state)
        return self

    def _become(self, state: dict[str, Any]) -> None:
        """Take the attributes of another object of the class for its own."""
        self.__dict__ = state

    def __sklearn_clone__(self) -> Self:
        return self._made_again()

    def _made_again(self, **changed: object) -> Self:
        """Return one of the same configuration, but for these arguments, that remembers nothing."""
        config = {name: copy.deepcopy(value) for name, value in self.config().items() if name not in changed}
        return type(self)(**config, **changed)

    def _changed(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the constructor's arguments with these in their place; names with "__" are inside an argument."""
        config, inside = self.config(), dict[str, dict[str, Any]]()
        for name, value in params.items():
            head, within, rest = name.partition("__")
            _check_known(name, head, config, type(self).__name__)
            if within:
                inside.setdefault(head, {})[rest] = value
            else:
                config[name] = value
        for head, given in inside.items():
            inner = copy.deepcopy(config[head])
            known = inner.get_params() if isinstance(inner, Configurable) and not isinstance(inner, type) else ()
            for name in given:
                _check_known(f"{head}__{name}", name, known, type(inner).__name__)
            config[head] = inner.set_params(**given)
        return config


@functools.cache
def _names(constructor: Callable[..., None]) -> tuple[str, ...]:
    """Return the names of the arguments of a constructor."""
    return tuple(name for name in inspect.signature(constructor).parameters if name != "self")


def _check_known(given: str, name: str, known: Iterable[str], owner: str) -> None:
    if name not in known:
        named = [one for one in known if "__" not in one]
        what = f"a parameter of {owner}: {', '.join(named)}" if named else f"no parameter of {owner}, which has none"
        raise ArgumentError(expected("set_params", what, given))
