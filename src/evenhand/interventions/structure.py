"""From a causal model to cells: which nodes matter, and the two parts of their law.

A problem is refused here if a candidate's effect does not follow from the tables, because two nodes share an
unobserved cause. With every node observed it always does. With latent arcs the effect of V is identified if, among
the ancestors of Y and of pa(V), no child of V is joined to V by latent arcs; for a single outcome that is sufficient,
not necessary. The plain product of the tables gives it where, moreover, every latent arc joins V to one of its
ancestors: V's own table, which the candidate replaces, is then the only one that the unobserved cause enters.

Source: J. Tian, J. Pearl, "A General Identification Condition for Causal Effects" (2002); for tables in place of values
J. Correa, E. Bareinboim, "A Calculus for Stochastic Interventions" (2020).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from evenhand.arguments import as_float
from evenhand.errors import ArgumentError, Wording, argument, expected, expected_one_of, nearest
from evenhand.interventions.inference import eliminate, placed
from evenhand.interventions.model import CausalModel, rounded_tables
from evenhand.interventions.rules import is_rule, rule_table
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import Labels
from evenhand.protocol import Label, value_of


class Structure(NamedTuple):
    """The nodes of a problem.

    Attributes
    ----------
    intervene, sensitive, outcome : V, the sensitive attributes, Y.
    children : C, the children of the sensitive attributes, V left out, through which they reach Y.
    nodes : what a cell is a state of: V, its parents, C, its parents, Y, the sensitive attributes left out.
    groups : the values of S; tuples where there are several attributes.
    """

    intervene: str
    sensitive: tuple[str, ...]
    outcome: str
    children: tuple[str, ...]
    nodes: tuple[str, ...]
    groups: tuple[Any, ...]

    def named(self, group: Any) -> str:
        """Return a value of S in words, such as "sex = f"."""
        states = zip(self.sensitive, self.states_of(group), strict=True)
        return " & ".join(f"{name} = {state}" for name, state in states)

    def states_of(self, group: Any) -> tuple[Any, ...]:
        """Return a value of S as the states of the attributes."""
        return group if len(self.sensitive) > 1 else (group,)


def read_structure(model: CausalModel, intervene: str, sensitive: str | Sequence[str], outcome: str) -> Structure:
    """Return the structure, or refuse it by name."""
    if not isinstance(model, CausalModel):
        raise ArgumentError(expected("model", "a CausalModel", model))
    attributes = tuple(sensitive) if isinstance(sensitive, (list, tuple)) else (sensitive,)
    for name, node in (("intervene", intervene), ("outcome", outcome), *(("sensitive", a) for a in attributes)):
        if not isinstance(node, str) or node not in model.states:
            edges = Wording("the edges", shell="--edges")
            hint = "" if nearest(node, model.states) else Wording("if it is a column of the table, add it to ", edges)
            raise ArgumentError(
                expected_one_of(name, model.states, node, what="a node of the graph, one of", hint=hint)
            )
    if not attributes or len(set(attributes)) < len(attributes):
        raise ArgumentError(expected("sensitive", "one node or several distinct ones", sensitive))
    for attribute in attributes:
        if model.parents.get(attribute) != ():
            found, hint = model.parents.get(attribute, "unknown parents"), "a mediator's gap is another question"
            raise ArgumentError(expected("sensitive", f"a root: {attribute!r} may have no parents", found, hint))
    if intervene in attributes or outcome in attributes or intervene == outcome:
        raise ArgumentError(
            expected("intervene, sensitive, outcome", "different nodes", (intervene, sensitive, outcome))
        )
    if intervene not in model.parents:
        what = f"a node of known parents: say parents[{intervene!r}]"
        raise ArgumentError(expected("intervene", what, "unknown parents"))
    known = set(model.parents) == set(model.states)
    above = model.ancestors([outcome])
    if known and intervene not in above:
        what, hint = f"a node with a path to {outcome!r}", "no candidate changes the outcome"
        raise ArgumentError(expected("intervene", what, intervene, hint))
    children = tuple(
        node
        for node in model.order
        if node != intervene and set(model.parents.get(node, ())) & set(attributes) and (node in above or not known)
    )
    missing = [node for node in children if node not in model.tables]
    if missing:
        what = Wording("tables of the children of ", list(attributes))
        hint = "give them, or fit the model to a table of people"
        raise ArgumentError(expected("tables", what, Wording("none for ", missing), hint))
    reached = [intervene, *model.parents[intervene]]
    for child in children:
        reached += [*model.parents[child], child]
    nodes = tuple(node for node in dict.fromkeys([*reached, outcome]) if node not in attributes)
    groups = tuple(product(*(model.states[a] for a in attributes)))
    if len(groups) < 2:
        raise ArgumentError(expected("sensitive", "an attribute of at least two values", sensitive))
    values = groups if len(attributes) > 1 else tuple(g[0] for g in groups)
    return Structure(intervene, attributes, outcome, children, nodes, values)


class Candidates(NamedTuple):
    """The candidates: labels and tables (K, parents of V ..., V), the deployed one first; which of them are rules, and
    which the estimated table of a fitted model (K,); what is to be known of the tables."""

    labels: tuple[Label, ...]
    tables: Floats
    ruled: tuple[bool, ...]
    own: tuple[bool, ...]
    notes: tuple[str, ...] = ()


def read_candidates(model: CausalModel, intervene: str, candidates: Any) -> Candidates:
    """Return the candidates, or refuse one by name.

    A table with a zero where another table has mass is refused; a rule gives some values never on purpose.
    """
    given = Labels().read(candidates, "candidates", "a dict label -> table, or a list of tables")
    named = given if isinstance(given, dict) else dict(enumerate(given))
    labels, tables = tuple(named), list(named.values())
    if len(labels) < 2 or not all(type(label) in (str, int) for label in labels):
        what = "at least two candidates, with labels that are text or whole numbers"
        raise ArgumentError(expected("candidates", what, labels))
    if len(set(map(str, labels))) < len(labels):
        raise ArgumentError(expected("candidates", "labels that read differently", labels))
    ruled, own = tuple(map(is_rule, tables)), tuple(model.counts is not None and table is None for table in tables)
    read = [_table(f"candidates[{label!r}]", table, model, intervene) for label, table in named.items()]
    stacked, missed = np.stack([table for table, _ in read]), [off for _, off in read]
    plain = np.flatnonzero(~np.array(ruled))
    differs = np.argwhere((stacked[plain] > 0) != (stacked[plain[:1]] > 0)) if plain.size else np.zeros((0, 0))
    if differs.size:
        k, first, *at = (int(plain[differs[0][0]]), int(plain[0]), *(int(i) for i in differs[0][1:]))
        zero, other = (labels[k], labels[first]) if stacked[(k, *at)] == 0 else (labels[first], labels[k])
        what = f"mass wherever another candidate has it, as {other!r} has at {tuple(at)}"
        hint = "give it a small probability there: otherwise samples of one say nothing about the other"
        raise ArgumentError(expected(f"candidates[{zero!r}]", what, 0.0, f"{hint}; or write a rule"))
    notes = rounded_tables("the candidates", dict(zip(labels, missed, strict=True)))
    return Candidates(labels, stacked, ruled, own, notes)


def _table(name: str, candidate: Any, model: CausalModel, node: str) -> tuple[Floats, float]:
    if candidate is None:
        if node not in model.tables:
            hint = f"None stands for the model's own table of {node!r}, which this model lacks"
            raise ArgumentError(expected(name, f"a table of shape {model.shape(node)}, or a rule", None, hint))
        return model.tables[node], 0.0
    if is_rule(candidate):
        return rule_table(name, candidate, model, node)
    return model.read_table(name, candidate, node)


def read_scores(model: CausalModel, outcome: str, values: Mapping[Any, float] | None) -> tuple[Floats, float, float]:
    """Return the outcome's numbers scaled to [0, 1], and the lowest and the highest number."""
    states = model.states[outcome]
    what = Wording(f"a number for each state of {outcome!r}: ", list(states))
    hint = f"such as {{{', '.join(f'{state!r}: {number}' for number, state in enumerate(states[:3]))}}}"
    given: Any = {state: _number(state) for state in states}
    if values is not None:
        given = Labels(states).read(values, "values", what)
    if not isinstance(given, dict) or set(given) - set(states):
        raise ArgumentError(expected("values", what, values, hint))
    named = [given.get(state) for state in states]
    numbers = np.array([as_float(number) for number in named])
    if not all(isinstance(number, float) for number in np.array(named, object)[~np.isfinite(numbers)]):
        raise ArgumentError(expected("values", what, values, hint))
    if values is None and len(states) == 1:
        hint = f"it is always {states[0]!r}"
        raise ArgumentError(expected("outcome", "a node with at least two values", outcome, hint))
    low, high = float(numbers.min()), float(numbers.max())
    if not np.isfinite(numbers).all() or low == high or not math.isfinite(high - low):
        raise ArgumentError(expected("values", "finite numbers that differ", numbers.tolist()))
    return (numbers - low) / (high - low), low, high


