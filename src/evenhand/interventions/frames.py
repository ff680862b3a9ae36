"""Data frames at the edge of a trial: plans that people can carry out, observations read back and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import TableError, wanted
from evenhand.interventions.cells import Evidence
from evenhand.interventions.model import CausalModel
from evenhand.interventions.structure import Structure, cell_density
from evenhand.protocol import find_label, places

if TYPE_CHECKING:
    from evenhand.interventions.problem import Problem

__all__ = ["coded_log", "drawn", "evidence_of", "plan_frame"]

Ints = NDArray[np.int64]
COUNT = "count"
"""A column of samples may say how often a row was seen."""


def held(attribute: str) -> str:
    """Return the column that says at which value a sensitive attribute was held; empty where it came as it was."""
    return f"do({attribute})"


def plan_frame(problem: Problem, plan: Ints, costs: NDArray[np.float64]) -> Any:
    """Return the data frame of a plan (1 + S, K): candidate, do(S), count, cost; rows without trials left out."""
    import pandas as pd

    attributes = problem.structure.sensitive
    cells = sorted(np.argwhere(plan > 0).tolist(), key=lambda cell: (cell[1], cell[0]))
    groups = [(None,) * len(attributes), *(_values(group, len(attributes)) for group in problem.groups)]
    columns: dict[str, Any] = {"candidate": [problem.candidates[k] for _, k in cells]}
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
    s, cell, times = _observed(model, structure, samples)
    if not s.size:
        return cells.nothing()
    kind, candidate = np.zeros(len(s), np.int64), np.zeros(len(s), np.int64)
    if not deployed:
        candidate = _codes(samples, "candidate", problem.candidates)
        kind = _forced(model, structure, samples, s)
    elif "candidate" in samples and not (_codes(samples, "candidate", problem.candidates) == 0).all():
        raise TableError(
            wanted("candidate", f"logged trials of the deployed {problem.candidates[0]!r} alone", "others")
        )
    profile = cells.profile[cell]
    if (profile < 0).any():
        at = int(np.flatnonzero(profile < 0)[0])
        raise TableError(
            f"row {_row(samples, at)}: the model says that these values of {list(problem.nodes)} never meet"
        )
    evidence = cells.nothing()
    level = cells.level[cell]
    score = cells.scores[level]
    np.add.at(evidence.trials, (kind, candidate, s), times)
    np.add.at(evidence.first, (kind, candidate, s, profile), times * score)
    np.add.at(evidence.second, (kind, candidate, s, profile), times * score**2)
    np.add.at(evidence.seen, (profile, level), times)
    return evidence


def coded_log(model: CausalModel, structure: Structure, log: Any) -> NDArray[np.float64]:
    """Return how often each value of S and cell stand in a log (S, cells)."""
    s, cell, times = _observed(model, structure, log)
    if not times.sum() > 0:
        raise TableError(wanted("log", "at least one trial", f"{len(s)} rows"))
    counts = np.zeros((len(structure.groups), int(np.prod([len(model.states[node]) for node in structure.nodes]))))
    np.add.at(counts, (s, cell), times)
    return counts


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


def _observed(model: CausalModel, structure: Structure, samples: Any) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Return the values of S, the cells, and how often each row was seen."""
    if not hasattr(samples, "columns"):
        raise TableError(wanted("samples", "a data frame of what was observed", type(samples).__name__))
    twice = sorted({str(name) for name in samples.columns[samples.columns.duplicated()]})
    if twice:
        raise TableError(wanted("samples", "each column once", f"{twice} more often"))
    wished = [*structure.sensitive, *structure.nodes]
    missing = [node for node in wished if node not in samples]
    if missing:
        raise TableError(
            wanted("samples", f"the columns {wished}", f"none for {missing}", "every one of them enters a weight")
        )
    if not len(samples):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    s = _flat(model, samples, structure.sensitive)
    return s, _flat(model, samples, structure.nodes), _times(samples)


def _flat(model: CausalModel, samples: Any, nodes: tuple[str, ...]) -> Ints:
    number: Ints = np.zeros(len(samples), np.int64)
    for node in nodes:
        number = number * len(model.states[node]) + _codes(samples, node, model.states[node])
    return number


def _codes(samples: Any, column: str, states: tuple[Any, ...]) -> Ints:
    import pandas as pd

    if column not in samples:
        raise TableError(wanted("samples", f"a column {column!r}", list(samples.columns)))
    codes = np.asarray(pd.Index(list(states), dtype=object).get_indexer(samples[column].astype(object)), np.int64)
    known = places(states)
    for row in np.flatnonzero(codes < 0):
        value = samples[column].iloc[row]
        position = find_label(value, known) if isinstance(value, str) else None
        if position is None:
            break
        codes[row] = position
    if (codes < 0).any():
        at = int(np.flatnonzero(codes < 0)[0])
        raise TableError(
            wanted(
                f"row {_row(samples, at)}, column {column!r}",
                f"one of {list(states)}",
                samples[column].iloc[at],
                "leave such rows out",
            )
        )
    return codes


def _forced(model: CausalModel, structure: Structure, samples: Any, s: Ints) -> Ints:
    """Return 1 where S was held, 0 where it came as it was."""
    columns = [held(attribute) for attribute in structure.sensitive]
    if not any(column in samples for column in columns):
        return np.zeros(len(s), np.int64)
    absent = [column for column in columns if column not in samples]
    if absent:
        raise TableError(wanted("samples", f"the columns {columns}, or none of them", f"none for {absent}"))
    empty = samples[columns].isna() | (samples[columns].astype(object) == "")
    for attribute, column in zip(structure.sensitive, columns, strict=True):
        differs = np.flatnonzero(
            ~empty[columns].all(axis=1) & (samples[column].astype(object) != samples[attribute].astype(object))
        )
        if differs.size:
            at = int(differs[0])
            raise TableError(
                wanted(
                    f"row {_row(samples, at)}, column {attribute!r}",
                    f"the value it was held at, {samples[column].iloc[at]!r}",
                    samples[attribute].iloc[at],
                )
            )
    return np.asarray(~empty.all(axis=1), np.int64)


def _times(samples: Any) -> NDArray[np.float64]:
    if COUNT not in samples:
        return np.ones(len(samples))
    try:
        times = np.asarray(samples[COUNT], dtype=float)
    except (TypeError, ValueError) as error:
        raise TableError(wanted(f"column {COUNT!r}", "numbers of trials", samples[COUNT].iloc[0])) from error
    bad = np.flatnonzero(~((times >= 0) & (times == np.floor(times)) & np.isfinite(times)))
    if bad.size:
        raise TableError(
            wanted(f"row {_row(samples, int(bad[0]))}, column {COUNT!r}", "a whole number >= 0", float(times[bad[0]]))
        )
    return times


def _row(samples: Any, at: int) -> Any:
    return samples.index[at]


def _values(group: Any, size: int) -> tuple[Any, ...]:
    return group if size > 1 else (group,)
