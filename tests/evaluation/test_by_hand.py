"""IPS, SNIPS, DM and DR of a log of the Open Bandit sample's shape, against loops that follow the formulas."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from tests.evaluation.logs import NAMED, only, uniform

pytestmark = pytest.mark.compiled

ITEMS, ROWS = 80, 10_000


@pytest.fixture(scope="module")
def log():
    random = np.random.default_rng(80)
    rates = random.beta(2, 500, ITEMS)
    items = random.integers(0, ITEMS, ROWS)
    return pd.DataFrame({"item": items, "click": (random.random(ROWS) < rates[items]) * 1.0, "p": 1 / ITEMS})


def past_model(log):
    """What is expected of each arm in each row, by the rows before: means that are drawn to the mean of all as much as
    the variance between arms is smaller than that within them, wholly where it is no more than chance makes."""
    sums, counts, squares = np.zeros(ITEMS), np.zeros(ITEMS), 0.0
    expected = np.zeros((ROWS, ITEMS))
    for t, (item, click) in enumerate(zip(log["item"], log["click"], strict=True)):
        rows, seen, level = counts.sum(), counts > 0, sums.sum() / (counts.sum() + 1)
        means = np.divide(sums, counts, out=np.zeros(ITEMS), where=seen)
        expected[t] = level
        if rows > 1 and seen.sum() > 1:
            mean, variance = sums.sum() / rows, (squares - sums.sum() ** 2 / rows) / (rows - 1)
            excess = (counts * (means - mean) ** 2).sum() - (seen.sum() - 1) * variance
            chance = np.sqrt(2 * (seen.sum() - 1) * variance**2 + seen.sum() ** 2 * variance / rows)
            if excess > 3 * chance:
                prior = variance * (rows - (counts**2).sum() / rows) / excess
                worth = np.divide(counts, counts + prior, out=np.zeros(ITEMS), where=seen)
                expected[t] = level + worth * (means - level)
        sums[item] += click
        counts[item] += 1
        squares += click**2
    return expected


@pytest.mark.parametrize("named", ["uniform", "skewed", "one"])
@pytest.mark.parametrize("model", ["past", "given"])
def test_every_estimator_is_its_formula(log, named, model):
    random = np.random.default_rng(1)
    chances = {
        "uniform": np.full(ITEMS, 1 / ITEMS),
        "skewed": random.dirichlet(np.ones(ITEMS)),
        "one": np.eye(ITEMS)[3],
    }[named]
    given = random.random(ITEMS) / 100
    expected = past_model(log) if model == "past" else np.tile(given, (ROWS, 1))
    items, clicks = log["item"].to_numpy(), log["click"].to_numpy()
    weights = chances[items] * ITEMS
    residuals = clicks - expected[np.arange(ROWS), items]
    by_hand = {
        "ips": (weights * clicks).mean(),
        "snips": (weights * clicks).sum() / weights.sum(),
        "dm": (expected @ chances).mean(),
        "dr": (expected @ chances + weights * residuals).mean(),
    }
    settings = {} if model == "past" else {"model": dict(enumerate(given))}
    found = eh.evaluate(log, dict(enumerate(chances)), **NAMED, estimator=["ips", "snips", "dm", "dr"], **settings)
    assert dict(zip(found.estimates["estimator"], found.estimates["value"], strict=True)) == pytest.approx(by_hand)
    assert found.estimates["low"].isna().tolist() == [False, False, True, False]
    assert (found.estimator, found.value) == ("ips", pytest.approx(by_hand["ips"]))
    assert found.effective_rounds == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


@pytest.mark.parametrize("interval", ["anytime", "once", "normal"])
def test_what_dm_expects_has_no_interval(interval):
    policies = {"uniform": dict.fromkeys(range(4), 0.25), "one": only(0, 4)}
    both = eh.evaluate(uniform(1, items=4, rate=0.3), policies, **NAMED, estimator="dm", interval=interval)
    found = both["uniform"]
    assert np.isnan([found.low, found.high, *both.differences[["low", "high"]].iloc[0]]).all()
    assert "without an interval" in str(found)
    assert any("dm has no interval" in note for note in found.notes)
    assert not any("outside its interval" in note for note in found.notes)
    assert not found.at_least(0.0)
