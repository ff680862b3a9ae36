"""Rows of one person in a log: `unit=` counts people, not rows."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.linear_model import LinearRegression

import evenhand as eh
from evenhand.errors import ArgumentError, TableError
from tests.audit.test_parity import bell_mccaffrey

pytestmark = pytest.mark.compiled

NAMED = {"arm": "arm", "reward": "y", "propensity": "p"}
POLICY = {"a": 0.7, "b": 0.3}


def people(seed, *, units=40, most=60):
    """A log of people with a rate of their own and up to so many rows each, in random order."""
    random = np.random.default_rng(seed)
    user = np.repeat(np.arange(units), random.integers(1, most, units))
    rate = np.repeat(random.beta(0.5, 0.5, units), np.bincount(user))
    frame = pd.DataFrame({"user": user, "arm": random.choice(["a", "b"], len(user)), "p": 0.5})
    frame["y"] = (random.random(len(user)) < rate) * 1.0
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
@pytest.mark.parametrize("interval", ["anytime", "once", "normal"])
def test_the_interval_holds_for_people_though_their_rows_are_alike(estimator, interval):
    # 5 % may miss .5: more than 6 of 40 with probability 0.003 or less. By rows more than half of the normal ones do.
    def missed(logs, unit):
        named = NAMED | {"estimator": estimator, "interval": interval, "unit": unit}
        found = [eh.evaluate(people(seed), POLICY, **named) for seed in range(logs)]
        return sum(not one.low <= 0.5 <= one.high for one in found)

    assert missed(40, "user") <= 6
    assert interval != "normal" or missed(10, None) >= 3


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_units_of_one_row_are_rows(estimator):
    frame = people(1, most=2).assign(user=lambda frame: frame.index[::-1])
    by_row, by_unit = (eh.evaluate(frame, POLICY, **NAMED, estimator=estimator, unit=unit) for unit in (None, "user"))
    assert (by_row.value, by_row.rounds) == (by_unit.value, by_unit.rounds)
    assert not any("different numbers" in note for note in by_unit.notes)
    within = 0 if estimator == "ips" else 0.005  # m is bounded by 1 where units may have many rows
    assert (by_row.low, by_row.high) == pytest.approx((by_unit.low, by_unit.high), abs=within)


@pytest.mark.parametrize("estimator", ["ips", "snips"])
def test_what_is_said_twice_is_said_once(estimator):
    frame = people(2, most=2)
    doubled = pd.concat([frame, frame], ignore_index=True)
    once, twice = (eh.evaluate(each, POLICY, **NAMED, estimator=estimator, unit="user") for each in (frame, doubled))
    assert (once.value, once.rounds) == (pytest.approx(twice.value), twice.rounds)
    if estimator == "ips":
        assert (once.low, once.high) == (twice.low, twice.high)


@pytest.mark.parametrize("model", [None, LinearRegression()], ids=["means", "model"])
@pytest.mark.parametrize("interval", ["anytime", "normal"])
def test_what_is_expected_of_a_row_is_not_learned_from_its_unit(interval, model):
    """Else the order of the rows within units would matter, and an arm that is drawn for all of them biases "dr"."""
    frame = people(4).sort_values("user", kind="stable")
    other = frame.iloc[::-1].sort_values("user", kind="stable")
    asked = NAMED | {"interval": interval, "model": model, "unit": "user"}
    one, two = (eh.evaluate(each.reset_index(drop=True), POLICY, **asked) for each in (frame, other))
    assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))


@pytest.mark.parametrize("estimator", ["ips", "snips"])
def test_the_normal_interval_is_robust_to_units_as_bell_and_mccaffrey_have_it(estimator):
    frame = people(3, units=9, most=40)
    weights = np.where(frame["arm"] == "a", 0.7, 0.3) / frame["p"]
    paid, scale = (weights * frame["y"]).to_numpy(), np.ones(len(frame)) if estimator == "ips" else weights.to_numpy()
    value, scores, freedom = bell_mccaffrey(paid / scale, scale, frame["user"].to_numpy())
    half = scipy.stats.t.ppf(0.975, freedom) * np.sqrt(np.sum(scores**2))
    found = eh.evaluate(frame, POLICY, **NAMED, estimator=estimator, interval="normal", unit="user")
    assert found.value == pytest.approx(value)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))
    assert found.rounds == len(frame)


def test_few_units_that_have_most_of_the_weight_get_no_normal_interval():
    few, many = (people(5, units=units) for units in (20, 200))
    for frame in (few, many):
        frame["arm"] = np.where(frame["user"] % 4 == 0, "a", "b")
        frame["p"] = frame["arm"].map({"a": 0.25, "b": 0.75})
    with pytest.raises(ArgumentError, match=r"'normal' of 20 units with uneven weights.*effectively \d\.\d*,"):
        eh.evaluate(few, POLICY, **NAMED, interval="normal", unit="user")
    assert np.isfinite(eh.evaluate(many, POLICY, **NAMED, interval="normal", unit="user").low)


@pytest.mark.parametrize("interval", ["anytime", "once", "normal"])
def test_arrays_and_models_belong_to_the_rows_as_they_were_given(interval):
    frame = people(4)
    frame["arm"] = pd.Categorical(frame["arm"], categories=["a", "b"])
    policy = np.where(frame.index.to_numpy()[:, None] % 2, [0.7, 0.3], [0.2, 0.8])
    model = np.where(frame["user"].to_numpy()[:, None] % 2, [0.4, 0.6], [0.5, 0.1])
    order = np.argsort(pd.factorize(frame["user"])[0], kind="stable")
    how = {"interval": interval, "unit": "user"}
    given = eh.evaluate(frame, policy, **NAMED, model=model, **how)
    frame = frame.iloc[order].reset_index(drop=True)
    sorted_ = eh.evaluate(frame, policy[order], **NAMED, model=model[order], **how)
    assert (given.value, given.low, given.high) == (sorted_.value, sorted_.low, sorted_.high)


def test_differences_are_robust_to_units_too():
    policies = {"one": POLICY, "other": {"a": 0.2, "b": 0.8}}
    frame = people(1, units=150, most=2)
    alone = eh.evaluate(frame, policies, **NAMED, estimator="ips", interval="normal", unit="user").differences
    difference = np.where(frame["arm"] == "a", -1.0, 1.0) * frame["y"]
    half = scipy.stats.sem(difference) * scipy.stats.t.ppf(0.975, 149)
    assert alone["difference"][0] == pytest.approx(difference.mean())
    assert (alone["high"][0] - alone["low"][0]) / 2 == pytest.approx(half, rel=0.01)  # the degrees of freedom are fewer


def test_normal_intervals_stay_where_means_and_differences_can_be():
    """Of three people, for whom arms pay 0, 0.5 and 1: by Student's quantile 4.3 they reach far beyond."""
    user, random = np.arange(900) % 3, np.random.default_rng(1)
    frame = pd.DataFrame({"user": user, "arm": random.choice(["a", "b"], 900), "p": 0.5})
    pays = np.where(frame["arm"] == "a", user, 2 - user) / 2
    frame["y"] = (random.random(900) < pays) * 1.0
    policies = {"a": {"a": 1.0, "b": 0.0}, "b": {"a": 0.0, "b": 1.0}}
    how = {"interval": "normal", "unit": "user"}
    found = eh.evaluate(frame, policies, **NAMED, **how)
    assert [(one.low, one.high) for one in found.evaluations.values()] == [(0.0, 1.0)] * 2
    assert found.differences[["low", "high"]].to_numpy().tolist() == [[-1.0, 1.0]]
    assert not any("outside its interval" in note for note in found.notes)
    replayed = eh.evaluate(frame, eh.learners.UCB1(), **NAMED, interval="normal")
    assert replayed.curve[["low", "high"]].stack().between(0, 1).all()
    with pytest.raises(ArgumentError, match="interval: expected 'anytime' or 'once', got \"'normal' of two units"):
        eh.evaluate(frame[user < 2], policies, **NAMED, **how)


