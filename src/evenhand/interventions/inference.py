"""Exact inference in discrete networks by variable elimination, the next variable by the smallest new factor: expected
outcomes under every candidate and do(S), for one set of tables or many draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.kernels.arrays import Floats

if TYPE_CHECKING:
    from evenhand.interventions.model import CausalModel
    from evenhand.interventions.structure import Structure

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


CANDIDATE, DRAW = "\0candidate", "\0draw"
"""Names of the axes of candidates and of draws; no node is called so."""


def factors_below(
    model: CausalModel, structure: Structure, candidates: Floats, tables: Mapping[str, Floats], nodes: set[str]
) -> list[Factor]:
    """Return the law of what lies above `nodes`, given the values of S, with a candidate's table in V's place.

    Tables may have an axis of draws in front, and so may the candidates (draws, K, ...).
    """
    v, found = structure.intervene, []
    for node in sorted(model.ancestors(list(nodes)) - set(structure.sensitive)):
        axes = [*model.parents[node], node]
        if node == v:
            axes, table = [CANDIDATE, *axes], candidates
        else:
            table = tables[node]
        found.append(((*([DRAW] if table.ndim > len(axes) else []), *axes), table))
    return found


def group_means(
    model: CausalModel, structure: Structure, candidates: Floats, tables: Mapping[str, Floats], scores: Floats
) -> Floats:
    """Return E_k[Y | do(S = s)] (draws, K, S) on the outcome's scale; one draw where the tables are no draws."""
    factors = factors_below(model, structure, candidates, tables, {structure.outcome})
    sizes = {node: len(states) for node, states in model.states.items()}
    sizes |= {name: size for names, array in factors for name, size in zip(names, array.shape, strict=True)}
    sizes.setdefault(DRAW, 1)
    factors.append(((structure.outcome,), scores))
    means = eliminate(factors, [DRAW, CANDIDATE, *structure.sensitive], sizes)
    return means.reshape(*means.shape[:2], -1)
