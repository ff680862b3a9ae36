"""What a promise costs, by the rewards of a log."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.evaluation.promise_cost import price_of
from tests.fuzzing import many

MEANS = {"a": 0.7, "b": 0.5, "c": 0.2}
PROMISES = {
    "a share": (eh.Promise({"a": 0, "b": 0.2, "c": 0.1}), 0.2 * 0.2 + 0.1 * 0.5),
    "a set": (eh.Promise({"a": 0, ("b", "c"): 0.4}), 0.4 * 0.2),
    "a cap": (eh.Promise({"b": 0, "c": 0, "a": 0}, caps={"a": 0.6}), 0.4 * 0.2),
    "a window": (eh.Promise({"a": 0, "b": 0, "c": 0}, windows={"c": (2, 10)}), 0.2 * 0.5),
    "two plays": (eh.Promise({"a": 0, "b": 0, "c": 0.5}, plays=2), 0.5 * 0.3 / 2),
    "nothing": (eh.Promise({"a": 0, "b": 0, "c": 0}), 0.0),
}


def rewards_of(promise, seed, rows=6000):
    random = np.random.default_rng(seed)
    codes = random.integers(0, len(promise.arms), rows)
    means = np.array([MEANS[arm] for arm in promise.arms])
    return codes, (random.random(rows) < means[codes]).astype(float)


@pytest.mark.parametrize("kind", PROMISES)
def test_every_kind_of_clause_has_its_price(kind):
    promise, cost = PROMISES[kind]
    value, low, high = price_of(promise, *rewards_of(promise, 1))
    assert value == pytest.approx(cost, abs=0.02)
    assert low <= cost <= high


def test_the_interval_holds_about_as_often_as_it_says():
    promise, cost = PROMISES["a share"]
    prices = [price_of(promise, *rewards_of(promise, seed, 600)) for seed in range(many(200))]
    assert np.mean([low <= cost <= high for _, low, high in prices]) >= 0.93


@pytest.mark.parametrize("period", [2, 4, 6])
def test_rewards_that_come_in_turn_have_their_price(period):
    codes = np.tile([0, 1], 1200)
    turn = np.arange(2400) // 2 % period < period // 2
    rewards = np.where(codes == 0, turn * 1.0, ~turn * 0.9)
    value, low, high = price_of(eh.Promise({"a": 0, "b": 0.5}), codes, rewards)
    assert low <= 0.025 <= high
    assert -0.01 < value < 0.06


def test_luck_is_no_cost():
    """Where all arms earn the same, the arm that looks best has no lead in the other half."""
    promise, random = eh.Promise(dict.fromkeys(range(20), 0.04)), np.random.default_rng(5)
    codes = random.integers(0, 20, 4000)
    values = [price_of(promise, codes, (random.random(4000) < 0.1).astype(float))[0] for _ in range(40)]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(40)


def test_an_arm_without_rewards_has_no_price():
    promise = eh.Promise({"a": 0.1, "b": 0.1, "c": 0})
    assert price_of(promise, np.array([0, 1, 0, 1] * 9), np.ones(36)) is None
    assert price_of(promise, np.zeros(0, np.int64), np.zeros(0)) is None