def _number(state: Label) -> Any:
    """Return the number that a state says, where True is 1."""
    value = value_of(state)
    return float(value) if isinstance(value, bool) else value


def through_v_alone(model: CausalModel, structure: Structure) -> bool:
    """Return whether S reaches Y through V alone and no parent of V hangs on S: then trials of every value of S speak
    of each."""
    return set(model.parents) == set(model.states) and not structure.children


def cell_density(model: CausalModel, structure: Structure, candidates: Floats) -> Floats:
    """Return the part of a cell's law that changes, (K, S, cells)."""
    axes = ["", *structure.sensitive, *structure.nodes]
    v = structure.intervene
    density = placed(["", *model.parents[v], v], candidates, axes)
    for child in structure.children:
        density = density * placed([*model.parents[child], child], model.tables[child], axes)
    shape = [len(candidates), *(len(model.states[name]) for name in axes[1:])]
    return np.ascontiguousarray(np.broadcast_to(density, shape)).reshape(len(candidates), len(structure.groups), -1)


def own_tables(model: CausalModel, structure: Structure, candidates: Floats) -> tuple[Floats, Ints]:
    """Return the candidates' tables as P_k(v | x, s) (K, S, X, V), x a state of pa(V) without S, and the number of
    (x, v) in each cell."""
    v = structure.intervene
    others = [node for node in model.parents[v] if node not in structure.sensitive]
    axes = ["", *structure.sensitive, *others, v]
    shape = [len(candidates), *(len(model.states[name]) for name in axes[1:])]
    table = np.broadcast_to(placed(["", *model.parents[v], v], candidates, axes), shape)
    sizes = [len(model.states[node]) for node in structure.nodes]
    codes = dict(zip(structure.nodes, np.indices(sizes).reshape(len(sizes), -1), strict=True))
    place = np.ravel_multi_index([codes[node] for node in (*others, v)], [len(model.states[n]) for n in (*others, v)])
    return np.array(table).reshape(len(candidates), len(structure.groups), -1, len(model.states[v])), place


