"""Arrays as raw bytes, one after another, with a list that describes them.

Nothing here evaluates text, as numpy does with the header of an .npy file: `ast.literal_eval` fails in threads on
CPython 3.11.
"""

from __future__ import annotations

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
    """Return the arrays that `pack` made bytes of; a digest says elsewhere that they are still these.

    Raises
    ------
    ValueError
        If a description was forged so that numpy would take the bytes for objects, or for a type of its own making.
    """
    arrays, start = [], 0
    for number, (text, shape, order) in enumerate(descriptions):
        dtype = _dtype(text)
        if dtype is None:
            what = "numbers, truth values, text or times"
            raise ValueError(f"array {number}: expected {what}, got the type {text!r}")
        stored = np.ndarray(tuple(shape), dtype, data, start, order=order)
        arrays.append(stored.astype(dtype.newbyteorder("<"), order=order))
        start += stored.nbytes
    return arrays


@lru_cache(100)
def _dtype(text: str) -> np.dtype[Any] | None:
    """Return the type of this name, None where it is not one that can be packed."""
    return np.dtype(text) if _DTYPE.fullmatch(text.replace(">", "<")) else None
