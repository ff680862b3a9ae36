"""Arrays as raw bytes, one after another, with a list that describes them.

Nothing here evaluates text, as numpy does with the header of an .npy file: `ast.literal_eval` fails in threads on
CPython 3.11.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

_DTYPE = re.compile(r"\|(b1|[iu]1|S\d+)|<([iufc]\d+|U\d+|[Mm]8(\[\w+\])?)", re.ASCII)


def can_hold(dtype: np.dtype[Any]) -> bool:
    """Return whether arrays of this type can be packed: numbers, truth values, text and times, no objects."""
    return _DTYPE.fullmatch(dtype.str.replace(">", "<")) is not None


def pack(arrays: Iterable[np.ndarray]) -> tuple[list[list[Any]], bytes]:
    """Return each array's [type, shape, order], order "C" or "F", and the little-endian bytes of all."""
    descriptions, parts = [], []
    for array in arrays:
        little = np.asarray(array, array.dtype.newbyteorder("<"))
        order: Any = "F" if little.flags.fnc else "C"
        descriptions.append([little.dtype.str, list(little.shape), order])
        parts.append(little.tobytes(order))
    return descriptions, b"".join(parts)


def unpack(descriptions: Sequence[Any], data: bytes) -> list[np.ndarray]:
    """Return the arrays that `pack` made bytes of.

    Raises
    ------
    ValueError
        If a description is not one of `pack`, or the bytes are more or fewer than all describe.
    """
    arrays, start = [], 0
    for number, description in enumerate(descriptions):
        match description:
            case [str(text), list(shape), "C" | "F" as order]:
                array = _array(text, shape, order, data, start, f"array {number}")
            case _:
                raise ValueError(f"array {number}: expected [type, shape, order], got {description!r}")
        arrays.append(array)
        start += array.nbytes
    if start != len(data):
        raise ValueError(f"the arrays: expected {start} bytes, got {len(data)}")
    return arrays


def _array(text: str, shape: list[Any], order: Any, data: bytes, start: int, where: str) -> np.ndarray:
    dtype = _dtype(text)
    if dtype is None:
        raise ValueError(f"{where}: expected numbers, truth values, text or times, got the type {text!r}")
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"{where}: expected a shape of whole numbers from 0, got {shape}")
    size = math.prod(shape) * dtype.itemsize
    if size > len(data) - start:
        raise ValueError(f"{where}: expected {size} bytes, got {len(data) - start}")
    stored = np.ndarray(tuple(shape), dtype, data, start, order=order)
    return stored.astype(dtype.newbyteorder("<"), order=order)


@lru_cache(100)
def _dtype(text: str) -> np.dtype[Any] | None:
    """Return the type of this name, None where it is not one that can be packed."""
    return np.dtype(text) if _DTYPE.fullmatch(text.replace(">", "<")) else None
