"""Bandits of river and models of scikit-learn learn under every promise, and are saved."""

import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn import cluster, ensemble, linear_model, naive_bayes, neighbors, svm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evenhand as eh
from evenhand.errors import ArgumentError, ContextError, MissingExtraError, ModelError, StateFileError
from evenhand.learners import from_river, from_sklearn
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn
from evenhand.saving.state import from_bytes, to_bytes
from tests.learners.foreign import MEANS, talk

SHARES = {"a": 0.1, "b": 0.1, "c": 0.1}
by_lottery = partial(DeadlineLearn, lottery=0.5)
WORLD = BernoulliArms(MEANS)


def theirs(name, **settings):
    """Return a bandit of river."""
    from river import bandit, proba

    if name == "ThompsonSampling":
        settings["reward_obj"] = proba.Beta()
    return getattr(bandit, name)(**settings)


def river(name, seed=1, **settings):
    return from_river(theirs(name, **settings), arms=3, seed=seed)


def sklearn(name, seed=1, **settings):
    homes = {"Random": ensemble, "Hist": ensemble, "Gauss": naive_bayes, "KNei": neighbors}
    home = next((home for begins, home in homes.items() if name.startswith(begins)), linear_model)
    return from_sklearn(getattr(home, name)(**settings), seed=seed)


