"""What the next labels bring is forecast from the curve of what the last ones brought."""

import numpy as np
import pytest

from evenhand.errors import ArgumentError
from evenhand.sampling import ArrayPool, LabelQueue, UniformSampler, collect, forecast

pytestmark = pytest.mark.compiled


def collected(rounds, *, dimension, seed=0):
    """Two groups with linear labels in many dimensions: the risk falls for long where there are many of them."""
    draws = np.random.default_rng(seed)
    X = draws.normal(size=(12_000, dimension))
    group = draws.integers(0, 2, 12_000)
    y = (X[:, : max(1, dimension // 2)].sum(axis=1) > 0).astype(int)
    pool = ArrayPool(X, y, group=group)
    pool.reset(seed)
    sampler = UniformSampler([0, 1], classes=[0, 1], seed=seed)
    collect(sampler, pool, rounds=rounds, checkpoints=0)
    return sampler, pool


def worst(sampler):
    sums, counts = sampler.validation_losses()
    return (sums / counts).max()


def test_a_curve_that_still_falls_is_worth_more_labels_and_what_comes_is_inside():
    sampler, pool = collected(400, dimension=60)
    before, ahead = worst(sampler), forecast(sampler, 2400)
    assert ahead.gain > 0.02
    assert not forecast(sampler, 2400, price=1e-6).stop
    collect(sampler, pool, rounds=1600, checkpoints=0)
    assert ahead.low - 0.03 < before - worst(sampler) < ahead.high + 0.03


def test_a_flat_curve_is_worth_nothing():
    sampler, _ = collected(400, dimension=1)
    ahead = forecast(sampler, 100, price=0.0001)
    assert ahead.gain < 0.005
    assert ahead.stop
    assert ahead.curve["training"].tolist()[-1] == 400


def test_more_labels_bring_more_and_the_seed_decides():
    sampler, _ = collected(200, dimension=20)
    few, many = forecast(sampler, 50), forecast(sampler, 500)
    assert few.gain < many.gain
    assert forecast(sampler, 50)[:3] == few[:3]
    assert forecast(sampler, 50, seed=1)[1:3] != few[1:3]


def test_the_fitted_curve_is_the_one_of_least_squares():
    """On a curve that is exactly a + b / sqrt(n) the gain is exact."""
    from evenhand.sampling.forecast import _gain

    sizes = np.array([50, 100, 200, 400])
    exact = 0.1 + 2 / np.sqrt(sizes)
    assert _gain(sizes, exact, 900.0) == pytest.approx(2 / 20 - 2 / 30)
    assert _gain(sizes, exact[::-1].copy(), 900.0) == 0.0
    assert _gain(sizes, 3 / sizes**0.75, 900.0) > 0.0


def test_too_little_is_refused():
    sampler, _ = collected(10, dimension=2)
    with pytest.raises(ArgumentError, match="at least 32 training rows"):
        forecast(sampler)
    sampler, _ = collected(64, dimension=2)
    for arguments, words in (({"labels": 0}, "labels"), ({"price": -1.0}, "price"), ({"price": np.nan}, "price")):
        with pytest.raises(ArgumentError, match=words):
            forecast(sampler, **arguments)


def test_a_queue_of_items_forecasts_as_well():
    draws = np.random.default_rng(0)
    X = draws.normal(size=(400, 3))
    queue = LabelQueue(range(400), X, groups=np.arange(400) % 2, choice="uniform", seed=1)
    for one in queue.ask(120):
        queue.tell(one, int(X[one].sum() > 0))
    assert queue.forecast(40).gain >= 0.0
