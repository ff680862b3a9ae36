"""Small problems that the tests share."""

import shlex

import numpy as np
from typer.testing import CliRunner

from evenhand.cli import app
from evenhand.errors import EvenhandError
from evenhand.interventions import CausalModel, Problem, SimulatedTrial

NETWORK = """network n { }
variable sex { type discrete [2] { f, m }; }
variable dose { type discrete [2] { 0, 1 }; }
variable state { type discrete [2] { ill, well }; }
probability ( sex ) { table 0.5, 0.5; }
probability ( dose | sex ) { (f) 0.8, 0.2; (m) 0.4, 0.6; }
probability ( state | dose ) { (0) 0.7, 0.3; (1) 0.1, 0.9; }
"""


SVY = {"intervene": "V", "sensitive": "S", "outcome": "Y"}


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
    return Problem(model, **SVY, candidates=[table("V") for _ in range(candidates)])


def fitted_below():
    """A problem over a model that was fitted to data, whose first candidate runs now."""
    world = mediated(1)
    edges = [(p, n) for n, parents in world.model.parents.items() for p in parents]
    model = CausalModel.fit(world.model.sample(300, seed=1), edges)
    return Problem(model, **SVY, candidates=[None, *world.tables[:2], "a"])


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


PROBLEMS = {
    "V below S": mediated(1),
    "V beside S": mediated(2, direct=False),
    "three values": mediated(3, groups=3),
    "two attributes": two_attributes(4),
}
WORLD = next(SimulatedTrial._examples())


def logged(log=None):
    """A problem over a log of a model of which one table is known, and the whole problem that made the log."""
    full = mediated(5)
    parents = {node: full.model.parents[node] for node in ("S", "X", "V", "Y")}
    partial = CausalModel.from_tables(full.model.states, parents, {"X": full.model.tables["X"]})
    asked = SVY | {"candidates": list(full.tables)}
    return Problem(partial, **asked, log=full.model.sample(300, seed=1) if log is None else log), full


def straight(candidates, *, now=((0.5, 0.5), (0.5, 0.5)), outcome=((0.9, 0.1), (0.2, 0.8)), states=(0, 1), values=None):
    """S -> V -> Y of two states each."""
    model = CausalModel.from_tables(
        {"S": [0, 1], "V": [0, 1], "Y": states},
        {"S": [], "V": ["S"], "Y": ["V"]},
        {"S": [0.5, 0.5], "V": now, "Y": outcome},
    )
    return Problem(model, **SVY, candidates=candidates, values=values)


def call(typed):
    """Return what `evenhand recommend` prints, given its options as they are typed in a shell."""
    result = CliRunner().invoke(app, ["recommend", *shlex.split(typed)])
    if isinstance(result.exception, EvenhandError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output
