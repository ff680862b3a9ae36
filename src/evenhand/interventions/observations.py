"""What was observed of trials, read from data frames and checked: codes of values, and how often each row was seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.data.tables import numbers
from evenhand.errors import TableError, wanted, wanted_one_of
from evenhand.frames import frame_or_value
from evenhand.interventions.model import CausalModel
from evenhand.interventions.structure import Structure
from evenhand.kernels.arrays import Floats, Ints
from evenhand.protocol import find_label, label_of, places

COUNT = "count"
"""A column of samples may say how often a row was seen."""
TICKET = "ticket"
"""A column of plans and samples says to which allocation a row belongs."""


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
        raise TableError(wanted("log", "at least one trial", f"{len(s)} rows"))
    named = "candidate" in log and "candidate" not in structure.nodes
    candidate = coded(log, "candidate", candidates) if named else np.zeros(len(s), np.int64)
    trials = np.zeros((len(candidates), len(structure.groups)))
    counts = np.zeros(int(np.prod([len(model.states[node]) for node in structure.nodes])))
    np.add.at(trials, (candidate, s), times)
    np.add.at(counts, cell, times)
    return trials, counts


def observed(model: CausalModel, structure: Structure, samples: Any) -> tuple[Ints, Ints, Floats]:
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
        number = number * len(model.states[node]) + coded(samples, node, model.states[node])
    return number


def coded(samples: Any, name: str, states: tuple[Any, ...]) -> Ints:
    """Return the positions among `states` of the values in a column, whose labels they are."""
    if name not in samples:
        raise TableError(wanted("samples", f"a column {name!r}", list(samples.columns)))
    codes = _found(samples[name], states)
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        every = "no row has one of them; name the states in the log as in the model"
        mend = every if bad.size == len(codes) else "leave such rows out"
        raise TableError(wanted_one_of(_cell(bad[0], name), states, samples[name].iloc[bad[0]], mend=mend))
    return codes


def _found(values: Any, states: tuple[Any, ...]) -> Ints:
    """Return the position of each value among these states, -1 where it is none of them."""
    known = places(states)
    if values.dtype == object:  # in which True would be taken for 1
        values = values.map(_plain)
    codes, met = values.factorize()
    found = [find_label(value, known) for value in [*met, ""]]  # a gap is written as no text
    return np.array([-1 if place is None else place for place in found], np.int64)[codes]


def _plain(value: Any) -> Any:
    """Return a value as its label; of what is none and no number its type, which is no state."""
    label = label_of(value)
    if label is None:
        return value if value is None or isinstance(value, float) else type(value)
    return label


def forced(model: CausalModel, structure: Structure, samples: Any, s: Ints) -> Ints:
    """Return 1 where S was held, 0 where it came as it was."""
    columns = [held(attribute) for attribute in structure.sensitive]
    if not any(column in samples for column in columns):
        return np.zeros(len(s), np.int64)
    absent = [column for column in columns if column not in samples]
    if absent:
        raise TableError(wanted("samples", f"the columns {columns}, or none of them", f"none for {absent}"))
    empty = samples[columns].isna() | (samples[columns].astype(object) == "")
    for attribute, column in zip(structure.sensitive, columns, strict=True):
        here, states = ~empty[columns].all(axis=1).to_numpy(), model.states[attribute]
        differs = np.flatnonzero(here & (_found(samples[column], states) != _found(samples[attribute], states)))
        if differs.size:
            at = int(differs[0])
            what = f"the value it was held at, {samples[column].iloc[at]!r}"
            raise TableError(wanted(_cell(at, attribute), what, samples[attribute].iloc[at]))
    return np.asarray(~empty.all(axis=1), np.int64)


def checked_ticket(structure: Structure, samples: Any, number: int) -> None:
    """Refuse samples whose column `ticket` names another allocation than this one.

    Raises
    ------
    TableError
        If one does; the message names the row.
    """
    if TICKET not in getattr(samples, "columns", ()) or TICKET in (*structure.sensitive, *structure.nodes):
        return
    other = np.flatnonzero(_found(samples[TICKET], (number,)) < 0)
    if other.size:
        got, mend = samples[TICKET].iloc[other[0]], "tell each allocation its own rows, once"
        raise TableError(wanted(_cell(other[0], TICKET), f"{number}, the allocation told", got, mend))


def _times(samples: Any) -> Floats:
    if COUNT not in samples:
        return np.ones(len(samples))
    times = numbers(samples, COUNT, low=0.0)
    bad = np.flatnonzero(times != np.floor(times))
    if bad.size:
        raise TableError(wanted(_cell(bad[0], COUNT), "a whole number >= 0", float(times[bad[0]])))
    return times


def _cell(at: int, column: str) -> str:
    return f"column {column!r}, row {at + 1}"
