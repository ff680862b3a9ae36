"""Models, candidates, values, costs: whatever cannot be is refused by name, neither by a traceback nor silently."""

import math

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, TableError
from evenhand.interventions import CausalModel, Problem
from tests.interventions.examples import logged
from tests.naming import named

STATES = {"sex": ["f", "m"], "dose": [0, 1], "cured": [0, 1]}
PARENTS = {"sex": [], "dose": ["sex"], "cured": ["dose"]}
TABLES = {"sex": [0.5, 0.5], "dose": [[0.8, 0.2], [0.4, 0.6]], "cured": [[0.7, 0.3], [0.1, 0.9]]}
LONE = CausalModel.from_tables(STATES | {"sex": ["f"]}, PARENTS, TABLES | {"sex": [1.0], "dose": [[0.5, 0.5]]})
NOW, SAME = [[0.8, 0.2], [0.4, 0.6]], [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"states": ["sex"]}, "states: expected a dict by node"),
        ({"states": STATES | {"dose": [1, "1"]}}, r"states\['dose'\]: .*read differently"),
        ({"states": STATES | {"dose": [True, "True"]}}, r"states\['dose'\]"),
        ({"states": STATES | {"dose": [None, 1]}}, r"states\['dose'\]"),
        ({"states": STATES | {"dose": {"a", "b"}}}, r"states\['dose'\]: expected a list of states"),
        ({"states": {1: [0, 1]}}, "states: expected nodes named by text"),
        ({"parents": [["sex"]]}, "parents: expected a dict by node"),
        ({"parents": PARENTS | {"cured": ["dose", "dose"]}}, r"parents\['cured'\]: expected each parent once"),
        ({"parents": PARENTS | {"dose": "sex"}}, r"parents\['dose'\]: expected a list of nodes"),
        (
            {"parents": PARENTS | {"cured": ["dos"]}},
            r"\['cured'\]: expected nodes of the model, got 'dos'; near it: dose",
        ),
        ({"parents": PARENTS | {"sex": ["cured"]}, "tables": {}}, "without cycles"),
        ({"parents": {}, "tables": {"sex": [0.5, 0.5]}}, "expected the parents of 'sex', which has a table"),
        ({"tables": None}, "tables: expected a dict by node"),
        ({"tables": {"height": [1.0]}}, "tables: expected nodes of the model"),
    ],
    ids=named,
)
def test_models(given, match):
    with pytest.raises(ArgumentError, match=match):
        CausalModel.from_tables(**{"states": STATES, "parents": PARENTS, "tables": TABLES} | given)


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


def problem(candidates=None, **changed):
    asked = {"intervene": "dose", "sensitive": "sex", "outcome": "cured", "candidates": {"now": NOW, "same": SAME}}
    asked |= {"model": CausalModel.from_tables(STATES, PARENTS, TABLES)}
    return Problem(**asked | ({} if candidates is None else {"candidates": candidates}) | changed)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"candidates": {1: NOW, "1": SAME}}, "labels that read differently"),
        ({"candidates": {("a", "b"): NOW, "b": SAME}}, "labels that are text or whole numbers"),
        ({"candidates": {"a": NOW}}, "at least two"),
        ({"candidates": pd.Series([NOW, SAME], index=["a", "a"])}, "a dict label -> table"),
        ({"candidates": np.zeros((2, 2))}, r"candidates\[0\]: expected a table of shape"),
        ({"candidates": "both"}, "a dict label"),
        ({"candidates": {"a": NOW, "b": [[0.0, 1.0], [0.5, 0.5]]}}, r"candidates\['b'\].*'a' has at \(0, 0\)"),
        ({"candidates": {"a": [[0.0, 1.0], [0.5, 0.5]], "b": NOW}}, r"candidates\['a'\].*'b' has at \(0, 0\)"),
        ({"model": "net.bif"}, "model: expected a CausalModel"),
        ({"sensitive": 3}, "sensitive: expected a node"),
        ({"sensitive": "height"}, "sensitive.*'height'"),
        ({"sensitive": []}, "sensitive"),
        ({"sensitive": ["sex", "sex"]}, "distinct"),
        ({"sensitive": "dose", "intervene": "sex"}, "'dose' may have no parents"),
        ({"intervene": ["dose"]}, "intervene: expected a node"),
        ({"intervene": "height"}, "intervene.*'height'"),
        ({"intervene": "cured", "outcome": "dose"}, "path to 'dose'"),
        ({"outcome": "height"}, "outcome.*'height'"),
        ({"outcome": "dose"}, "different nodes"),
        ({"model": LONE, "candidates": [[[0.5, 0.5]], [[0.4, 0.6]]]}, "at least two values"),
        ({"values": [0, 1]}, "values: expected a number for each state"),
        ({"values": {0: 0, 1: 1, 2: 5}}, "values: expected a number for each state"),
        ({"values": {"00": 0, "1": 1}}, "values: expected a number for each state"),
        ({"values": {0: -1e308, 1: 1e308}}, "values: expected finite numbers"),
        ({"values": {0: 1.0, 1: 1.0}}, "differ"),
        ({"log": 3}, "data frame"),
    ],
    ids=named,
)
def test_problems(changed, match):
    with pytest.raises(ArgumentError, match=match):
        problem(**changed)


