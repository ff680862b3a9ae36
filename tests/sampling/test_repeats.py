"""The gain over uniform draws: paired differences on rows that neither has drawn, with Student's interval."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from evenhand.rng import child
from evenhand.sampling import ArrayPool, OptimisticSampler, collect
from evenhand.sampling.collected import uniform_draw
from evenhand.sampling.repeats import Gain, gain_over_uniform

pytestmark = pytest.mark.compiled


def pool_of(noise, seed=3, n=1200):
    draws = np.random.default_rng(seed)
    X, group = draws.normal(size=(n, 2)), np.repeat(["a", "b"], [n - n // 4, n // 4])
    y = (X[np.arange(n), (group == "b").astype(int)] + noise * draws.normal(size=n) > 0).astype(int)
    return ArrayPool(X, y, group=group)


def test_the_gain_is_the_mean_of_paired_differences():
    pool, sampler = pool_of(0.5), OptimisticSampler(["a", "b"], classes=[0, 1], batch=5, budget=80, seed=4)
    found = gain_over_uniform(sampler, pool, range(3))
    right = []
    for number in range(3):
        own = sampler.fresh(seed=child(4, 3, number))
        pool.reset(own.seed)
        collect(own, pool, rounds=100)
        model = own.finish().model
        other, drawn = uniform_draw(own, pool, 80)
        left = np.setdiff1d(np.arange(len(pool.y)), [*pool.chosen, *drawn])
        worst = [
            max(
                np.mean(one.predict(pool.X[rows]) != pool.y[rows])
                for rows in (left[pool.group[left] == z] for z in (0, 1))
            )
            for one in (other, model)
        ]
        right.append(worst[0] - worst[1])
    np.testing.assert_allclose(found.gains, right)
    interval = ttest_1samp(right, 0.0).confidence_interval(0.95)
    assert (found.mean, found.low, found.high) == pytest.approx((np.mean(right), *interval))


def test_random_is_as_good_only_within_a_narrow_interval_and_equal_gains_give_none():
    gains = np.array([-0.002, 0.002, 0.001, -0.001])
    words = str(Gain(gains, 0.0, -0.004, 0.003, 0))
    assert words.startswith("Random is as good here, to within 0.0040: the worst-off group's risk is 0.0000 lower ")
    words = str(Gain(gains, 0.0, -0.111, 0.128, 0))
    assert words.startswith("No difference is shown: the worst-off group's risk is ")


def test_models_that_give_everybody_one_label_are_no_evidence_of_a_gain():
    """One row in 450 is positive: every model answers 0."""
    X, y = np.random.default_rng(1).normal(size=(900, 1)), np.zeros(900, np.int64)
    y[[0, 1]] = 1
    sampler = OptimisticSampler(["a", "b"], classes=[0, 1], batch=5, budget=60, seed=1)
    found = gain_over_uniform(sampler, ArrayPool(X, y, group=["a", "b"] * 450), range(3))
    assert found.gains.tolist() == [0.0] * 3
    assert np.isnan([found.low, found.high]).all()
    assert "0.0000 lower than after uniform draws (the same in all 3 repeats, which gives no interval)." in str(found)
    assert found.constant == 3
    assert "In 3 of 3 repeats the model gives every row the same label: it may not be worth having." in str(found)
