"""Programs that begin at vertices kept from earlier ones: the same bounds as from the box, in fewer steps, on bodies
that shrink."""

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand.kernels.compose import entry, kernel
from evenhand.kernels.halfspaces import Simplex, simplex, support
from evenhand.kernels.vertices import UNREACHED, ascend, discard, keep
from evenhand.similarity import MomentDistance


@kernel
def _farthest(cuts, limits, count, low, high, u, vertices, bases, kept, excess, slopes, *work):
    scratch = Simplex(*work)
    bound = ascend(cuts, limits, count, low, high, u, vertices, bases, kept, excess, slopes, scratch)
    reached = bound != UNREACHED
    if not reached:
        bound = support(cuts, limits, count, low, high, u, excess, scratch)
        if scratch.exact[0] == 1:
            keep(vertices, bases, kept, scratch)
    return bound, reached


@kernel
def _discard(cuts, limits, row, vertices, bases, kept):
    discard(cuts, limits, row, vertices, bases, kept)


@pytest.mark.parametrize("whole", [False, True], ids=["any numbers", "small whole numbers, with ties"])
def test_bounds_are_those_of_a_linear_program_while_cuts_come_in(whole):
    farthest, cut_off, rng, climbed = entry(_farthest), entry(_discard), np.random.default_rng(5), 0
    for n in range(6):
        m = 1 + n % 6
        cuts, limits, count = np.zeros((m, 60)), np.zeros(60), 0
        low, high = -np.ones(m), np.ones(m)
        store = np.zeros((8, m)), np.zeros((8, m), np.int64), np.zeros(2, np.int64)
        scratch = np.zeros(60), np.zeros(60), *simplex(m)
        for step in range(80):
            a = rng.integers(-2, 3, size=m).astype(float) if whole else rng.normal(size=m)
            a = a if a.any() else np.ones(m)
            if step % 4 == 0:
                cuts[:, count] = a / np.linalg.norm(a)
                limits[count] = rng.integers(0, 3) / 4 if whole else rng.uniform(0, 0.6)
                cut_off(cuts, limits, count, *store)
                count += 1
            u = np.roll(a, 1)
            bound, reached = farthest(cuts, limits, count, low, high, u, *store, *scratch)
            slow = linprog(-u, A_ub=cuts[:, :count].T, b_ub=limits[:count], bounds=(-1, 1))
            assert bound == pytest.approx(-slow.fun, abs=1e-9)
            climbed += reached
    assert climbed > 0.8 * 6 * 80


@pytest.mark.parametrize("structure", ["symmetric", "absolute"])
def test_a_learner_certifies_what_a_linear_program_over_the_answers_does(structure):
    learner, rng = MomentDistance(radius=1.0, structure=structure), np.random.default_rng(2)
    A, weights, rows, limits = np.array([[0.4, 0.1, 0.0], [0.0, 0.3, 0.1]]), np.array([0.4, 0.3, 0.2]), [], []
    square, bounds = structure == "symmetric", [(0, 1)] * 3
    if square:
        bounds = [(0.0 if i == j else -1.0, 1.0) for i, j in zip(*np.triu_indices(3), strict=True)]
    for _ in range(40):
        x, y = rng.uniform(-0.6, 0.6, size=(2, 3))
        z = np.abs(x - y)
        true = z @ weights
        if square:
            true = np.linalg.norm(A @ (x - y))
            z = (np.outer(x - y, x - y) * np.where(np.eye(3, dtype=bool), 1, 2**0.5))[np.triu_indices(3)]
        low, guess, high = learner.bounds(x, y)
        given = {"A_ub": rows, "b_ub": limits} if rows else {}
        ends = [sign * linprog(sign * z, bounds=bounds, **given).fun for sign in (1.0, -1.0)]
        assert np.maximum(learner._ends(x, y, 0)[::2], 0.0) == pytest.approx(np.maximum(ends, 0.0), abs=1e-6)
        ends = np.clip(ends, 0.0, 1.0) ** (0.5 if square else 1.0)  # the program knows no cone of metrics
        assert ends[0] - 1e-6 <= low <= true <= high <= ends[1] + 1e-6
        if high - low > 0.02:
            sign = 1.0 if true < guess else -1.0
            learner.verdict(x, y, guess, bool(true < guess))
            rows.append(sign * z)
            limits.append(sign * (guess**2 if square else guess))
    assert len(rows) > 10
    assert 0 < learner.state.kept[0, 0] <= 64
