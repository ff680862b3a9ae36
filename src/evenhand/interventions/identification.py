"""Whether what a candidate would do follows from the graph's tables, although two nodes share an unobserved cause.

With every node observed it always does. With latent arcs the effect of V is identified where, among the ancestors of Y
and of pa(V), no child of V is joined to V by latent arcs; for a single outcome that is sufficient, and not necessary.
The plain product of the tables gives it where, moreover, every latent arc joins V to one of its ancestors: V's own
table, which the candidate replaces, is then the only one that the unobserved cause enters.

Source: J. Tian, J. Pearl, "A General Identification Condition for Causal Effects" (2002); for tables in place of values
J. Correa, E. Bareinboim, "A Calculus for Stochastic Interventions" (2020).
"""

from __future__ import annotations

from evenhand.errors import ArgumentError
from evenhand.interventions.model import CausalModel
from evenhand.interventions.structure import Structure


def checked_identified(model: CausalModel, structure: Structure) -> None:
    """Refuse a problem whose answer is not shown to follow from the tables, with the reason.

    Raises
    ------
    ArgumentError
        If a latent arc touches a sensitive attribute, joins V to a child of its own, or is none from V to an ancestor.
    """
    v, own = structure.intervene, model.ancestors([structure.intervene])
    above = model.ancestors([structure.outcome, v])
    arcs = [set(arc) for arc in model.latent if set(arc) <= above]
    joined, size = {v}, 0
    while size < len(joined):
        size = len(joined)
        joined |= {node for arc in arcs if arc & joined for node in arc}
    for arc in arcs:
        names = " and ".join(map(repr, sorted(arc)))
        if arc & set(structure.sensitive):
            _refuse(f"{names} share an unobserved cause, so that a sensitive attribute is no root")
        child = next((node for node in sorted(joined) if v in model.parents[node]), None)
        if child is not None:
            _refuse(
                f"unobserved causes join {v!r} to its child {child!r}, and what {v!r} does cannot be told from them"
            )
        if v not in arc or not arc <= own:
            _refuse(f"{names} share an unobserved cause, so that the answer is not the product of the tables")


def _refuse(reason: str) -> None:
    mend = "observe the cause, or leave it out and ask sensitivity() how strong it has to be to change the answer"
    raise ArgumentError(f"latent: not shown to be identified: {reason}; {mend}")
