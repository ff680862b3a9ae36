"""Small problems that the tests share."""

import shlex

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from evenhand.cli import app
from evenhand.errors import EvenhandError
from evenhand.interventions import CausalModel, Problem

NETWORK = """network n { }
variable sex { type discrete [2] { f, m }; }
variable dose { type discrete [2] { 0, 1 }; }
variable state { type discrete [2] { ill, well }; }
probability ( sex ) { table 0.5, 0.5; }
probability ( dose | sex ) { (f) 0.8, 0.2; (m) 0.4, 0.6; }
probability ( state | dose ) { (0) 0.7, 0.3; (1) 0.1, 0.9; }
"""


def mediated(seed=0, candidates=3, groups=2, direct=True):
    """S -> X -> Y, S -> V (if direct) and X -> V -> Y, with Z -> X, and a child of S that does not reach Y."""
    random = np.random.default_rng(seed)
    s = tuple(f"s{i}" for i in range(groups))
    states = {"S": s, "Z": (0, 1), "X": (0, 1, 2), "V": ("a", "b"), "Y": (0, 1, 2), "W": (0, 1)}
    above = ("S", "X") if direct else ("X",)
    parents = {"S": (), "Z": (), "X": ("S", "Z"), "V": above, "Y": ("V", "X"), "W": ("S", "V")}
    sizes = {node: len(values) for node, values in states.items()}

    def table(node):
        return random.dirichlet(np.full(sizes[node], 3.0), [sizes[p] for p in parents[node]])

    model = CausalModel.from_tables(states, parents, {node: table(node) for node in states})
    return Problem(model, intervene="V", sensitive="S", outcome="Y", candidates=[table("V") for _ in range(candidates)])


def two_attributes(seed=0):
    """Two sensitive roots, one reaching Y through V alone, the other also directly."""
    random = np.random.default_rng(seed)
    model = CausalModel.from_tables(
        {"sex": ["f", "m"], "old": [0, 1], "V": [0, 1, 2], "Y": [0, 1]},
        {"sex": [], "old": [], "V": ["sex"], "Y": ["V", "old"]},
        {
            "sex": [0.4, 0.6],
            "old": [0.7, 0.3],
            "V": random.dirichlet([2, 2, 2], 2),
            "Y": random.dirichlet([2, 2], (3, 2)),
        },
    )
    tables = random.dirichlet([2, 2, 2], (4, 2))
    return Problem(model, intervene="V", sensitive=["sex", "old"], outcome="Y", candidates=list(tables))


def as_groups(problem):
    """The values of S as tuples of state numbers, in the order of `problem.groups`."""
    s = problem.structure
    groups = [g if len(s.sensitive) > 1 else (g,) for g in problem.groups]
    return [tuple(problem.model.states[a].index(v) for a, v in zip(s.sensitive, g, strict=True)) for g in groups]


NODES = {"S": (0, 1), "X": (0, 1, 2), "V": (0, 1, 2), "Y": (0, 1, 2)}
EDGES = "S -> X, S -> V, X -> V, X -> Y, V -> Y"
ASKED = {"intervene": "V", "sensitive": "S", "outcome": "Y"}


def drawn_world(random):
    """S -> X -> V -> Y, S -> V, X -> Y with tables from Dirichlet laws and three candidates; the first is what runs."""
    parents = {"S": (), "X": ("S",), "V": ("S", "X"), "Y": ("X", "V")}
    sizes = {node: len(states) for node, states in NODES.items()}
    tables = {n: random.dirichlet(np.full(sizes[n], 2.0), [sizes[p] for p in parents[n]]) for n in NODES}
    model = CausalModel.from_tables(NODES, parents, tables)
    others = [random.dirichlet(np.full(3, 2.0), (2, 3)) for _ in range(2)]
    return Problem(model, **ASKED, candidates=[tables["V"], *others])


def fitted_to(truth, rows, random):
    """A sample of so many rows of what runs in the world, with counts, and the problem over a model fitted to it."""
    counts = random.multinomial(rows, truth.model.probabilities(tuple(NODES)).reshape(-1))
    counts = counts.reshape([len(states) for states in NODES.values()])
    at = np.nonzero(counts)
    sample = pd.DataFrame({**dict(zip(NODES, at, strict=True)), "count": counts[at]})
    declared = {node: pd.Categorical(sample[node], categories=list(states)) for node, states in NODES.items()}
    model = CausalModel.fit(sample.assign(**declared), EDGES)
    return sample, Problem(model, **ASKED, candidates=list(truth.tables))


def call(typed):
    """Return what `evenhand recommend` prints, given its options as they are typed in a shell."""
    result = CliRunner().invoke(app, ["recommend", *shlex.split(typed)])
    if isinstance(result.exception, EvenhandError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output
