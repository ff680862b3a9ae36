"""Least squares row by row, and the normal quantile, against the libraries that do it at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from evenhand.kernels.compose import entry
from evenhand.kernels.linear import learn, regressions, spread
from evenhand.kernels.normal import quantile
from tests.fuzzing import many

see, variance_at, z = entry(learn), entry(spread), entry(quantile)


def test_quantile_to_the_last_digits():
    levels = np.concatenate([np.logspace(-300, -1, 500), np.linspace(0.01, 0.999, 500)])
    mine = np.array([z(p) for p in levels])
    np.testing.assert_allclose(mine, norm.ppf(levels), rtol=5e-15, atol=1e-15)


def rows_of(rng, count, d, kind):
    x = rng.uniform(0, 1, (count, d))
    if kind == "incomes":
        x *= 10.0 ** rng.uniform(0, 5.5, d)
    if kind == "collinear" and d > 2:
        x[:, 0] = 0.0
        x[:, 1] = 2 * x[:, 2]
    if kind == "counts":
        x = np.floor(3 * x)
    return x


@settings(max_examples=many(40))
@given(
    st.integers(0, 10**6),
    st.integers(1, 8),
    st.integers(1, 25),
    st.sampled_from(["plain", "incomes", "collinear", "counts"]),
)
def test_smallest_norm_solution_after_every_row(seed, d, count, kind):
    rng = np.random.default_rng(seed)
    x = rows_of(rng, count, d, kind)
    y = x @ rng.uniform(-1, 1, d) + rng.normal(size=count)
    fit = regressions(1, d)
    for n in range(1, count + 1):
        see(fit, 0, x[n - 1], y[n - 1])
        inverse = np.linalg.pinv(x[:n], rcond=1e-9)
        beta, at = inverse @ y[:n], rng.uniform(0, 1, d) * x[:n].max(axis=0)
        size = np.abs(at) @ np.abs(beta) + 1e-9
        cond = min(1e8, np.linalg.norm(inverse, 2) * np.linalg.norm(x[:n], 2))
        assert abs(at @ fit.coefficients[0] - at @ beta) <= 1e-13 * cond * size * 100
        assert variance_at(fit, 0, at) == pytest.approx(float(((at @ inverse) ** 2).sum()), rel=1e-11 * cond, abs=1e-12)
        assert fit.ranks[0] == np.linalg.matrix_rank(x[:n], rtol=1e-9)
    assert fit.samples[0] == count
    assert fit.squares[0] == pytest.approx(float(((y - x @ beta) ** 2).sum()), rel=1e-6, abs=1e-8)
    assert fit.lengths[0] == pytest.approx(np.linalg.norm(fit.factors[0]), rel=1e-9)


def test_many_rows_of_incomes_stay_exact():
    rng = np.random.default_rng(5)
    d, count = 30, 2000
    x = rows_of(rng, count, d, "incomes")
    y = x @ rng.uniform(0, 2, d) + 1000 * rng.normal(size=count)
    fit = regressions(1, d)
    for row, answer in zip(x, y, strict=True):
        see(fit, 0, row, answer)
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    np.testing.assert_allclose(x @ fit.coefficients[0], x @ beta, rtol=1e-9)
    scale = np.abs(x).max(axis=0)
    gram = (x / scale).T @ (x / scale)
    np.testing.assert_allclose(
        fit.factors[0].T @ fit.factors[0] * np.outer(scale, scale), np.linalg.inv(gram), rtol=1e-7, atol=1e-9
    )


def test_ridge_is_the_closed_form():
    rng = np.random.default_rng(2)
    x, fit = rng.normal(size=(12, 5)), regressions(2, 5, ridge=0.5)
    y = rng.normal(size=12)
    for row, answer in zip(x, y, strict=True):
        see(fit, 1, row, answer)
    gram = x.T @ x + 0.5 * np.eye(5)
    np.testing.assert_allclose(fit.coefficients[1], np.linalg.solve(gram, x.T @ y), rtol=1e-12)
    np.testing.assert_allclose(fit.factors[1].T @ fit.factors[1], np.linalg.inv(gram), rtol=1e-12)
    assert not fit.coefficients[0].any()
