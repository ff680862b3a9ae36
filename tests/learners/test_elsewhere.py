"""Bandits of river, MABWiser and Vowpal Wabbit and models of scikit-learn learn under every promise, and are saved."""

import sys

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ContextError, MissingExtraError, ModelError, StateFileError
from evenhand.learners import from_mabwiser, from_river, from_sklearn, from_vowpal_wabbit
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn, LotteryLearn, WindowLearn
from evenhand.saving.state import from_bytes, to_bytes

SHARES = {"a": 0.1, "b": 0.1, "c": 0.1}
MEANS = [0.2, 0.5, 0.8]
WORLD = BernoulliArms(MEANS)


def river(name, seed=1, **settings):
    from river import bandit, proba

    if name == "ThompsonSampling":
        settings["reward_obj"] = proba.Beta()
    return from_river(getattr(bandit, name)(**settings), arms=3, seed=seed)


def mabwiser(name, near=None, seed=1, /, **settings):
    from mabwiser.mab import MAB, LearningPolicy, NeighborhoodPolicy

    nearby = getattr(NeighborhoodPolicy, near)(*([3] if near in ("KNearest", "Clusters") else [])) if near else None
    return from_mabwiser(MAB(["x", "y", "z"], getattr(LearningPolicy, name)(**settings), nearby), seed=seed)


def sklearn(name, seed=1, **settings):
    from sklearn import ensemble, linear_model, naive_bayes, neighbors

    homes = {"Random": ensemble, "Hist": ensemble, "Gauss": naive_bayes, "KNei": neighbors}
    home = next((home for begins, home in homes.items() if name.startswith(begins)), linear_model)
    return from_sklearn(getattr(home, name)(**settings), seed=seed)


LEARNERS = {
    "river UCB": lambda **seed: river("UCB", delta=1.0, **seed),
    "river Thompson": lambda **seed: river("ThompsonSampling", **seed),
    "river Exp3": lambda **seed: river("Exp3", gamma=0.3, **seed),
    "river LinUCB": lambda **seed: river("LinUCBDisjoint", **seed),
    "MABWiser UCB1": lambda: mabwiser("UCB1", alpha=1.0),
    "MABWiser Thompson": lambda: mabwiser("ThompsonSampling"),
    "MABWiser LinTS": lambda: mabwiser("LinTS", alpha=0.5),
    "MABWiser neighbours": lambda: mabwiser("EpsilonGreedy", "KNearest", epsilon=0.2),
    "MABWiser clusters": lambda: mabwiser("UCB1", "Clusters", alpha=1.0),
    "MABWiser tree": lambda: mabwiser("EpsilonGreedy", "TreeBandit", epsilon=0.2),
    "a regressor fed row by row": lambda **seed: sklearn("SGDRegressor", **seed),
    "a classifier fed row by row": lambda **seed: sklearn("SGDClassifier", loss="log_loss", **seed),
    "a forest": lambda **seed: sklearn("RandomForestRegressor", n_estimators=3, **seed),
    "a classifier": lambda **seed: sklearn("LogisticRegression", **seed),
    "neighbours": lambda **seed: sklearn("KNeighborsRegressor", **seed),
    "VW, a row an arm": lambda seed=1: from_vowpal_wabbit("--cb_explore_adf --epsilon 0.2 -l 0.1", seed=seed),
    "VW, squares": lambda seed=1: from_vowpal_wabbit("--cb_explore_adf --squarecb -q ::", seed=seed),
    "VW, no context": lambda seed=1: from_vowpal_wabbit("--cb_explore 3 --epsilon 0.2", seed=seed),
    "VW, a shared context": lambda seed=1: from_vowpal_wabbit("--cb_explore=3 --first 9", contextual=True, seed=seed),
}

SLOW = pytest.mark.slow
HEAVY = ("MABWiser clusters", "MABWiser tree", "a forest", "a classifier", "neighbours")


def talk(policy, rounds, start=0):
    """Take decisions and bring back rewards that depend on the round and the arm alone, one between 0 and 1 in four."""
    said = []
    contextual = policy.bare_policy.contextual if isinstance(policy, eh.Study) else policy.contextual
    for t in range(start, start + rounds):
        random = np.random.default_rng([7, t])
        shown = [random.random(2).tolist()] * 3
        decision = policy.ask(shown) if contextual else policy.ask()
        policy.tell(decision, 0.5 if t % 4 == 0 else float(random.random() < MEANS[decision.index]))
        said.append((decision.arm, decision.reason))
    return said


