"""Rows of fitted tables that were never seen, where a candidate puts mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.interventions.inference import eliminate
from evenhand.interventions.means import CANDIDATE, factors_below
from evenhand.interventions.question import Question
from evenhand.kernels.arrays import Floats


def unseen_rows(problem: Question) -> Any:
    """Return the rows (node, given, mass, candidates) that some candidate reaches by states that were all seen, or by
    states that follow on rows that were not; the largest mass first."""
    import pandas as pd

    model, v = problem.model, problem.structure.intervene
    assert model.counts is not None
    known = {name: (seen.sum(-1, keepdims=True) == 0) | (seen > 0) for name, seen in model.counts.items()}
    own = np.array(problem.own).reshape(-1, *[1] * (problem.tables.ndim - 1))
    given_mass = np.where(own, known[v], problem.tables > 0)
    rows: list[dict[str, Any]] = []
    for node in sorted(model.ancestors([problem.structure.outcome]) - set(problem.structure.sensitive)):
        parents = model.parents[node]
        never = model.counts[node].sum(-1) == 0
        if not never.any():
            continue
        reached = _row_masses(problem, parents, given_mass, known) > 0
        mass = _row_masses(problem, parents, problem.tables, model.tables)
        if node == v:
            reached &= np.array(problem.own).reshape(-1, *[1] * len(parents))
        for at in zip(*np.nonzero(never & reached.any(0)), strict=True):
            given = ", ".join(f"{name}={model.states[name][i]}" for name, i in zip(parents, at, strict=True))
            who = [label for label, there in zip(problem.candidates, reached[:, *at], strict=True) if there]
            rows.append({"node": node, "given": given, "mass": float(mass[:, *at].max()), "candidates": who})
    frame = pd.DataFrame(rows, columns=["node", "given", "mass", "candidates"])
    return frame.sort_values("mass", ascending=False, kind="stable", ignore_index=True)


def _row_masses(problem: Question, parents: tuple[str, ...], candidates: Any, tables: Any) -> Floats:
    """Return the probability of states of a node's parents (K, ...), the largest over the values of S."""
    model, structure = problem.model, problem.structure
    arrays = {name: np.asarray(table, np.float64) for name, table in tables.items()}
    others = [name for name in structure.sensitive if name not in parents]
    factors = factors_below(model, structure, np.asarray(candidates, np.float64), arrays, set(parents))
    sizes = {node: len(states) for node, states in model.states.items()} | {CANDIDATE: len(problem.candidates)}
    masses = eliminate(factors, [CANDIDATE, *others, *parents], sizes)
    return masses.max(axis=tuple(range(1, 1 + len(others)))) if others else masses
