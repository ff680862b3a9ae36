"""Asking and telling: membership that changes, tickets, save and load, quotas around a group rule, foreign policies."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

import evenhand as eh
from evenhand.groups import (
    BiasedLinearArms,
    GroupFairTopInterval,
    IntervalChaining,
    LinearThompson,
    NaiveFair,
    TopInterval,
)
from evenhand.policy.traits import traits_of
from evenhand.quotas import DeadlineLearn
from evenhand.saving.state import from_bytes, to_bytes

pytestmark = pytest.mark.slow


def test_membership_of_the_round_decides_who_learns_however_late():
    policy = GroupFairTopInterval({"a": "s", "b": "r", "c": "r"}, "s", exploration=math.inf, seed=1)
    rng = np.random.default_rng(1)
    tickets = [policy.ask(rng.uniform(0, 1, (3, 2)), groups=["r", "s", "s"] if t % 2 else None) for t in range(30)]
    saved = from_bytes(to_bytes(policy))
    for one in (policy, saved):
        for ticket in reversed(tickets):
            one.tell(ticket, float(ticket.id))
        samples = one.engine.state.fit.samples
        assert samples[:3].sum() == samples[3:].sum() == 30
        assert samples[3] == sum((ticket.index == 0) == (t % 2 == 0) for t, ticket in enumerate(tickets))
    for mine, loaded in zip(policy.engine.state.fit, saved.engine.state.fit, strict=True):
        np.testing.assert_array_equal(mine, loaded)
    later = rng.uniform(0, 1, (3, 2))
    assert policy.ask(later).index == saved.ask(later).index


def test_membership_of_the_round_decides_who_is_corrected():
    """A dict names the arms that differ; with arms otherwise alike the one that is called sensitive is lifted."""
    policy = GroupFairTopInterval(["s", "r", "r"], "s", exploration=math.inf, horizon=10**6, seed=1)
    rng = np.random.default_rng(0)
    policy.ask(np.ones((3, 2)))
    for _ in range(400):
        x = rng.uniform(0, 1, (3, 2))
        for arm, worth in enumerate((-20.0, 10.0, 10.0)):
            policy.update(x, arm, worth * x[arm].sum())
    x = np.full((3, 2), 0.5)
    assert policy.ask(x, groups={0: "r", 1: "s"}).index == 1
    assert policy.ask(x, groups={0: "r", 2: "s"}).index == 2


def test_many_open_tickets_do_not_stay_with_one_cold_arm():
    policy = TopInterval(["s", "r", "r"], exploration=50.0, seed=1)
    asked = [policy.ask(np.ones((3, 2))).index for _ in range(7)]
    assert sorted(asked.count(arm) for arm in range(3)) == [2, 2, 3]


@pytest.mark.compiled
def test_quotas_compose_and_both_promises_hold():
    """Every arm has its share at every round, and the bias is seen through: true regret far below the blind one's."""
    world = BiasedLinearArms(arms=6, sensitive=3, dimension=2, bias=15.0)
    shares = [0.08] * 6
    policies = {
        "both": DeadlineLearn(GroupFairTopInterval(world.groups, "sensitive", horizon=4000), shares),
        "quota alone": DeadlineLearn(TopInterval(world.groups), shares),
    }
    assert all(policy._kernels is not None and traits_of(policy).compiled for policy in policies.values())
    history = eh.simulate(policies, world, rounds=4000, replications=20, seed=3, jobs=1)
    assert float(history.violations.max()) == 0
    assert float(history.worst_shortfall.sel(policy="both").max()) < 1
    last = history.isel(round=-1).mean("replication")
    lost = {name: float(last.true_regret.sel(policy=name)) for name in policies}
    assert lost["both"] < 0.7 * lost["quota alone"]
    share = last.group_share.sel(group="sensitive")
    assert abs(float(share.sel(policy="both")) - 0.5) < 0.1 < 0.5 - float(share.sel(policy="quota alone"))


