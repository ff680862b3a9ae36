"""Many of a kind side by side: their arrays stacked, with one more axis in front, of which kernels take a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import OPEN, bind, kernel
from evenhand.kernels.flatten import flat, packer

__all__ = ["copier", "row_of", "rows", "stack"]

pack = take = take_beside = others = OPEN
place = own = 0


def stack(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the arrays of NamedTuples of one kind, stacked, in the order of `flat`."""
    return tuple(np.stack(arrays) for arrays in zip(*map(flat, values), strict=True))


@kernel
def _first_row(arrays: Any, row: int) -> Any:
    return (arrays[0][row],)


@kernel
def _rows(arrays: Any, row: int) -> Any:
    return (arrays[0][row],) + others(arrays[1:], row)  # noqa: RUF005, numba knows no other


def rows(count: int) -> Any:
    """Return the kernel `(arrays, row)` that returns the same row of so many arrays, one at least."""
    found = _first_row
    for _ in range(count - 1):
        found = bind(_rows, others=found)
    return found


@kernel
def _row(arrays: Any, row: int) -> Any:
    return pack(*take(arrays, row))


@kernel
def _row_beside(arrays: Any, row: int, beside: Any, other: int) -> Any:
    return pack(*(take(arrays[:own], row) + take_beside(beside, other)))


def row_of(value: Any, beside: int = 0) -> Any:
    """Return the kernel `(arrays, row)` that returns a NamedTuple like `value`; with so many arrays `beside` the kernel
    `(arrays, row, beside, other)`, for which row `other` of these stands in the place of the last ones."""
    count = len(flat(value))
    if not beside:
        return bind(_row, pack=packer(value), take=rows(count))
    parts = {"own": count - beside, "take": rows(count - beside), "take_beside": rows(beside)}
    return bind(_row_beside, pack=packer(value), **parts)


@kernel
def _end(arrays: Any, row: int, values: Floats, at: int) -> None:
    """Stand behind the last array that is copied."""


@kernel
def _read(arrays: Any, row: int, values: Floats, at: int) -> None:
    array = arrays[place][row]
    for i in range(array.size):
        values[at + i] = array[i]
    others(arrays, row, values, at + array.size)


@kernel
def _write(arrays: Any, row: int, values: Floats, at: int) -> None:
    array = arrays[place][row]
    for i in range(array.size):
        array[i] = values[at + i]
    others(arrays, row, values, at + array.size)


def copier(places: Sequence[int]) -> tuple[Any, Any]:
    """Return two kernels `(arrays, row, values, 0)`, which copy a row of the arrays at these places into `values`, one
    behind the other, and back."""
    read = write = _end
    for one in reversed(places):
        read, write = bind(_read, place=one, others=read), bind(_write, place=one, others=write)
    return read, write
