"""Policies that are fitted to the log: no row judges what was fitted to it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.errors import ArgumentError, ModelError
from evenhand.evaluation import Refitted
from evenhand.evaluation.refitted import best_by, logistic_by
from tests.cli.shell import as_json
from tests.evaluation.logs import NAMED, only

pytestmark = pytest.mark.compiled


def shop(seed, *, rows=4000, items=8, good=0.1):
    """A log of items drawn uniformly, of which each of five segments clicks one more often where `good` is above .1."""
    random = np.random.default_rng(seed)
    log = pd.DataFrame({"item": random.integers(0, items, rows), "segment": random.choice(list("abcde"), rows)})
    mine = log["segment"].map(dict(zip("abcde", range(5), strict=True)))
    log["click"] = (random.random(rows) < np.where(log["item"] == mine, good, 0.1)) * 1.0
    return log.assign(p=1 / items)


def best(rows):
    """The best item of each segment in these rows, as a policy."""
    chosen = rows.groupby(["segment", "item"]).click.mean().unstack().idxmax(axis=1)
    return lambda new: np.eye(8)[new["segment"].map(chosen).fillna(0).astype(int)]


def test_the_best_of_each_segment_is_not_better_where_nothing_differs():
    better = chosen = 0
    for seed in range(20):
        log = shop(seed)
        uniform = np.full((len(log), 8), 1 / 8)
        fitted = eh.evaluate(log, {"uniform": uniform, "best": Refitted(best)}, **NAMED, interval="once")
        same = eh.evaluate(log, {"uniform": uniform, "best": best(log)(log)}, **NAMED, interval="once")
        better += fitted.differences["low"][0] > 0
        chosen += same.differences["low"][0] > 0
        assert "chosen with these rows" in " ".join(same.notes)
    assert better <= 3  # 2.5 % may be: more than 3 of 20 with probability 0.002 or less
    assert chosen >= 5


TREE = DecisionTreeClassifier(max_depth=20, min_samples_leaf=10, random_state=0)
PIPELINE = make_pipeline(make_column_transformer((OneHotEncoder(), ["segment", "item"])), TREE)


@pytest.mark.parametrize("fit", [best, TREE, PIPELINE], ids=["function", "estimator", "pipeline"])
def test_what_differs_is_found_by_functions_estimators_and_pipelines(fit):
    log = shop(1, good=0.7)
    found = eh.evaluate(log, Refitted(fit), **NAMED, contexts=["segment"], interval="once")
    assert found.value > 0.3
    assert found.low > 0.15
    assert found.rounds == 3800


def test_an_estimator_is_refitted_in_twenty_blocks():
    log = shop(1, good=0.7)
    plain, wrapped = (eh.evaluate(log, one, **NAMED, contexts=["segment"]) for one in (TREE, Refitted(TREE)))
    assert (plain.value, plain.low, plain.notes) == (wrapped.value, wrapped.low, wrapped.notes)
    assert not hasattr(TREE, "tree_")
    both = eh.evaluate(log, {"tree": TREE, "uniform": dict.fromkeys(range(8), 1 / 8)}, **NAMED, contexts=["segment"])
    assert both["tree"].rounds == both["uniform"].rounds == 3800


def test_each_block_is_played_by_what_was_fitted_to_the_rows_before():
    log, seen = shop(2, rows=103), []

    def fit(rows):
        seen.append(len(rows))
        return dict(enumerate(np.eye(8)[len(seen) % 8]))

    found = eh.evaluate(log, Refitted(fit, blocks=5), **NAMED, estimator=["ips", "dr"])
    assert seen == [21, 42, 63, 83]
    played = np.repeat([1, 2, 3, 4], [21, 21, 20, 20])
    rest = log.iloc[21:]
    assert found.value == pytest.approx((8 * (rest["item"] == played) * rest["click"]).mean())
    before, where = "refitted before each of {} blocks, to the rows before: the value is", "over rows {} to 103."
    assert before.format(4) in found.notes[0]
    assert where.format(22) in found.notes[0]
    assert not any("chosen with these rows" in note for note in found.notes)
    policies = {"few": Refitted(fit, blocks=5), "many": Refitted(lambda rows: only(1, 8), blocks=20)}
    (note,) = [note for note in eh.evaluate(log, policies, **NAMED).notes if note.startswith("many: ")]
    assert before.format(17) in note
    assert where.format(22) in note


def test_one_look_at_what_depends_on_rewards_is_not_clopper_and_pearson_s():
    """Their interval is for independent rows, and misses more often where a policy may change when it was lucky."""
    log = shop(1)
    fitted = eh.evaluate(log, Refitted(lambda rows: only(0, 8)), **NAMED, interval="once")
    fixed = eh.evaluate(log.iloc[200:], only(0, 8), **NAMED, interval="once")
    assert fitted.value == pytest.approx(fixed.value, abs=0.01)
    assert fitted.low < fixed.low < fixed.high < fitted.high


def test_a_unit_is_never_parted():
    log, seen = shop(3, rows=400).assign(user=np.arange(400) % 40), []
    policy = Refitted(lambda rows: seen.append(set(rows["user"])) or only(0, 8), blocks=4)
    eh.evaluate(log, policy, **NAMED, unit="user")
    assert [len(users) for users in seen] == [10, 20, 30]


def test_where_no_reward_differs_an_estimator_plays_at_random():
    log = shop(1).assign(click=0.0)
    log.loc[3000, "click"] = 1.0
    found = eh.evaluate(log, Refitted(LogisticRegression()), **NAMED, contexts=["segment"], estimator="ips")
    assert found.rounds == 3800


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Refitted(LogisticRegression), ArgumentError, "fit: expected a function of rows"),
        (lambda: Refitted(best, blocks=1), ArgumentError, "blocks: expected a whole number >= 2"),
        (lambda: Refitted(lambda rows: 1 / 0), ModelError, "policy: fitting it to the first 200 rows failed: division"),
        (lambda: Refitted(lambda rows: {0: 1.0}), eh.errors.UnknownArmError, "expected every arm of the log"),
        (lambda: Refitted(best, blocks=5000), ArgumentError, "log: expected at least 5000 rows or units, one for each"),
    ],
)
def test_what_cannot_be_fitted_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        eh.evaluate(shop(1), make(), **NAMED)


def test_the_shell_fits_too(tmp_path):
    path = tmp_path / "log.csv"
    shop(1, good=0.7).to_csv(path, index=False)
    words = ["--arm", "item", "--reward", "click", "--propensity", "p", "--by", "segment"]
    body = as_json("evaluate", path, *words, "--fit", "best", "--fit", "logistic")
    assert [one["policy"] for one in body["policies"]] == ["best by segment", "logistic by segment"]
    assert all(one["value"] > 0.4 for one in body["policies"])
    alone = as_json("evaluate", path, *words[:-2], "--fit", "best")
    assert alone["policies"][0]["policy"] == "best"


@pytest.mark.parametrize("fit", ["best", "logistic", "linear"])
def test_arms_that_are_text_are_fitted_by_their_names(fit):
    random = np.random.default_rng(4)
    log = pd.DataFrame({"arm": random.choice(["a", "b", "c"], 900), "p": 1 / 3, "sex": random.choice(["f", "m"], 900)})
    best = log["sex"].map({"f": "c", "m": "a"})
    log["reward"] = (random.random(900) < np.where(log["arm"] == best, 0.9, 0.1)) * 1.0
    fits = {"best": best_by(["sex"], "arm", "reward", ["a", "b", "c"]), "logistic": logistic_by(["sex"], "arm")}
    policy = Refitted(fits[fit], blocks=5) if fit in fits else LinearRegression()
    found = eh.evaluate(log, policy, arm="arm", reward="reward", propensity="p", contexts=["sex"], estimator="ips")
    # with one coefficient an arm and none for pairs, a linear model plays one arm for all
    assert abs(found.value - (0.9 if fit in fits else 0.5)) < 0.1


def test_a_policy_sees_neither_the_arm_nor_the_reward_of_the_rows_that_judge_it():
    log = pd.DataFrame({"item": [0, 1] * 50, "click": [1.0, 0.0, 0.0, 1.0] * 25, "p": 0.5, "x": 1})
    seen = []
    play = lambda rows: seen.append(list(rows.columns)) or pd.DataFrame({0: 0.5, 1: 0.5}, index=rows.index)  # noqa: E731
    for policy in (play, Refitted(lambda rows: play, blocks=2), lambda rows: play(rows) is None or {0: 0.5, 1: 0.5}):
        assert eh.evaluate(log, policy, **NAMED, estimator="ips").value == pytest.approx(0.5, abs=0.1)
    assert seen == [["p", "x"]] * 3