@pytest.mark.parametrize("name", [pytest.param(name, marks=[SLOW] * (name in HEAVY)) for name in LEARNERS])
def test_a_learner_goes_on_exactly_where_it_was_saved(name):
    policy = DeadlineLearn(LEARNERS[name](), SHARES, seed=1)
    said = talk(policy, 40)
    again = from_bytes(to_bytes(policy))
    assert to_bytes(again) == to_bytes(policy)
    said += talk(policy, 25, 40)
    assert talk(again, 25, 40) == said[40:]
    assert talk(policy.fresh(seed=1), 65) == said
    assert talk(DeadlineLearn(LEARNERS[name](), SHARES, seed=1), 65) == said
    assert ("c", "the learner's wish") in said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["river Thompson", "MABWiser LinTS", "a forest", "VW, a row an arm"])
def test_a_study_of_it_is_closed_opened_and_verified(name, tmp_path):
    with eh.Study.create(tmp_path / "s.evenhand", DeadlineLearn(LEARNERS[name](), SHARES, seed=1)) as study:
        said = talk(study, 20)
    with eh.Study.open(tmp_path / "s.evenhand") as study:
        study.snapshot()
        said += talk(study, 15, 20)
        assert study.verify().problems == ()
    assert said == talk(DeadlineLearn(LEARNERS[name](), SHARES, seed=1), 35)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LEARNERS if not name.startswith("MABWiser")])
def test_another_seed_draws_otherwise(name):
    """At least one of 60 decisions differs; where nothing is drawn, as river's UCB and LinUCB, none does."""
    said = [talk(DeadlineLearn(LEARNERS[name](seed=seed), SHARES, seed=1), 60) for seed in (1, 1, 2)]
    assert said[0] == said[1]
    assert (said[0] == said[2]) == (name == "river LinUCB")


@pytest.mark.slow
@pytest.mark.parametrize("rule", [FairLearn, LotteryLearn, lambda learner, shares, **more: WindowLearn(
    learner, dict.fromkeys(shares, 9), **more)], ids=["FairLearn", "LotteryLearn", "WindowLearn"])  # fmt: skip
@pytest.mark.parametrize("name", ["river UCB", "MABWiser UCB1", "a regressor fed row by row", "VW, no context"])
def test_every_rule_takes_it(name, rule):
    policy = rule(LEARNERS[name](), SHARES, seed=1)
    assert {arm for arm, _ in talk(policy, 30)} == set(SHARES)


@pytest.mark.slow
def test_it_learns_and_every_replication_is_seeded_anew():
    policies = {name: DeadlineLearn(LEARNERS[name](), [0.05] * 3) for name in ("river Thompson", "MABWiser UCB1")}
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


def test_the_bandit_that_was_given_is_left_alone():
    from mabwiser.mab import MAB, LearningPolicy
    from river import bandit

    theirs = bandit.UCB(delta=1.0)
    from_river(theirs, arms=2, seed=3).update(0, 1.0)
    assert theirs._n == 0
    mab = MAB([0, 1], LearningPolicy.UCB1(alpha=1.0))
    learner = from_mabwiser(mab, seed=3)
    for index in (0, 1):
        learner.update(index, 1.0)
    assert not mab._is_initial_fit
    assert learner.learner.mab._is_initial_fit


# ---------------------------------------------------------------------- memory that a bandit brings


def taught(*ids, name="UCB", **settings):
    """Return a bandit of river to which the last of these arms has paid alone."""
    from river import bandit

    theirs = getattr(bandit, name)(**(settings or BANDITS[name]), seed=1)
    for t in range(60):
        arm = ids[t % len(ids)]
        theirs.pull(list(ids))
        theirs.update(arm, float(arm == ids[-1]))
    return theirs


BANDITS = {"UCB": {"delta": 0.1}, "EpsilonGreedy": {"epsilon": 0.1}, "Exp3": {"gamma": 0.1}, "BayesUCB": {}}


@pytest.mark.parametrize("name", [*BANDITS, "ThompsonSampling"])
def test_what_a_bandit_has_learned_follows_its_labels(name):
    from river import proba

    settings = {"reward_obj": proba.Beta()} if name == "ThompsonSampling" else {}
    learner = from_river(taught("news", "ads", name=name, **settings), arms=["ads", "news", "sport"], seed=1)
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
        ("ab", 2, r"^arms: wanted the labels under which the bandit has learned, \['b', 'a'\], got 2; name them"),
        ("ab", ["b", "c"], r"^arms: wanted the labels under which the bandit has learned, .*policy.clone\(\)"),
        ((1, 2), 2, r"^arms: wanted the labels under which the bandit has learned, \[2, 1\]"),
    ],
)
def test_a_bandit_with_other_labels_is_refused_by_name(ids, arms, words):
    with pytest.raises(ArgumentError, match=words):
        from_river(taught(*ids), arms=arms)
    assert from_river(taught(*ids).clone(), arms=arms).known_arms == 2


