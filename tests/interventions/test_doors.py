"""Models, candidates, values, costs: whatever cannot be is refused by name, neither by a traceback nor silently."""

import math

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, TableError
from evenhand.interventions import CSR, CausalModel, Problem
from tests.naming import named

STATES = {"sex": ["f", "m"], "dose": [0, 1], "cured": [0, 1]}
PARENTS = {"sex": [], "dose": ["sex"], "cured": ["dose"]}
TABLES = {"sex": [0.5, 0.5], "dose": [[0.8, 0.2], [0.4, 0.6]], "cured": [[0.7, 0.3], [0.1, 0.9]]}
NOW, SAME = [[0.8, 0.2], [0.4, 0.6]], [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("states", "match"),
    [
        (["sex"], "states: expected a dict by node"),
        (None, "states: expected a dict by node"),
        (STATES | {"dose": [1, "1"]}, r"states\['dose'\]: .*read differently"),
        (STATES | {"dose": [True, "True"]}, r"states\['dose'\]"),
        (STATES | {"dose": [None, 1]}, r"states\['dose'\]"),
        (STATES | {"dose": [math.nan, 1]}, r"states\['dose'\]"),
        (STATES | {"dose": {"a", "b"}}, r"states\['dose'\]: expected a list of states"),
        (STATES | {"dose": [["a"], ["b"]]}, r"states\['dose'\]"),
        (STATES | {"dose": []}, r"states\['dose'\]"),
    ],
    ids=named,
)
def test_states(states, match):
    with pytest.raises(ArgumentError, match=match):
        CausalModel.from_tables(states, PARENTS, TABLES)


@pytest.mark.parametrize(
    ("parents", "match"),
    [
        ([["sex"]], "parents: expected a dict by node"),
        ({"cured": ["dose", "dose"]}, r"parents\['cured'\]: expected each parent once"),
        ({"cured": ["cured"]}, r"parents\['cured'\]: expected each parent once, and not the node itself"),
        ({"dose": "sex"}, r"parents\['dose'\]: expected a list of nodes"),
        ({"dose": None}, r"parents\['dose'\]: expected a list of nodes"),
        ({"dose": [["sex"]]}, r"parents\['dose'\]: expected nodes of the model"),
        ({"cured": [{"a": 1}]}, r"parents\['cured'\]: expected nodes of the model"),
        ({"cured": ["dos"]}, r"parents\['cured'\]: expected nodes of the model, got 'dos'; near it: dose"),
        ({"sex": ["cured"]}, "without cycles"),
    ],
    ids=named,
)
def test_parents(parents, match):
    given = PARENTS | parents if isinstance(parents, dict) else parents
    tables = {} if "cycles" in match else TABLES
    with pytest.raises(ArgumentError, match=match):
        CausalModel.from_tables(STATES, given, tables)


BAD_TABLES = [
    ([[0.8, 0.2]], "a table of shape"),
    ([0.8, 0.2], "a table of shape"),
    (0.5, "a table of shape"),
    (None, "a table of shape|numbers"),
    ([[0.8, 0.2], [0.4]], "numbers of shape"),
    ([[math.nan, 0.2], [0.4, 0.6]], "probabilities >= 0"),
    ([[None, 0.2], [0.4, 0.6]], "numbers of shape"),
    ([[1.2, -0.2], [0.4, 0.6]], "probabilities >= 0"),
    ([[10**400, 0.2], [0.4, 0.6]], "numbers of shape"),
    ([[1j, 0.2], [0.4, 0.6]], "numbers of shape"),
    ([[0.8, 0.3], [0.4, 0.6]], "rows that sum to one, got 1.1; correct the row at"),
    ({"f": [0.8, 0.2], "m": [0.4, 0.6]}, "numbers of shape|one of the states"),
    (pd.DataFrame([[0.8, 0.2], [0.4, 0.6]], index=["m", "x"]), "one entry for each of"),
    ("now", "numbers of shape|one of the states"),
]


@pytest.mark.parametrize(("table", "match"), BAD_TABLES, ids=named)
def test_tables(table, match):
    with pytest.raises(ArgumentError, match=rf"tables\['dose'\]: expected ({match})"):
        CausalModel.from_tables(STATES, PARENTS, TABLES | {"dose": table})
    if table is not None:  # a candidate that is None is what is done now
        with pytest.raises(ArgumentError, match=rf"candidates\['odd'\]: expected ({match})"):
            problem({"now": NOW, "odd": table})


def test_a_dict_of_tables_is_needed_and_only_of_nodes():
    with pytest.raises(ArgumentError, match="tables: expected a dict by node"):
        CausalModel.from_tables(STATES, PARENTS, None)
    with pytest.raises(ArgumentError, match="tables: expected nodes of the model"):
        CausalModel.from_tables(STATES, PARENTS, {"height": [1.0]})


def problem(candidates=None, **changed):
    asked = {"intervene": "dose", "sensitive": "sex", "outcome": "cured"} | changed
    model = changed.pop("model", None)
    asked.pop("model", None)
    made = CausalModel.from_tables(STATES, PARENTS, TABLES) if model is None else model
    return Problem(made, **asked, candidates={"now": NOW, "same": SAME} if candidates is None else candidates)


