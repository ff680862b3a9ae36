"""What a problem asks of a causal model: which candidates, for which values of S, and what the outcome is worth."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from evenhand.errors import ArgumentError, wanted_one_of
from evenhand.interventions.cells import Cells
from evenhand.interventions.model import CausalModel
from evenhand.interventions.structure import (
    Candidates,
    Structure,
    checked_candidates,
    checked_scores,
    checked_structure,
)
from evenhand.kernels.arrays import Floats
from evenhand.protocol import Label, find_label


class Question:
    """A causal model, the nodes V, S and Y, the candidates, the outcome's numbers, and what is to be known of them."""

    def __init__(
        self, model: CausalModel, structure: Structure, candidates: Candidates, scores: tuple[Floats, float, float]
    ) -> None:
        self.model, self.structure = model, structure
        self.candidates, self.tables, self.ruled, self.own, notes = candidates
        self.notes = (*model.notes, *notes)
        self.scores, self.low, self.high = scores

    @property
    def groups(self) -> tuple[Any, ...]:
        """The values of S: states, or tuples of states where there are several attributes."""
        return self.structure.groups

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that must be observed of every trial besides S."""
        return self.structure.nodes

    @property
    def pairs(self) -> tuple[tuple[Any, Any], ...]:
        """The ordered pairs (a, b) of values of S."""
        return tuple(permutations(self.groups, 2))

    @property
    def scale(self) -> float:
        """The outcome's range, highest number less lowest."""
        return self.high - self.low

    def number(self, label: Label) -> int:
        """Return a candidate's position."""
        position = find_label(label, self.candidates)
        if position is None:
            raise ArgumentError(wanted_one_of("candidate", self.candidates, label))
        return position


def problem_snapshot(question: Question, exact: bool, cells: Cells) -> dict[str, Any]:
    """Return everything that `restored_parts` needs."""
    model, structure = question.model, question.structure
    return {
        "model": model.config(),
        "nodes": [structure.intervene, list(structure.sensitive), structure.outcome],
        "candidates": dict(zip(question.candidates, question.tables, strict=True)),
        "kinds": [list(question.ruled), list(question.own)],
        "notes": list(question.notes),
        "values": (question.low + question.scale * question.scores).tolist(),
        "exact": exact,
        "prior": cells.prior,
        "base": cells.cell_base,
    }


def restored_parts(snapshot: dict[str, Any]) -> tuple[tuple[Any, ...], bool, Floats, Floats]:
    """Return the arguments of a `Question`, whether it is exact, the law of S, and what no candidate changes."""
    model = CausalModel(**snapshot["model"])
    structure = checked_structure(model, *snapshot["nodes"])
    candidates = checked_candidates(model, structure.intervene, snapshot["candidates"], snapshot["kinds"])
    values = dict(zip(model.states[structure.outcome], snapshot["values"], strict=True))
    question = model, structure, candidates._replace(notes=tuple(snapshot["notes"]))
    scores = checked_scores(model, structure.outcome, values)
    return (*question, scores), snapshot["exact"], snapshot["prior"], snapshot["base"]
