"""Candidates written as rules, from the states of V's parents to a state of V, and read as tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, Wording, wanted, wanted_one_of
from evenhand.interventions.model import CausalModel, read_conditional_table
from evenhand.kernels.arrays import Floats
from evenhand.labels import Labels
from evenhand.protocol import label_of, value_of

States = Sequence[Any]
UNQUOTED = ("'null'", "'None'")
"""Texts by which the model's own table was probably meant."""


def is_rule(candidate: Any) -> bool:
    """Whether a candidate is a rule rather than a table: a function, a mapping, or one state for everybody."""
    return callable(candidate) or isinstance(candidate, Mapping) or label_of(candidate) is not None


def rule_table(name: str, rule: Any, model: CausalModel, node: str) -> tuple[Floats, float]:
    """Return the table of a rule, and by how much its probabilities missed a sum of one before they were scaled.

    Parameters
    ----------
    name : what refusals call it.
    rule : a state of the node; a function of a dict parent -> state, or mappings by the states of the parents, one
        inside the other in the parents' order, or one by tuples. What they give is a state or a dict state ->
        probability. A function sees truth values and numbers as such, or as texts where it compares them with these.
    model, node : the model, and the node that the rule decides.

    Raises
    ------
    ArgumentError
        If the rule fails, lacks an entry, has one too many, or gives what is no state or no probabilities.
    """
    above = [model.states[parent] for parent in model.parents[node]]
    if not callable(rule):
        return _tabulated(name, rule, model, node, above)
    values, texts = [_values(states) for states in above], [tuple(map(str, states)) for states in above]

    def seen(by_text: Collection[int] = ()) -> tuple[Floats, float]:
        shown = [texts[axis] if axis in by_text else states for axis, states in enumerate(values)]
        return _tabulated(name, rule, model, node, shown)

    found = seen()
    alike = [axis for axis in range(len(above)) if values[axis] != texts[axis] and not _varies(found[0], axis)]
    if not alike:
        return found
    by_text: set[int] = set()
    for axes in (*([axis] for axis in alike), alike):  # to a rule that compares texts, "true", all values are alike
        with suppress(ArgumentError):
            by_text |= {axis for axis in axes if _varies(seen(axes)[0], axis)}
    return seen(by_text) if by_text else found


def _tabulated(name: str, rule: Any, model: CausalModel, node: str, above: Sequence[States]) -> tuple[Floats, float]:
    """Return the table of a rule that is shown these states of the parents."""
    rows, missed = [], 0.0
    for at in product(*above):
        given = dict(zip(model.parents[node], at, strict=True))
        decided = _called(name, rule, given) if callable(rule) else _entry(name, rule, given, model, model.states[node])
        row, off = _row(name, decided, model.states[node], f"at {given}")
        rows.append(row)
        missed = max(missed, off)
    return np.array(rows).reshape(model.shape(node)), missed


def _values(states: States) -> States:
    """Return what a function sees of the states of a parent: what they say, unless two of them say the same."""
    values = tuple(map(value_of, states))
    return values if len(set(values)) == len(states) else tuple(states)


def _varies(table: Floats, axis: int) -> bool:
    """Return whether the probabilities depend on the parent of this axis."""
    return bool((table != table.take([0], axis)).any())


def _called(name: str, rule: Callable[[dict[str, Any]], Any], given: dict[str, Any]) -> Any:
    try:
        return rule(dict(given))
    except Exception as error:
        what = "it is called with a dict of the parents' states, truth values as True and False, numbers as numbers"
        raise ArgumentError(f"{name}: the rule failed at {given} with {error!r}; {what}") from error


def _entry(name: str, rule: Any, given: dict[str, Any], model: CausalModel, own: States) -> Any:
    """Return what a mapping, or mappings one inside the other, say for given states of the parents."""
    if isinstance(rule, Mapping) and any(isinstance(key, tuple) for key in rule):
        rows = set(product(*(model.states[parent] for parent in given)))
        entries = dict(Labels(rows).read(rule, name, "a rule"))
        odd = [key for key in entries if key not in rows]
        if odd:
            raise ArgumentError(wanted(name, Wording("every key a tuple of states of ", list(given)), odd[0]))
        if tuple(given.values()) not in entries:
            what = Wording("an entry for every combination of ", list(given))
            raise ArgumentError(wanted(name, what, Wording("none for ", given)))
        return entries[tuple(given.values())]
    for parent, state in given.items():
        if not isinstance(rule, Mapping):
            break
        if _is_among(rule, own) and not _is_among(rule, model.states[parent]):  # the same probabilities everywhere
            break
        entries = _by_state(name, rule, model.states[parent], f"an entry for each state of {parent!r}")
        if state not in entries:
            what = Wording(f"an entry for each state of {parent!r}: ", list(model.states[parent]))
            raise ArgumentError(wanted(name, what, Wording(f"none for {state!r}")))
        rule = entries[state]
    return rule


def _by_state(name: str, given: Mapping[Any, Any], states: States, what: str) -> dict[Any, Any]:
    """Return a mapping by states; in JSON a state that is a number stands as text."""
    found = dict(Labels(states).read(given, name, what))
    odd = [key for key in found if key not in states]
    if odd:
        mend = f"the model has no state {odd[0]!r}: leave it out" if set(states) <= set(found) else ""
        raise ArgumentError(wanted_one_of(name, states, odd[0], what=f"{what}:", hint=mend))
    return found


def _is_among(given: Mapping[Any, Any], states: States) -> bool:
    """Return whether all keys of a mapping are states."""
    return bool(given) and -1 not in Labels(states).places(given)


def _row(name: str, decided: Any, own: States, where: str) -> tuple[Floats, float]:
    if isinstance(decided, Mapping):
        shares = _by_state(name, decided, own, f"probabilities by state {where}")
        return read_conditional_table(f"{name} {where}", [shares.get(state, 0.0) for state in own], [own])
    place = Labels(own).place(decided)
    if place is None:
        what = Wording("one of the states ", list(own), ", probabilities by state, or a whole table of numbers")
        mend = "write null (in Python None) without quotation marks for the model's own table"
        mend = mend if repr(decided) in UNQUOTED else where
        got = Wording(f"the state {decided!r}") if isinstance(decided, str) else decided
        raise ArgumentError(wanted(name, what, got, mend))
    return np.eye(len(own))[place], 0.0