@pytest.mark.parametrize("estimator", ["ips", "snips"])
def test_which_mean_each_interval_is_of_is_said_where_units_differ_in_size(estimator):
    frame = people(5)
    weights = np.where(frame["arm"] == "a", 1.4, 0.6)
    columns = pd.DataFrame({"paid": weights * frame["y"], "weight": weights if estimator == "snips" else 1.0})
    by_row, by_unit = columns.mean(), columns.groupby(frame["user"]).mean().mean()
    means = {"normal": by_row["paid"] / by_row["weight"], "once": by_unit["paid"] / by_unit["weight"]}
    said = "over rows, here {normal:.4g}, all others of the mean over units, here {once:.4g}.".format(**means)
    for interval, mean in means.items():
        found = eh.evaluate(frame, POLICY, **NAMED, estimator=estimator, interval=interval, unit="user")
        assert found.value == pytest.approx(mean)
        assert sum(said in note for note in found.notes) == 1


def test_every_interval_says_what_is_independent():
    frame = people(5)
    assert any("name their column: unit=." in note for note in eh.evaluate(frame, POLICY, **NAMED).notes)
    found = eh.evaluate(frame, POLICY, **NAMED, unit="user")
    assert "The 40 units (user) are taken to be independent; each counts once, by the mean of its rows." in found.notes
    assert "40 units (user)" in str(found)