LEARNERS = {
    "river UCB": lambda **seed: river("UCB", delta=1.0, **seed),
    "river Thompson": lambda **seed: river("ThompsonSampling", **seed),
    "river Exp3": lambda **seed: river("Exp3", gamma=0.3, **seed),
    "river LinUCB": lambda **seed: river("LinUCBDisjoint", **seed),
    "a regressor fed row by row": lambda **seed: sklearn("SGDRegressor", **seed),
    "a classifier fed row by row": lambda **seed: sklearn("SGDClassifier", loss="log_loss", **seed),
    "a forest": lambda **seed: sklearn("RandomForestRegressor", n_estimators=3, **seed),
    "a classifier": lambda **seed: sklearn("LogisticRegression", **seed),
    "neighbours": lambda **seed: sklearn("KNeighborsRegressor", **seed),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_goes_on_exactly_where_it_was_saved_and_with_another_seed_otherwise(name):
    policy = DeadlineLearn(LEARNERS[name](), SHARES, seed=1)
    said = talk(policy, 24)
    again = from_bytes(to_bytes(policy))
    assert to_bytes(again) == to_bytes(policy)
    said += talk(policy, 12, 24)
    assert talk(again, 12, 24) == said[24:]
    assert talk(policy.fresh(seed=1), 36) == said
    assert talk(DeadlineLearn(LEARNERS[name](), SHARES, seed=1), 36) == said
    assert ("c", "the learner's proposal") in said
    other = talk(DeadlineLearn(LEARNERS[name](seed=2), SHARES, seed=1), 36)
    assert (other == said) == (name == "river LinUCB"), "of these it alone draws nothing"


@pytest.mark.slow
def test_it_learns_and_every_replication_is_seeded_anew():
    policies = {name: DeadlineLearn(LEARNERS[name](), [0.05] * 3) for name in ("river Thompson", "river UCB")}
    history = eh.simulate(policies, WORLD, rounds=200, replications=4, seed=1)
    again = eh.simulate(policies, WORLD, rounds=200, replications=4, seed=1)
    assert history.equals(again)
    pulls = history.pulls.isel(round=-1)
    assert (pulls.sel(arm=2) > 100).all()  # drawn evenly, over 100 of 200 would have the chance 6e-7
    assert len(set(pulls.sel(policy="river Thompson", arm=2).values.tolist())) > 1


def test_a_learner_of_sklearn_uses_the_context():
    """Whether arm 0 or 1 pays follows from the context; an arm chosen without it is right half the time."""
    learner = sklearn("SGDClassifier", loss="log_loss")
    right = 0
    for t in range(300):
        x = float(np.random.default_rng([3, t]).uniform(-1, 1))
        index = learner.choose(np.array([[x, 1.0]] * 2), [0, 1])[0]
        paid = float(index == (x > 0))
        learner.update(np.array([[x, 1.0]] * 2), index, paid)
        right += paid if t >= 100 else 0.0
    assert right > 140  # of 200: 7e-9 by chance alone


def test_a_reward_between_0_and_1_counts_for_a_classifier_as_often_as_it_says():
    learner = sklearn("GaussianNB")
    for _ in range(400):
        learner.update(np.array([[0.0], [1.0]]), 0, 0.25)
    ones = learner.learner.arms[0].model.class_count_[1]
    assert 60 < ones < 140  # 100 expected, 8.7 standard deviation


# ---------------------------------------------------------------------- memory that a bandit brings


BANDITS = {"UCB": {"delta": 0.1}, "EpsilonGreedy": {"epsilon": 0.1}, "Exp3": {"gamma": 0.1}}
BANDITS |= {"BayesUCB": {}, "ThompsonSampling": {}}


def taught(*ids, name="UCB"):
    """Return a bandit of river to which the last of these arms has paid alone."""
    bandit = theirs(name, **BANDITS[name], seed=1)
    for t in range(60):
        arm = ids[t % len(ids)]
        bandit.pull(list(ids))
        bandit.update(arm, float(arm == ids[-1]))
    return bandit


@pytest.mark.parametrize("name", BANDITS)
def test_what_a_bandit_has_learned_follows_its_labels(name):
    learner = from_river(taught("news", "ads", name=name), arms=["ads", "news", "sport"], seed=1)
    policy = DeadlineLearn(learner, {"ads": 0.0, "news": 0.0, "sport": 0.0}, seed=1)
    played = []
    for _ in range(30):
        played.append(policy.ask(available=["ads", "news"]).arm)
        policy.tell(policy.round, float(played[-1] == "ads"))
    assert played.count("ads") > 20
    again = from_bytes(to_bytes(policy))
    assert again.learner.arms == ("ads", "news", "sport")
    assert again.ask(available=["ads", "news"]) == policy.ask(available=["ads", "news"])


@pytest.mark.parametrize(
    ("ids", "arms", "words"),
    [
        ("ab", 2, r"^arms: expected the labels that the bandit has learned with, \['b', 'a'\], got 2; name them"),
        ("ab", ["b", "c"], r"^arms: expected the labels that the bandit has learned with, .*policy.clone\(\)"),
    ],
)
def test_a_bandit_with_other_labels_is_refused_by_name(ids, arms, words):
    with pytest.raises(ArgumentError, match=words):
        from_river(taught(*ids), arms=arms)
    assert from_river(taught(*ids).clone(), arms=arms).known_arms == 2


@pytest.mark.parametrize(
    ("ids", "arms"),
    [
        (("1", "2"), [1, 2]),
        ((False, True), ["false", "true"]),
        ((("a", 1), ("b", 2)), ["a & 1", "b & 2"]),
        (("z", "e\N{COMBINING ACUTE ACCENT}"), ["z", "\N{LATIN SMALL LETTER E WITH ACUTE}"]),
        (tuple(np.arange(2)), 2),
    ],
    ids=str,
)
def test_labels_that_are_written_the_same_are_the_same(ids, arms):
    """The last of the arms has paid alone; what it learns next, it learns under the label that it has."""
    policy = DeadlineLearn(from_river(taught(*ids), arms=arms), [0.0, 0.0])
    for again in (policy, from_bytes(to_bytes(policy))):
        decision = again.ask()
        again.tell(decision, 1.0)
        assert decision.index == 1
        assert again.learner.learner.policy._counts == {ids[0]: 30, ids[1]: 31}
    assert to_bytes(from_bytes(to_bytes(policy))) == to_bytes(policy)


@pytest.mark.parametrize("rule", [DeadlineLearn, FairLearn, by_lottery])
@pytest.mark.parametrize(
    "learner", [lambda: from_river(taught(1, 2), arms=[1, 2]), lambda: eh.learners.UCB1(arms=[1, 2])]
)
def test_a_promise_may_write_the_labels_otherwise_but_has_the_same_in_the_same_order(rule, learner):
    assert rule(learner(), [0.1, 0.1]).arms == (1, 2)
    assert rule(learner(), {"1": 0.1, "2": 0.1}).ask().arm in ("1", "2")
    for shares in ({"2": 0.1, "1": 0.1}, {"ads": 0.1, "news": 0.1}):
        with pytest.raises(ArgumentError, match=r"learner: expected one for the arms .*got .1, 2.; name the same arms"):
            rule(learner(), shares)


def linear(*names):
    """Return a contextual bandit of river that has learned: x pays the first of these features, y its opposite."""
    bandit, random = theirs("LinUCBDisjoint", alpha=0.1, seed=1), np.random.default_rng(0)
    for _ in range(100):
        shown = dict.fromkeys(names, 1.0) | {names[0]: float(random.choice([-1, 1]))}
        arm = bandit.pull(["x", "y"], context=shown)
        bandit.update(arm, shown, shown[names[0]] if arm == "x" else -shown[names[0]])
    return bandit


def named_features(**more):
    return from_river(linear("age", "bias"), **({"arms": ["x", "y"], "features": ["age", "bias"]} | more))


ROWS = {
    "a frame": lambda age: pd.DataFrame({"bias": [1.0], "age": [age]}),
    "a dict": lambda age: {"bias": 1.0, "age": age},
    "a list": lambda age: [[age, 1.0]],
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_what_a_bandit_has_learned_follows_the_names_of_its_features(row):
    policy = DeadlineLearn(named_features(reward_range=(-1, 1)), {"x": 0.0, "y": 0.0})
    for again in (policy, from_bytes(to_bytes(policy))):
        assert "".join(again.ask(row(age)).arm for age in (1.0, -1.0) * 6) == "xy" * 6


@pytest.mark.parametrize("names", [("x0", "x1"), ("x1", "x0")])
def test_features_that_are_numbered_need_no_names(names):
    policy = DeadlineLearn(from_river(linear(*names), arms=["x", "y"]), {"x": 0.0, "y": 0.0})
    shown = [[[sign, 1.0]] if names[0] == "x0" else [[1.0, sign]] for sign in (1.0, -1.0)]
    assert [policy.ask(one).arm for one in shown * 3] == ["x", "y"] * 3


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (None, r"^features: expected the names that the bandit has learned with, \['age', 'bias'\], got None; name"),
        (["age", "bia"], r"^features: expected the names that the bandit has learned with, .*policy.clone\(\)"),
        (["age", "age", "bias"], r"^features: expected a list of names, each once"),
    ],
)
def test_a_bandit_with_other_features_is_refused_by_name(features, words):
    with pytest.raises(ArgumentError, match=words):
        named_features(features=features)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ([[1.0, 2.0, 3.0]], r"contexts: expected numbers of shape \(2, 2\)"),
        ({"age": 1.0, "pay": 1.0}, r"contexts: expected the columns \['age', 'bias'\]"),
    ],
)
def test_contexts_without_these_features_are_refused(shown, words):
    learner = named_features()
    with pytest.raises(ContextError, match=words):
        DeadlineLearn(learner, [0.0, 0.0]).ask(shown)
    with pytest.raises(ContextError, match=r"contexts: expected a number for each of the features \['age', 'bias'\]"):
        learner.learner.seen(np.ones((2, 3)))


