"""What a saved state may hold: arrays that are filled in, and many rows as few arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import StateFileError, expected


def fill(own: NDArray[Any], saved: NDArray[Any], name: str) -> None:
    """Write a saved array into one of the same type and shape.

    Raises
    ------
    StateFileError
        If it has another type or shape, as when its class has changed since; numpy would broadcast it.
    """
    if saved.dtype != own.dtype or saved.shape != own.shape:
        what, got = f"an array {own.dtype} {own.shape}", f"{saved.dtype} {saved.shape}"
        raise StateFileError(expected(f"saved {name}", what, got, "load it with the code that saved it"))
    own[...] = saved


def fill_all(own: Mapping[str, NDArray[Any]], snapshot: Mapping[str, Any]) -> None:
    """Write the arrays of a snapshot into those of the same names."""
    for name, array in own.items():
        fill(array, snapshot[name], name)


def packed(rows: Iterable[Sequence[Any]]) -> list[list[NDArray[Any]]]:
    """Return rows of numbers and arrays as a few arrays: for each column the values, end to end, and their shapes."""
    columns = [[np.asarray(value) for value in column] for column in zip(*rows, strict=True)]
    return [
        [np.concatenate([value.ravel() for value in column]), np.array([value.shape for value in column], np.int64)]
        for column in columns
    ]


def unpacked(columns: Sequence[Sequence[NDArray[Any]]]) -> list[tuple[Any, ...]]:
    """Return the rows that `packed` made columns of.

    >>> unpacked(packed([(7, np.eye(2)), (8, np.zeros((0, 3)))]))[0]
    (7, array([[1., 0.],
           [0., 1.]]))
    """
    return list(zip(*(_column(*column) for column in columns), strict=True))


def _column(values: NDArray[Any], shapes: NDArray[Any]) -> list[Any]:
    if shapes.shape[1] == 0:
        return values.tolist()
    parts = np.split(values, np.cumsum(shapes.prod(axis=1))[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes.tolist(), strict=True)]
