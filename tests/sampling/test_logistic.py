"""The incremental logistic regression gives scikit-learn's coefficients to 1e-6, however the rows arrive."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from evenhand.sampling import LogisticModel
from evenhand.sampling.pools.rows import Rows
from tests.fuzzing import many

pytestmark = pytest.mark.compiled


def exact(X, y, C=1.0, weight=None):
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(X, y, sample_weight=weight)
    return np.append(model.coef_[0], model.intercept_)


def ours(model):
    return np.append(model.coef_[0], model.intercept_)


@settings(max_examples=many(40))
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 60),
    d=st.integers(1, 12),
    batch=st.integers(1, 7),
    logC=st.floats(-3, 2),
    shift=st.floats(-50, 50),
)
def test_any_table(seed, n, d, batch, logC, shift):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    y[:2] = [0, 1]
    X, C = rng.normal(size=(n, d)) + shift * rng.integers(0, 2, d), 10.0**logC
    model, rows = LogisticModel(C=C), Rows(1)
    model.begin((0, 1))
    for first in range(0, n, batch):
        rows.append(X[first : first + batch], y[first : first + batch].tolist(), 0)
        model.update(rows, first)
        if model.constant is None and (rows.count % 25 == 0 or rows.count < 12 or rows.count == n):
            assert np.abs(ours(model) - exact(X[: rows.count], y[: rows.count], C)).max() < 1e-5


def test_weights_count_as_scikit_learn_has_them():
    rng = np.random.default_rng(3)
    X, y, weight = rng.normal(size=(80, 3)), rng.integers(0, 2, 80), rng.random(80)
    model = LogisticModel(C=2.0).fit(X, y, weight)
    assert np.abs(ours(model) - exact(X, y, 2.0, weight)).max() < 1e-6
    assert np.abs(ours(model.fit(X, y)) - exact(X, y, 2.0)).max() < 1e-6
    reference = LogisticRegression(C=2.0, solver="newton-cholesky", tol=1e-12).fit(X, y)
    assert np.allclose(model.predict_proba(X), reference.predict_proba(X), atol=1e-7)


def test_a_single_label_makes_a_constant():
    model = LogisticModel().fit([[0.0], [1.0]], ["yes", "yes"])
    assert model.predict([[5.0]]).tolist() == ["yes"]
    assert model.predict_proba([[5.0]]).tolist() == [[1.0, 0.0]]