@pytest.mark.parametrize(
    ("candidates", "match"),
    [
        ({1: NOW, "1": SAME}, "labels that read differently"),
        ({0.5: NOW, "b": SAME}, "labels that are text or whole numbers"),
        ({("a", "b"): NOW, "b": SAME}, "labels that are text or whole numbers"),
        ({"a": NOW}, "at least two"),
        ({"a", "b"}, "a dict label -> table"),
        (pd.Series([NOW, SAME], index=["a", "a"]), "a dict label -> table"),
        ("both", "a dict label -> table"),
        (7, "a dict label -> table"),
        (np.zeros((2, 2)), r"candidates\[0\]: expected a table of shape"),
    ],
    ids=named,
)
def test_candidates(candidates, match):
    with pytest.raises(ArgumentError, match=match):
        problem(candidates)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"model": "net.bif"}, "model: expected a CausalModel"),
        ({"sensitive": None}, "sensitive: expected a node"),
        ({"sensitive": 3}, "sensitive: expected a node"),
        ({"sensitive": ["sex", "sex"]}, "distinct"),
        ({"intervene": ["dose"]}, "intervene: expected a node"),
        ({"outcome": None}, "outcome: expected a node"),
        ({"values": [0, 1]}, "values: expected a number for each state"),
        ({"values": {0: 0, 1: 1, 2: 5}}, "values: expected a number for each state"),
        ({"values": {"00": 0, "1": 1}}, "values: expected a number for each state"),
        ({"values": {0: 0, 1: 10**400}}, "values: expected a number for each state"),
        ({"values": {0: 0, 1: None}}, "values: expected a number for each state"),
        ({"values": {0: -1e308, 1: 1e308}}, "values: expected finite numbers"),
        ({"values": {0: 0, 1: math.nan}}, "values: expected finite numbers"),
    ],
    ids=named,
)
def test_problems(changed, match):
    with pytest.raises(ArgumentError, match=match):
        problem(**changed)


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda p: p.best("0.1"), "tolerance"),
        (lambda p: p.best(math.nan), "tolerance"),
        (lambda p: p.best(-1), "tolerance"),
        (lambda p: p.best(np.array([0.1, 0.2])), "tolerance"),
        (lambda p: p.allocate([0, 1], "much"), "budget"),
        (lambda p: p.allocate([0, 1], math.nan), "budget"),
        (lambda p: p.allocate([0, 10**400], 1.0), "costs"),
        (lambda p: p.model.sample(10**13), "count"),
        (lambda p: p.model.sample(2.5), "count"),
        (lambda p: p.model.probabilities(["sex"], do={"dose": "01"}), r"do\['dose'\]"),
        (lambda p: p.model.probabilities([["sex"]]), "nodes"),
        (lambda p: CSR(p, tolerance=10**400, budget=400), "tolerance"),
        (lambda p: CSR(p, tolerance=None, budget=400), "tolerance"),
        (lambda p: CSR(p, tolerance=np.array([0.1, 0.2]), budget=400), "tolerance"),
        (lambda p: CSR(p, tolerance=0.1, budget=10**400), "budget"),
        (lambda p: CSR(p, tolerance=0.1, budget=400, mean_cost="much"), "mean_cost"),
        (lambda p: CSR(p, tolerance=0.1, budget=400, pooled="no"), "pooled"),
        (lambda p: CSR(p, tolerance=0.1, budget=400, reuse="no"), "reuse"),
    ],
)
def test_questions_about_a_problem(ask, match):
    with pytest.raises(ArgumentError, match=f"{match}: expected"):
        ask(problem())


@pytest.mark.parametrize(
    ("count", "match"),
    [
        (["2"] * 99 + ["x"], "row 100: expected .*, got 'x'"),
        ([2] * 99 + [-1], "row 100: expected .*, got -1"),
        ([2.0] * 99 + [1.5], "row 100: expected a whole number >= 0, got 1.5"),
        ([2.0] * 99 + [None], "row 100: the cell is empty"),
        ([2.0] * 99 + [math.inf], "row 100: expected finite numbers|row 100: expected numbers"),
    ],
)
def test_a_bad_count_of_trials_is_named_by_its_row(count, match):
    log = CausalModel.from_tables(STATES, PARENTS, TABLES).sample(100, seed=1)
    assert not problem(log=log.assign(count=["2"] * 100)).exact
    with pytest.raises(TableError, match=f"column 'count', {match}"):
        problem(log=log.assign(count=count))


@pytest.mark.parametrize("state", ["01", "1_0", "+1", " 1", "nan"])
def test_an_outcome_is_a_number_only_where_it_is_written_as_one(state):
    states = STATES | {"cured": ["0", state]}
    asked = {"intervene": "dose", "sensitive": "sex", "outcome": "cured", "candidates": {"now": NOW, "same": SAME}}
    with pytest.raises(ArgumentError, match="values: expected a number for each state of 'cured'"):
        Problem(CausalModel.from_tables(states, PARENTS, TABLES), **asked)
    named = CausalModel.from_tables(STATES | {"cured": ["0", "2.50"]}, PARENTS, TABLES)
    assert Problem(named, **asked).scale == 2.5