@pytest.mark.parametrize(
    ("column", "policy", "error", "words"),
    [
        ("who", POLICY, TableError, "who"),
        ("arm", POLICY, ArgumentError, "unit: expected another column .*, got 'arm'"),
        ("p", POLICY, TableError, "column 'p': expected at least two units, got 'the same one"),
        ("user", eh.learners.UCB1(arms=["a", "b"]), ArgumentError, "unit: expected None .* rows to be independent"),
    ],
)
def test_a_unit_that_says_nothing_is_refused(column, policy, error, words):
    with pytest.raises(error, match=words):
        eh.evaluate(people(1), policy, **NAMED, unit=column)


def test_rows_are_named_as_the_log_has_them():
    """Also where units are counted, or rows were left out: by the first block of a refitted policy."""
    random, at = np.random.default_rng(0), np.arange(4000)
    frame = pd.DataFrame({"user": at // 4, "arm": random.choice(["a", "b"], 4000), "p": 0.5})
    frame["y"] = (random.random(4000) < np.where(at < 2500, 0.1, 0.6)) * 1
    even, heavy = {"a": 0.5, "b": 0.5}, frame.assign(p=np.where(at == 3000, 1e-4, 0.5))
    refitted = eh.evaluation.Refitted(lambda rows: even, blocks=2)
    for policy, first in ((even, 0), (refitted, 2000)):
        for unit, size, words in ((None, 1, "after"), ("user", 4, "with the units whose first rows come after")):
            found = eh.evaluate(frame, policy, **NAMED, unit=unit)
            # looks at 16 * 2^(k / 4) rows or units, of which one is the nearest to the change
            looks = first + size * (16 * 2 ** (np.arange(40) / 4)).astype(int)
            assert found.change.row in looks[np.argsort(abs(looks - 2500))[:2]]
            assert any(f"most clearly {words} row {found.change.row};" in note for note in found.notes)
            notes = eh.evaluate(heavy, policy, **NAMED, unit=unit).notes
            assert unit is not None or any(note.startswith("Row 3001 alone has a weight of 5e+03") for note in notes)
            with pytest.raises(ArgumentError, match="largest_weight: expected at least the weight of row 3001, 5000"):
                eh.evaluate(heavy, policy, **NAMED, unit=unit, largest_weight=3)
            said = "over the last 500 units." if unit else "over rows 2,001 to 4,000."
            assert any(
                f"before one block, to the rows before: the value is the mean {said}" in note for note in notes
            ) == (policy is refitted)
            axes = eh.plots.plot_evaluation(found, ax=plt.figure().subplots())
            assert axes.get_xlabel() == ("rows so far" if unit is None else "units (user) so far")
