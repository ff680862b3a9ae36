"""Texts that stand for numbers, such as yes and no: one option says which, for every command that reads tables."""

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, EvenhandError
from evenhand.studies import Study
from tests.cli.shell import answer, as_json, refused

WORDS = ["--values", "nein=0,ja=1"]
PARITY = ["audit-parity", "log.csv", "--group", "sex", "--value", "paid"]
SMALL = "--rounds 20 --replications 1 --jobs 1 --seed 1"
COMMANDS = {
    "audit-parity": PARITY,
    "simulate": f"simulate --data log.csv --arm sex --reward paid -p ucb1 {SMALL}".split(),
    "groups": f"simulate --data log.csv --group sex --features x --reward paid -p top-interval {SMALL}".split(),
    "evaluate": ["evaluate", "log.csv", "--arm", "sex", "--reward", "paid", "--propensity", "p", "-p", "f=0.5,m=0.5"],
}


@pytest.fixture
def table():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": random.choice(["f", "m"], 400), "x": random.random(400), "p": 0.5})
    frame["paid"] = np.where(random.random(400) < 0.5, "ja", "nein")
    frame.to_csv("log.csv", index=False)
    return frame


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_words_are_refused_with_the_option_that_makes_numbers_of_them(table, command):
    refused(EvenhandError, "got 'ja'; pass --values nein=0,ja=1" if table["paid"][0] == "ja" else "nein", *command)
    said = answer(*command, "--json", *WORDS)
    table.assign(paid=(table["paid"] == "ja") * 1).to_csv("log.csv", index=False)
    assert said == answer(*command, "--json")


def test_other_columns_and_labels_stay_as_they_are(table):
    table.assign(sex=table["paid"], paid=(table["x"] < 0.5) * 1).to_csv("log.csv", index=False)
    groups = as_json(*PARITY, *WORDS)["groups"]
    assert [row["group"] for row in groups] == ["ja", "nein"]


def test_numbers_stand_for_no_numbers_and_many_words_neither(table):
    """Which number each might be nobody can guess."""
    words = "--values: expected texts that stand for numbers, no=0,yes=1, got '1'"
    refused(ArgumentError, words, *PARITY, "--values", "1=1,2=0")
    table.assign(paid=[f"word {n % 9}" for n in range(400)]).to_csv("log.csv", index=False)
    refused(EvenhandError, "expected finite numbers, got 'word 0'", *PARITY)


def test_rewards_may_be_words_one_by_one_and_in_files():
    answer("new", "s.evenhand", "--policy", "ucb1", "--arms", "a,b")
    for _ in range(2):
        answer("ask", "s.evenhand")
    words = "REWARD: expected a number, a list 1,0, or null, got 'ja'; for words pass --values, such as --values ja=1"
    refused(EvenhandError, words, "tell", "s.evenhand", "1", "ja")
    pd.DataFrame({"ticket": [1], "reward": ["ja"]}).to_csv("told.csv", index=False)
    refused(EvenhandError, words, "tell", "s.evenhand", "--file", "told.csv")
    assert "1 told" in answer("tell", "s.evenhand", "--file", "told.csv", *WORDS)
    answer("tell", "s.evenhand", "2", "nein", *WORDS)
    with Study.open("s.evenhand") as study:
        assert study.frame()["reward"].tolist() == [1.0, 0.0]
