"""Trials as tables: what a search asks for, as a ticket and a data frame that people can carry out, and what was
observed, read back and checked: codes of values, and how often each row was seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.data.tables import column, numbers, places_in
from evenhand.errors import TableError, Wording, expected, expected_one_of
from evenhand.frames import frame_or_value, is_frame
from evenhand.interventions.cells import Evidence
from evenhand.interventions.model import CausalModel
from evenhand.interventions.structure import Structure, cell_density
from evenhand.kernels.arrays import Floats, Ints

if TYPE_CHECKING:
    from evenhand.interventions import Problem

COUNT = "count"
"""A column of samples may say how often a row was seen."""
TICKET = "ticket"
"""A column of plans and samples says to which allocation a row belongs."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """What to try next: the ticket under which results are told.

    Attributes
    ----------
    id : the ticket's number, counted from 1.
    phase : the phase, counted from 1.
    frame : data frame with the columns ticket (the id, to be copied into what was observed), candidate, do(S) for each
        sensitive attribute (empty: leave it as it comes), count, cost.
    plan : the counts as an array (1 + S, K): S as it comes in row 0, do(S = s) in row 1 + s.
    token : which search planned it, so that no other accepts it; None where it was made from plain data.
    reason : why these trials, in words.
    reason_code : the kind of the reason, for programs: "explored", or "other" where no trials are left.
    """

    id: int
    phase: int
    frame: Any
    plan: Ints
    token: str | None = field(default=None, repr=False)
    reason: str = ""
    reason_code: str = "other"


def counts_of(plan: Any) -> tuple[Any, ...]:
    """Return a plan as a tuple that says its shape and its counts, to be compared."""
    counts = np.asarray(plan)
    return counts.shape, *counts.ravel().tolist()


def held(attribute: str) -> str:
    """Return the column that says at which value a sensitive attribute was held; empty where it came as it was."""
    return f"do({attribute})"


def coded_log(model: CausalModel, structure: Structure, log: Any, candidates: tuple[Any, ...]) -> tuple[Floats, Floats]:
    """Return how many trials of each candidate and value of S stand in a log (K, S), and how often each cell was seen.

    Without a column `candidate` all are of the deployed one.
    """
    log = frame_or_value(log, "log")
    s, cell, times = observed(model, structure, log)
    if not times.sum() > 0:
        raise TableError(expected("log", "at least one trial", Wording(f"{len(s)} rows")))
    named = "candidate" in log and "candidate" not in structure.nodes
    candidate = coded(log, "candidate", candidates) if named else np.zeros(len(s), np.int64)
    trials = np.zeros((len(candidates), len(structure.groups)))
    counts = np.zeros(int(np.prod([len(model.states[node]) for node in structure.nodes])))
    np.add.at(trials, (candidate, s), times)
    np.add.at(counts, cell, times)
    return trials, counts


def observed(model: CausalModel, structure: Structure, samples: Any) -> tuple[Ints, Ints, Floats]:
    """Return the values of S, the cells, and how often each row was seen."""
    if not is_frame(samples):
        raise TableError(expected("samples", "a data frame of what was observed", type(samples).__name__))
    twice = sorted({str(name) for name in samples.columns[samples.columns.duplicated()]})
    if twice:
        raise TableError(expected("samples", "each column once", Wording(twice, " more often")))
    needed = [*structure.sensitive, *structure.nodes]
    missing = [node for node in needed if node not in samples]
    if missing:
        why = "every one of them enters a weight"
        raise TableError(expected("samples", Wording("the columns ", needed), Wording("none for ", missing), why))
    if not len(samples):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    s = _flat(model, samples, structure.sensitive)
    return s, _flat(model, samples, structure.nodes), _times(samples)


def _flat(model: CausalModel, samples: Any, nodes: tuple[str, ...]) -> Ints:
    number: Ints = np.zeros(len(samples), np.int64)
    for node in nodes:
        number = number * len(model.states[node]) + coded(samples, node, model.states[node])
    return number


def coded(samples: Any, name: str, states: tuple[Any, ...]) -> Ints:
    """Return the positions among `states` of the values in a column, whose labels they are."""
    codes = places_in(column(samples, name), states)
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        every = "no row has one of them; name the states in the log as in the model"
        hint = every if bad.size == len(codes) else "leave such rows out"
        raise TableError(expected_one_of(_cell(bad[0], name), states, samples[name].iloc[bad[0]], hint=hint))
    return codes


def forced(model: CausalModel, structure: Structure, samples: Any, s: Ints) -> Ints:
    """Return 1 where S was held, 0 where it came as it was."""
    columns = [held(attribute) for attribute in structure.sensitive]
    if not any(name in samples for name in columns):
        return np.zeros(len(s), np.int64)
    absent = [name for name in columns if name not in samples]
    if absent:
        what: str = Wording("the columns ", columns, ", or none of them")
        raise TableError(expected("samples", what, Wording("none for ", absent)))
    given = samples[columns].astype(object)
    free = (given.isna() | (given == "")).all(axis=1)
    for attribute, name in zip(structure.sensitive, columns, strict=True):
        states = model.states[attribute]
        at_value = coded(samples.assign(**{name: given[name].mask(free, samples[attribute])}), name, states)
        differs = np.flatnonzero(at_value != coded(samples, attribute, states))
        if differs.size:
            at = int(differs[0])
            what = f"the value it was held at, {samples[name].iloc[at]!r}"
            raise TableError(expected(_cell(at, attribute), what, samples[attribute].iloc[at]))
    return np.asarray(~free, np.int64)


def _check_ticket(structure: Structure, samples: Any, number: int) -> None:
    """Refuse samples whose column `ticket` names another allocation than this one."""
    if TICKET not in samples or TICKET in (*structure.sensitive, *structure.nodes):
        return
    other = np.flatnonzero(places_in(column(samples, TICKET), (number,)) < 0)
    if other.size:
        got, hint = samples[TICKET].iloc[other[0]], "tell each allocation its own rows, once"
        raise TableError(expected(_cell(other[0], TICKET), f"{number}, the allocation told", got, hint))


def _times(samples: Any) -> Floats:
    if COUNT not in samples:
        return np.ones(len(samples))
    times = numbers(samples, COUNT, low=0.0)
    bad = np.flatnonzero(times != np.floor(times))
    if bad.size:
        raise TableError(expected(_cell(bad[0], COUNT), "a whole number >= 0", float(times[bad[0]])))
    return times


def _cell(at: int, name: str) -> str:
    return f"column {name!r}, row {at + 1}"


def plan_frame(problem: Problem, ticket: int, plan: Ints, costs: Floats) -> Any:
    """Return the data frame of a plan (1 + S, K): ticket, candidate, do(S), count, cost; rows without trials left
    out."""
    import pandas as pd

    cells = sorted(np.argwhere(plan > 0).tolist(), key=lambda cell: (cell[1], cell[0]))
    columns: dict[str, Any] = {TICKET: [ticket] * len(cells), "candidate": [problem.candidates[k] for _, k in cells]}
    columns |= _held_at(problem.structure, [row for row, _ in cells])
    columns[COUNT] = [int(plan[row, k]) for row, k in cells]
    columns["cost"] = [float(plan[row, k] * costs[k]) for row, k in cells]
    return pd.DataFrame(columns)


def _held_at(structure: Structure, rows: Iterable[int]) -> dict[str, Any]:
    """Return the columns do(S) for rows of a plan: None in row 0, else the values of S."""
    import pandas as pd

    at = [None if row == 0 else structure.states_of(structure.groups[row - 1]) for row in rows]
    return {
        held(attribute): pd.Series([None if states is None else states[n] for states in at], dtype=object)
        for n, attribute in enumerate(structure.sensitive)
    }


def evidence_of(problem: Problem, samples: Any, deployed: bool | None = False, ticket: int | None = None) -> Evidence:
    """Read a data frame of trials; with `deployed` all are of the deployed candidate, S as it came, and for None they
    are where no column names their candidates.

    Raises
    ------
    TableError
        If a column is missing, a value was never heard of, S differs from what it was held at, or a row is of another
        allocation than `ticket`; the message names row and column.
    """
    model, structure, cells = problem.model, problem.structure, problem.cells
    samples = frame_or_value(samples, "samples")
    s, cell, times = observed(model, structure, samples)
    if not s.size:
        return cells.nothing()
    if ticket is not None:
        _check_ticket(structure, samples, ticket)
    kind, candidate = np.zeros(len(s), np.int64), np.zeros(len(s), np.int64)
    if deployed is None:
        deployed = "candidate" not in samples
    if not deployed:
        candidate = coded(samples, "candidate", problem.candidates)
        kind = forced(model, structure, samples, s)
    elif "candidate" in samples and not (coded(samples, "candidate", problem.candidates) == 0).all():
        what = f"only logged trials of the deployed {problem.candidates[0]!r}"
        raise TableError(expected("candidate", what, "others"))
    profile = cells.profile[cell]
    if (profile < 0).any():
        at = int(np.flatnonzero(profile < 0)[0])
        said = f"row {at + 1}: the model gives this combination of "
        raise TableError(Wording(said, list(problem.nodes), " probability 0"))
    place = cells.place[cell]
    # An own table is fitted: what the log never showed of it may still come.
    never = cells.rules.reshape(*cells.rules.shape[:2], -1)[candidate, s, place] <= 0
    never &= ~np.array(problem.own)[candidate]
    if never.any():
        at, name = int(np.flatnonzero(never)[0]), structure.intervene
        what = f"a value that candidate {problem.candidates[candidate[at]]!r} may give there"
        hint = "answers suppose that every trial followed its candidate's table"
        raise TableError(expected(_cell(at, name), what, samples[name].tolist()[at], hint))
    evidence = cells.nothing()
    level = cells.level[cell]
    score = cells.scores[level]
    np.add.at(evidence.trials, (kind, candidate, s), times)
    np.add.at(evidence.first, (kind, candidate, s, profile), times * score)
    np.add.at(evidence.second, (kind, candidate, s, profile), times * score**2)
    np.add.at(evidence.rows, (kind, candidate, s, place, level), times)
    return evidence


def validate_size(problem: Problem, told: Evidence, plan: Ints) -> None:
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
        raise TableError(expected("samples", what, f"{seen[row, k]:,.0f}", "tell each trial once"))


def drawn(problem: Problem, plan: Ints, random: np.random.Generator) -> Any:
    """Draw the trials of a plan (1 + S, K) from the exact law; one row a combination that was seen, with its count."""
    import pandas as pd

    model, structure, cells = problem.model, problem.structure, problem.cells
    law = cell_density(model, structure, problem.tables) * cells.cell_base if plan.any() else np.ones((1, 1, 1))
    law /= law.sum(2, keepdims=True)
    rows = []
    for row, k in np.argwhere(plan > 0):
        share = law[k] * (cells.prior if row == 0 else np.eye(len(cells.prior))[row - 1])[:, None]
        counts = random.multinomial(plan[row, k], share.reshape(-1)).reshape(share.shape)
        s, cell = np.nonzero(counts)
        rows.append(np.stack([np.full(s.size, row), np.full(s.size, k), s, cell, counts[s, cell]]))
    row, k, s, cell, times = np.concatenate([np.zeros((5, 0), np.int64), *rows], axis=1).astype(np.int64)
    frame: dict[str, Any] = {"candidate": [problem.candidates[i] for i in k]}
    frame |= _held_at(structure, row)
    groups = [structure.states_of(group) for group in problem.groups]
    frame |= {attribute: [groups[i][n] for i in s] for n, attribute in enumerate(structure.sensitive)}
    for node, codes in zip(problem.nodes, np.unravel_index(cell, cells.shape), strict=True):
        frame[node] = [model.states[node][i] for i in codes]
    return pd.DataFrame({**frame, COUNT: times})
