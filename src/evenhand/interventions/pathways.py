"""Which ways the graph leaves open from the sensitive attributes to the outcome."""

from __future__ import annotations

from itertools import combinations

from evenhand.interventions.model import CausalModel
from evenhand.interventions.structure import Structure

__all__ = ["blocked", "through_v_alone"]


def through_v_alone(model: CausalModel, structure: Structure) -> bool:
    """Return whether S reaches Y through V alone and no parent of V hangs on S: then trials of every value of S speak
    of each."""
    return set(model.parents) == set(model.states) and not structure.children


def blocked(model: CausalModel, structure: Structure) -> bool:
    """Return whether Y does not depend on S once V and its parents are known: d-separation, by the moral graph of the
    ancestors.

    Source: S. Lauritzen and others, "Independence Properties of Directed Markov Fields" (1990).
    """
    if set(model.parents) != set(model.states) or model.latent:
        return False
    v, attributes = structure.intervene, set(structure.sensitive)
    given = {v, *model.parents[v]} - attributes
    nodes = model.ancestors([structure.outcome, v, *attributes])
    near: dict[str, set[str]] = {node: set() for node in nodes}
    for node in nodes:
        for one, other in combinations((node, *model.parents[node]), 2):
            near[one].add(other)
            near[other].add(one)
    found, waiting = set(attributes), list(attributes)
    while waiting:
        fresh = near[waiting.pop()] - found - given
        found |= fresh
        waiting += fresh
    return structure.outcome not in found
