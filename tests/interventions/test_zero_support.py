"""Candidates that give some values never, and logs made under several candidates."""

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, TableError
from evenhand.interventions import CSR, SRIS, CausalModel, Problem, SimulatedTrial, TwoStageCSR
from evenhand.interventions.measures import EvidenceDraws, replay
from evenhand.rng import generator
from tests.interventions.examples import WORLD, logged, mediated, straight

MODEL = WORLD.problem.model
NOW = MODEL.tables["dose"]
ASKED = {"intervene": "dose", "sensitive": "sex", "outcome": "cured"}


def test_a_rule_that_looks_at_s_is_searched_beside_a_table_and_refused_alone():
    split = {"S": {0: 0, 1: 1}}
    problem = straight({"half": [[0.5, 0.5]] * 2, "split": split, "all": 1}, outcome=[[0.8, 0.2], [0.3, 0.7]])
    search = CSR(problem, tolerance=0.2, budget=4000)
    replay(search, EvidenceDraws(problem.cells), generator(2))
    assert search.recommend()[:2] == ("all", "certified")
    assert search.dropped[1][1] == "gap above the tolerance"
    alone = straight({"split": split, "all": 1}, outcome=[[0.8, 0.2], [0.3, 0.7]])
    for make in (CSR, TwoStageCSR):
        with pytest.raises(ArgumentError, match=r"candidates\['split'\]: expected a candidate whose trials can show"):
            make(alone, tolerance=0.2, budget=4000)
    assert SRIS(alone, budget=4000).ask().frame["count"].sum() > 0


def test_a_trial_whose_candidate_never_gives_that_value_is_refused():
    """A patient who did not take what the rule says: answers suppose that everybody does."""
    problem = Problem(MODEL, candidates={"now": NOW, "high": "high"}, **ASKED)
    search, world = CSR(problem, tolerance=0.1, budget=4000), SimulatedTrial(problem)
    world.reset(1)
    allocation = search.ask()
    (rows,) = world.respond(allocation)
    at = int(np.flatnonzero(rows["dose"] == "low")[0])
    words = f"column 'dose', row {at + 1}: expected a value that candidate 'high' may give there, got 'low'"
    with pytest.raises(TableError, match=words):
        search.tell(allocation, rows.assign(candidate=rows["candidate"].mask(rows.index == at, "high")))
    search.tell(allocation, rows)


LOGGED = {"now": NOW, "even": WORLD.problem.tables[1], "rich": WORLD.problem.tables[2]}


def logs(size=600, seed=1):
    parts = [
        MODEL.sample(size, tables={"dose": table}, seed=seed + n).assign(candidate=name)
        for n, (name, table) in enumerate(LOGGED.items())
    ]
    return pd.concat(parts, ignore_index=True)


def test_logs_made_under_several_candidates_are_learned_together():
    problem, log = WORLD.problem, logs()
    search = CSR(problem, tolerance=0.1, budget=4000)
    search.learn(log)
    table = search.recommend().table
    np.testing.assert_allclose(table["outcome"], problem.outcomes, atol=0.04)
    alone = CSR(problem, tolerance=0.1, budget=4000)
    alone.learn(log[log["candidate"] == "now"])
    width = [found["outcome_high"] - found["outcome_low"] for found in (table, alone.recommend().table)]
    assert (width[0] < width[1]).all()


def test_a_problem_rests_on_the_mixture_of_its_log():
    full = mediated(5)
    parts = [
        full.model.sample(20_000, tables={"V": table}, seed=k).assign(candidate=k)
        for k, table in enumerate(full.tables)
    ]
    problem, _ = logged(pd.concat(parts))
    np.testing.assert_allclose(problem.outcome_divergence, full.outcome_divergence, rtol=0.05)


def test_a_log_of_a_rule_says_nothing_about_what_it_never_gives():
    partial = CausalModel.from_tables(MODEL.states, MODEL.parents, {"weight": MODEL.tables["weight"]})
    log = logs().query("candidate == 'now'").drop(columns="candidate")
    rules = {"high": "high", "low": "low"}
    with pytest.raises(ArgumentError, match="log: expected trials of all values that the candidate 'low' gives"):
        Problem(partial, **ASKED, candidates=rules, log=log[log["dose"] == "high"])
    both = {"now": NOW, "low": "low"}
    assert Problem(partial, **ASKED, candidates=both, log=log).candidates == ("now", "low")
