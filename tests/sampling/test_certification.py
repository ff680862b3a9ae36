"""Confidence sequences hold at all times; certification uses fresh rows alone and keeps its level."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from evenhand.errors import ArgumentError, ContextError, ExhaustedError
from evenhand.sampling import (
    ArrayPool,
    Certification,
    LogisticModel,
    OptimisticSampler,
    SyntheticModel1,
    confidence_sequence,
)
from evenhand.saving.state import from_bytes, to_bytes
from tests.sampling.labelled_items import talk

pytestmark = pytest.mark.compiled


def test_the_interval_is_where_the_mixture_likelihood_ratio_is_small():
    from scipy.special import betaln

    for total, n in ((0.0, 5), (3.0, 10), (7.5, 20), (10.0, 10)):
        low, high = confidence_sequence(total, n, delta=0.1)
        for p in np.linspace(0.001, 0.999, 97):
            log_ratio = betaln(total + 1, n - total + 1) - total * np.log(p) - (n - total) * np.log1p(-p)
            assert (log_ratio < np.log(10.0)) == (low < p < high)


def begun(seed=0):
    world = SyntheticModel1(instance="II")
    world.reset(seed)
    X, y = world.sample(0, 400, np.random.default_rng(1))
    return world, LogisticModel().fit(X, y)


def test_verdicts_agree_with_the_exact_risks():
    wrong = 0
    for seed in range(40):
        for factor, expected in ((1.6, "certified"), (0.5, "refuted")):
            world, model = begun(seed)
            risk = world.population_risk(model.coef_, model.intercept_).max()
            check = Certification(["u", "v"], model, threshold=min(1.0, factor * risk), delta=0.1, batch=10)
            looped(check, world, 600)
            wrong += check.verdict != expected
    assert wrong <= 8 + 4 * (80 * 0.1 * 0.9) ** 0.5


def test_the_model_is_frozen():
    sampler, world = OptimisticSampler(["u", "v"], seed=0), SyntheticModel1(instance="I")
    world.reset(0)
    talk(sampler, world, 30)
    check = sampler.certify(threshold=0.3)
    before = check.model.coef_
    talk(sampler, world, 30)
    assert (check.model.coef_ == before).all()
    assert (sampler.model.coef_ != before).any()
    assert check.risks["rows"].sum() == 0
    again = from_bytes(to_bytes(check))
    assert again.risks.equals(check.risks)


def test_refusals():
    world, model = begun()
    for more, match in (({"loss": "log"}, "loss"), ({"threshold": 2.0}, "threshold"), ({"delta": 0.0}, "delta")):
        with pytest.raises(ArgumentError, match=match):
            Certification(["u", "v"], model, **{"threshold": 0.1, **more})
    with pytest.raises(ArgumentError, match="model"):
        Certification(["u", "v"], object(), threshold=0.1)
    check = Certification(["u", "v"], model, threshold=0.1, batch=2)
    draw = check.ask()
    X, y = world.respond(draw)
    before = to_bytes(check)
    for rows, labels, error in (
        (X, [0, 7], ArgumentError),
        (X, [0], ArgumentError),
        (X * np.nan, y, ContextError),
        (np.ones((2, 5)), y, ContextError),
        (np.ones((3, 2)), y, ContextError),
    ):
        with pytest.raises(error):
            check.tell(draw, rows, labels)
    assert to_bytes(check) == before


def pooled(sizes, loss="zero_one", threshold=0.06, batch=8):
    """Return a certification of a model and a pool with so few fresh rows a group."""
    world, _ = begun()
    trained = [world.sample(z, 200, np.random.default_rng(9 + z)) for z in range(2)]
    model = LogisticModel().fit(*(np.concatenate(columns) for columns in zip(*trained, strict=True)))
    parts = [world.sample(z, size, np.random.default_rng(z)) for z, size in enumerate(sizes)]
    X, y = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    pool = ArrayPool(X, y, group=np.repeat(["u", "v"], sizes))
    return Certification(["u", "v"], model, threshold=threshold, batch=batch, loss=loss), pool


def looped(check, pool, most=5000):
    """The loop of the docs; a loop that does not end fails."""
    for _ in range(most):
        if check.verdict != "undecided":
            return
        draw = check.ask()
        check.tell(draw, *pool.respond(draw))
    pytest.fail(f"still undecided after {most} draws")


@pytest.mark.parametrize("loss", ["zero_one", "false_negative", "false_positive"])
@pytest.mark.parametrize("sizes", [(1, 1), (5, 40), (2, 30), (24, 24)])
def test_a_pool_that_is_too_small_ends_with_a_clear_answer(sizes, loss):
    check, pool = pooled(sizes, loss)
    looped(check, pool)
    assert check.verdict == "not_shown"
    assert pool.left.sum() == 0
    assert "not_shown" in check.risks["verdict"].tolist()
    again = from_bytes(to_bytes(check))
    assert again.verdict == "not_shown"
    for one in (check, again):
        with pytest.raises(ExhaustedError, match="no rows are left to draw"):
            one.ask()


def test_a_group_that_runs_dry_does_not_hide_what_others_show():
    check, pool = pooled((3, 4000), threshold=0.005)
    looped(check, pool)
    assert check.verdict == "refuted"
    check, pool = pooled((3, 4000), threshold=0.6)
    looped(check, pool)
    assert check.verdict == "not_shown"
    assert check.risks["verdict"].tolist() == ["not_shown", "certified"]


def test_an_open_draw_may_still_decide_and_is_named():
    check, pool = pooled((40, 40))
    waiting = check.ask()
    check.retire("u"), check.retire("v")
    assert check.verdict == "undecided"
    with pytest.raises(ExhaustedError, match=r"tell or forget the draws \[1\] first"):
        check.ask()
    check.tell(waiting, *pool.respond(waiting))
    assert check.verdict == "not_shown"


def test_what_was_never_trained_or_knows_one_label_is_not_certified():
    for sampler in (OptimisticSampler(["u", "v"], seed=0), OptimisticSampler(["u", "v"], classes=[0, 1], seed=0)):
        with pytest.raises(ArgumentError, match="certify: expected at least one told draw"):
            sampler.certify(threshold=0.1)
    sampler = OptimisticSampler(["u", "v"], seed=0)
    sampler.tell(sampler.ask(), np.zeros((2, 2)), [1, 1])
    with pytest.raises(ArgumentError, match=r"knows two labels, got \[1\]; collect until"):
        sampler.certify(threshold=0.1)


def test_labels_of_any_kind_are_compared_by_what_they_mean():
    world, model = begun()
    X, y = world.sample(0, 60, np.random.default_rng(3))
    risks = []
    for labels, fitted in (
        (y, model),
        (y.astype(float), model),
        (y.astype(bool), model),
        (y, GaussianNB().fit(X, y.astype(bool))),
        (y.astype(float), GaussianNB().fit(X, y.astype(float))),
        (np.where(y, "yes", "no"), LogisticModel().fit(X, np.where(y, "yes", "no"))),
    ):
        check = Certification(["u", "v"], fitted, threshold=0.1, batch=60, loss="false_negative")
        check.tell(check.ask(), X, labels)
        assert check.counts[0] == y.sum()
        risks.append(check.sums[0] / y.sum())
    assert risks[:3] == [risks[0]] * 3
    assert risks[3] == risks[4]


def test_a_model_that_fails_to_predict_is_named():
    class Odd:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return self.answers

    check = Certification(["u", "v"], Odd(), threshold=0.1, batch=2)
    draw = check.ask()
    for answers in (["?", 1], None):
        check.model.answers = answers
        with pytest.raises(ContextError, match="X: expected rows that the model can predict"):
            check.tell(draw, np.zeros((2, 1)), [0, 1])
    assert check.open_tickets == [draw.id]
