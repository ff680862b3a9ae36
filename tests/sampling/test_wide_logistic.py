"""Logistic regression on many features: exact, from few rows or many, and resumed from a file exactly."""

from itertools import pairwise

import numpy as np
import pytest

from evenhand.sampling import LogisticModel, UniformSampler
from evenhand.sampling.pools.rows import Rows
from evenhand.saving.state import from_bytes, to_bytes
from tests.sampling.test_logistic import exact

pytestmark = pytest.mark.compiled


def embedded(rng, count, d, scale=1.0):
    y = rng.integers(0, 2, count)
    X = rng.normal(size=(count, d))
    X[:, : d // 8] += (2 * y - 1)[:, None] * 0.7 / np.sqrt(d // 8)
    return scale * X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize(("d", "C", "scale", "kind"), [(129, 1.0, 1.0, np.float32), (300, 100.0, 5.0, np.float64)])
def test_refits_follow_growing_data_exactly(d, C, scale, kind):
    X, y = embedded(np.random.default_rng(d), 420, d, scale)
    X, y[:2] = X.astype(kind), (0, 1)
    model, rows = LogisticModel(C=C), Rows(1)
    model.begin((0, 1))
    for first, last in pairwise([0, 1, 2, 3, 40, 41, 43, 140, 400, 401, 420]):
        rows.append(X[first:last], y[first:last].tolist(), 0)
        model.update(rows, first)
        if last > 1:
            assert np.abs(model.coefficients - exact(X[:last].astype(float), y[:last], C)).max() < 1e-6


def test_weights_are_fitted_exactly():
    X, y = embedded(np.random.default_rng(3), 200, 150, 3.0)
    weight = np.random.default_rng(4).uniform(0, 2, 200)
    weight[:20] = 0.0
    model = LogisticModel().fit(X, y, weight)
    for _ in range(2):
        assert np.abs(model.coefficients - exact(X, y, 1.0, weight)).max() < 1e-6
        model.fit(X, y, weight)


def test_rows_that_repeat_and_columns_of_zeros_are_taken():
    X, y = embedded(np.random.default_rng(5), 30, 200)
    X, y = np.repeat(X, 4, axis=0), np.repeat(y, 4)
    X[:, 50:90] = 0.0
    assert np.abs(LogisticModel().fit(X, y).coefficients - exact(X, y)).max() < 1e-6


@pytest.mark.parametrize("C", [1e-12, 1e6, 1e12])
def test_extreme_penalties_give_finite_coefficients_that_separate(C):
    X, y = embedded(np.random.default_rng(6), 60, 150, 5.0)
    model = LogisticModel(C=C).fit(X, y)
    assert np.isfinite(model.coefficients).all()
    assert C < 1 or (model.predict(X) == y).all()


def talk(sampler, rng, rounds):
    for _ in range(rounds):
        draw = sampler.ask()
        sampler.tell(draw, *embedded(rng, draw.count, 140))


@pytest.mark.parametrize(("batch", "rounds"), [(1, 130), (40, 3)])
def test_saved_before_rows_outnumber_features_it_goes_on_exactly(batch, rounds):
    first = UniformSampler(["u", "v"], batch=batch, classes=[0, 1], seed=1)
    talk(first, np.random.default_rng(0), rounds)
    second = from_bytes(to_bytes(first))
    for one in (first, second):
        talk(one, np.random.default_rng(1), 12)
    assert to_bytes(first) == to_bytes(second)
    count = first.training.count
    assert np.abs(first.model.coefficients - exact(first.training.X[:count], first.training.y[:count])).max() < 1e-6
