"""The bias that a table shows: what it estimates, by definition, and that its intervals cover the table's own truth."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from evenhand.errors import ArgumentError
from evenhand.groups import TableArms, table_arms
from tests.cli.shell import answer
from tests.fuzzing import many, most
from tests.naming import spread


def people(seed, rows=400, kind="normal", groups=("F", "M")):
    """Pure chance: rewards that know no group, while the features' own distribution differs between groups."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": random.choice(groups, rows), "age": random.choice(["old", "young"], rows)})
    frame["income"] = random.lognormal(10, 1, rows)
    frame["score"] = random.normal(size=rows) + (frame["sex"] == "F")
    frame["rare"] = (random.random(rows) < 0.15) * 1
    paid = {
        "normal": lambda: 5 + random.normal(size=rows),
        "binary": lambda: (random.random(rows) < 0.5) * 1.0,
        "unequal noise": lambda: random.normal(size=rows) * np.where(frame["sex"] == "F", 4.0, 1.0),
        "linear": lambda: 3 * frame["score"] + random.normal(size=rows),
    }[kind]()
    return frame.assign(paid=paid)


def arms_of(frame, **settings):
    return TableArms(frame, ["age", "sex"], group="sex", reward="paid", **settings)


@pytest.mark.parametrize(
    ("rows", "kind"), spread(itertools.product([60, 400], ["normal", "binary", "unequal noise", "linear"]), 3)
)
def test_pure_chance_is_no_bias(kind, rows):
    """All intervals of a table hold together with 95 %."""
    tables = [arms_of(people(seed, rows, kind), sensitive="F").bias() for seed in range(many(100))]
    wrong = sum(bool(((table["low"] > 0) | (table["high"] < 0)).any()) for table in tables)
    assert wrong <= most(0.05, len(tables))


def test_the_numbers_are_those_of_the_definition():
    """HC2 and the degrees of freedom of Bell and McCaffrey, with the whole hat matrix written out."""
    frame = people(3, 40)
    found = arms_of(frame, sensitive="F", features=["score", "rare"]).bias(level=0.9)
    assert found.attrs == {"level": 0.9, "intervals": "all hold together; intercept: at the average person"}

    def side(inside):
        centred = frame[["score", "rare"]] - frame[["score", "rare"]].mean()
        x = np.column_stack([centred[inside], np.ones(inside.sum())])
        y = frame.loc[inside, "paid"].to_numpy()
        weights = np.linalg.pinv(x)
        left = np.eye(len(x)) - x @ weights
        return weights, left, left @ y, weights @ y

    (a, m, e, b), (c, n, f, d) = side(frame["sex"] == "F"), side(frame["sex"] == "M")
    noise = (e @ e + f @ f) / (len(e) + len(f) - 6)
    for j in range(3):
        of_rows = np.diag(a[j] ** 2 / np.diag(m)), np.diag(c[j] ** 2 / np.diag(n))
        robust = e @ of_rows[0] @ e + f @ of_rows[1] @ f
        unit = (a[j] ** 2).sum() + (c[j] ** 2).sum()
        spread = sum(np.trace(p @ w @ p @ w) for p, w in zip((m, n), of_rows, strict=True))
        error = 0.1 / 2 if j == 2 else 0.1 / 4
        half = t.ppf(1 - error / 2, unit**2 / spread) * np.sqrt(max(robust, noise * unit))
        row = found.iloc[j]
        np.testing.assert_allclose([row.bias, row.low, row.high], [b[j] - d[j], b[j] - d[j] - half, b[j] - d[j] + half])


def test_what_the_rows_do_not_determine_is_unknown():
    frame = people(1, 60).assign(one=1.0, twice=lambda f: 2 * f["score"], alone=0.0)
    frame.loc[frame.index[frame["sex"] == "F"][0], "alone"] = 1.0
    found = arms_of(frame, sensitive="F", features=["one", "score", "twice", "alone"]).bias().set_index("feature")
    unknown = ["one", "twice", "alone"]
    assert np.isinf(found.loc[unknown, "high"]).all()
    assert found.loc[unknown, "bias"].isna().all()
    without = arms_of(frame, sensitive="F", features=["score"]).bias().set_index("feature")
    known = found.loc[["score", "intercept"]]
    np.testing.assert_allclose(known["bias"], without["bias"])
    assert known.loc["intercept", "high"] == pytest.approx(without.loc["intercept", "high"])


