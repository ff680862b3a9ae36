"""Candidates written as rules, from the states of V's parents to a state of V, and read as tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np

from evenhand.arguments import as_float
from evenhand.data.tables import BAND
from evenhand.errors import ArgumentError, Wording, argument, expected, expected_one_of
from evenhand.interventions.fitting import GROUP_THEM
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


def opened(model: CausalModel, node: str, candidates: Any) -> CausalModel:
    """Return the model in which a node that was drawn by lot hangs, with the law that it has, also on every other
    column that a rule names.

    Raises
    ------
    ArgumentError
        If the node changes such a column.
    """
    given = list(candidates.values()) if isinstance(candidates, Mapping) else candidates
    above = model.parents[node]
    named = [column for column in dict.fromkeys(_named(given, model)) if column not in above]
    late = next((column for column in named if node in model.ancestors([column])), None)
    if late is not None:
        raise ArgumentError(expected("candidates", f"rules by columns that {node!r} does not change", late))
    sizes = [len(model.states[column]) for column in named]

    def spread(table: Floats) -> Floats:
        *before, own = table.shape
        return np.array(np.broadcast_to(table.reshape(*before, *[1] * len(sizes), own), (*before, *sizes, own)))

    changed: dict[str, Any] = {"parents": {**model.parents, node: (*above, *named)}}
    for name in ("tables", "counts"):
        if (known := model.config()[name]) is not None and node in known:
            changed[name] = {**known, node: spread(known[node])}
    return CausalModel(**model.config() | changed)


def _named(rule: Any, model: CausalModel) -> Iterator[str]:
    """Yield the columns that a rule, or a list of rules, names."""
    if (column := named_column(rule, model)) is not None:
        yield column
    inside = rule.values() if isinstance(rule, Mapping) else rule if isinstance(rule, list) else ()
    for each in inside:
        yield from _named(each, model)


def rule_table(name: str, rule: Any, model: CausalModel, node: str) -> tuple[Floats, float]:
    """Return the table of a rule, and by how much its probabilities missed a sum of one before they were scaled.

    Parameters
    ----------
    name : what refusals call it.
    rule : a state of the node; a function of a dict parent -> state, or mappings by the states of the parents, one
        inside the other in the parents' order, or one by tuples; or mappings that name their parent, {parent: {state:
        ...}}, which may leave parents out. What they give is a state or a dict state ->
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
        decided = _called(name, rule, given) if callable(rule) else _entry(name, rule, given, model, node)
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


def _entry(name: str, rule: Any, given: dict[str, Any], model: CausalModel, node: str) -> Any:
    """Return what a mapping, or mappings one inside the other, say for given states of the parents."""
    if isinstance(rule, Mapping) and any(isinstance(key, tuple) for key in rule):
        rows = set(product(*(model.states[parent] for parent in given)))
        entries = dict(Labels(rows).read(rule, name, "a rule"))
        odd = [key for key in entries if key not in rows]
        if odd:
            raise ArgumentError(expected(name, Wording("every key a tuple of states of ", list(given)), odd[0]))
        if tuple(given.values()) not in entries:
            what = Wording("an entry for every combination of ", list(given))
            raise ArgumentError(expected(name, what, Wording("none for ", given)))
        return entries[tuple(given.values())]
    left = dict(given)
    while isinstance(rule, Mapping):
        if named := named_column(rule, model):
            if named not in left:
                by_lot = f"draw an arrow {named} -> {node}, or say that {node} was drawn by lot"
                late = Wording(f"in the graph {named} comes after {node}, too late for a rule")
                hint = late if node in model.ancestors([named]) else Wording(by_lot, " (", argument("randomised"), ")")
                what = Wording(f"rules by what {node!r} hangs on in the graph, each once: ", list(given))
                raise ArgumentError(expected(name, what, named, hint))
            parent, rule = named, rule[named]
        elif (first := _column(name, rule, left, model, node)) is None:  # the same probabilities everywhere
            break
        else:
            parent = first
        state = left.pop(parent)
        entries = _by_state(name, rule, model.states[parent], f"an entry for each state of {parent!r}")
        if state not in entries:
            what = Wording(f"an entry for each state of {parent!r}: ", list(model.states[parent]))
            raise ArgumentError(expected(name, what, Wording(f"none for {state!r}")))
        rule = entries[state]
    return rule


def named_column(rule: Any, model: CausalModel) -> str | None:
    """Return the column that a rule names, as in {"age": {"young": "low", "old": "high"}}."""
    key = next(iter(rule)) if isinstance(rule, Mapping) and len(rule) == 1 else None
    return key if isinstance(key, str) and key in model.states and isinstance(rule[key], Mapping) else None


def _column(name: str, rule: Mapping[Any, Any], left: Mapping[str, Any], model: CausalModel, node: str) -> str | None:
    """Return the next parent, whose states are the keys of a rule, or None where the rule gives probabilities."""
    own, parent = model.states[node], next(iter(left), None)
    shares = _is_among(rule, own)
    if parent is None or not (shares and _is_among(rule, model.states[parent])):
        return None if shares else parent
    numbers = [as_float(share) for share in rule.values()]
    if any(
        np.isfinite(n) and Labels(own).place(share) is None for n, share in zip(numbers, rule.values(), strict=True)
    ):
        return None  # a number that is no state is a probability
    if not np.isclose(sum(numbers), 1.0):
        return parent
    everywhere = {state: dict(rule) for state in model.states[parent]}
    ways = f"{ {parent: dict(rule)} } for a rule by {parent!r}, or { {parent: everywhere} } for one lottery for all"
    raise ArgumentError(expected(name, "a rule that can be read in one way", dict(rule), f"write {ways}"))


def _by_state(name: str, given: Mapping[Any, Any], states: States, what: str) -> dict[Any, Any]:
    """Return a mapping by states; in JSON a state that is a number stands as text."""
    found = dict(Labels(states).read(given, name, what))
    odd = [key for key in found if key not in states]
    if odd:
        hint = f"the model has no state {odd[0]!r}: leave it out" if set(states) <= set(found) else ""
        if isinstance(found[odd[0]], Mapping):
            hint = f"a rule goes by a column of the graph: draw {odd[0]!r} in it"
        if BAND.fullmatch(str(odd[0])) and not any(BAND.fullmatch(str(state)) for state in states):
            hint = f"the states are no bands: {GROUP_THEM}"
        raise ArgumentError(expected_one_of(name, states, odd[0], what=f"{what}:", hint=hint))
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
        hint = "write null (in Python None) without quotation marks for the model's own table"
        hint = hint if repr(decided) in UNQUOTED else where
        got = Wording(f"the state {decided!r}") if isinstance(decided, str) else decided
        raise ArgumentError(expected(name, what, got, hint))
    return np.eye(len(own))[place], 0.0
