"""Which entries of A'A a metric learner learns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Floats, Ints

Structure = Literal["symmetric", "full", "diagonal"] | Sequence[Sequence[int]]


def coordinates(dimension: int, structure: Structure) -> tuple[Ints, Ints, Floats]:
    """Return (rows, columns, scales) of the coordinates of G under a structure.

    "symmetric" has d(d+1)/2, off-diagonal ones scaled by sqrt 2 so that norms agree; "full" has d^2 as in the paper;
    "diagonal" has d; a list of blocks, each a list of features, is symmetric within blocks and zero between them.

    >>> [len(coordinates(4, s)[0]) for s in ("symmetric", "full", "diagonal", [[0, 1], [2, 3]])]
    [10, 16, 4, 6]

    Raises
    ------
    ArgumentError
        If the structure is none of these, or blocks do not name every feature once.
    """
    blocks = _blocks(dimension, checked_structure(structure))
    if structure == "full":
        pairs = [(i, j) for i in blocks[0] for j in blocks[0]]
    else:
        pairs = [(i, j) for block in blocks for i in block for j in block if i <= j]
    rows, columns = np.array(pairs, dtype=np.int64).T.copy()
    return rows, columns, np.where((rows == columns) | (structure == "full"), 1.0, math.sqrt(2.0))


def count(dimension: int, structure: Structure) -> int:
    """Return the number of coordinates m.

    >>> count(4, "symmetric"), count(4, [[0, 1], [2, 3]])
    (10, 6)
    """
    if structure == "full":
        return dimension**2
    return sum(len(block) * (len(block) + 1) // 2 for block in _blocks(dimension, structure))


def checked_structure(structure: Any) -> Structure:
    """Return a structure, blocks as lists of ints.

    Raises
    ------
    ArgumentError
        If it is no known word, and no blocks that name the features 0, 1, ... once each.
    """
    if isinstance(structure, str) and structure in ("symmetric", "full", "diagonal"):
        return structure  # type: ignore[return-value]
    try:
        blocks = [list(block) for block in structure]
    except TypeError:
        blocks = []
    features = [feature for block in blocks for feature in block]
    if not features or not all(map(is_whole, features)) or sorted(features) != list(range(len(features))):
        named = "blocks that name each feature 0, 1, ... once, such as [[0, 1], [2]]"
        raise ArgumentError(wanted("structure", f'"symmetric", "full", "diagonal" or {named}', structure))
    return [[int(feature) for feature in block] for block in blocks]


def _blocks(dimension: int, structure: Structure) -> list[Sequence[int]]:
    """Return the features of each block within which entries are learned."""
    if isinstance(structure, str):
        features = range(dimension)
        return [[feature] for feature in features] if structure == "diagonal" else [features]
    if sum(map(len, structure)) != dimension:
        raise ArgumentError(wanted("structure", f"blocks that name each of {dimension} features once", structure))
    return list(structure)
