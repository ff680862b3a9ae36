"""Worlds show and pay what they say and count what was lost; measures agree between stream, log and history."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.experiments.framework import find
from evenhand.groups import (
    BiasedLinearArms,
    GroupFairTopInterval,
    Ledger,
    NaiveFair,
    TableArms,
    TopInterval,
    round_regrets,
)
from evenhand.simulation.measures import arm_share, group_share, selection_rate_ratio


def test_draws_of_the_linear_world():
    world = BiasedLinearArms(arms=200, sensitive=50, dimension=3, bias=10.0, spread=10.0, base=30.0)
    world.reset(1)
    assert world.coefficients.min() >= 30
    assert world.coefficients.max() <= 40
    assert world.coefficients.std() == pytest.approx(10 / np.sqrt(12), rel=0.05)
    assert ((world.biases["sensitive"] <= -10) & (world.biases["sensitive"] >= -11)).all()
    assert not world.biases["reference"].any()
    (contexts,) = world.observe()
    assert contexts.min() >= 0
    assert contexts.max() < 1
    first = world.coefficients.copy()
    world.reset(2)
    assert not np.array_equal(first, world.coefficients)
    assert list(world.groups.values()).count("sensitive") == 50


def test_bias_of_some_groups():
    world = BiasedLinearArms(groups=["x", "y", "z"], sensitive=["x", "z"], bias=2.0)
    world.reset(1)
    assert [bool(bias.any()) for bias in world.biases.values()] == [True, False, True]
    world = BiasedLinearArms(groups=["x", "y"], sensitive="y", bias=-2.0, bias_spread=0.0)
    world.reset(1)
    assert world.biases["y"].tolist() == [2.0, 2.0]


def test_history_stream_and_log_agree():
    world = BiasedLinearArms(arms=5, sensitive=2, dimension=2)
    policy = TopInterval(world.groups, seed=1)
    ledger = Ledger(world.groups)
    world.reset(6)
    rows = []
    for _ in range(150):
        (x,) = world.observe()
        decision = policy.ask(x)
        (reward,) = world.respond(decision)
        policy.tell(decision, reward)
        true = (world.coefficients * x).sum(axis=1)
        biased = true + (np.array([world.biases[g] for g in world.groups.values()]) * x).sum(axis=1)
        ledger.add(decision.arm, reward, biased=biased, true=true)
        rows.append(round_regrets(biased, true, decision.index, reward))
    assert np.array([ledger.biased_regret, ledger.true_regret, ledger.perceived_regret]) == pytest.approx(world.totals)
    assert np.sum(rows, axis=0) == pytest.approx(world.totals)
    pulls = ledger.pulls
    share = pulls[:2].sum() / 150
    assert ledger.group_share == pytest.approx({"sensitive": share, "reference": 1 - share})
    assert ledger.arm_share == {"sensitive": 0.4, "reference": 0.6}
    rates = sorted([share / 0.4, (1 - share) / 0.6])
    assert ledger.selection_rate_ratio == pytest.approx(rates[0] / rates[1])


def test_an_unknown_truth_stays_unknown():
    ledger = Ledger(["s", "r"])
    ledger.add(0, 1.0, biased=[3.0, 2.0])
    assert ledger.perceived_regret == 2.0
    assert np.isnan(ledger.true_regret)


def test_group_share_in_histories():
    world = BiasedLinearArms(arms=4, sensitive=1)
    history = eh.simulate(NaiveFair(world.groups), world, rounds=60, replications=2, seed=2, checkpoints=5, jobs=1)
    assert history.group_share.dims == ("policy", "replication", "round", "group")
    np.testing.assert_allclose(history.group_share.sum("group"), 1.0)
    own = history.pulls.sel(arm=0) / history.pulls.sum("arm")
    np.testing.assert_allclose(history.group_share.sel(group="sensitive"), own)
    assert history.arm_share.sel(group="sensitive") == 0.25
    assert {"biased_regret", "true_regret", "perceived_regret"} <= set(history)
    np.testing.assert_allclose(history.group_share, group_share(history.pulls.values, world.groups))
    assert selection_rate_ratio(history.pulls.values, world.groups).shape == (1, 2, 5)
    assert arm_share(world.groups).tolist() == [0.25, 0.75]
    assert np.isnan(group_share(np.zeros(4), world.groups)).all()


FRAME = pd.DataFrame({"age": list("oyoyo"), "sex": list("FFMMF"), "job": ["none", "some", "some", "none", "other"]})
FRAME = FRAME.assign(debt=[1.0, 2.0, 3.0, 4.0, 5.0], paid=[9, 8, 7, 6, 5])


def test_table_arms_show_rows_of_their_own_and_count_what_the_best_of_them_would_have_paid():
    world = TableArms(FRAME, ["age", "sex"], group="sex", reward="paid", sensitive="F")
    assert world.arms == ("o & F", "o & M", "y & F", "y & M")
    assert world.features == ["job_other", "job_some", "debt"]
    world.reset(1)
    seen, lost = set(), 0.0
    for _ in range(60):
        (x,) = world.observe()
        assert x[1:].tolist() == [[0.0, 1.0, 3.0], [0.0, 1.0, 2.0], [0.0, 0.0, 4.0]]
        seen.add(tuple(x[0]))
        decision = eh.Decision(1, 1, "o & F", 0, None, "")
        (reward,) = world.respond(decision)
        assert reward == {1.0: 9.0, 5.0: 5.0}[x[0, 2]]
        lost += max(reward, 8.0) - reward
        assert world.totals[0] == lost
    assert seen == {(0.0, 0.0, 1.0), (1.0, 0.0, 5.0)}


def test_a_policy_reads_the_applicants_of_today_as_the_world_read_its_table():
    world = TableArms(FRAME, ["age", "sex"], group="sex", reward="paid")
    policy = TopInterval(world.groups).encode_with(world.encoder)
    today = pd.DataFrame({"job": ["none", "some", "other", "none"], "debt": [1.0, 2.0, 3.0, 4.0]}, index=world.arms)
    policy.ask(today)
    assert policy.contexts.feature_names == world.features
    assert policy._round_shown(today)[1][0] == [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [0.0, 0.0, 4.0]]


def test_combinations_that_read_alike_stay_different_arms_and_groups():
    table = pd.DataFrame({"a": ["x & y", "x", "x"], "b": ["z", "y & z", "z"], "c": [1.0, 2, 3], "paid": [1.0, 2, 3]})
    world = TableArms(table, ["a", "b"], group=["a", "b"], reward="paid", sensitive=("x", "y & z"))
    assert world.arms == ('["x", "y & z"]', "x & z", '["x & y", "z"]')
    assert world.groups == {arm: arm for arm in world.arms}
    assert world.counts.tolist() == [1, 1, 1]


def test_groups_that_read_alike_stay_different_in_policies_and_histories():
    groups = {"a": 1, "b": "1", "c": ("F", "M"), "d": "F & M"}
    world = BiasedLinearArms(groups=groups, bias={"F & M": 5.0, ("F", "M"): 1.0})
    names = (1, "1", '["F", "M"]', "F & M")
    assert world.membership.names == names
    policy = GroupFairTopInterval(world.groups, seed=1)
    assert policy.membership.code(("F", "M")) == 2
    history = eh.simulate({"fair": policy}, world, rounds=20, replications=1, seed=2, jobs=1)
    assert history.group.values.tolist() == list(names)
    assert float(history.group_share.isel(round=-1).sum()) == pytest.approx(1.0)


def test_a_round_may_name_groups_by_their_attributes_also_after_loading(tmp_path):
    policy = GroupFairTopInterval({"a": ("F", "M"), "b": "F & M", "c": ("x", "y")}, seed=1)
    eh.save(policy, tmp_path / "policy")
    for one in (policy, eh.load(tmp_path / "policy")):
        assert [one.membership.code(group) for group in (("F", "M"), "F & M", ["x", "y"], "x & y")] == [0, 1, 2, 2]
        codes = one.membership.of_round(pd.Series([("x", "y"), "F & M"], index=["b", "a"]))
        assert codes.tolist() == [1.0, 2.0, 2.0]


@pytest.mark.data
@pytest.mark.parametrize(("data", "arms", "d"), [("compas", 6, 14), ("family_income", 10, 57)])
def test_real_data_have_the_arms_and_features_of_the_paper(data, arms, d, data_folder, monkeypatch):
    from evenhand.experiments.groups.real import world_of

    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))
    world = world_of(data)
    assert (len(world.arms), world.dimension) == (arms, d)


class ComingAndGoing:
    """A world in Python whose arms change groups: `observe` shows contexts and the membership of the round."""

    arms, scores = (0, 1, 2), ("regret",)
    gaps = None

    def reset(self, seed):
        self.rng, self.totals = np.random.default_rng(seed), np.zeros(1)

    def observe(self):
        self.shown = self.rng.uniform(0, 1, (3, 2)), self.rng.permutation(["s", "r", "r"]).tolist()
        return self.shown

    def respond(self, ticket):
        contexts, groups = self.shown
        return (float(30 * contexts[ticket.index].sum() - 20 * (groups[ticket.index] == "s")),)


def test_simulations_may_change_the_membership():
    policy = GroupFairTopInterval(["s", "r", "r"], "s", horizon=200)
    history = eh.simulate(policy, ComingAndGoing(), rounds=200, replications=1, seed=1, jobs=1)
    assert history.pulls.isel(round=-1).sum() == 200


@pytest.mark.compiled
def test_an_experiment_is_run():
    report = find("groups/fig1d")[0].chosen(quick=True).run()
    assert all(verdict.reproduced for verdict in report.verdicts)
    assert set(report.figures["share"][1]["value"]) == {1, 5, 9}
    assert report.figures.keys() == {"share"}
