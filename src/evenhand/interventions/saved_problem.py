"""What a file keeps of a problem, and how it is read back, or refused by name where no problem can have written it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.interventions.cells import Cells
from evenhand.interventions.model import CausalModel
from evenhand.interventions.question import Question
from evenhand.interventions.structure import Candidates, checked_candidates, checked_scores, checked_structure
from evenhand.saving.saved import fill, item, refused

__all__ = ["problem_snapshot", "restored_parts"]

Floats = NDArray[np.float64]


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
    given = partial(item, snapshot)
    model = _model(snapshot)
    structure = checked_structure(model, given("intervene"), given("sensitive"), given("outcome"))
    candidates = _candidates(model, structure.intervene, snapshot)
    values = dict(zip(model.states[structure.outcome], given("values"), strict=True))
    scores, exact = checked_scores(model, structure.outcome, values), given("exact")
    if type(exact) is not bool:
        raise refused("exact", "true or false", exact)
    prior = np.zeros(len(structure.groups))
    base = np.zeros(int(np.prod([len(model.states[node]) for node in structure.nodes])))
    fill(prior, given("prior"), "prior")
    fill(base, given("base"), "base")
    return (model, structure, candidates, scores), exact, prior, base


def _model(snapshot: dict[str, Any]) -> CausalModel:
    given, smoothing = partial(item, snapshot), snapshot.get("smoothing")
    if "counts" in snapshot and not (isinstance(smoothing, float) and 0 < smoothing < np.inf):
        raise refused("smoothing", "a number > 0", smoothing)
    return CausalModel(
        given("states"),
        given("parents"),
        tables=given("tables"),
        latent=snapshot.get("latent", ()),
        counts=snapshot.get("counts"),
        smoothing=smoothing,
    )


def _candidates(model: CausalModel, intervene: str, snapshot: dict[str, Any]) -> Candidates:
    """Read the candidates' tables; those of rules may have zeros where others have mass."""
    labels, tables = item(snapshot, "candidates"), item(snapshot, "candidate_tables")
    if not isinstance(labels, list) or not isinstance(tables, np.ndarray) or len(labels) != len(tables):
        raise refused("candidates", "a label for each table", labels)
    named = {label: table for label, table in zip(labels, tables, strict=True) if type(label) is not list}
    if len(named) < len(labels):
        raise refused("candidates", "labels, each once", labels)
    kinds = snapshot.get("kinds", [[False] * len(labels)] * 2)
    match kinds:
        case [list(ruled), list(own)] if all(type(kind) is bool for kind in [*ruled, *own]):
            if len(ruled) == len(own) == len(labels):
                notes = snapshot.get("notes", [])
                if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
                    raise refused("notes", "a list of texts", notes)
                return checked_candidates(model, intervene, named, (ruled, own))._replace(notes=tuple(notes))
    raise refused("kinds", "for each candidate whether it is a rule, and whether the model's own table", kinds)
