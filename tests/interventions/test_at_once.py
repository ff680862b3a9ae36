"""Answers without trials: exactly from a complete model, and how many more trials or rows an answer needs."""

import json

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError
from evenhand.interventions import CSR, CausalModel, Problem, SimulatedTrial
from evenhand.interventions.measures import EvidenceDraws, replay
from evenhand.rng import generator
from tests.interventions.examples import NETWORK, call

WORLD = next(SimulatedTrial._examples()).problem
ASKED = "model.bif --intervene dose --sensitive sex --outcome state --candidates c.json --values ill=0,well=1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.bif").write_text(NETWORK)
    (tmp_path / "c.json").write_text('{"now": null, "same": [[0.5, 0.5], [0.5, 0.5]], "all": "1"}')
    return tmp_path


def test_a_complete_model_without_a_budget_gives_the_exact_table_at_once(folder):
    said = call(f"{ASKED} --tolerance 0.15")
    assert said.startswith(
        "'all' is certified as the best fair rule (exact, by the model): under it, people of all groups have nearly "
        "the same chance of state = well; this is within the tolerance of 15 points. Over all people, the chance of "
        "state = well is then 0.900.\n"
    )
    assert " ".join(said.split()).count("│ now │ 0.540 │ -0.240 │ unfair │") == 1
    assert "Computed from the model's tables, which are taken as exact" in said
    assert "'all' is the best fair rule unless something unrecorded influences both dose and state" in said
    assert "seed" not in said
    body = json.loads(call(f"{ASKED} --tolerance 0.15 --json --out out"))
    assert said.startswith(body["answer"])
    assert (body["candidate"], body["status"], body["confidence"], body["more"]) == ("all", "certified", 1.0, None)
    assert [row["verdict"] for row in body["table"]] == ["unfair", "fair", "certified"]
    assert len(pd.read_csv(folder / "out" / "candidates.csv")) == 3
    for name in ("candidates", "sensitivity", "sensitivity-to-groups"):
        assert (folder / "out" / f"{name}.png").stat().st_size > 1000


def test_the_exact_table_is_that_of_the_problem(folder):
    model = CausalModel.from_bif("model.bif")
    candidates = {"now": None, "same": [[0.5, 0.5], [0.5, 0.5]], "all": "1"}
    asked = {"intervene": "dose", "sensitive": "sex", "outcome": "state", "values": {"ill": 2.0, "well": 4.0}}
    problem = Problem(model, candidates=candidates, **asked)
    for tolerance in (1e-9, 0.1, 0.5):
        found = problem.recommend(tolerance)
        assert found.candidate == problem.best(tolerance)
        np.testing.assert_allclose(found.table["outcome"], problem.outcomes)
        np.testing.assert_allclose(found.table["gap_low[f, m]"], problem.gaps["f", "m"])
        assert (found.table["verdict"] == "unfair").tolist() == (abs(problem.gaps["f", "m"]) >= tolerance).tolist()
    unfair = Problem(model, candidates=[None, {"f": "0", "m": "1"}], **asked).recommend(0.1)
    assert unfair[:2] == (None, "none_is_fair")


STATES = {"s": ["a", "b", "c"], "v": ["yes", "no"], "y": [0, 1]}
TABLES = {"s": [0.5, 0.3, 0.2], "v": [[0.8, 0.2], [0.4, 0.6], [0.1, 0.9]], "y": [[0.7, 0.3], [0.1, 0.9]]}


def asked_about(rule, now=None):
    whole = CausalModel.from_tables(STATES, {"s": [], "v": ["s"], "y": ["v"]}, TABLES)
    return Problem(whole, intervene="v", sensitive="s", outcome="y", candidates={"now": now, "rule": rule})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"rule": "yes", "now": None}, {"rule": "yes", "now": TABLES["v"]}),
        ({"rule": {"yes": 0.3, "no": 0.7}}, {"rule": {state: {"yes": 0.3, "no": 0.7} for state in "abc"}}),
    ],
    ids=["none is the model's own table, whatever model has one", "the same for everybody"],
)
def test_what_is_written_in_two_ways_is_the_same(one, other):
    one, other = asked_about(**one), asked_about(**other)
    np.testing.assert_array_equal(one.outcomes, other.outcomes)
    assert one.own == other.own == (False, False)


def test_a_model_without_the_table_says_so():
    partial = CausalModel({"s": [0, 1], "v": [0, 1], "y": [0, 1]}, {"s": [], "v": ["s"], "y": ["v"]}, tables={})
    log = pd.DataFrame({"s": [0, 1], "v": [0, 1], "y": [0, 1]})
    with pytest.raises(ArgumentError, match="None stands for the model's own table of 'v', which this model lacks"):
        Problem(partial, intervene="v", sensitive="s", outcome="y", candidates=[None, 1], log=log)


def test_as_many_more_trials_as_are_said_mostly_show_the_answer():
    def searched(budget, seed):
        search = CSR(WORLD, tolerance=0.1, budget=budget, mean_cost=1.0)
        replay(search, EvidenceDraws(WORLD.cells), generator(seed))
        return search.recommend()

    first = {seed: searched(1000, seed) for seed in range(8)}
    open_ = {seed: found for seed, found in first.items() if found.status == "not_shown"}
    assert len(open_) >= 3
    for found in open_.values():
        said = f"About {found.more:,} more trials like these would show the answer"
        assert found.notes[0].startswith(said if found.more <= 10_000 else "Not by data like these: ten times as many")
    shown = [searched(1000 + found.more, seed).status != "not_shown" for seed, found in open_.items()]
    assert np.mean(shown) >= 0.5
    assert all(found.more is None for found in first.values() if found.status != "not_shown")
