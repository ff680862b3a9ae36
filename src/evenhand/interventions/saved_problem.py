"""What a file keeps of a problem, and how it is read back."""

from __future__ import annotations

from typing import Any

from evenhand.interventions.cells import Cells
from evenhand.interventions.model import CausalModel
from evenhand.interventions.question import Question
from evenhand.interventions.structure import Candidates, checked_candidates, checked_scores, checked_structure
from evenhand.kernels.arrays import Floats


def problem_snapshot(question: Question, exact: bool, cells: Cells) -> dict[str, Any]:
    """Return everything that `restored_parts` needs."""
    model, structure = question.model, question.structure
    kept = {
        "states": {node: list(states) for node, states in model.states.items()},
        "parents": {node: list(parents) for node, parents in model.parents.items()},
        "tables": dict(model.tables),
        "intervene": structure.intervene,
        "sensitive": list(structure.sensitive),
        "outcome": structure.outcome,
        "candidates": list(question.candidates),
        "candidate_tables": question.tables,
        "values": (question.low + question.scale * question.scores).tolist(),
        "exact": exact,
        "prior": cells.prior,
        "base": cells.cell_base,
    }
    if any(question.ruled) or any(question.own):
        kept["kinds"] = [list(question.ruled), list(question.own)]
    if question.notes:
        kept["notes"] = list(question.notes)
    if model.latent:
        kept["latent"] = [list(arc) for arc in model.latent]
    if model.counts is not None:
        kept["counts"], kept["smoothing"] = dict(model.counts), model.smoothing
    return kept


def restored_parts(snapshot: dict[str, Any]) -> tuple[tuple[Any, ...], bool, Floats, Floats]:
    """Return the arguments of a `Question`, whether it is exact, the law of S, and what no candidate changes."""
    model = CausalModel(
        snapshot["states"],
        snapshot["parents"],
        tables=snapshot["tables"],
        latent=snapshot.get("latent", ()),
        counts=snapshot.get("counts"),
        smoothing=snapshot.get("smoothing"),
    )
    structure = checked_structure(model, snapshot["intervene"], snapshot["sensitive"], snapshot["outcome"])
    candidates = _candidates(model, structure.intervene, snapshot)
    values = dict(zip(model.states[structure.outcome], snapshot["values"], strict=True))
    scores = checked_scores(model, structure.outcome, values)
    return (model, structure, candidates, scores), snapshot["exact"], snapshot["prior"], snapshot["base"]


def _candidates(model: CausalModel, intervene: str, snapshot: dict[str, Any]) -> Candidates:
    """Read the candidates' tables; those of rules may have zeros where others have mass."""
    labels = snapshot["candidates"]
    named = dict(zip(labels, snapshot["candidate_tables"], strict=True))
    ruled, own = snapshot.get("kinds", [[False] * len(labels)] * 2)
    notes = tuple(snapshot.get("notes", ()))
    return checked_candidates(model, intervene, named, (ruled, own))._replace(notes=notes)
