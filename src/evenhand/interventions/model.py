"""Causal models: a graph of discrete nodes, all or some of which have a conditional table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Self

import numpy as np

from evenhand.arguments import as_floats, in_sequence, real, whole
from evenhand.data.probabilities import scaled_note, summed
from evenhand.errors import ArgumentError, Wording, expected, expected_one_of, nearest
from evenhand.frames import has_row_labels
from evenhand.interventions.bif_files import read_bif
from evenhand.interventions.edges import read_latent
from evenhand.interventions.fitting import fitted, posterior_means
from evenhand.interventions.inference import eliminate
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import Labels, in_order
from evenhand.protocol import as_label, writing
from evenhand.rng import Seed, draw_seed, generator

State = str | int
MOST_ROWS = 10**9


def read_conditional_table(name: str, table: Any, axes: Sequence[Sequence[str | int]]) -> tuple[Floats, float]:
    """Return a conditional table as an array with the states of each axis in order, whose last axis is scaled to sum to
    one, and by how much it missed that."""
    shape = tuple(map(len, axes))
    parents = table.axes[0].nlevels if has_row_labels(table) else 1
    rows = [axes[0]] if parents == 1 else [list(product(*axes[:parents]))]
    array = as_floats(in_order(table, [*rows, *axes[parents:]], name))
    if array is not None and parents > 1 and array.size == np.prod(shape):
        array = array.reshape(shape)
    if array is None:
        raise ArgumentError(expected(name, f"numbers of shape {shape}", table))
    if array.shape != shape:
        hint = "one axis per parent, in order, and the node's own axis last"
        raise ArgumentError(expected(name, f"a table of shape {shape}", array.shape, hint))
    if not np.isfinite(array).all() or (array < 0).any():
        raise ArgumentError(expected(name, "probabilities >= 0", table))
    read = summed(array.reshape(-1, shape[-1]))
    if (row := read.wrong) is not None:
        at = tuple(int(i) for i in np.unravel_index(row, shape[:-1])) if shape[:-1] else ()
        got, hint = round(float(read.sums[row]), 6), (f"correct the row at {at}: " if at else "") + read.hint(row)
        raise ArgumentError(expected(name, "rows that sum to one", got, hint))
    return read.rows.reshape(shape), read.missed


def rounded_tables(whose: str, missed: Mapping[Any, float]) -> tuple[str, ...]:
    """Return what is to be known of tables, by how much the rows of each missed a sum of one."""
    rounded = [name for name, by in missed.items() if scaled_note("", by)]
    names = ", ".join(map(repr, rounded[:3])) + (", ..." if len(rounded) > 3 else "")
    return scaled_note(f"The tables of {whose} ({names})", max(missed.values(), default=0.0))


class CausalModel:
    """A causal graph over discrete nodes, with the conditional tables that are known.

    Nodes without a table are known by name and states only; a node that `parents` does not list has unknown parents.
    Such a partial model is enough for a `Problem` with a log, see there; sampling and exact inference need the tables
    of the nodes asked for and of their ancestors.

    Attributes
    ----------
    states, parents, tables : dicts by node: its states, its parents, and its table; `order` lists parents first.
    latent : pairs of nodes that share an unobserved cause.
    notes : what a user should know about the tables, such as that rounded ones were scaled to sum to one.
    unordered : the nodes whose states stand in no order that anybody has chosen, as those of a column of texts: tables
        over them are read by labels alone.
    counts, smoothing : of a model fitted to data, how often each entry of each table was seen, and the prior's mass per
        row; else None.
    rows : of a model fitted to data, the different rows (n, nodes + 1): the positions of their states, in the order of
        `states`, and how often each was seen; else None. A number of a measured node is between its two positions.
    precision : node -> for each row of a measured node, how many times less its numbers vary than its two states, the
        lowest and the highest number, whose table has their means.

    Examples
    --------
    >>> model = CausalModel.from_tables(
    ...     {"sex": ["f", "m"], "dose": [0, 1], "cured": [0, 1]},
    ...     {"sex": [], "dose": ["sex"], "cured": ["dose"]},
    ...     {"sex": [0.5, 0.5], "dose": [[0.8, 0.2], [0.4, 0.6]], "cured": [[0.7, 0.3], [0.1, 0.9]]},
    ... )
    >>> model.probabilities(["cured"], do={"sex": "m"}).round(3)
    array([0.34, 0.66])
    >>> model.sample(3, do={"dose": 1}, seed=1)["dose"].tolist()
    [1, 1, 1]
    """

    def __init__(
        self,
        states: Mapping[str, Sequence[State]],
        parents: Mapping[str, Sequence[str]],
        *,
        tables: Mapping[str, Any],
        latent: Sequence[tuple[str, str]] = (),
        counts: Mapping[str, Any] | None = None,
        smoothing: float | None = None,
        unordered: Sequence[str] = (),
        rows: Any = None,
        precision: Mapping[str, Any] | None = None,
    ) -> None:
        for name, mapping in (("states", states), ("parents", parents), ("tables", tables)):
            if not isinstance(mapping, Mapping):
                raise ArgumentError(expected(name, "a dict by node", mapping))
        self.states = {node: _checked_states(node, values) for node, values in states.items()}
        for name, mapping in (("parents", parents), ("tables", tables)):
            for node in mapping:
                self._known(node, name)
        self.parents = {node: self._checked_parents(node, above) for node, above in parents.items()}
        self.tables: dict[str, Floats] = {}
        missed: dict[str, float] = {}
        for node, table in tables.items():
            if node not in self.parents:
                what = f"the parents of {node!r}, which has a table"
                raise ArgumentError(expected("parents", what, Wording("nothing"), "use [] for a root"))
            self.tables[node], missed[node] = read_conditional_table(f"tables[{node!r}]", table, self.axes(node))
        self.notes = rounded_tables("the model", missed)
        self.order = self._topological()
        self.latent = tuple((self._known(a, "latent"), self._known(b, "latent")) for a, b in read_latent(latent))
        self.smoothing = None if smoothing is None else real("smoothing", smoothing, low=0)
        counted = {node: self._counted(node, seen) for node, seen in _by_node("counts", counts)}
        self.counts = None if counts is None else counted
        self.rows = None if rows is None else as_floats(rows)
        if rows is not None and (self.rows is None or np.shape(rows)[1:] != (len(self.states) + 1,)):
            what = f"numbers of shape (n, {len(self.states) + 1}), the states of each row and how often it was seen"
            raise ArgumentError(expected("rows", what, rows))
        given = _by_node("precision", precision)
        self.precision = {self._known(node, "precision"): np.asarray(by, np.float64) for node, by in given}
        listed = in_sequence("unordered", unordered, "a list of nodes")
        self.unordered = tuple(self._known(node, "unordered") for node in listed)

    @classmethod
    def from_tables(
        cls, states: Mapping[str, Sequence[State]], parents: Mapping[str, Sequence[str]], tables: Mapping[str, Any]
    ) -> Self:
        """Return the model with these states, parents and conditional tables.

        Parameters
        ----------
        states : node -> its states, str or int.
        parents : node -> its parents.
        tables : node -> array with one axis per parent, in the order of `parents[node]`, and the node's own axis last.
            A pandas Series or DataFrame whose labels are the states is read by them; the rows of several parents have
            a MultiIndex.

        Raises
        ------
        ArgumentError
            If a node is unknown, or occurs twice among a node's parents, the graph has a cycle, or a table has another
            shape or rows whose sum misses one by more than rounding explains.
        """
        return cls(states, parents, tables=tables)

    @classmethod
    def from_bif(cls, path: str | os.PathLike[str], *, encoding: str | None = None) -> Self:
        """Return the model in a BIF file, packed or not (net.bif.gz), in UTF-8 unless an encoding is given; a variable
        without probabilities has neither parents nor a table.

        Raises
        ------
        ArgumentError
            If there is no such encoding.
        TableError
            If the file is absent, in another encoding, or not BIF.
        """
        states, parents, tables = read_bif(path, encoding)
        return cls(states, parents, tables=tables)

    @classmethod
    def fit(cls, frame: Any, edges: Any, smoothing: float = 1.0, latent: Any = (), measured: str | None = None) -> Self:
        """Return the model of a graph with every table estimated from data.

        Parameters
        ----------
        frame : data frame, one row per observation, one column per node; a column `count` may say how often a row was
            seen. States are labels: whole numbers as they are, truth values as "true" and "false", everything else as
            text. They stand in the order of a column's categories; numbers, and bands of numbers such as "25 to 34",
            by size; other texts by the alphabet, and a table over these must be labelled.
        edges : the arrows, as text "sex -> dose -> cured" or as pairs (parent, child). Every node that is named must
            be a column. The parents of a node are in the order of their arrows.
        smoothing : the prior of each row of a table counts as much as so many observations. Its mean is even over the
            node's states; for a node with many parents it is mostly the prediction of a logistic regression on them.
        measured : a column of numbers, such as earnings, that changes no other node: in each row of its table it has
            the mean of its numbers, with their variance, in place of how often each was seen.
        latent : pairs of nodes that share an unobserved cause, or text "dose <-> age"; arcs in `edges` count as well.

        Returns
        -------
        CausalModel
            Its `counts` hold what was seen: node -> array of the shape of its table.

        Raises
        ------
        ArgumentError
            If edges, latent or smoothing are invalid, or the arrows form a cycle.
        TableError
            If a column is missing, has an empty cell, or more than 100 different values.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"sex": ["f", "f", "m", "m"], "cured": [1, 0, 1, 1]})
        >>> CausalModel.fit(frame, "sex -> cured").tables["cured"].round(2).tolist()
        [[0.5, 0.5], [0.17, 0.83]]
        """
        return cls(**fitted(frame, edges, smoothing, latent, measured))

    def smoothed(self, smoothing: float) -> Self:
        """Return the model of the same data with a prior of another weight.

        Raises
        ------
        ArgumentError
            If the model was not fitted to data, or the weight is not a number > 0.
        """
        smoothing = real("smoothing", smoothing, above=0)
        if self.counts is None:
            raise ArgumentError(expected("model", "tables fitted to data, with their counts", repr(self)))
        changed = {"tables": posterior_means(self.counts, smoothing, self.precision), "smoothing": smoothing}
        return type(self)(**self.config() | changed)

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = ("states", "parents", "tables", "latent", "counts", "smoothing", "unordered", "rows", "precision")
        return {name: vars(self)[name] for name in names}

    @property
    def complete(self) -> bool:
        """Whether every node has its parents and its table."""
        return set(self.tables) == set(self.states)

    def shape(self, node: str) -> tuple[int, ...]:
        """Return the shape of the node's table."""
        return tuple(map(len, self.axes(node)))

    def axes(self, node: str) -> list[tuple[State, ...]]:
        """Return the states along each axis of the node's table: its parents' and its own."""
        return [self.states[name] for name in (*self.parents[node], node)]

    def read_table(self, name: str, table: Any, node: str) -> tuple[Floats, float]:
        """Return a table that a user gives for a node, and by how much its rows missed a sum of one.

        Raises
        ------
        ArgumentError
            If it is no table of the node, or gives by position what stands in no order.
        """
        read, missed = read_conditional_table(name, table, self.axes(node))
        named = [axis.tolist() for axis in table.axes for _ in range(axis.nlevels)] if has_row_labels(table) else []
        for place, axis in enumerate((*self.parents[node], node)):
            positions = named[place : place + 1] in ([], [list(range(len(self.states[axis])))])
            if axis in self.unordered and positions and np.ptp(read, axis=place).any():
                what = f"a table by the states of {axis!r}, as nothing states the order of {list(self.states[axis])}"
                hint = "pass a rule, or a data frame labelled by the states, or make the column a pandas.Categorical "
                hint += "with its categories in your order"
                raise ArgumentError(f"{name}: expected {what}, got a table by position; {hint}")
        return read, missed

    def ancestors(self, nodes: Sequence[str], cut: Sequence[str] = ()) -> set[str]:
        """Return the nodes and all their ancestors; the nodes of `cut` hide their own ancestors."""
        found: set[str] = set()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += [] if node in cut else self.parents.get(node, ())
        return found

    def probabilities(
        self, nodes: Sequence[str], *, do: Mapping[str, State] | None = None, tables: Mapping[str, Any] | None = None
    ) -> Floats:
        """Return the exact joint law of `nodes`, one axis per node, under hard and soft interventions.

        Parameters
        ----------
        nodes : the nodes asked for.
        do : node -> the state it is held at.
        tables : node -> another conditional table, of the shape of its own.

        Raises
        ------
        ArgumentError
            If a node or state is unknown, or a table that is needed is not there.
        """
        nodes = self._named(nodes)
        factors = self._intervened(nodes, do, tables)
        sizes = {node: len(values) for node, values in self.states.items()}
        return eliminate([((*ps, node), table) for node, (ps, table) in factors.items()], nodes, sizes)

    def sample(
        self,
        count: int,
        *,
        do: Mapping[str, State] | None = None,
        tables: Mapping[str, Any] | None = None,
        nodes: Sequence[str] | None = None,
        seed: Seed = None,
    ) -> Any:
        """Draw a data frame of `count` rows under hard and soft interventions, one categorical column per node.

        Only `nodes` and their ancestors are drawn; all nodes by default.

        Raises
        ------
        ArgumentError
            If a node or state is unknown, or a table that is needed is not there.
        """
        import pandas as pd

        count = whole("count", count, low=0, high=MOST_ROWS)
        shown = list(self.states) if nodes is None else self._named(nodes)
        factors = self._intervened(shown, do, tables)
        random = generator(draw_seed(seed))
        codes: dict[str, Ints] = {}
        for node in (node for node in self.order if node in factors):
            ps, table = factors[node]
            edges = np.cumsum(table, axis=-1)[..., :-1]
            rows = edges[tuple(codes[p] for p in ps)] if ps else edges[None]
            codes[node] = np.broadcast_to((random.random(count)[:, None] >= rows).sum(-1), (count,)).astype(np.int64)
        kinds = {node: pd.CategoricalDtype(list(self.states[node])) for node in shown}
        return pd.DataFrame({node: pd.Categorical.from_codes(codes[node], dtype=kinds[node]) for node in shown})

    def code(self, node: str, state: Any, name: str) -> int:
        """Return the position of a state."""
        position = Labels(self.states[node]).place(state)
        if position is None:
            raise ArgumentError(expected_one_of(name, self.states[node], state, what=f"a state of {node!r}:"))
        return position

    def _intervened(
        self, nodes: Sequence[str], do: Mapping[str, State] | None, tables: Mapping[str, Any] | None
    ) -> dict[str, tuple[tuple[str, ...], Floats]]:
        """Return parents and table of the nodes and of all above them, as the interventions leave them."""
        held = {self._known(node, "do"): self.code(node, state, f"do[{node!r}]") for node, state in _by_node("do", do)}
        soft = {
            self._known(node, "tables"): self.read_table(f"tables[{node!r}]", table, node)[0]
            for node, table in _by_node("tables", tables)
        }
        needed = self.ancestors(nodes, tuple(held))
        missing = sorted(node for node in needed if node not in self.tables and node not in held and node not in soft)
        if missing:
            what = Wording("tables for ", missing, ", which lie above ", list(nodes))
            raise ArgumentError(expected("tables", what, Wording("a partial model")))
        return {
            node: ((), np.eye(len(self.states[node]))[held[node]])
            if node in held
            else (self.parents[node], soft.get(node, self.tables.get(node)))  # type: ignore[misc]
            for node in needed
        }

    def _named(self, nodes: Any) -> list[str]:
        """Return the nodes that are asked for."""
        what = "a list of nodes"
        named = [self._known(node, "nodes") for node in in_sequence("nodes", nodes, what)]
        if not named:
            raise ArgumentError(expected("nodes", what, nodes))
        return named

    def _counted(self, node: Any, seen: Any) -> Floats:
        """Return how often each entry of a node's table was seen."""
        found = as_floats(seen)
        if self._known(node, "counts") not in self.parents or found is None or found.shape != self.shape(node):
            raise ArgumentError(expected(f"counts[{node!r}]", "a number for each entry of the node's table", seen))
        return found

    def _checked_parents(self, node: str, above: Any) -> tuple[str, ...]:
        name = f"parents[{node!r}]"
        listed = in_sequence(name, above, "a list of nodes, [] for a root")
        found = tuple(self._known(parent, name) for parent in listed)
        if len(set(found)) < len(found) or node in found:
            raise ArgumentError(expected(name, "each parent once, and not the node itself", list(found)))
        return found

    def _known(self, node: Any, name: str) -> str:
        if not isinstance(node, str) or node not in self.states:
            near = nearest(node, self.states, most=3, likeness=0.3)
            raise ArgumentError(
                expected(name, "nodes of the model", node, f"near it: {', '.join(near)}" if near else "")
            )
        return str(node)

    def _topological(self) -> tuple[str, ...]:
        order: dict[str, None] = {}
        while len(order) < len(self.states):
            ready = [n for n in self.states if n not in order and all(p in order for p in self.parents.get(n, ()))]
            if not ready:
                raise ArgumentError(
                    expected("parents", "a graph without cycles", sorted(set(self.states) - set(order)))
                )
            order |= dict.fromkeys(ready)
        return tuple(order)

    def __repr__(self) -> str:
        arrows = sum(map(len, self.parents.values()))
        return f"CausalModel({len(self.states)} nodes, {arrows} arrows, {len(self.tables)} tables)"


def _by_node(name: str, given: Any) -> Iterable[tuple[Any, Any]]:
    """Return what is given for each node, nothing for None."""
    if given is not None and not isinstance(given, Mapping):
        raise ArgumentError(expected(name, "a dict by node", given))
    return (given or {}).items()


def _checked_states(node: Any, values: Any) -> tuple[State, ...]:
    if not isinstance(node, str):
        raise ArgumentError(expected("states", "nodes named by text", node))
    states = tuple(map(as_label, in_sequence(f"states[{node!r}]", values, "a list of states")))
    sound = all(type(value) in (str, int) for value in states)
    if not sound or not states or len(set(map(writing, states))) < len(states):
        raise ArgumentError(expected(f"states[{node!r}]", "distinct states, str or int, that read differently", values))
    return states
