"""NamedTuples of arrays across the border to Python: flat on the way in, which is fast, rebuilt by a kernel inside."""

from __future__ import annotations

from typing import Any

from evenhand.kernels.compose import OPEN, bind, kernel

pack_inner = Type = OPEN
own = 0


@kernel
def _pack(*arrays: Any) -> Any:
    return Type(*arrays)


@kernel
def _pack_nested(*arrays: Any) -> Any:
    return Type(*(arrays[:own] + (pack_inner(*arrays[own:]),)))  # noqa: RUF005, numba knows no other


def packer(value: Any) -> Any:
    """Return the kernel that builds NamedTuples like `value` from flat arrays: calls with those are fast."""
    if hasattr(value[-1], "_fields"):
        return bind(_pack_nested, Type=type(value), own=len(value) - 1, pack_inner=packer(value[-1]))
    return bind(_pack, Type=type(value))


def flat(value: Any) -> tuple[Any, ...]:
    """Return the fields of a NamedTuple, those of an inner one in its last field in its place."""
    if hasattr(value[-1], "_fields"):
        return (*value[:-1], *flat(value[-1]))
    return tuple(value)


def names(value: Any) -> list[str]:
    """Return the names of the fields that `flat` returns, those of an inner NamedTuple behind the name of its field.

    >>> from typing import NamedTuple
    >>> Inner, Outer = NamedTuple("Inner", [("sums", list)]), NamedTuple("Outer", [("pulls", list), ("learner", tuple)])
    >>> names(Outer([], Inner([])))
    ['pulls', 'learner.sums']
    """
    if hasattr(value[-1], "_fields"):
        return [*value._fields[:-1], *(f"{value._fields[-1]}.{name}" for name in names(value[-1]))]
    return list(value._fields)