def test_an_encoder_gives_these_features_in_this_order():
    policy = DeadlineLearn(named_features(), [0.0, 0.0])
    words = r"encoder: expected an Encoder of the learner's features \['age', 'bias'\]"
    with pytest.raises(ArgumentError, match=words):
        policy.encode_with(eh.Encoder({"bias": None, "age": None}))
    policy.encode_with(eh.Encoder({"age": None, "bias": None}))
    assert [policy.ask(ROWS["a dict"](age)).arm for age in (1.0, -1.0)] == ["x", "y"]


# ---------------------------------------------------------------------- what is refused


def test_a_missing_package_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "river.bandit.base", None)
    with pytest.raises(MissingExtraError, match=r"needs river: pip install river$"):
        from_river(3, arms=3)


def trained(model):
    return model.fit([[0.0], [1.0]], [0.0, 1.0])


def piped(step):
    return make_pipeline(step, LinearRegression())


def test_a_frozen_step_that_was_trained_on_a_table_gets_its_columns():
    scaler = StandardScaler().fit(pd.DataFrame({"age": [0.0, 100.0], "pay": [0.0, 1.0]}))
    learner = from_sklearn(piped(FrozenEstimator(scaler)), warmup=2, seed=1)
    policy = DeadlineLearn(learner, [0.0, 0.0])
    for t in range(9):
        policy.tell(policy.ask({"pay": 0.5, "age": 10.0 * t}), t / 10)
    policy = from_bytes(to_bytes(policy))
    arm = policy.learner.learner.arms[policy.ask([[70.0, 0.5]]).index]
    assert arm.model.predict(pd.DataFrame({"age": [70.0], "pay": [0.5]})) == pytest.approx(0.7)
    with pytest.raises(ContextError, match=r"contexts: expected the columns \['age', 'pay'\]"):
        policy.ask({"age": 1.0, "wage": 1.0})


