"""How a final model does on the rows that were not drawn, and the uniform draw beside it, against slow twins."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from evenhand.sampling import ArrayPool, OptimisticSampler, UniformSampler, collect, confidence_sequence
from evenhand.sampling.collected import fresh_risks, uniform_draw

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(300, 2))
Y = (X[:, 0] + DRAWS.normal(size=300) > 0).astype(int)
GROUP = np.array(["a", "b", "b"] * 100)


def collected(scheme=OptimisticSampler, **settings):
    pool, sampler = ArrayPool(X, Y, group=GROUP), scheme(["a", "b"], classes=[0, 1], seed=3, **settings)
    pool.reset(3)
    collect(sampler, pool, rounds=20)
    return sampler, pool


@pytest.mark.parametrize("loss", ["zero_one", "false_negative", "false_positive", "log"])
def test_risks_are_those_of_the_rows_that_were_not_drawn(loss):
    sampler, pool = collected()
    model = sampler.finish().model
    risks = fresh_risks(model, pool, pool.chosen, loss)
    for group in ("a", "b"):
        counted = {"false_negative": Y == 1, "false_positive": Y == 0}.get(loss, np.ones(300, bool))
        own = [i for i in range(300) if GROUP[i] == group and i not in pool.chosen and counted[i]]
        wrong = int((model.predict(X[own]) != Y[own]).sum())
        expected = [len(own), wrong / len(own), *confidence_sequence(wrong, len(own), delta=0.025)]
        assert risks.loc[group, ["rows", "risk", "low", "high"]].tolist() == pytest.approx(expected)
    left = np.setdiff1d(np.arange(300), pool.chosen)
    if loss in ("zero_one", "log"):
        always = risks.attrs["most_frequent"]
        assert always == np.bincount(Y[left]).argmax()
        assert risks["most_frequent"].tolist() == [(Y[left][GROUP[left] == g] != always).mean() for g in ("a", "b")]
    else:
        assert "most_frequent" not in risks


def test_a_group_without_rows_left_has_no_risk():
    sampler, pool = collected()
    risks = fresh_risks(sampler.finish().model, pool, np.flatnonzero(GROUP == "a"))
    assert risks.loc["a", ["rows", "low", "high"]].tolist() == [0, 0, 1]
    assert np.isnan(risks.loc["a", "risk"])


def test_the_uniform_draw_trains_on_as_many_rows_of_the_whole_pool():
    sampler, pool = collected()
    model, rows = uniform_draw(sampler, pool, sampler.finish().cost)
    assert len(set(rows.tolist())) == len(rows) == 40
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(X[rows], Y[rows])
    assert np.allclose(model.coef_, exact.coef_, atol=1e-6)


def test_the_uniform_draw_costs_no_more():
    sampler, pool = collected(UniformSampler, costs={"a": 1.0, "b": 5.0})
    _, rows = uniform_draw(sampler, pool, 100.0)
    paid = np.where(GROUP[rows] == "a", 1.0, 5.0).sum()
    assert 95 < paid <= 100
