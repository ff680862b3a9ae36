"""Exact inference in discrete networks by variable elimination, the next variable by the smallest new factor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from evenhand.kernels.arrays import Floats

Factor = tuple[tuple[str, ...], Floats]
"""Names of the axes, and the array over them."""


def eliminate(factors: Iterable[Factor], keep: Sequence[str], sizes: dict[str, int]) -> Floats:
    """Return the product of the factors, summed over every variable that is not in `keep`; axes in the order of `keep`.

    >>> rain, wet = np.array([0.8, 0.2]), np.array([[0.9, 0.1], [0.3, 0.7]])
    >>> eliminate([(("rain",), rain), (("rain", "wet"), wet)], ["wet"], {"rain": 2, "wet": 2})
    array([0.78, 0.22])
    """
    pool = [*factors, *(((name,), np.ones(sizes[name])) for name in keep)]
    hidden = {name for names, _ in pool for name in names} - set(keep)
    while hidden:
        variable = min(sorted(hidden), key=lambda name: _cost(pool, name, sizes))
        touched = [factor for factor in pool if variable in factor[0]]
        scope = tuple(dict.fromkeys(name for names, _ in touched for name in names if name != variable))
        pool = [factor for factor in pool if variable not in factor[0]]
        pool.append((scope, _product(touched, scope)))
        hidden.discard(variable)
    return _product(pool, tuple(keep))


def placed(names: Sequence[str], array: Floats, axes: Sequence[str]) -> Floats:
    """Return the array with its axes moved to where `axes` has their names, length 1 elsewhere, ready to broadcast."""
    order = sorted(range(len(names)), key=lambda i: list(axes).index(names[i]))
    moved = array.transpose(order)
    length = {names[i]: array.shape[i] for i in order}
    return moved.reshape([length.get(axis, 1) for axis in axes])


def _cost(pool: list[Factor], variable: str, sizes: dict[str, int]) -> float:
    scope = {name for names, _ in pool if variable in names for name in names}
    return float(np.prod([float(sizes[name]) for name in scope]))


def _product(factors: list[Factor], scope: tuple[str, ...]) -> Floats:
    """Multiply the factors and sum over what is not in `scope`."""
    number: dict[str, int] = {}
    for names, _ in factors:
        for name in names:
            number.setdefault(name, len(number))
    arguments: list[Any] = []
    for names, array in factors:
        arguments += [array, [number[name] for name in names]]
    arguments.append([number[name] for name in scope])
    return np.asarray(np.einsum(*arguments, optimize=len(factors) > 2))
