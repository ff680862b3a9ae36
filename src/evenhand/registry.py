"""The one list of policies and worlds that the command line, the checks, the docs and the benchmarks read."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from evenhand.errors import MissingExtraError, RegistryError, expected, nearest

Kind = Literal["policy", "world", "part"]
"""A part is neither: it is registered to be saved with what holds it."""
HOMES = ("learners", "quotas", "groups", "interventions", "sampling", "similarity")
"""The packages every module of which may register classes."""
PLUGINS = "evenhand.policies"
"""The group of entry points under which other packages name modules with policies of theirs."""
OWN = "EVENHAND_IMPORT"
"""The environment variable that names modules with policies of one's own, separated by commas; they may lie in the
working folder."""

_entries: dict[str, RegistryEntry] = {}
_T = TypeVar("_T", bound=type)


@dataclass(frozen=True)
class RegistryEntry:
    """One registered class: its permanent name, what kind of thing it is, the class, and whether it only compares."""

    name: str
    kind: Kind
    cls: Any
    baseline: bool = False

    @property
    def summary(self) -> str:
        """The first sentence of the class's docstring."""
        return (self.cls.__doc__ or "").strip().split("\n", 1)[0]


def register(name: str, kind: Kind = "policy", *, baseline: bool = False) -> Callable[[_T], _T]:
    """Register the decorated class under a permanent name such as "quotas/fair-ucb".

    The class states how to try it: a classmethod `_examples()` yields pairs (policy, world) for the checks, and for a
    world the worlds alone. A "part" is only saved and loaded with the policy that holds it (a model, a metric);
    `entries` leaves parts out unless they are asked for. A `baseline` is there to be compared with, as a paper does: it
    works like any other policy, but nobody is offered it.

    Raises
    ------
    RegistryError
        If the name is no text, or is taken by another class; a class whose module runs again may have its name anew.
    """
    if not isinstance(name, str) or not name:
        raise RegistryError(expected("name", 'a text such as "mine/always-first"', name))

    def enter(cls: _T) -> _T:
        if name not in _entries and not cls.__module__.startswith("evenhand."):
            _import_built_in(name)
        taken = _entries.get(name)
        if taken is not None and _source(taken.cls) != _source(cls):
            by = f"{taken.cls.__module__}.{taken.cls.__qualname__}"
            raise RegistryError(f"{name!r} is registered already, by {by}; choose another name")
        _entries[name] = RegistryEntry(name, kind, cls, baseline)
        cls._registered_name = name  # type: ignore[attr-defined]
        return cls

    return enter


def entries(kind: Kind | None = None, prefix: str = "") -> list[RegistryEntry]:
    """Return what is registered, sorted by name; `kind` and the name's beginning narrow it."""
    _import_all()
    kinds = ("policy", "world") if kind is None else (kind,)
    return sorted((e for e in _entries.values() if e.kind in kinds and e.name.startswith(prefix)), key=lambda e: e.name)


def get(name: str, kind: Kind | None = None) -> RegistryEntry:
    """Return the entry of that name.

    Raises
    ------
    RegistryError
        If there is none; the message lists the nearest names.
    """
    if name not in _entries:
        _import_built_in(name)
    if name not in _entries:
        _import_all()
    found = _entries.get(name)
    if found is None or kind not in (None, found.kind):
        known = [e.name for e in entries(kind) if not e.baseline]
        near = nearest(name, known, most=3, likeness=0.3) or known
        raise RegistryError(f"no {kind or 'entry'} is named {name!r}; near it: {', '.join(near)}")
    return found


def name_of(thing: object) -> str | None:
    """Return the registered name of an object's own class, or None."""
    return type(thing).__dict__.get("_registered_name")


def own_modules() -> list[str]:
    """Import the modules that the environment names, so that commands and services know what they define; return
    their names.

    Raises
    ------
    RegistryError
        If one cannot be imported.
    """
    modules = list(filter(None, map(str.strip, os.environ.get(OWN, "").split(","))))
    if modules and "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise RegistryError(f"{OWN}: the module {module!r} cannot be imported: {error}") from error
    return modules


def _source(cls: type) -> tuple[str, str]:
    """Return the file of a class, or its module where that has none, and its name there: a script is a module of two
    names."""
    module = sys.modules.get(cls.__module__)
    file = None if module is None else vars(module).get("__file__")
    return file or cls.__module__, cls.__qualname__


def _import_built_in(name: str) -> None:
    """Import the module of evenhand that registers a name, if there is one, and no other."""
    home, root = name.partition("/")[0], Path(__file__).parent
    for folder in (root / home, root) if home in HOMES else ():  # most stand at home, which is read quickly
        for file in folder.rglob("*.py"):
            if f'@register("{name}"' in file.read_text(encoding="utf-8"):
                importlib.import_module(".".join(("evenhand", *file.relative_to(root).with_suffix("").parts)))
                return


def _import_all() -> None:
    """Import every module that may register something: evenhand's, other packages', and those of the environment."""
    from importlib.metadata import entry_points

    own_modules()
    for home in HOMES:
        _import_home(home)
    for plugin in entry_points(group=PLUGINS):
        try:
            plugin.load()
        except Exception as error:
            raise RegistryError(f"{plugin.name}, a plugin ({plugin.value}), cannot be imported: {error}") from error


def _import_home(home: str) -> None:
    package = importlib.import_module(f"evenhand.{home}")
    for module in pkgutil.walk_packages(package.__path__, f"evenhand.{home}."):
        with suppress(MissingExtraError):
            importlib.import_module(module.name)