def fitted():
    model = CausalModel.from_tables(STATES, PARENTS, TABLES)
    return problem(model=CausalModel.fit(model.sample(40, seed=1), "sex -> dose -> cured"))


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda: problem().best(-1), "tolerance"),
        (lambda: problem().recommend(0), "tolerance"),
        (lambda: problem().allocate([0, 1], math.nan), "budget"),
        (lambda: problem().allocate([1.0], 0.5), "costs: expected 2 finite numbers"),
        (lambda: problem().allocate({"now": 1.0}, 0.5), r"costs: .*missing \['same'\]"),
        (lambda: problem().allocate({"now": 1.0, "same": 1.0, "who": 1.0}, 0.5), r"costs: .*unknown \['who'\]"),
        (lambda: problem().allocate("free", 0.5), "costs: expected 2 finite numbers"),
        (lambda: problem().allocate([2.0, 3.0], 0.5), "costs: .*costs at most 0.5"),
        (lambda: problem().allocate(None, 0.5, among=["nobody"]), "candidate"),
        (lambda: problem().model.sample(10**13), "count"),
        (
            lambda: problem().model.probabilities(["sex"], do={"dose": "01"}),
            r"do\['dose'\]: expected a state of 'dose'",
        ),
        (lambda: problem().model.smoothed(1.0), "model: expected tables fitted to data"),
        (lambda: problem().posterior(), "model: expected tables fitted to data"),
        (lambda: fitted().posterior(draws=0), "draws"),
        (lambda: fitted().posterior(smoothing=0), "smoothing: expected a number > 0"),
        (lambda: fitted().posterior(draws=10, seed=1).best(0.0), "tolerance"),
        (lambda: fitted().posterior(draws=10, seed=1).best(0.1, level=0.5), "level"),
        (lambda: problem().sensitivity(tolerance=0.0), "tolerance"),
        (lambda: problem().sensitivity(tolerance=0.1, between=("sex", "dose")), r"between: expected .*'dose'"),
        (lambda: problem().sensitivity(tolerance=0.1, between=("cured", "dose")), "between"),
        (lambda: problem().sensitivity(tolerance=0.1).range(0.5), "strength: expected a number >= 1"),
        (lambda: logged()[0].sensitivity(tolerance=0.5), "model: .*a log"),
    ],
)
def test_questions_about_a_problem(ask, match):
    with pytest.raises(ArgumentError, match=match if ":" in match else f"{match}: expected"):
        ask()


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
    odd, sound = (CausalModel.from_tables(STATES | {"cured": ["0", one]}, PARENTS, TABLES) for one in (state, "2.50"))
    with pytest.raises(ArgumentError, match="values: expected a number for each state of 'cured'"):
        problem(model=odd)
    assert problem(model=sound).scale == 2.5
