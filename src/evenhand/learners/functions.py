"""Functions that a state file may name, as "module:name".

A file never makes evenhand import a module of others or call a function of theirs on its own. A name in it is looked up
among the functions that this process has given to an Adapter, in the modules that the environment variable
EVENHAND_IMPORT names, and among those that evenhand's own modules of learners from elsewhere name with `know`.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from operator import attrgetter
from types import BuiltinMethodType, MethodType, MethodWrapperType
from typing import Any

from evenhand.errors import ArgumentError, StateFileError, expected
from evenhand.registry import OWN, own_modules

_known: dict[str, Callable[..., Any]] = {}
_missing: ContextVar[list[str] | None] = ContextVar("_missing", default=None)


class MissingFunction:
    """Stands for a function that a state file names and this process does not know.

    Raises
    ------
    StateFileError
        If it is called.
    """

    def __init__(self, path: Any) -> None:
        self.path = path

    def __call__(self, *_: Any) -> Any:
        hint = f"make an Adapter with it first, or name its module in {OWN}"
        raise StateFileError(
            expected("the file's function", "one that an Adapter of this process has", self.path, hint)
        )


@contextmanager
def stand_ins() -> Iterator[list[str]]:
    """Let `find` return a `MissingFunction` where this process does not know one; provide the names of these.

    Of a learner without its functions it is still known what it was asked and told, and what was promised over it.
    """
    names: list[str] = []
    token = _missing.set(names)
    try:
        yield names
    finally:
        _missing.reset(token)


def not_repeated(absent: Iterable[str]) -> str:
    """Say that a learner whose functions of these names are not here was not asked again."""
    modules = ", ".join(sorted({name.partition(":")[0] for name in absent}))
    return f"the learner's choices were not repeated: its module {modules} is not here"


def know(*functions: Callable[..., Any] | None) -> None:
    """Let state files of this process name these functions; the latest one of a name counts."""
    _known.update({path: function for function in functions if function and (path := _path(function)) is not None})


def path_of(argument: str, function: Callable[..., Any]) -> str:
    """Return the name under which a state file finds a function.

    >>> path_of("load", list)
    'builtins:list'

    Raises
    ------
    ArgumentError
        If it has none, or this process knows another function of that name.
    """
    path = _path(function)
    if path is None:
        hint = "write it with def at the top of a module"
        raise ArgumentError(expected(argument, "a function that a state file can name", _shown(function), hint))
    if _known.setdefault(path, function) != function:
        hint = "a later Adapter got another function of that name: rename one of them"
        raise ArgumentError(expected(argument, "a function that a state file can name", path, hint))
    return path


def find(path: object) -> Callable[..., Any]:
    """Return the function that a state file names.

    Raises
    ------
    StateFileError
        If this process does not know it.
    """
    if isinstance(path, str) and path not in _known:
        module, _, name = path.partition(":")
        if module.rpartition(".")[0] == __package__:
            with suppress(ImportError):
                importlib.import_module(module)  # such a module says itself what files may name
        found = _attribute(module, name) if module in own_modules() else None
        if found is not None and _path(found) == path:
            _known[path] = found
    if isinstance(path, str) and path in _known:
        return _known[path]
    absent, names = MissingFunction(path), _missing.get()
    if names is None:
        absent()
    else:
        names.append(str(path))
    return absent


def _path(function: Callable[..., Any]) -> str | None:
    """Return a function's module and name; None for lambdas, inner functions, methods of objects, and partials."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    owner = function.__self__ if isinstance(function, (BuiltinMethodType, MethodType, MethodWrapperType)) else None
    if not isinstance(module, str) or not isinstance(name, str) or "<" in name:
        return None
    if inspect.isclass(owner):
        return f"{module}:{name}" if name == f"{owner.__qualname__}.{function.__name__}" else None
    return f"{module}:{name}" if owner is None or inspect.ismodule(owner) else None


def _attribute(module: str, name: str) -> Any:
    try:
        return attrgetter(name)(sys.modules[module])
    except AttributeError:
        return None


def _shown(function: Callable[..., Any]) -> str:
    named = inspect.isroutine(function) or inspect.isclass(function)
    return str(function.__qualname__ if named else type(function).__name__)
