"""Data frames at the edge of a trial: plans that people can carry out, observations read back and checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.errors import TableError, wanted
from evenhand.frames import frame_or_value
from evenhand.interventions.cells import Evidence
from evenhand.interventions.observations import COUNT, TICKET, coded, forced, held, observed
from evenhand.interventions.problem import Problem
from evenhand.interventions.structure import cell_density
from evenhand.kernels.arrays import Floats, Ints


def plan_frame(problem: Problem, ticket: int, plan: Ints, costs: Floats) -> Any:
    """Return the data frame of a plan (1 + S, K): ticket, candidate, do(S), count, cost; rows without trials left
    out."""
    import pandas as pd

    attributes = problem.structure.sensitive
    cells = sorted(np.argwhere(plan > 0).tolist(), key=lambda cell: (cell[1], cell[0]))
    groups = [(None,) * len(attributes), *(_values(group, len(attributes)) for group in problem.groups)]
    columns: dict[str, Any] = {TICKET: [ticket] * len(cells), "candidate": [problem.candidates[k] for _, k in cells]}
    for n, attribute in enumerate(attributes):
        columns[held(attribute)] = pd.Series([groups[row][n] for row, _ in cells], dtype=object)
    columns[COUNT] = [int(plan[row, k]) for row, k in cells]
    columns["cost"] = [float(plan[row, k] * costs[k]) for row, k in cells]
    return pd.DataFrame(columns)


def evidence_of(problem: Problem, samples: Any, deployed: bool = False) -> Evidence:
    """Read a data frame of trials; with `deployed` all are of the deployed candidate, S as it came.

    Raises
    ------
    TableError
        If a column is missing, a value was never heard of, or S differs from what it was held at; the message names
        row and column.
    """
    model, structure, cells = problem.model, problem.structure, problem.cells
    samples = frame_or_value(samples, "samples")
    s, cell, times = observed(model, structure, samples)
    if not s.size:
        return cells.nothing()
    kind, candidate = np.zeros(len(s), np.int64), np.zeros(len(s), np.int64)
    if not deployed:
        candidate = coded(samples, "candidate", problem.candidates)
        kind = forced(model, structure, samples, s)
    elif "candidate" in samples and not (coded(samples, "candidate", problem.candidates) == 0).all():
        raise TableError(
            wanted("candidate", f"logged trials of the deployed {problem.candidates[0]!r} alone", "others")
        )
    profile = cells.profile[cell]
    if (profile < 0).any():
        at = int(np.flatnonzero(profile < 0)[0])
        raise TableError(f"row {at + 1}: the model says that these values of {list(problem.nodes)} never meet")
    evidence = cells.nothing()
    level = cells.level[cell]
    score = cells.scores[level]
    np.add.at(evidence.trials, (kind, candidate, s), times)
    np.add.at(evidence.first, (kind, candidate, s, profile), times * score)
    np.add.at(evidence.second, (kind, candidate, s, profile), times * score**2)
    np.add.at(evidence.seen, (profile, level), times)
    np.add.at(evidence.rows, (kind, candidate, s, cells.place[cell], level), times)
    return evidence


def checked_size(problem: Problem, told: Evidence, plan: Ints) -> None:
    """Refuse more trials than a plan (1 + S, K) asked for.

    Raises
    ------
    TableError
        If there are; the message names the candidate and the kind of trial.
    """
    seen = np.concatenate([told.trials[:1].sum(2), told.trials[1].T])
    for row, k in np.argwhere(seen > plan)[:1]:
        how = "S as it comes" if row == 0 else f"S held at {problem.groups[row - 1]!r}"
        what = f"at most {plan[row, k]:,} trials of {problem.candidates[k]!r} with {how}, as the allocation asks"
        raise TableError(wanted("samples", what, f"{seen[row, k]:,.0f}", "tell each trial once"))


def drawn(problem: Problem, plan: Ints, random: np.random.Generator) -> Any:
    """Draw the trials of a plan (1 + S, K) from the exact law; one row a combination that was seen, with its count."""
    import pandas as pd

    model, structure, cells = problem.model, problem.structure, problem.cells
    law = cell_density(model, structure, problem.tables) * cells.cell_base if plan.any() else np.ones((1, 1, 1))
    law /= law.sum(2, keepdims=True)
    rows = []
    for row, k in np.argwhere(plan > 0):
        share = (
            law[k] * cells.prior[:, None] if row == 0 else law[k] * (np.arange(len(cells.prior)) == row - 1)[:, None]
        )
        counts = random.multinomial(plan[row, k], share.reshape(-1)).reshape(share.shape)
        s, cell = np.nonzero(counts)
        rows.append(np.stack([np.full(s.size, row), np.full(s.size, k), s, cell, counts[s, cell]]))
    row, k, s, cell, times = np.concatenate([np.zeros((5, 0), np.int64), *rows], axis=1).astype(np.int64)
    frame: dict[str, Any] = {"candidate": [problem.candidates[i] for i in k]}
    groups = [_values(group, len(structure.sensitive)) for group in problem.groups]
    for n, attribute in enumerate(structure.sensitive):
        frame[held(attribute)] = pd.Series([groups[i - 1][n] if i else None for i in row], dtype=object)
    for n, attribute in enumerate(structure.sensitive):
        frame[attribute] = [groups[i][n] for i in s]
    for node, codes in zip(problem.nodes, np.unravel_index(cell, cells.shape), strict=True):
        frame[node] = [model.states[node][i] for i in codes]
    return pd.DataFrame({**frame, COUNT: times})


def _values(group: Any, size: int) -> tuple[Any, ...]:
    return group if size > 1 else (group,)
