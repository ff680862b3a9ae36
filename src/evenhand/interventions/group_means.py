"""Means of a causal model's outcome in each group, under each candidate, by elimination of variables."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.interventions.inference import Factor, eliminate
from evenhand.interventions.model import CausalModel
from evenhand.interventions.structure import Structure
from evenhand.kernels.arrays import Floats

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
