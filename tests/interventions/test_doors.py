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
        (STATES | {"dose": [1, "1"]}, r"states\['dose'\]: .*read differently"),
        (STATES | {"dose": [True, "True"]}, r"states\['dose'\]"),
        (STATES | {"dose": [None, 1]}, r"states\['dose'\]"),
        (STATES | {"dose": {"a", "b"}}, r"states\['dose'\]: expected a list of states"),
        ({1: [0, 1]}, "states: expected nodes named by text"),
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
        ({"dose": "sex"}, r"parents\['dose'\]: expected a list of nodes"),
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
    (None, "a table of shape|numbers"),
    ([[None, 0.2], [0.4, 0.6]], "numbers of shape"),
    ([[1.2, -0.2], [0.4, 0.6]], "probabilities >= 0"),
    ([[0.8, 0.3], [0.4, 0.6]], "rows that sum to one, got 1.1; correct the row at"),
    ({"f": [0.8, 0.2], "m": [0.4, 0.6]}, "numbers of shape|one of the states"),
    (pd.DataFrame([[0.8, 0.2], [0.4, 0.6]], index=["m", "x"]), "one entry for each of"),
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
    with pytest.raises(ArgumentError, match="expected the parents of 'sex', which has a table"):
        CausalModel.from_tables(STATES, {}, {"sex": [0.5, 0.5]})


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
        ({("a", "b"): NOW, "b": SAME}, "labels that are text or whole numbers"),
        ({"a": NOW}, "at least two"),
        (pd.Series([NOW, SAME], index=["a", "a"]), "a dict label -> table"),
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
        ({"sensitive": 3}, "sensitive: expected a node"),
        ({"sensitive": ["sex", "sex"]}, "distinct"),
        ({"intervene": ["dose"]}, "intervene: expected a node"),
        ({"values": [0, 1]}, "values: expected a number for each state"),
        ({"values": {0: 0, 1: 1, 2: 5}}, "values: expected a number for each state"),
        ({"values": {"00": 0, "1": 1}}, "values: expected a number for each state"),
        ({"values": {0: -1e308, 1: 1e308}}, "values: expected finite numbers"),
    ],
    ids=named,
)
def test_problems(changed, match):
    with pytest.raises(ArgumentError, match=match):
        problem(**changed)


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda p: p.best(-1), "tolerance"),
        (lambda p: p.allocate([0, 1], math.nan), "budget"),
        (lambda p: p.model.sample(10**13), "count"),
        (lambda p: p.model.probabilities(["sex"], do={"dose": "01"}), r"do\['dose'\]"),
        (lambda p: CSR(p, tolerance=0.1, budget=10**400), "budget"),
    ],
)
def test_questions_about_a_problem(ask, match):
    with pytest.raises(ArgumentError, match=f"{match}: expected"):
        ask(problem())


@pytest.mark.parametrize(
    ("count", "match"),
    [
        (["2"] * 99 + ["x"], "row 100: expected .*, got 'x'"),
        ([2.0] * 99 + [1.5], "row 100: expected a whole number >= 0, got 1.5"),
    ],
)
def test_a_bad_count_of_trials_is_named_by_its_row(count, match):
    log = CausalModel.from_tables(STATES, PARENTS, TABLES).sample(100, seed=1)
    assert not problem(log=log.assign(count=["2"] * 100)).exact
    with pytest.raises(TableError, match=f"column 'count', {match}"):
        problem(log=log.assign(count=count))


@pytest.mark.parametrize("state", ["01", "1_0", "nan"])
def test_an_outcome_is_a_number_only_where_it_is_written_as_one(state):
    states = STATES | {"cured": ["0", state]}
    asked = {"intervene": "dose", "sensitive": "sex", "outcome": "cured", "candidates": {"now": NOW, "same": SAME}}
    with pytest.raises(ArgumentError, match="values: expected a number for each state of 'cured'"):
        Problem(CausalModel.from_tables(states, PARENTS, TABLES), **asked)
    named = CausalModel.from_tables(STATES | {"cured": ["0", "2.50"]}, PARENTS, TABLES)
    assert Problem(named, **asked).scale == 2.5
