"""The metric learners: sound intervals, few verdicts, the log as ground truth, and what they refuse."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.kernels.compose import entry, kernel
from evenhand.kernels.halfspaces import EMPTY, Simplex, simplex, support
from evenhand.similarity import EllipsoidDistance, MomentDistance
from tests.naming import named
from tests.similarity.conversations import METRICS

LEARNERS = METRICS | {"projected volume, thin": lambda **given: METRICS["projected volume"](thin=0.02, **given)}


@kernel
def _support(cuts, limits, count, low, high, u, excess, *work):
    return support(cuts, limits, count, low, high, u, excess, Simplex(*work))


def test_support_equals_a_linear_program_and_sees_empty_sets():
    function, rng, empty = entry(_support), np.random.default_rng(0), 0
    for n in range(200):
        m, count = 1 + n % 7, int(rng.integers(0, 40))
        a = rng.normal(size=(count, m))
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        inside = a @ rng.uniform(-0.3, 0.3, size=m) + rng.uniform(0, 0.3, size=count)
        b = inside if n % 3 else rng.uniform(-0.2, 0.5, size=count)
        low, high, u = -np.ones(m), np.ones(m), rng.normal(size=m)
        mine = function(np.ascontiguousarray(a.T), b, count, low, high, u, np.zeros(count), *simplex(m))
        slow = linprog(-u, A_ub=a if count else None, b_ub=b if count else None, bounds=(-1, 1))
        if slow.status == 2:
            empty += 1
            assert mine == EMPTY
        else:
            assert mine == pytest.approx(-slow.fun, abs=1e-9)
    assert 10 < empty < 100


def train(learner, A, rounds, *, rng, error=0.0, width=0.02, distortion=0.0):
    """Ask about the guess of random pairs while they are wide; return how many verdicts were given, and the last
    pairs."""
    given, pairs = 0, []
    for _ in range(rounds):
        x, y = rng.uniform(-0.6, 0.6, size=(2, A.shape[1]))
        low, guess, high = learner.bounds(x, y)
        true = min(np.sqrt(max(((A @ (x - y)) ** 2).sum() + distortion * np.sin(9 * x[0]), 0)), 1)
        pairs.append((low, guess, high, true))
        if high - low > width:
            given += 1
            unfair = true < guess
            if error and guess > 0:
                unfair = unfair != (rng.random() < error)
            learner.verdict(x, y, guess, unfair)
    return given, np.array(pairs)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "structure"),
    [
        ("ellipsoid", "full"),
        ("ellipsoid", [[0, 1], [2]]),
        ("moments", "symmetric"),
        ("moments", "diagonal"),
        ("projected volume", [[0, 1], [2]]),
        ("projected volume, thin", "symmetric"),
    ],
    ids=named,
)
def test_certified_intervals_hold_the_truth_and_close_around_it(name, structure):
    A = np.diag([0.5, 0.3, 0.2]) if structure == "diagonal" else np.array([[0.4, 0.1, 0], [0, 0.3, 0], [0, 0, 0.2]])
    learner = LEARNERS[name](radius=1.0, structure=structure)
    _, pairs = train(learner, A, 1500, rng=np.random.default_rng(1))
    low, guess, high, true = pairs.T
    assert (low <= true + 1e-9).all()
    assert (true <= high + 1e-9).all()
    assert np.mean(high[-200:] - low[-200:] <= 0.02) > 0.9
    assert np.abs(guess - true)[-200:].max() < 0.06


@pytest.mark.compiled
@pytest.mark.nightly
def test_moments_and_projected_volume_need_far_fewer_verdicts_than_the_ellipsoid():
    A = np.array([[0.4, 0.1, 0], [0, 0.3, 0], [0, 0, 0.2]])
    given = {name: train(make(radius=1.0), A, 1500, rng=np.random.default_rng(2))[0] for name, make in LEARNERS.items()}
    assert given["ellipsoid"] > 2 * given["moments"]
    assert given["ellipsoid"] > 2 * given["projected volume"]
    assert given["ellipsoid"] < 40 * 36


def test_the_least_distance_is_that_of_a_metric_by_the_triangle_inequality_and_never_above_the_true_one():
    learner = MomentDistance()
    learner.verdict([0, 0], [1, 0], 0.01, True)
    learner.verdict([0, 0], [1, 1], 0.8, False)
    assert 0.78 < learner.bounds([0, 0], [0, 1])[0] <= 0.79
    for seed, structure in enumerate(["symmetric", "full", [[0, 1], [2]]]):
        draws, learner = np.random.default_rng(seed), MomentDistance(structure=structure, precision=1e-4)
        A = np.array([[0.4, 0.2, 0.0]])  # of rank one: at the edge of the cone
        for z in draws.uniform(-1, 1, size=(30, 3)):
            true = float(abs(A @ z)[0])
            learner.verdict(z, np.zeros(3), true * 1.001, True)
            learner.verdict(z, np.zeros(3), true * 0.999, False)
        away = np.asfortranarray(draws.uniform(-1, 1, size=(50, 3)))
        low, _, high = learner._intervals(away).T
        true = np.abs(away @ A[0])
        assert (low <= true + 1e-9).all()
        assert (high >= true - 1e-9).all()


def test_one_dimension_is_bisection():
    learner = EllipsoidDistance(radius=1.0, precision=1e-9)
    widths = []
    for _ in range(8):
        low, guess, high = learner.bounds([1.0], [0.0])
        widths.append(high**2 - low**2)
        learner.verdict([1.0], [0.0], guess, unfair=guess > 0.37)
    assert np.allclose(np.array(widths[1:]) / widths[:-1], 0.5)


def test_wrong_verdicts_do_not_spoil_the_belief():
    A = np.array([[0.4, 0.1], [0, 0.3]])
    _, pairs = train(MomentDistance(radius=1.0, error_rate=0.1), A, 4000, rng=np.random.default_rng(3), error=0.1)
    off = np.abs(pairs[-300:, 1] - pairs[-300:, 3])
    assert off.mean() < 0.01


@pytest.mark.parametrize("name", ["ellipsoid", "moments", "projected volume"])
def test_a_tolerance_keeps_intervals_true_when_the_metric_is_only_nearly_mahalanobis(name):
    A = np.array([[0.5, 0.1], [0, 0.4]])
    learner = LEARNERS[name](radius=1.0, tolerance=0.01)
    _, pairs = train(learner, A, 200, rng=np.random.default_rng(4), distortion=0.01)
    assert ((pairs[:, 0] <= pairs[:, 3] + 1e-9) & (pairs[:, 3] <= pairs[:, 2] + 1e-9)).all()


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_a_radius_that_was_too_small_doubles_and_replays(make):
    A = 6.0 * np.eye(2)
    learner = make()
    x, y, rng = np.array([0.1, 0.05]), np.zeros(2), np.random.default_rng(5)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(80):
            scaled = x * rng.uniform(0.2, 1.0)
            gap = rng.uniform()
            learner.verdict(scaled, y, gap, unfair=np.linalg.norm(A @ scaled) < gap)
    assert len(said) == 1
    assert str(said[0].message).startswith("radius: no metric with ||A'A|| <= 4 agrees with all verdicts")
    assert learner.state.doublings[0] >= 3
    assert learner.radius_reached == 4.0 * 2.0 ** learner.state.doublings[0]
    low, _, high = learner.bounds(x, y)
    assert low - 1e-9 <= np.linalg.norm(A @ x) <= high + 1e-9


def test_contradictions_lists_what_a_robust_learner_swallowed():
    learner = MomentDistance(radius=1.0, error_rate=0.2)
    for gap in (0.3, 0.35, 0.4):
        learner.verdict([1.0, 0.0], [0.0, 0.0], gap, unfair=False)
    assert learner.contradictions() == []
    wrong = learner.verdict([1.0, 0.0], [0.0, 0.0], 0.1, unfair=True)
    assert learner.contradictions() == [wrong]


def test_copies_learn_apart_and_share_nothing():
    learner = EllipsoidDistance(radius=1.0, shared=False)
    learner.begin(2, 3)
    before = learner.bounds([1.0, 0.0], [0.0, 0.0], pair=1)
    learner.verdict([1.0, 0.0], [0.0, 0.0], 0.3, unfair=True, pair=2)
    assert learner.bounds([1.0, 0.0], [0.0, 0.0], pair=1) == before
    assert learner.bounds([1.0, 0.0], [0.0, 0.0], pair=2)[2] < before[2]
