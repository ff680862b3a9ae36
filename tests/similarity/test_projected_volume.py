"""Projected Volume: its centre is that of the cylinder, thin directions are found, measured and kept."""

import numpy as np
import pytest

from evenhand.similarity import ProjectedVolumeDistance
from tests.reference.similarity_cylinder import cylinder_centroid, vertices

A = np.array([[0.5, 0.2], [0.0, 0.4]])
VERDICTS = [([1.0, 0.0], 0.006), ([0.3, 0.9], 0.2), ([0.7, -0.6], 0.15), ([0.2, 0.8], 0.1), ([0.6, 0.6], 0.12)]
"""Differences of two individuals, and how far from the truth gaps are called acceptable and unfair."""


def taught(structure, thin, seed):
    learner = ProjectedVolumeDistance(radius=1.0, structure=structure, precision=0.001, thin=thin, seed=seed)
    metric = np.diag(np.diag(A)) if structure == "diagonal" else A
    for z, off in VERDICTS:
        true = np.linalg.norm(metric @ z)
        learner.verdict(z, [0.0, 0.0], true - off, unfair=False)
        learner.verdict(z, [0.0, 0.0], true + 0.7 * off, unfair=True)
    return learner


def axes(learner):
    """Return orthonormal bases of L and S, in rows."""
    factor = learner.state.factor[0]
    directions = (factor / np.linalg.norm(factor, axis=0)).T
    wide = len(directions) - learner.state.thin[0]
    return directions[:wide], directions[wide:]


def corners(learner):
    s = learner.state
    n = s.counts[0]
    low = np.where(s.rows == s.columns, 0.0, -s.radius[0])
    return vertices(s.cuts[0, :, :n].T, s.limits[0, :n], low, np.full(low.size, s.radius[0]))


@pytest.mark.compiled
@pytest.mark.parametrize("structure", ["diagonal", "symmetric"])
@pytest.mark.parametrize("thin", [0.0, 0.02])
def test_the_centre_is_the_centroid_of_the_cylinder(structure, thin):
    off = []
    for seed in range(40):
        learner = taught(structure, thin, seed)
        points = corners(learner)
        L, S = axes(learner)
        assert len(S) == (thin > 0)
        error = learner.state.centre[0] - cylinder_centroid(points, L, S)
        assert np.abs(S @ error).max(initial=0) < 1e-9
        off.append(error / np.ptp(points, axis=0))
    assert np.sqrt(np.mean(np.square(off), axis=0)).max() < 0.08
    assert np.abs(np.mean(off, axis=0)).max() < 0.03


def test_thin_directions_are_found_measured_and_kept():
    learner = ProjectedVolumeDistance(radius=1.0, precision=0.001, thin=0.02, seed=1)
    rng, before, counts = np.random.default_rng(2), np.zeros((0, 3)), []
    for _ in range(400):
        z = rng.uniform(-0.8, 0.8, size=2)
        low, guess, high = learner.bounds(z, [0.0, 0.0])
        true = np.linalg.norm(A @ z)
        assert low - 1e-9 <= true <= high + 1e-9
        if high - low <= 0.001:
            continue
        learner.verdict(z, [0.0, 0.0], guess, unfair=true < guess)
        L, S = axes(learner)
        assert np.allclose(np.vstack([L, S]) @ np.vstack([L, S]).T, np.eye(3), atol=1e-9)
        assert len(S) >= len(before)
        kept = S[len(S) - len(before) :]
        assert np.allclose(kept, before, atol=1e-12)
        widths = np.ptp(corners(learner) @ S.T, axis=0)
        assert (widths <= 0.02 + 1e-9).all()
        assert np.allclose(np.linalg.norm(learner.state.factor[0], axis=0)[len(L) :] * np.sqrt(12), widths, atol=1e-7)
        before = S
        counts.append(len(S))
    assert counts[0] == 0
    assert counts[-1] == 3


def test_delta_is_the_papers_unless_given():
    learner = ProjectedVolumeDistance(precision=0.1)
    learner.begin(2)
    assert learner.state.thin_width == pytest.approx(0.1**2 / (16 * 3**2 * 4**2))
