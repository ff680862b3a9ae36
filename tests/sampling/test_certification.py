"""Confidence sequences hold at all times; certification uses fresh rows alone and keeps its level."""

import numpy as np
import pytest

from evenhand.errors import ArgumentError, ClosedTicketError, ContextError, UnknownTicketError
from evenhand.sampling import Certification, LogisticModel, OptimisticSampler, SyntheticModel1, confidence_sequence
from evenhand.state import from_bytes, to_bytes


def test_the_interval_is_where_the_mixture_likelihood_ratio_is_small():
    from scipy.special import betaln

    for total, n in ((0.0, 5), (3.0, 10), (7.5, 20), (10.0, 10)):
        low, high = confidence_sequence(total, n, delta=0.1)
        for p in np.linspace(0.001, 0.999, 97):
            log_ratio = betaln(total + 1, n - total + 1) - total * np.log(p) - (n - total) * np.log1p(-p)
            assert (log_ratio < np.log(10.0)) == (low < p < high)


def test_it_misses_the_mean_at_any_time_no_more_often_than_promised():
    rng = np.random.default_rng(0)
    delta, trials, missed = 0.2, 300, 0
    for _ in range(trials):
        sums = np.cumsum(rng.random(200) < 0.15)
        intervals = (confidence_sequence(float(sums[n]), n + 1, delta=delta) for n in range(0, 200, 4))
        missed += any(not low <= 0.15 <= high for low, high in intervals)
    assert missed / trials < delta + 4 * (delta * (1 - delta) / trials) ** 0.5


def begun(seed=0):
    world = SyntheticModel1(instance="II")
    world.reset(seed)
    X, y = world.sample(0, 400, np.random.default_rng(1))
    return world, LogisticModel().fit(X, y)


def judged(threshold, seed, loss="zero_one"):
    world, model = begun(seed)
    check = Certification(["u", "v"], model, threshold=threshold, delta=0.1, batch=10, loss=loss)
    for _ in range(600):
        draw = check.ask()
        check.tell(draw, *world.respond(draw))
        if check.verdict != "undecided":
            break
    return check, world.population_risk(model.coef_, model.intercept_)


def test_verdicts_agree_with_the_exact_risks():
    wrong = 0
    for seed in range(40):
        for factor, expected in ((1.6, "certified"), (0.5, "refuted")):
            world, model = begun(seed)
            risk = world.population_risk(model.coef_, model.intercept_).max()
            check, _ = judged(min(1.0, factor * risk), seed)
            assert check.verdict != "undecided"
            wrong += check.verdict != expected
    assert wrong <= 8 + 4 * (80 * 0.1 * 0.9) ** 0.5


def test_conditional_losses_count_their_rows_alone():
    check, _ = judged(0.9, 3, loss="false_negative")
    assert check.risks["rows"].sum() < 10 * check._tickets.last


def test_the_model_is_frozen():
    sampler, world = OptimisticSampler(["u", "v"], seed=0), SyntheticModel1(instance="I")
    world.reset(0)
    for _ in range(30):
        draw = sampler.ask()
        sampler.tell(draw, *world.respond(draw))
    check = sampler.certify(threshold=0.3)
    before = check.model.coef_
    for _ in range(30):
        draw = sampler.ask()
        sampler.tell(draw, *world.respond(draw))
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
    with pytest.raises(UnknownTicketError):
        check.tell(77, X, y)
    assert to_bytes(check) == before
    check.tell(draw, X, y)
    with pytest.raises(ClosedTicketError):
        check.tell(draw, X, y)