def test_models_of_three_arms_refuse_two_rows():
    learner = from_sklearn(svm.SVR())
    learner.update(np.zeros((3, 1)), 0, 1.0)
    with pytest.raises(ArgumentError, match="contexts: expected a row for each of the 3 arms that it knows, got 2"):
        learner.choose(np.zeros((2, 1)), [0, 1])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: from_river(type(theirs("UCB", delta=1)), arms=3),
            r"^policy: expected a bandit of river.*write UCB\(\.\.\.\)",
        ),
        (lambda: from_river(theirs("UCB", delta=1), arms=1), r"^arms: expected a whole number >= 2, got 1"),
        (
            lambda: from_river(taught("a", "b"), arms=["a", "b"], features=["age"]),
            "features: expected None for a learner without contextual=True",
        ),
        (
            lambda: from_river(theirs("UCB", delta=1), arms="ab"),
            r"^arms: expected a number of arms or a list of labels",
        ),
        (
            lambda: from_sklearn(trained(piped(StandardScaler()))),
            r"^estimator: .* got 'a trained one'; pass sklearn.base",
        ),
        (
            lambda: from_sklearn(piped(trained(StandardScaler()))),
            r"^estimator: .*'one whose standardscaler is trained'",
        ),
        (lambda: from_sklearn(svm.SVR), r"^estimator: expected an untrained .*write SVR\(\)"),
        (lambda: from_sklearn(cluster.KMeans()), r"^estimator: expected an untrained .*got KMeans\(\)"),
        (lambda: from_sklearn(svm.LinearSVC()), r"^estimator: expected a classifier with predict_proba"),
        (lambda: from_river(3, arms=3), r"^policy: expected a bandit of river, got 3"),
        (lambda: from_sklearn(3), r"^estimator: expected an untrained classifier or regressor of scikit-learn, got 3"),
        (lambda: from_sklearn(svm.SVR(), epsilon=2), r"^epsilon: expected a number >= 0 and <= 1, got 2"),
        (lambda: from_sklearn(svm.SVR(), warmup=0), r"^warmup: expected a whole number >= 1, got 0"),
    ],
)
def test_the_wrong_object_is_refused_by_name(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


def test_a_quota_refuses_a_learner_for_another_number_of_arms():
    with pytest.raises(ArgumentError, match=r"^learner: expected one for 2 arms, got 'one for 3'"):
        FairLearn(LEARNERS["river UCB"](), [0.1, 0.1])
    assert from_bytes(to_bytes(FairLearn(LEARNERS["river UCB"](), [0.1] * 3))).learner.known_arms == 3


def test_a_bandit_that_sees_one_context_refuses_rows_that_differ():
    policy = DeadlineLearn(LEARNERS["river LinUCB"](), dict.fromkeys(SHARES, 0.0), seed=1)
    talk(policy, 30)
    with pytest.raises(ContextError, match="contexts: expected one row that all arms share, got 'rows that differ'"):
        policy.ask([[0.1, 0.2], [0.1, 0.3], [0.1, 0.2]])
    talk(policy, 3)


def test_a_function_in_a_bandit_is_refused_when_it_is_saved():
    from river import stats

    class Doubled(stats.Mean):
        pass

    policy = FairLearn(from_river(theirs("UCB", delta=1.0, reward_obj=Doubled()), arms=2), [0.1, 0.1])
    policy.tell(policy.ask(), 0.7)
    with pytest.raises(ArgumentError, match=r"river's UCB cannot be saved: it holds .*Doubled"):
        to_bytes(policy)


def unsound(kind, value):
    """Return a model that predicts this number, whatever it is shown."""

    class Unsound({"regressor": RegressorMixin, "classifier": ClassifierMixin}[kind], BaseEstimator):
        def fit(self, rows, rewards):
            self.classes_ = np.array([0, 1])
            return self

        def predict(self, rows):
            return np.full(len(rows), value)

        def predict_proba(self, rows):
            return np.full((len(rows), 2), value)

    return Unsound()


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_prediction_that_is_no_finite_number_is_refused(kind, value):
    learner = from_sklearn(unsound(kind, value), warmup=2, seed=1)
    for reward in (0.0, 1.0):
        learner.update(np.zeros((2, 1)), 0, reward)
    before = learner.learner.random.bit_generator.state
    with pytest.raises(ModelError, match=rf"^estimator: expected finite predictions of Unsound, got {value}"):
        learner.choose(np.zeros((2, 1)), [0, 1])
    assert learner.learner.random.bit_generator.state == before


def test_a_file_that_none_of_them_has_written_is_refused():
    from evenhand.learners import river_bandits

    with pytest.raises(StateFileError, match="saved object"):
        river_bandits.load({"root": {"at": 5}, "nodes": []})
