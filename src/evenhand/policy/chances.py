"""The probabilities of a drawn decision: kept as what they follow from, and computed when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats

WAITING, NO_ONE_WAITS = "waiting", np.zeros(0, np.int64)


class Chances(NamedTuple):
    """How the probabilities of a policy that draws its arms are computed.

    Attributes
    ----------
    of : `of(params, state, contexts, round, waiting)`, a function at the top of a module, which returns the probability
        (n_arms,) with which `choose` would pick each arm, nan where nobody knows; it may overwrite the state.
    kept : the names of the state's fields that it reads, as `flatten.names` returns them, or "*" for all but an inner
        learner's, "learner.*" for all of these; the others are zero.
    waiting : whether it reads `waiting`.
    among : whether it takes, last, `open` (n_arms,), 1 for each arm among which `rank` chooses, and then returns the
        probability with which the first of these in a ranking is each arm.
    """

    of: Callable[..., Floats]
    kept: tuple[str, ...]
    waiting: bool = False
    among: bool = False

    def read(self, fields: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Yield those of a state's fields, each with its name, that are read."""
        for name, field in fields:
            inner, dot, _ = name.rpartition(".")
            if name in self.kept or f"{inner}{dot}*" in self.kept:
                yield name, field


class Deferred:
    """Probabilities that are computed when they are first read; copies and pickles hold the result.

    Parameters
    ----------
    given : what `Chances.of` takes, after the function itself: (of, params, state, contexts, round, kept). `state` only
        says which fields there are; `kept` holds those that were read, by name, as they were before the decision.
    """

    __slots__ = ("_found", "_given")

    def __init__(self, given: tuple[Any, ...]) -> None:
        self._given: tuple[Any, ...] | None = given

    def __call__(self) -> Floats:
        """Return the probabilities (n_arms,)."""
        given = self._given
        if given is not None:
            of, params, state, contexts, round, kept = given
            before = with_fields(state, kept)
            found = of(params, before, contexts, round, kept.get(WAITING, NO_ONE_WAITS))
            self._found: Floats = np.minimum(found, 1.0)  # sums are rounded, and nobody takes a chance above 1
            self._given = None
        return self._found

    def __getstate__(self) -> Any:
        return None, {"_found": self(), "_given": None}


def copied(state: Any) -> Any:
    """Return a copy of a NamedTuple of arrays, those of an inner one included."""
    return type(state)(*(copied(field) if hasattr(field, "_fields") else np.copy(field) for field in state))


def with_fields(state: Any, fields: dict[str, Any]) -> Any:
    """Return a NamedTuple of arrays like `state`, with these fields, named as `flatten.names` does, and zeros
    elsewhere."""
    *own, last = state._fields
    inner = hasattr(state[-1], "_fields")
    found = [fields.get(name, np.zeros_like(array)) for name, array in zip(own, state, strict=False)]
    if not inner:
        return type(state)(*found, fields.get(last, np.zeros_like(state[-1])))
    prefix = f"{last}."
    own_fields = {name.removeprefix(prefix): array for name, array in fields.items() if name.startswith(prefix)}
    return type(state)(*found, with_fields(state[-1], own_fields))