@pytest.mark.parametrize("shares", [{"ads": 0.1, "news": 0.1}, {1: 0.1, 0: 0.1}])
@pytest.mark.parametrize("rule", [DeadlineLearn, FairLearn, LotteryLearn])
def test_a_rule_refuses_a_bandit_that_has_learned_under_other_labels_or_in_another_order(rule, shares):
    learner = from_river(taught(0, 1), arms=2)
    with pytest.raises(ArgumentError, match=r"learner: wanted one for the arms .*got .0, 1.; name the same arms"):
        rule(learner, shares)
    assert rule(learner, [0.1, 0.1]).ask().arm in (0, 1)


def test_labels_of_a_learner_name_the_arms():
    policy = FairLearn(from_river(taught("a", "b"), arms=["a", "b"]), [0.1, 0.1])
    assert policy.arms == ("a", "b")


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("make", "module", "package"),
    [
        (lambda: from_river(3, arms=3), "river.bandit.base", "river"),
        (lambda: from_mabwiser(3), "mabwiser.mab", "mabwiser"),
        (lambda: from_vowpal_wabbit("--cb_explore 3"), "vowpalwabbit", "vowpalwabbit"),
    ],
    ids=["river", "mabwiser", "vowpalwabbit"],
)
def test_a_missing_package_is_named_with_the_line_that_installs_it(make, module, package, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"needs {package}: pip install {package}$"):
        make()


def trained():
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])


def trained_pipeline():
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LinearRegression()).fit([[0.0], [1.0]], [0.0, 1.0])


def trained_step():
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(trained_pipeline()[0], LinearRegression())


def frozen_step():
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(FrozenEstimator(trained_pipeline()[0]), LinearRegression())


def test_a_frozen_step_keeps_what_it_has_learned():
    kept = from_sklearn(frozen_step()).learner.estimator[0].estimator
    assert kept.mean_.tolist() == [0.5]


def test_models_of_three_arms_refuse_two_rows():
    learner = from_sklearn(estimator("SVR")())
    learner.update(np.zeros((3, 1)), 0, 1.0)
    with pytest.raises(ArgumentError, match="contexts: wanted a row for each of the 3 arms that it knows, got 2"):
        learner.choose(np.zeros((2, 1)), [0, 1])


