"""Metrics in many dimensions: fitted to a batch of judgements, and learned on a few axes with certified intervals."""

import numpy as np
import pytest

from evenhand.errors import ArgumentError, VerdictError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import EmbeddedDistance, fit_metric


def judged(d, n, seed=0, flips=0.05):
    """Return pairs, gaps, judgements and true distances of a metric of rank 3 on the five leading axes."""
    draws = np.random.default_rng(seed)
    people = draws.normal(size=(n, 2, d)) / np.sqrt(1 + np.arange(d))
    A = np.zeros((3, d))
    A[:, :5] = draws.normal(size=(3, 5))
    true = np.linalg.norm((people[:, 0] - people[:, 1]) @ A.T, axis=1)
    gaps = draws.uniform(0.01, 1.0, n)
    scale = 2.0 * true.mean()
    return people, gaps, (true / scale < gaps) ^ (draws.random(n) < flips), true / scale, A / scale


def test_a_metric_is_fitted_to_judgements_of_which_some_are_wrong():
    people, gaps, said, true, _ = judged(50, 2000)
    axes = np.linalg.svd(people[:1000, 0] - people[:1000, 1], full_matrices=False)[2][:5]
    seen = people @ axes.T
    fitted = fit_metric(seen[:1000], said[:1000], gaps=gaps[:1000], rank=3)
    found = np.array([fitted(x, y) for x, y in seen[1000:]])
    assert np.sqrt(np.mean((found - true[1000:]) ** 2)) < 0.15 * np.sqrt(np.mean(true[1000:] ** 2))
    assert fitted.A.shape == fitted.basis.shape == (3, 5)
    assert np.allclose(fitted.basis @ fitted.basis.T, np.eye(3))
    again = fit_metric(seen[:1000], said[:1000], gaps=gaps[:1000], rank=3)
    assert np.array_equal(again.A, fitted.A)


def test_judgements_may_be_0_and_1():
    people, gaps, said, _, _ = judged(5, 60)
    fitted = fit_metric(people, said, gaps=gaps)
    for same in (said.astype(int), said.astype(float), said.astype(int).tolist(), said.astype(object)):
        assert np.array_equal(fit_metric(people, same, gaps=gaps).A, fitted.A)


@pytest.mark.parametrize("d", [50, 768])
def test_certified_intervals_hold_the_truth_whatever_the_axes_miss(d):
    people, gaps, _, true, A = judged(d, 60, flips=0.0)
    tilted = np.eye(5, d)
    tilted[0, -1] = 0.1
    basis = np.linalg.svd(tilted, full_matrices=False)[2]
    learner = EmbeddedDistance(basis, radius=1.01 * float(np.linalg.norm(A.T @ A)))
    people = 0.3 * people
    true = 0.3 * true
    people[:, :, 5:] *= 0.01
    taught = [
        learner.verdict(x, y, min(0.3 * g, 1.0), bool(t < 0.3 * g))
        for (x, y), g, t in zip(people[:40], gaps, true, strict=False)
    ]
    assert sum(one is not None for one in taught) > 15
    narrowed = 0
    for (x, y), t in zip(people, true, strict=True):
        low, _, high = learner.bounds(x, y)
        assert low - 1e-9 <= t <= high + 1e-9
        narrowed += high < 1.0
    assert narrowed > 20
    assert learner.guarantee == "certified"


def test_an_embedded_learner_is_saved_and_a_verdict_withdrawn():
    for learner in EmbeddedDistance.examples():
        again = from_bytes(to_bytes(learner))
        assert to_bytes(again) == to_bytes(learner)
        assert again.fresh().learner.verdicts == []
    assert again.guarantee == "measured, not certified"
    again.withdraw(1)
    assert again.learner.verdicts == []


def test_a_pair_that_the_axes_miss_teaches_nothing():
    learner = EmbeddedDistance([[1.0, 0.0]], radius=2.0)
    assert learner.verdict([0.0, 1.0], [0.0, 0.0], 0.5, unfair=False) is None
    assert learner.bounds([0.0, 0.5], [0.0, 0.0])[::2] == pytest.approx((0.0, np.sqrt(0.5)))
    assert learner.bounds([0.0, 1.0], [0.0, 0.0])[::2] == (0.0, 1.0)


def test_bad_input_is_refused_by_name():
    people, gaps, said, *_ = judged(6, 20)
    with pytest.raises(ArgumentError, match=r"gaps: wanted 20 numbers .*; without them the scale of the metric is"):
        fit_metric(people, said)
    for given, more, words in [
        ((people, said), {"gaps": gaps - 1.0}, "gaps: wanted"),
        ((people, said[:5]), {"gaps": gaps}, "judgements: wanted 20 times true"),
        ((people, said + 0.5), {"gaps": gaps}, r"judgements\[0\]: wanted true or 1 \(unfair\), false or 0"),
        ((people, ["0"] * 20), {"gaps": gaps}, r"judgements\[0\]: wanted true or 1"),
        ((people, [None, *said[1:]]), {"gaps": gaps}, r"judgements\[0\]: wanted true or 1"),
        ((people, [*said[:19], float("nan")]), {"gaps": gaps}, r"judgements\[19\]: wanted true or 1"),
        ((people, "unfair"), {"gaps": gaps}, "judgements: wanted 20 times true or 1"),
        ((people, np.ones(20, bool)), {"gaps": gaps}, "judgements: wanted some that are unfair and some"),
        ((people[:, 0], said), {"gaps": gaps}, "pairs: wanted"),
        ((people[:, [0, 0]], said), {"gaps": gaps}, "pairs: wanted individuals that differ"),
        ((people, said), {"gaps": gaps, "rank": 7}, "rank: wanted"),
    ]:
        with pytest.raises(ArgumentError, match=words):
            fit_metric(*given, **more)
    with pytest.raises(ArgumentError, match="x: wanted 6 finite numbers"):
        fit_metric(people, said, gaps=gaps)([1.0], [0.0] * 6)
    with pytest.raises(ArgumentError, match="basis: wanted orthonormal rows"):
        EmbeddedDistance([[1.0, 1.0]], radius=1.0)
    with pytest.raises(ArgumentError, match="radius: wanted"):
        EmbeddedDistance([[1.0, 0.0]], radius=0.0)
    learner = EmbeddedDistance([[1.0, 0.0]], radius=1.0)
    with pytest.raises(ArgumentError, match="y: wanted 2 finite numbers"):
        learner.bounds([1.0, 0.0], [1.0])
    with pytest.raises(VerdictError, match="gap: wanted a difference above"):
        learner.verdict([1.0, 0.0], [0.0, 0.0], 0.0, unfair=True)
