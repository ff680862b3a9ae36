"""Whether the graph leaves a way from the sensitive attributes to the outcome beside the candidates' node."""

from __future__ import annotations

from evenhand.interventions.model import CausalModel
from evenhand.interventions.structure import Structure


def through_v_alone(model: CausalModel, structure: Structure) -> bool:
    """Return whether S reaches Y through V alone and no parent of V hangs on S: then trials of every value of S speak
    of each."""
    return set(model.parents) == set(model.states) and not structure.children