def estimator(name):
    from sklearn import cluster, svm

    return getattr(svm if hasattr(svm, name) else cluster, name)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: from_river(3, arms=3), r"^policy: wanted a bandit of river, got 3"),
        (lambda: from_river(river_class(), arms=3), r"^policy: wanted a bandit of river.*write UCB\(\.\.\.\)"),
        (lambda: from_river(river_class()(delta=1), arms=1), r"^arms: wanted a whole number >= 2, got 1"),
        (lambda: from_river(river_class()(delta=1), arms="ab"), r"^arms: wanted a number of arms or a list of labels"),
        (lambda: from_sklearn(trained_pipeline()), r"^estimator: wanted an untrained .* got 'a trained one'"),
        (lambda: from_sklearn(trained_step()), r"^estimator: wanted .* got 'one whose standardscaler is trained'"),
        (lambda: from_mabwiser("UCB1"), r"^mab: wanted a MAB of MABWiser, got 'UCB1'"),
        (lambda: from_sklearn(3), r"^estimator: wanted an untrained classifier or regressor of scikit-learn, got 3"),
        (lambda: from_sklearn(estimator("SVR")), r"^estimator: wanted an untrained .*write SVR\(\)"),
        (lambda: from_sklearn(estimator("KMeans")()), r"^estimator: wanted an untrained .*got KMeans\(\)"),
        (lambda: from_sklearn(estimator("LinearSVC")()), r"^estimator: wanted a classifier with predict_proba"),
        (lambda: from_sklearn(trained()), r"^estimator: wanted an untrained .* pass sklearn.base.clone"),
        (lambda: from_sklearn(estimator("SVR")(), epsilon=2), r"^epsilon: wanted a number >= 0 and <= 1, got 2"),
        (lambda: from_sklearn(estimator("SVR")(), warmup=0), r"^warmup: wanted a whole number >= 1, got 0"),
        (lambda: from_vowpal_wabbit(3), r"^options: wanted options with --cb_explore_adf or --cb_explore N"),
        (lambda: from_vowpal_wabbit("--cb 3"), r"^options: wanted options with --cb_explore_adf"),
        (lambda: from_vowpal_wabbit("--cb_explore"), r"^options: wanted --cb_explore and the number of arms"),
        (lambda: from_vowpal_wabbit("--cb_explore two"), r"^options: wanted --cb_explore and the number of arms"),
        (lambda: from_vowpal_wabbit("--cb_explore 3 --nonsense"), r"^options: wanted options that Vowpal Wabbit knows"),
        (lambda: from_vowpal_wabbit("--cb_explore_adf --bag 3"), r"^options: wanted none of --bag.*saved exactly"),
        (lambda: from_vowpal_wabbit("--cb_explore_adf", contextual=False), r"^contextual: wanted True or None"),
        *[
            (lambda wrong=wrong: from_vowpal_wabbit(f"--cb_explore_adf {wrong}"), r"none that read or write files")
            for wrong in ("-f /tmp/x", "-f/tmp/x", "--final_regressor=/tmp/x", "-i x", "-d x", "--cache_file x", "-k")
        ],
    ],
)
def test_the_wrong_object_is_refused_by_name(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


def river_class():
    from river import bandit

    return bandit.UCB


@pytest.mark.parametrize("name", ["river UCB", "MABWiser UCB1", "VW, no context"])
def test_a_quota_refuses_a_learner_for_another_number_of_arms(name):
    with pytest.raises(ArgumentError, match=r"^learner: wanted one for 2 arms, got 'one for 3'"):
        FairLearn(LEARNERS[name](), [0.1, 0.1])
    assert from_bytes(to_bytes(FairLearn(LEARNERS[name](), [0.1] * 3))).learner.known_arms == 3


@pytest.mark.parametrize("name", ["river LinUCB", "MABWiser LinTS", "VW, a shared context"])
def test_a_bandit_that_sees_one_context_refuses_rows_that_differ(name):
    policy = DeadlineLearn(LEARNERS[name](), dict.fromkeys(SHARES, 0.0), seed=1)
    talk(policy, 30)
    with pytest.raises(ContextError, match="contexts: wanted one row that all arms share, got 'rows that differ'"):
        policy.ask([[0.1, 0.2], [0.1, 0.3], [0.1, 0.2]])
    talk(policy, 3)


def test_copies_for_groups_of_different_sizes_know_no_number_of_arms():
    with pytest.raises(ArgumentError, match=r"inner: wanted one without arms= yet.*, got 3"):
        eh.groups.NaiveFair({"a": "f", "b": "m", "c": "m"}, inner=LEARNERS["river UCB"]())
    policy = eh.groups.NaiveFair({"a": "f", "b": "m", "c": "m"}, inner=LEARNERS["VW, a row an arm"](), seed=1)
    assert {arm for arm, _ in talk(policy, 20)} == set("abc")


def test_a_function_in_a_bandit_is_refused_when_it_is_saved():
    from mabwiser.mab import MAB, LearningPolicy

    mab = MAB([0, 1], LearningPolicy.ThompsonSampling(binarizer=lambda arm, reward: int(reward > 0.5)))
    policy = FairLearn(from_mabwiser(mab), [0.1, 0.1])
    for _ in range(4):
        policy.tell(policy.ask(), 0.7)
    with pytest.raises(ArgumentError, match=r"MABWiser's ThompsonSampling cannot be saved: it holds .*<lambda>"):
        to_bytes(policy)


def test_options_in_a_file_are_checked_as_those_of_a_user():
    from evenhand.learners import vowpal_wabbit

    dumped = vowpal_wabbit.dump(from_vowpal_wabbit("--cb_explore 3", seed=1).learner)
    with pytest.raises(ArgumentError, match="none that read or write files"):
        vowpal_wabbit.load(dumped | {"options": "--cb_explore 3 -f /tmp/x"})


def test_a_failure_of_the_library_is_named():
    policy = DeadlineLearn(river("UCB", delta=1.0), SHARES)
    policy.learner.learner.policy.delta = "much"
    with pytest.raises(ModelError, match=r"^choose: it failed on a RiverBandit with TypeError"):
        talk(policy, 30)


def test_a_file_that_none_of_them_has_written_is_refused():
    from evenhand.learners import river_bandits

    with pytest.raises(StateFileError, match="saved object"):
        river_bandits.load(
            {"ids": [0, 1, 2], "contextual": False, "asked": [], "policy": {"root": {"at": 5}, "nodes": []}}
        )