def test_more_than_two_groups_are_each_compared_with_all_others():
    found = arms_of(people(1, groups=("F", "M", "X"))).bias()
    assert found["group"].unique().tolist() == ["F", "M", "X"]
    assert found["reference"].unique().tolist() == ["all others"]
    assert "intercept" not in set(arms_of(people(1)).bias(intercept=False)["feature"])


def test_a_feature_in_which_the_groups_do_not_overlap_is_named():
    frame = people(1)
    years = np.where(frame["sex"] == "F", 20, 40) + np.arange(len(frame)) % 10
    apart = arms_of(frame.assign(years=years), features=["score", "years"])
    (note,) = apart.notes
    assert note.startswith("the values of 'years' in 'M' do not overlap with those of the others")
    assert arms_of(frame, features=["score", "income"]).notes == ()


def test_groups_that_have_no_category_in_common_are_still_compared():
    """None of the first category in one group: the last one takes its place there."""
    frame = people(2).assign(job=lambda f: np.where(f["sex"] == "F", "baker", "cook"))
    frame.loc[frame.index[::3], "job"] = "tailor"
    found = arms_of(frame, sensitive="F", features=["score", "job"]).bias()
    assert np.isfinite(found.iloc[-1][["bias", "low", "high"]].astype(float)).all()


def test_a_group_of_one_row_is_known_of_nothing():
    found = arms_of(people(1, 60).drop_duplicates("sex"), sensitive="F", features=["score"]).bias()
    assert found["bias"].isna().all()


def test_bounded_degrees_of_freedom_widen_the_intervals_a_little(monkeypatch):
    exact = arms_of(people(3, 200)).bias()
    monkeypatch.setattr(table_arms, "CHEAP", 0)
    bounded = arms_of(people(3, 200)).bias()
    ratio = (bounded["high"] - bounded["low"]) / (exact["high"] - exact["low"])
    assert ((ratio >= 1) & (ratio < 1.2)).all()


def test_two_groups_are_compared_in_one_direction_the_smaller_or_the_sensitive_with_the_other():
    few = people(1).query("sex == 'M' or rare == 1")
    for sensitive, compared in ((None, ("F", "M")), ("F", ("F", "M")), ("M", ("M", "F"))):
        found = arms_of(few, sensitive=sensitive).bias()
        assert set(map(tuple, found[["group", "reference"]].to_numpy())) == {compared}


def test_the_intercept_is_for_the_average_person_whatever_the_features_are_measured_from():
    """With raw features it would be the difference at an age of 0, which is thirty times as uncertain."""
    frame = people(2).assign(age_now=lambda f: 50 + 2 * f["score"])
    frame["paid"] -= 0.8 * (frame["sex"] == "F")
    found, moved = (
        arms_of(frame.assign(age_now=frame["age_now"] - start), features=["age_now"]).bias().iloc[-1]
        for start in (0, 1970)
    )
    np.testing.assert_allclose(found[["bias", "low", "high"]].tolist(), moved[["bias", "low", "high"]].tolist())
    assert found["low"] < -0.8 < found["high"] < found["low"] + 1


@pytest.mark.parametrize(
    ("frame", "settings", "words"),
    [
        (people(1), {"level": 1.0}, "level: expected a number > 0 and < 1"),
        (people(1, groups=("F",)), {}, "group: expected a column with at least two groups"),
        (people(1).rename(columns={"score": "intercept"}), {}, "features: expected names that differ from 'intercept'"),
    ],
    ids=["level", "one group", "a feature named intercept"],
)
def test_refusals(frame, settings, words):
    with pytest.raises(ArgumentError, match=words):
        arms_of(frame).bias(**settings)


def test_simulated_rounds_do_not_narrow_the_intervals_of_a_table(tmp_path):
    """On pure chance, the command says the same of the table after 50 rounds as after 5,000, and that it is none."""
    path = tmp_path / "people.csv"
    people(5).to_csv(path, index=False)
    given = ["simulate", "--data", path, "--arm", "age,sex", "--group", "sex", "--reward", "paid", "-p", "top-interval"]
    given += ["--replications", 1, "--seed", 1, "--jobs", 1]
    few, many = (json.loads(answer(*given, "--rounds", rounds, "--json"))["bias"] for rounds in (50, 5000))
    assert few == many
    assert all(row["low"] <= 0 <= row["high"] for row in many)
    words = " ".join(answer(*given, "--rounds", 50).split())
    assert words.index("Mean paid is") < words.index("seed 1, 50 rounds")
    assert "The rules below choose in each round one random row of each arm" in words
    assert "Learned" not in words
