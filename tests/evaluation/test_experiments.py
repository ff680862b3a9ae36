"""What evaluations promise, measured: the experiments run, and judge what they are large enough for."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.datasets.open_bandit import fetch_open_bandit
from evenhand.experiments.evaluation.greedy_log import MEANS, log_of
from evenhand.experiments.framework import find
from evenhand.learners import Thompson
from evenhand.quotas import DeadlineLearn, LoggedArms


def test_the_greedy_log_holds_the_chances_of_all_arms():
    log = log_of(200, np.random.default_rng(1))
    every = log[[f"p{arm}" for arm in range(len(MEANS))]]
    assert every.sum(axis=1).to_numpy() == pytest.approx(np.ones(200))
    assert every.min(axis=None) > 0


@pytest.mark.data
def test_thompson_sampling_is_evaluated_from_the_random_log(data_folder, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))
    (one,) = find("evaluation/open-bandit")
    report = one.run(quick=True)
    assert [verdict.word for verdict in report.verdicts] == ["reproduced"] * 3
    table = report.data["values"].set_index("estimator")
    assert table.loc["ips", "value"] == pytest.approx(0.0057, abs=5e-5)
    assert table.loc["ips", "effective_rounds"] == pytest.approx(2869, abs=1)
    assert table.loc["ips", ["low", "high"]].tolist() == pytest.approx([0.0022, 0.0120], abs=1.5e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coverage", "greedy-log"])
def test_the_quick_experiments_run(name):
    (one,) = find(f"evaluation/{name}")
    report = one.run(quick=True)
    assert all(verdict.word in ("reproduced", "inconclusive") for verdict in report.verdicts)


@pytest.mark.slow
@pytest.mark.data
def test_what_two_per_cent_for_every_item_cost_agrees_with_the_same_policy_run_live(data_folder, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))
    log = fetch_open_bandit("random", "men")
    columns = {"arm": "item_id", "reward": "click"}
    policies = {
        "free": Thompson(arms=range(34), seed=0),
        "fair": DeadlineLearn(Thompson(), 0.02, arms=range(34), seed=0),
    }
    settings = {"propensity": "propensity_score", "rounds": 2000, "replays": 2}
    found = eh.evaluate(log, policies, **columns, **settings)
    assert found["fair"].audit.kept
    world = LoggedArms(log, **columns)
    live = eh.simulate(policies, world, rounds=2000, replications=20, seed=1, checkpoints=[2000], jobs=1)
    earned = live.reward.isel(round=-1).mean("replication") / 2000
    for name, one in found.evaluations.items():
        assert one.low < float(earned.sel(policy=name)) < one.high
    row = found.differences.iloc[0]
    assert row["low"] < float(earned.sel(policy="fair") - earned.sel(policy="free")) < row["high"]