def cell_base(model: CausalModel, structure: Structure) -> tuple[Floats, Floats]:
    """Return the law of S (S,) and the other part of a cell's law (cells,), exactly."""
    changed = {structure.intervene, *structure.children, *structure.sensitive}
    others = model.ancestors([*structure.nodes]) - changed
    missing = sorted(node for node in others | set(structure.sensitive) if node not in model.tables)
    if missing:
        hint = Wording("or pass ", argument("log"), ", what was observed of the deployed candidate")
        raise ArgumentError(expected("model", Wording("tables for ", missing), Wording("a partial model"), hint))
    sizes = {node: len(states) for node, states in model.states.items()}
    factors = [((*model.parents[node], node), model.tables[node]) for node in model.order if node in others]
    prior = np.ones(1)
    for attribute in structure.sensitive:
        prior = np.outer(prior, model.tables[attribute]).reshape(-1)
    return prior, eliminate(factors, structure.nodes, sizes).reshape(-1)


def require_identified(model: CausalModel, structure: Structure) -> None:
    """Refuse a problem whose answer is not shown to follow from the tables, with the reason.

    Raises
    ------
    ArgumentError
        If a latent arc touches a sensitive attribute, joins V to a child of its own, or is none from V to an ancestor.
    """
    v, own = structure.intervene, model.ancestors([structure.intervene])
    above = model.ancestors([structure.outcome, v])
    arcs = [set(arc) for arc in model.latent if set(arc) <= above]
    joined, size = {v}, 0
    while size < len(joined):
        size = len(joined)
        joined |= {node for arc in arcs if arc & joined for node in arc}
    for arc in arcs:
        names = " and ".join(map(repr, sorted(arc)))
        if arc & set(structure.sensitive):
            _refuse(f"{names} share an unobserved cause, so that a sensitive attribute is no root")
        child = next((node for node in sorted(joined) if v in model.parents[node]), None)
        if child is not None:
            joins = f"unobserved causes join {v!r} to its child {child!r}"
            _refuse(f"{joins}, and what {v!r} does cannot be learned from them")
        if v not in arc or not arc <= own:
            _refuse(f"{names} share an unobserved cause, so that the answer is not the product of the tables")


def _refuse(reason: str) -> None:
    said = f"latent: not shown to be identified: {reason}; observe the cause, or leave it out and "
    says = Wording("ask sensitivity()", shell="recommend then says")
    raise ArgumentError(Wording(said, says, " how strong it has to be to change the answer"))
