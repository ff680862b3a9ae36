"""Intervals for one look, and differences of policies on the same rows."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.stats

import evenhand as eh
from evenhand.errors import ArgumentError
from tests.cli.shell import as_json, call, cells
from tests.evaluation.logs import NAMED, only, uniform

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
@pytest.mark.parametrize(("rate", "items", "played"), [(0.004, 80, 1), (0.02, 80, 1), (1.0, 80, 1), (0.3, 8, 4)])
def test_one_look_at_a_single_weight_is_clopper_and_pearson_s(estimator, rate, items, played):
    policy = {arm: (arm < played) / played for arm in range(items)}
    for seed in range(5):
        log = uniform(seed, items=items, rate=rate)
        found = eh.evaluate(log, policy, **NAMED, estimator=estimator, interval="once")
        times, weight = int(((log["item"] < played) & (log["click"] == 1)).sum()), items / played
        low, high = scipy.stats.binomtest(times, len(log)).proportion_ci(0.95, "exact")
        assert (found.low, found.high) == pytest.approx((min(weight * low, 1), min(weight * high, 1)))
        before = found.curve.iloc[:-1]
        assert before[["low", "high"]].isna().all(axis=None)  # of one look there is no interval earlier
        assert before["value"].notna().any()


@pytest.mark.parametrize("interval", ["anytime", "once"])
@pytest.mark.parametrize("reward", [0.9, 1.0])
def test_rows_that_no_value_explains_refute_the_propensities(interval, reward, tmp_path):
    log = pd.DataFrame({"item": [0, 0, 0, 0, 1] * 80, "click": reward, "p": 0.5})
    found = eh.evaluate(log, only(0, 2), **NAMED, interval=interval)
    assert found.refuted
    assert 0.8 < found.low <= found.high <= 1
    assert not found.at_least(0.5)
    both = eh.evaluate(log, {"one": only(0, 2), "none": {0: 0.5, 1: 0.5}}, **NAMED, interval=interval)
    for said in (str(found), *both._card().facts.values()):
        assert said.startswith("the propensities cannot be true, as a lower bound is above the upper one; by them ")
        assert "with probability" not in said
    (differences,) = both._card().tables
    ends = dict(zip(differences.columns, differences.row(0), strict=True))
    assert (ends["low"], ends["high"]) == (None, None)
    for shown in (found, both):
        axes = eh.plots.plot_evaluation(shown, ax=plt.figure().subplots())
        assert not axes.containers
        assert len(axes.lines) == len(getattr(shown, "evaluations", "1"))  # no band has edges
        assert axes.get_title(loc="left").startswith("Value without an interval")
    path = tmp_path / "log.csv"
    log.to_csv(path, index=False)
    words = ["--arm", "item", "--reward", "click", "--propensity", "p", "--policy", "0=1,1=0", "--interval", interval]
    shown = call("evaluate", path, *words).stdout
    assert shown.startswith("WRONG: the propensities cannot be true, as the lower bound is above the upper one.")
    assert "Each interval holds" not in shown
    assert cells(shown)[-1][2:4] == ["-", "-"]  # low and high
    assert as_json("evaluate", path, *words)["policies"][0]["refuted"]


def test_a_normal_interval_needs_rewards_of_both_kinds():
    words = r"interval: expected 'anytime' or 'once', got \"'normal' where \d+ of \d+ rows have a reward "
    for rate, kind in ((0.004, "above"), (1.0, "(above|below)")):
        for policy in (only(0), eh.learners.UCB1()):
            with pytest.raises(ArgumentError, match=words + kind):
                eh.evaluate(uniform(1, rate=rate), policy, **NAMED, interval="normal")
    assert eh.evaluate(uniform(1, rate=0.3, items=4), only(0, 4), **NAMED, interval="normal").interval == "normal"


@pytest.mark.parametrize("chance", [0.003, 0.05, 0.2])
def test_a_normal_interval_needs_rows_that_are_many_by_their_weights(chance):
    random = np.random.default_rng(1)
    every = np.where(random.random(4000)[:, None] < 0.5, [0.5, 0.5], [1 - chance, chance])
    items = (random.random(4000) < every[:, 1]) * 1
    clicks = (random.random(4000) < np.where(items == 1, 0.06, 0.01)) * 1
    log = pd.DataFrame({"item": items, "click": clicks, "p_0": every[:, 0], "p_1": every[:, 1]})
    weights = np.where(items == 1, 0.9, 0.1) / every[np.arange(4000), items]
    count = weights.sum() * weights[clicks == 1].sum() / (weights**2).sum()
    count = min(count, weights[clicks == 1].sum() ** 2 / (weights[clicks == 1] ** 2).sum())
    if chance == 0.2:
        assert count > 30
        assert eh.evaluate(log, {0: 0.1, 1: 0.9}, **NAMED, interval="normal").interval == "normal"
        return
    with pytest.raises(ArgumentError, match=f"{clicks.sum()} of .* rows.* effectively {count:.3g}, and a "):
        eh.evaluate(log, {0: 0.1, 1: 0.9}, **NAMED, interval="normal")


@pytest.mark.parametrize("name", ["tiny", "half", "heavy"])
def test_a_normal_interval_counts_rewards_by_what_they_contribute(name):
    """Rare rewards of 1 among others of any size: the interval would lie below the mean in 0.4 of these logs."""
    random = np.random.default_rng(1)
    rare, chances = random.random(1000) < 0.004, np.array([0.5, 0.3, 0.2])
    paid = {"tiny": np.where(rare, 1.0, 1e-6), "half": np.where(rare, 1.0, 0.5)}
    paid["heavy"] = np.minimum(random.lognormal(0, 2.5, 1000) * 1e-3, 1.0)
    items = random.choice(3, 1000, p=chances)
    log = pd.DataFrame({"item": items, "click": paid[name], "p": chances[items]})
    with pytest.raises(ArgumentError, match=r"a reward above their mean.* a normal interval needs 30"):
        eh.evaluate(log, {0: 0.1, 1: 0.2, 2: 0.7}, **NAMED, interval="normal")


@pytest.mark.parametrize("rows", [4000, 100_000])
def test_a_normal_difference_needs_rows_in_which_the_policies_differ(rows):
    random = np.random.default_rng(1)
    chances = np.array([0.499, 0.499, 0.002])
    items = random.choice(3, rows, p=chances)
    clicks = (random.random(rows) < 0.1) * 1
    log = pd.DataFrame({"item": items, "click": clicks, "p": chances[items]})
    policies = {"now": {0: 0.5, 1: 0.5, 2: 0}, "new": {0: 0.496, 1: 0.5, 2: 0.004}}
    apart = np.array([0.004, 0.0, 0.004])[items] / chances[items]
    paid = apart * clicks
    count = min(apart.sum() * paid.sum() / (apart @ apart), paid.sum() ** 2 / (paid @ paid))
    if rows == 100_000:
        assert count > 30
        assert eh.evaluate(log, policies, **NAMED, interval="normal").differences["low"][0] < 0
        return
    with pytest.raises(ArgumentError, match=f"in the difference of 'new' from 'now' these are effectively {count:.3g}"):
        eh.evaluate(log, policies, **NAMED, interval="normal")
    same = {"now": policies["now"], "again": {0: 0.1 + 0.4, 1: 0.2 + 0.3, 2: 0}}
    assert eh.evaluate(log, same, **NAMED, interval="normal").differences["difference"][0] == pytest.approx(0)


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
@pytest.mark.parametrize("interval", ["anytime", "once"])
def test_differences_are_followed_in_their_own_range(estimator, interval):
    log, chances = uniform(1, rows=4000, items=8, rate=0.3), np.full(8, 1 / 8)
    near = chances + np.array([0.01, -0.01, 0, 0, 0, 0, 0, 0])
    policies = {"uniform": dict(enumerate(chances)), "near": dict(enumerate(near))}
    found = eh.evaluate(log, policies, **NAMED, estimator=estimator, interval=interval).differences.iloc[0]
    weight = np.where(log["item"] == 0, 0.08, np.where(log["item"] == 1, -0.08, 0.0))
    normal = 1.96 * (weight * log["click"]).std() / len(log) ** 0.5
    assert found.low <= 0.3 * 0 <= found.high
    assert normal < (found.high - found.low) / 2 < 2.5 * normal


def test_several_differences_hold_together_or_each():
    log = uniform(1, rows=2000, items=4, rate=0.3)
    policies = {name: only(arm, 4) for arm, name in enumerate("abcd")}
    together, each = (eh.evaluate(log, policies, **NAMED, each=one) for one in (False, True))
    assert together.notes[0].startswith("The 3 differences hold together (Bonferroni)")
    assert not any("hold together" in note for note in each.notes)
    widths = [found.differences["high"] - found.differences["low"] for found in (together, each)]
    assert (widths[0] > widths[1]).all()
    alone = eh.evaluate(log, {name: policies[name] for name in "ab"}, **NAMED).differences
    assert each.differences.iloc[0].to_dict() == alone.iloc[0].to_dict()
