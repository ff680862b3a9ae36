"""Exact risks and fair mixtures against simulation; pools, their encoding and their refusals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from evenhand.errors import ArgumentError
from evenhand.sampling import (
    SyntheticModel1,
    SyntheticModel2,
    TablePool,
    UniformSampler,
    collect,
    fairness_report,
    group_errors,
)

pytestmark = pytest.mark.compiled

THREE = {"a": [[0.0, 1.0], [1.0, 0.0]], "b": [[1.0, 0.0], [3.0, 1.0]], "c": [[-1.0, 1.0], [1.0, 2.0]]}


@pytest.mark.parametrize("world", [SyntheticModel1(instance="I"), SyntheticModel1(THREE), SyntheticModel2()])
@pytest.mark.parametrize("line", [([1.0, 0.3], 0.2), ([-0.4, 1.0], -0.5), ([0.0, 1.0], 0.1)])
def test_exact_risks_are_those_of_many_samples(world, line):
    rng, n = np.random.default_rng(0), 40_000
    exact = world.population_risk(*line)
    for z in range(len(world.groups)):
        X, y = world.sample(z, n, rng)
        measured = np.mean((X @ np.array(line[0]) + line[1] > 0) != y)
        assert abs(measured - exact[z]) < 5 * (0.25 / n) ** 0.5


@pytest.mark.parametrize(("instance", "share"), [("I", 0.2), ("II", 0.64)])
def test_the_fair_mixture_is_its_closed_form(instance, share):
    world = SyntheticModel1(instance=instance)
    assert world.fair_mixture()[0] == pytest.approx(share, abs=1e-4)
    risks = world.population_risk(*world.classifier(world.fair_mixture()))
    r = np.sqrt((world.means[:, 1] ** 2).sum(axis=1))
    from scipy.special import ndtr

    assert risks == pytest.approx(np.full(2, ndtr(-r[0] * r[1] / np.hypot(*r))), abs=1e-5)


def test_no_other_mixture_of_three_groups_is_fairer():
    world = SyntheticModel1(THREE)
    fair = world.fair_mixture()
    best = world.population_risk(*world.classifier(fair)).max()
    for mixture in np.random.default_rng(0).dirichlet(np.ones(3), 60):
        assert world.population_risk(*world.classifier(mixture)).max() > best - 1e-4


def test_worlds_refuse():
    with pytest.raises(ArgumentError, match="means"):
        SyntheticModel1()
    with pytest.raises(ArgumentError, match="instance"):
        SyntheticModel1(instance="III")
    with pytest.raises(ArgumentError, match="two vectors"):
        SyntheticModel1({"u": [[1.0], [2.0, 3.0]], "v": [[0.0], [1.0]]})


FRAME = pd.DataFrame(
    {
        "sex": ["f", "m", "f", "m"] * 10,
        "region": [1, 1, 2, 2] * 10,
        "job": ["x", "y", "z", "x"] * 10,
        "age": np.arange(40.0),
        "y": [0, 1] * 20,
    }
)


def test_a_table_is_encoded_and_drawn_once():
    pool = TablePool(FRAME, group=["sex", "region"], label="y", features=["job", "age"])
    assert pool.groups == ("f & 1", "f & 2", "m & 1", "m & 2")
    assert pool.X.min() == 0.0
    assert pool.X.max() == 1.0
    assert pool.features.names == ["job=x", "job=y", "job=z", "age"]
    sampler = UniformSampler(pool.groups, batch=2, classes=[0, 1], seed=0)
    pool.reset(3)
    history = collect(sampler, pool, rounds=100, checkpoints=[1, 2])
    assert sorted(pool.chosen) == list(range(40))
    assert history["labels"].iloc[-1] == 40
    other = pd.DataFrame({"sex": ["f"], "region": [1], "job": ["new"], "age": [80.0], "y": [1]})
    X, y, group = pool.held_out(other)
    assert X[0, :3].tolist() == [0.0, 0.0, 0.0]
    assert X[0, 3] == pytest.approx(80 / 39)
    assert (y[0], group[0]) == (1, "f & 1")


def test_a_report_through_fairlearn():
    pytest.importorskip("fairlearn")
    X, y = FRAME[["age"]].to_numpy(), FRAME["y"].to_numpy()
    model = LogisticRegression().fit(X, y)
    report = fairness_report(model, X, y, groups=FRAME["sex"])
    assert report.by_group["error rate"].to_numpy() == pytest.approx(group_errors(model, X, y, groups=FRAME["sex"]))