@pytest.mark.parametrize(("odds", "chance"), [("equal", 1 / 2), ("size", 1 / 4)])
def test_odds_of_naive_fair(odds, chance):
    policy = NaiveFair(["s", "r", "r", "r"], odds, seed=3)
    n = 2000
    drawn = sum(policy.ask(np.ones((4, 1))).index == 0 for _ in range(n))
    low, high = binom.ppf([0.0005, 0.9995], n, chance)
    assert low <= drawn <= high


def test_naive_fair_asks_the_inner_policy_for_its_group_alone():
    groups = {"a": "s", "b": "r", "c": "r"}
    for inner in (
        TopInterval(groups),
        IntervalChaining(groups),
        LinearThompson(groups),
        GroupFairTopInterval(groups, "s"),
    ):
        policy = NaiveFair(groups, inner=inner, seed=1)
        one = [policy.ask(np.ones((3, 2)), groups=["s", "s", "s"]).index for _ in range(40)]
        assert set(one) == {0, 1, 2}
        alone = [policy.ask(np.ones((3, 2)), groups={"a": "r", "b": "s"}).index for _ in range(60)]
        assert 10 < alone.count(1) < 50


def test_linear_thompson_draws_from_its_posterior():
    """With one shared vector an arm is chosen with the posterior probability that it is the best."""
    policy = LinearThompson(["s", "r"], shared=True, spread=1.0, seed=8)
    rng = np.random.default_rng(0)
    rows, answers = rng.normal(size=(30, 2)), rng.normal(size=30)
    for row, answer in zip(rows, answers, strict=True):
        policy.update(np.array([row, row]), 0, float(answer))
    gram = np.eye(2) + rows.T @ rows
    beta = np.linalg.solve(gram, rows.T @ answers)
    x = np.array([[1.0, 0.2], [0.3, 1.0]])
    gap = x[0] - x[1]
    chance = norm.cdf(gap @ beta / math.sqrt(gap @ np.linalg.solve(gram, gap)))
    n = 3000
    first = sum(policy.choose(x) == 0 for _ in range(n))
    low, high = binom.ppf([0.0005, 0.9995], n, chance)
    assert low <= first <= high
    assert 0.02 < chance < 0.98


@pytest.mark.parametrize(
    "rule", [TopInterval, lambda groups, **more: NaiveFair(groups, inner=TopInterval(groups), **more)]
)
def test_rows_that_were_learned_count_as_rounds_of_the_exploration(rule):
    """After 1,000 rows about 88 of 1,000 choices are random, where the first thousand rounds have 150."""
    policy, n = rule(["s", "r"], seed=4), 1000
    rows = np.random.default_rng(5).uniform(size=n)
    policy.learn(pd.DataFrame({"arm": [0, 1] * (n // 2), "x": rows, "reward": rows}), contexts=["x"])
    explored = 0
    for _ in range(n):
        decision = policy.ask(np.ones((2, 1)))
        explored += decision.reason == "explored at random"
        policy.tell(decision, 1.0)
    chances = np.arange(n + 1.0, 2 * n + 1) ** (-1 / 3)
    assert abs(explored - chances.sum()) < 3.5 * math.sqrt((chances * (1 - chances)).sum())


def test_rounds_that_exploration_takes_are_said():
    (note, *_) = GroupFairTopInterval(["s", "r"], horizon=100).notes
    assert note.startswith(f"About {sum(t ** (-1 / 3) for t in range(1, 101)):.0f} of 100 choices are drawn at random")
    assert not GroupFairTopInterval(["s", "r"], horizon=100, exploration=math.inf).notes
    assert not GroupFairTopInterval(["s", "r"], horizon=2000).notes
    assert not GroupFairTopInterval(["s", "r"]).notes
    policy = GroupFairTopInterval(["s", "r"], horizon=100, seed=1)
    policy.learn(pd.DataFrame({"arm": [0, 1] * 500, "x": 1.0, "reward": 1.0}), contexts=["x"])
    assert not policy.notes
