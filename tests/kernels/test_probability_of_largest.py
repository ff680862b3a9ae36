"""The probability to be the largest, against a slow integral, known values and extreme parameters."""

import numpy as np
import pytest
from scipy import special, stats

from evenhand.kernels.compose import interpreted
from evenhand.kernels.probability_of_largest import _walker, beta_density, largest_beta, largest_normal, prepare_beta

pytestmark = pytest.mark.compiled


def slow(a, b):
    """The integral on a fine grid of Gauss panels on the logit scale, with scipy's incomplete Beta function."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    centre = special.digamma(a) - special.digamma(b)
    sd = np.sqrt(special.polygamma(1, a) + special.polygamma(1, b))
    low = (centre - (9 + 14 / np.sqrt(a)) * sd).max()
    high = (centre + (9 + 14 / np.sqrt(b)) * sd).max()
    ends = np.unique(
        np.clip(np.concatenate([c + s * np.linspace(-30, 30, 200) for c, s in zip(centre, sd, strict=True)]), low, high)
    )
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(ends)[:, None] / 2
    z, w = ((ends[:-1, None] + half) + half * nodes).ravel(), (half * weights).ravel()
    below = np.array([special.betainc(i, j, special.expit(z)) for i, j in zip(a, b, strict=True)])
    logs = [
        i * special.log_expit(z) + j * special.log_expit(-z) - special.betaln(i, j) for i, j in zip(a, b, strict=True)
    ]
    return np.array([w @ (np.exp(log) * np.delete(below, k, 0).prod(axis=0)) for k, log in enumerate(logs)])


@pytest.mark.parametrize("arms", [2, 10])
@pytest.mark.parametrize("counts", [3, 10_000])
def test_against_a_slow_integral(arms, counts):
    random = np.random.default_rng(arms * counts)
    for _ in range(3):
        a, b = 1.0 + random.integers(0, counts, (2, arms))
        if random.random() < 0.5:
            a[0] = b[-1] = 1.0
        found = largest_beta(a, b)
        assert np.abs(found - slow(a, b)).max() < 1e-7
        assert found.sum() == pytest.approx(1.0, abs=1e-9)


def test_known_values():
    assert largest_beta([1] * 100, [1] * 100) == pytest.approx([0.01] * 100, abs=1e-9)
    assert largest_beta([2, 1, 1], [1, 1, 1]) == pytest.approx([0.5, 0.25, 0.25], abs=1e-9)
    assert largest_beta([3.5, 3.5], [0.5, 0.5]) == pytest.approx([0.5, 0.5], abs=1e-9)
    gap = stats.norm.cdf(0.3 / np.hypot(1.0, 2.0))
    assert largest_normal([0.3, 0.0], [1.0, 2.0]) == pytest.approx([gap, 1 - gap], abs=1e-9)


@pytest.mark.parametrize("scale", [1e6, 1e9])
def test_counts_up_to_a_billion_are_nearly_normal(scale):
    means = 0.3 + np.array([0.0, 1.0, -2.0, 3.0]) / np.sqrt(scale)
    found = largest_beta(scale * means, scale * (1 - means))
    normal = largest_normal(means, np.sqrt(means * (1 - means) / scale))
    assert np.abs(found - normal).max() < 3 / np.sqrt(scale)  # the skewness of the Beta distribution
    assert found.sum() == pytest.approx(1.0, abs=1e-9)


def test_extreme_counts_beside_each_other():
    for a, b in (([1, 1e9], [1e9, 1]), ([1, 1e9, 5e8], [1, 1e9, 5e8]), ([1e9, 1], [1, 1]), ([1, 1, 1], [1e9, 1e9, 1])):
        found = largest_beta(a, b)
        assert np.isfinite(found).all()
        assert (found > 0).all()
        assert found.sum() == pytest.approx(1.0, abs=1e-9)
    assert largest_beta([1, 1e9], [1, 1e9]) == pytest.approx([0.5, 0.5], abs=1e-6)
    assert largest_beta([2e8, 1], [8e8, 1]) == pytest.approx([0.2, 0.8], abs=1e-6)


def test_variables_without_spread_are_their_mean_and_the_first_of_equals_wins():
    assert largest_normal([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]) == pytest.approx([0.5, 0.0, 0.5], abs=1e-6)
    assert largest_normal([1.0, 2.0, 2.0], [0.0, 0.0, 0.0]).tolist() == [0.0, 1.0, 0.0]


def test_plain_python_and_machine_code_give_the_same_numbers():
    a, b = np.array([3.0, 40.0, 1.0]), np.array([9.0, 70.0, 1.0])
    plain = interpreted(_walker(prepare_beta, beta_density)._entered.uncompiled)
    for walk in (plain, _walker(prepare_beta, beta_density)._entered):
        from evenhand.kernels.probability_of_largest import GAUSS, NODES, _rule

        found = np.empty(3)
        walk(a, b, np.empty((3, NODES + 2 * GAUSS)), *_rule(), found)
        assert found == pytest.approx(slow(a, b), abs=1e-8)
