"""Minimax reweighting minimises the worst group's risk in the sampler's own loss, and is never worse than plain."""

import numpy as np
import pytest

from evenhand.errors import ArgumentError, ContextError
from evenhand.sampling import ArrayPool, LogisticModel, UniformSampler, collect, minimax_reweighting
from evenhand.sampling.models.losses import row_losses
from evenhand.saving.state import from_bytes, to_bytes

pytestmark = pytest.mark.compiled

NAMED = ["zero_one", "log", "false_negative", "false_positive"]


def dear(y, prediction):
    """A missed positive costs five, a false alarm one."""
    return np.where(y > prediction, 5.0, 1.0) * (y != prediction)


def rows(seed=0, sizes=(600, 150, 100), rates=(0.5, 0.2, 0.7)):
    """Groups whose positives lie in different directions and are differently many."""
    rng, parts = np.random.default_rng(seed), []
    means = np.array([[1.5, 0.0], [0.0, 1.0], [-0.4, 0.9]])
    for z, (size, rate) in enumerate(zip(sizes, rates, strict=True)):
        y = (rng.random(size) < rate).astype(int)
        parts.append((rng.normal(size=(size, 2)) + means[z] * (2 * y - 1)[:, None], y, np.full(size, z)))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def risks(model, X, y, group, loss):
    """The risk of each group, written out."""
    values, counted = row_losses(loss, model, X, y, (0, 1))
    parts = [values[counted & (group == z)] for z in range(3)]
    return np.array([part.mean() if len(part) else np.nan for part in parts])


@pytest.mark.parametrize("loss", [*NAMED, dear])
def test_the_worst_groups_risk_falls_in_the_named_loss(loss):
    X, y, group = rows()
    plain = LogisticModel().fit(X, y)
    fair = minimax_reweighting(X, y, group=group, loss=loss)
    before, after = risks(plain, X, y, group, loss).max(), risks(fair.model, X, y, group, loss).max()
    assert after < before - 0.02 * before
    assert fair.errors[0] == pytest.approx(risks(plain, X, y, group, loss))
    assert after <= np.nanmax(fair.errors, axis=1).min() + 1e-15


@pytest.mark.parametrize("loss", [*NAMED, dear])
def test_finish_takes_the_samplers_own_loss(loss):
    X, y, group = rows()
    pool = ArrayPool(X, y, group=group)
    pool.reset(0)
    sampler = UniformSampler(pool.groups, batch=5, loss=loss, classes=[0, 1], seed=0)
    collect(sampler, pool, rounds=10**6)
    both = sampler.training.joined(sampler.validation)
    expected = minimax_reweighting(both.X, both.y, group=both.group, loss=loss)
    found = sampler.finish(reweighted=True).model
    assert (found.coefficients == expected.model.coefficients).all()
    plain = sampler.finish().model
    assert risks(found, X, y, group, loss).max() < risks(plain, X, y, group, loss).max()


def test_a_group_without_a_row_that_counts_has_no_say():
    X, y, group = rows()
    kept = (group != 1) | (y == 0)
    fair = minimax_reweighting(X[kept], y[kept], group=group[kept], loss="false_negative")
    assert np.isnan(fair.errors[:, 1]).all()
    assert fair.weights[1] == 0.0
    assert np.isfinite(fair.model.coefficients).all()


def test_a_single_label_is_the_constant_classifier():
    sampler = UniformSampler(["u", "v"], seed=0)
    for _ in range(4):
        sampler.tell(sampler.ask(), np.zeros((2, 1)), ["yes", "yes"])
    assert sampler.finish(reweighted=True).model.predict([[3.0]]).tolist() == ["yes"]


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"X": np.zeros((4, 2, 2))}, ContextError, "X: expected rows of numbers"),
        ({"X": np.full((4, 1), 1e200)}, ContextError, "X: expected numbers up to"),
        ({"y": [0, 1, 0]}, ArgumentError, "y: expected 4 labels"),
        ({"y": [1, 1, 1, 1]}, ArgumentError, "y: expected two different labels"),
        ({"group": ["a", "b"]}, ArgumentError, "group: expected 4 groups"),
        ({"loss": "hinge"}, ArgumentError, "loss: expected"),
        ({"rounds": 0}, ArgumentError, "rounds"),
        ({"step": -1.0}, ArgumentError, "step"),
        ({"C": 0.0}, ArgumentError, "C"),
        ({"loss": lambda y, p: "x"}, ArgumentError, "loss: expected a function"),
    ],
)
def test_refusals(arguments, error, match):
    usual = {"X": np.arange(4.0)[:, None], "y": [0, 1, 0, 1], "group": [0, 0, 1, 1]}
    with pytest.raises(error, match=match):
        minimax_reweighting(**{**usual, **arguments})


def test_a_mixture_serves_groups_that_contradict_each_other():
    """Equal rows, opposite labels: every single model errs for one group, the mixture for each about every second."""
    X = np.random.default_rng(0).normal(size=(2000, 2))
    group = np.arange(2000) % 2
    y = (X[:, 0] > 0).astype(int) ^ group
    plain = minimax_reweighting(X, y, group=group)
    mixed = minimax_reweighting(X, y, group=group, mixture=True, rounds=60, step=1.0)
    worst = [max(np.mean(one.model.predict(X)[group == z] != y[group == z]) for z in (0, 1)) for one in (plain, mixed)]
    assert worst[1] < 0.56
    assert len(mixed.model.models) == 60
    chances = np.mean([one.predict_proba(X) for one in mixed.model.models], axis=0)
    np.testing.assert_allclose(mixed.model.predict_proba(X), chances)
    said = np.array([one.predict(X) for one in mixed.model.models])
    np.testing.assert_allclose(
        mixed.errors, [[np.mean(one[group == z] != y[group == z]) for z in (0, 1)] for one in said]
    )
    weights = [np.array([0.5, 0.5])]
    for risk in mixed.errors[:-1]:
        grown = weights[-1] * np.exp(risk)
        weights.append(grown / grown.sum())
    np.testing.assert_allclose(mixed.weights, np.mean(weights, axis=0))
    drawn = (mixed.model.predict(X) == said).mean(axis=0)
    assert ((drawn > 0) & (drawn <= 1)).all()


def test_a_row_gets_the_same_answer_each_time_also_from_a_file():
    X, y, group = rows()
    mixed = minimax_reweighting(X, y, group=group, mixture=True, rounds=5, step=1.0).model
    again = from_bytes(to_bytes(mixed))
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(again.predict(X[order]), mixed.predict(X)[order])
    assert repr(again) == "ModelMixture(5 models)"


def test_a_collection_ends_with_a_mixture_that_is_certified_like_a_model():
    X, y, group = rows(sizes=(600, 600, 600))
    sampler, pool = UniformSampler(3, seed=1, budget=400), ArrayPool(X, y, group=group)
    pool.reset(1)
    collect(sampler, pool, rounds=200)
    mixed = sampler.finish(mixture=True).model
    assert len(mixed.models) == 60
    check = sampler.certify(threshold=0.99, batch=20, model=mixed)
    while check.verdict == "undecided":
        draw = check.ask()
        check.tell(draw, *pool.respond(draw))
    assert from_bytes(to_bytes(check)).verdict == "certified"
    with pytest.raises(ArgumentError, match="mixture: expected False together with reweighted"):
        sampler.finish(mixture=True, reweighted=True)
