"""The one list of policies and worlds that the command line, the checks, the docs and the benchmarks read."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from evenhand.errors import RegistryError

__all__ = ["Entry", "entries", "get", "name_of", "own_modules", "register"]

Kind = Literal["policy", "world", "part"]
"""A part is neither: it is registered to be saved with what holds it."""
HOMES = ("learners", "quotas", "groups", "similarity", "interventions", "sampling")
"""The packages that register what they define when they are imported."""
OWN = "EVENHAND_IMPORT"
"""The environment variable that names modules with policies of one's own, separated by commas."""

_entries: dict[str, Entry] = {}
_T = TypeVar("_T", bound=type)


@dataclass(frozen=True)
class Entry:
    """One registered class: its permanent name, what kind of thing it is, and the class."""

    name: str
    kind: Kind
    cls: Any

    @property
    def summary(self) -> str:
        """The first sentence of the class's docstring."""
        return (self.cls.__doc__ or "").strip().split("\n", 1)[0]


def register(name: str, kind: Kind = "policy") -> Callable[[_T], _T]:
    """Enter the decorated class under a permanent name such as "quotas/fair-ucb".

    The class states how to try it: a classmethod `examples()` yields pairs (policy, world) for the checks, and for
    a world the worlds alone. A "part" is no more than saved and loaded with the policy that holds it (a model, a
    metric); `entries` leaves parts out unless they are asked for.

    Raises
    ------
    RegistryError
        If the name is taken by another class.
    """

    def enter(cls: _T) -> _T:
        taken = _entries.get(name)
        if taken is not None and taken.cls.__qualname__ != cls.__qualname__:
            raise RegistryError(f"{name!r} is registered already, by {taken.cls.__qualname__}; choose another name")
        _entries[name] = Entry(name, kind, cls)
        cls.registered_name = name  # type: ignore[attr-defined]
        return cls

    return enter


def entries(kind: Kind | None = None, prefix: str = "") -> list[Entry]:
    """Return what is registered, sorted by name; `kind` and the name's beginning narrow it."""
    own_modules()
    for home in HOMES:
        if importlib.util.find_spec(f"evenhand.{home}") is not None:
            importlib.import_module(f"evenhand.{home}")
    wanted = ("policy", "world") if kind is None else (kind,)
    return sorted(
        (e for e in _entries.values() if e.kind in wanted and e.name.startswith(prefix)), key=lambda e: e.name
    )


def get(name: str, kind: Kind | None = None) -> Entry:
    """Return the entry of that name.

    Raises
    ------
    RegistryError
        If there is none; the message lists the nearest names.
    """
    home = name.split("/")[0]
    if home in HOMES and importlib.util.find_spec(f"evenhand.{home}") is not None:
        importlib.import_module(f"evenhand.{home}")
    if name not in _entries:
        own_modules()
    found = _entries.get(name)
    if found is None or kind not in (None, found.kind):
        import difflib

        known = [e.name for e in entries(kind)]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.3) or known
        raise RegistryError(f"no {kind or 'entry'} is named {name!r}; near it: {', '.join(near)}")
    return found


def name_of(thing: Any) -> str | None:
    """Return the registered name of an object's own class, or None."""
    return type(thing).__dict__.get("registered_name")


def own_modules() -> list[str]:
    """Import the modules that the environment names, so that commands and services know what they define; return
    their names.

    Raises
    ------
    RegistryError
        If one cannot be imported.
    """
    modules = list(filter(None, map(str.strip, os.environ.get(OWN, "").split(","))))
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise RegistryError(f"{OWN}: the module {module!r} cannot be imported: {error}") from error
    return modules
