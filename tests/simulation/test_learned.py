"""Policies that have learned from a log before the first round."""

import json

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, TableError
from evenhand.learners import UCB1, LinUCB, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn
from tests.cli.shell import answer, refused
from tests.strategies import Stubborn

WORLD = BernoulliArms({"a": 0.9, "b": 0.5, "c": 0.3})
LOG = pd.DataFrame({"arm": list("abc") * 300, "reward": ([1] * 9 + [0]) * 30 + [0, 1] * 300})
LOG["reward"] = np.where(LOG["arm"] == "a", np.arange(900) % 10 > 0, np.arange(900) % 2 * (LOG["arm"] == "b"))


def played(policies, **settings):
    return eh.simulate(policies, WORLD, rounds=60, replications=2, seed=1, jobs=1, checkpoints=3, **settings)


def test_every_replication_starts_from_the_log():
    """As by hand: a policy that learned the log, then played the same rounds."""
    found = played({"ucb": UCB1(), "promise": DeadlineLearn(Thompson(), {"a": 0, "b": 0.1, "c": 0.1})}, learned=LOG)
    assert found.attrs["learned"] == 900
    assert found.isel(round=-1).pulls.sel(policy="ucb", arm="a").values.tolist() == [60, 60]
    kept = found.isel(round=-1).sel(policy="promise")
    assert (kept.violations == 0).all()
    assert kept.pulls.sel(arm="c").values.tolist() == [6, 6]  # no more than owed: it is known to be bad
    assert kept.r_regret.max() < 1
    by_hand = UCB1(arms=list("abc"))
    by_hand.learn(LOG)
    assert by_hand.ask().arm == "a"
    assert "learned" not in played(UCB1()).attrs


@pytest.mark.parametrize(
    ("policy", "log", "error", "words"),
    [
        (UCB1(), LOG.rename(columns={"arm": "item"}), TableError, "arm"),
        (UCB1(), LOG.replace({"arm": {"c": "d"}}), TableError, "row 3"),
        (UCB1(), [1, 2], TableError, "learned"),
        (Stubborn(0), LOG, ArgumentError, "a policy without contexts that learns from a log"),
    ],
)
def test_what_cannot_be_learned_is_refused(policy, log, error, words):
    with pytest.raises(error, match=words):
        played(policy, learned=log)


def test_contextual_policies_and_worlds_with_rounds_of_their_own_are_refused():
    world = eh.groups.BiasedLinearArms(arms=4, sensitive=2, dimension=2, bias=1.0)
    with pytest.raises(ArgumentError, match="without contexts"):
        eh.simulate(LinUCB(), world, rounds=10, seed=1, jobs=1, learned=LOG)
    policy, individuals = next(eh.similarity.LipschitzUCB._examples())
    with pytest.raises(ArgumentError, match=r"^learned: expected None in \w+, which plays rounds of its own"):
        eh.simulate(policy, individuals, rounds=10, learned=LOG)


def test_the_shell_says_in_how_many_rounds_and_from_what_a_cost_was_learned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    LOG.astype({"reward": int}).to_csv("log.csv", index=False)
    (tmp_path / "promise.toml").write_text("learner = 'thompson'\n[shares]\nb = 0.2\nc = 0.2\n")
    run = ["simulate", "--data", "log.csv", "--promise", "promise.toml", "--rounds", "200", "--replications", "4"]
    run += ["--jobs", "1", "--seed", "1"]
    said, taught = answer(*run), answer(*run, "--learn", "log.csv")
    assert "That is in 200 rounds, learning from nothing. In the long run it is 0.26 per round; less here:" in said
    assert "That is in 200 rounds, after learning from 900 rows. In the long run it is 0.26 per round; " in taught
    (nothing,), (cost,) = (json.loads(answer(*run, *more, "--json"))["costs"] for more in ([], ["--learn", "log.csv"]))
    assert nothing["long_run"] == cost["long_run"] == pytest.approx(0.2 * 0.4 + 0.2 * 0.9)
    assert abs(cost["cost"] - cost["long_run"]) < 0.01 < cost["long_run"] - nothing["cost"]
    refused(TableError, "one of the arms", "simulate", "quotas/bernoulli-arms", "--learn", "log.csv")
