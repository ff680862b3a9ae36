"""Rows of two things are matched by their labels, by position where these have none, or refused by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, ContextError
from evenhand.groups import Ledger, round_regrets
from evenhand.learners import UCB1, LinUCB
from evenhand.quotas import ChangingArms
from evenhand.sampling import (
    ArrayPool,
    Certification,
    LabelQueue,
    LogisticModel,
    UniformSampler,
    collect,
    fairness_report,
    group_errors,
    label_pairs,
    minimax_reweighting,
)
from evenhand.saving.state import to_bytes
from evenhand.similarity import LipschitzUCB, MahalanobisOracle, MomentDistance, PairQueue, fair_distribution

# ------------------------------------------------------------------ the function

NAMED = pd.Series([1, 2, 3], index=["a", "b", "c"])
TURNED = NAMED.loc[["c", "a", "b"]]
NUMBERED = pd.Series([1, 2, 3])


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (NAMED, NAMED.to_frame()),
        (NAMED, NUMBERED),
        (NAMED, pl.Series([1, 2, 3])),
        (NAMED, None),
        (NUMBERED, NUMBERED.set_axis([0.0, 1.0, 2.0])),
        (pl.DataFrame({"x": [1, 2, 3]}), TURNED),
        (NAMED.set_axis(["a", "a", "b"]), TURNED.set_axis(["a", "a", "b"])),
    ],
    ids=range(7),
)
def test_what_has_no_labels_or_the_very_same_is_read_by_position(first, other):
    assert in_step(("X", first), ("y", other))[1] is other


def test_labels_in_two_forms_of_unicode_are_the_same():
    one, other = NAMED.set_axis(["caf\u00e9", "b", "c"]), NAMED.set_axis(["cafe\u0301", "b", "c"])
    assert in_step(("X", one), ("y", other.iloc[::-1]))[1].tolist() == [1, 2, 3]


def test_numbers_that_pandas_gave_and_somebody_shuffled_are_labels_with_a_warning():
    shuffled = NUMBERED.iloc[[2, 0, 1]]
    for first, other, found in ((NUMBERED, shuffled, [1, 2, 3]), (shuffled, NUMBERED, [3, 1, 2])):
        with pytest.warns(UserWarning, match=r"y: rows are matched .* 0 to 2; reset_index\(drop=True\) of X and y"):
            assert in_step(("X", first), ("y", other))[1].tolist() == found
    assert in_step(("X", shuffled), ("y", NUMBERED.iloc[[1, 2, 0]]))[1].tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("first", "other", "words"),
    [
        (NAMED, ["a", "b", "z"], "y: expected the row labels of X, each once, got \"'z' in row 3\""),
        (NAMED, ["a", "b"], "y: expected the row labels of X, each once, got \"none for 'c'\""),
        (NAMED, ["b", "a", "b"], "y: expected the row labels of X, each once, got \"'b' in row 3 again\""),
        (NAMED, [1, 2, 3], "y: expected the row labels of X, each once, got '1 in row 1'"),
        (NUMBERED, [1, 2, 3], "y: expected the row labels of X, each once, got '3 in row 3'"),
        (NAMED.set_axis(["a", "a", "b"]), ["a", "b", "a"], "got \"'a' in row 3 again\""),
    ],
    ids=["another", "too few", "twice", "numbers", "from 1", "twice in both"],
)
def test_other_labels_are_refused_by_name_and_the_mend_helps(first, other, words):
    y = NAMED.iloc[: len(other)].set_axis(other)
    with pytest.raises(ContextError) as refused:
        in_step(("X", first), ("y", y), refusal=ContextError)
    assert words in str(refused.value)
    assert str(refused.value).endswith("; reset_index(drop=True) of X and y matches rows by position")
    first, y = first.reset_index(drop=True), y.reset_index(drop=True)
    assert in_step(("X", first), ("y", y))[1] is y


def test_labels_beside_an_array_must_not_contradict_each_other():
    with pytest.raises(ArgumentError, match="group: expected the row labels of y, in the same order, got"):
        in_step(("X", np.eye(3)), ("y", NAMED), ("group", TURNED))
    with pytest.raises(ArgumentError, match=r"group: expected the row labels of y, each once, got .*'z' in row 1"):
        in_step(("X", np.eye(3)), ("y", NAMED), ("group", NAMED.set_axis(["z", "a", "b"])))
    assert in_step(("X", np.eye(3)), ("y", NAMED), ("group", NUMBERED), ("weight", NAMED))[2] is NUMBERED


def test_ids_name_rows_beside_their_own_labels():
    ids = pd.Series([9, 0, 1], index=["x", "y", "z"])
    by_id, by_row = pd.Series(["a", "b", "c"], index=[0, 1, 9]), pd.Series(["a", "b", "c"], index=["z", "y", "x"])
    found = in_step(("ids", ids), ("one", by_id), ("two", by_row), labels=ids.tolist())
    assert found[1].tolist() == ["c", "a", "b"]
    assert found[2].tolist() == ["c", "b", "a"]
    with pytest.raises(ArgumentError, match=r"got .*'q' in row 1.*; reset_index\(drop=True\) of three matches rows"):
        in_step(("ids", ids), ("three", NAMED.set_axis(["q", "r", "s"])), labels=ids.tolist())


# ------------------------------------------------------------------ the doors

ROWS = 60
RANDOM = np.random.default_rng(0)
IDS = [f"d{row}" for row in range(ROWS)]
X = pd.DataFrame(RANDOM.normal(size=(ROWS, 2)), columns=["x", "z"], index=IDS)
Y = pd.Series(RANDOM.permutation(ROWS) % 2, index=IDS)
GROUP = pd.Series(RANDOM.permutation(["u", "v", "v"] * (ROWS // 3)), index=IDS)
WEIGHT = pd.Series(RANDOM.random(ROWS), index=IDS)
CHANCES = pd.DataFrame({"a": 1.0 - WEIGHT, "b": WEIGHT})
ARMS = RANDOM.permutation(["a", "b"] * (ROWS // 2))
LOG = pd.DataFrame({"arm": pd.Categorical(ARMS), "reward": Y, "chance": 0.5}, index=IDS)
COLUMNS = {"arm": "arm", "reward": "reward", "propensity": "chance"}
CLASSIFIER = LogisticModel().fit(X, Y)
ORDERED = CLASSIFIER.predict(X).argsort()[[0, 1, 2, -3, -2, -1]]
DRAWN = X.iloc[ORDERED], pd.Series(CLASSIFIER.predict(X.iloc[ORDERED]), index=X.index[ORDERED])
FEATURES = pd.Series({"age": 0.1, "debts": 0.5, "income": 0.3})
OTHER = pd.Series({"age": 0.4, "debts": 0.1, "income": 0.2})
PEOPLE = ["ann", "bob", "cid"]
REWARDS = pd.Series([0.9, 0.5, 0.1], index=PEOPLE)
DISTANCES = pd.DataFrame([[0.0, 0.1, 0.3], [0.1, 0.0, 0.2], [0.3, 0.2, 0.0]], index=PEOPLE, columns=PEOPLE)
ORACLE = MahalanobisOracle([[0.5, 0.0]])


def valued(policy=None, **given):
    policy = {"a": 0.3, "b": 0.7} if policy is None else policy
    found = eh.evaluate(LOG, policy, **COLUMNS, **given)
    return found.value, found.low, found.high


def pooled(y, group):
    pool = ArrayPool(X, y, group=group)
    return pool.y.tolist(), pool.group.tolist()


def reweighted(y=Y, group=GROUP):
    return minimax_reweighting(X, y, group=group, rounds=3).errors.tolist()


def fitted(y=Y, weight=None):
    return LogisticModel().fit(X, y, weight).coefficients.tolist()


def reported(y=Y, groups=GROUP):
    return fairness_report(CLASSIFIER, X, y, groups=groups).by_group.to_dict()


def told(y, tell="tell", **given):
    sampler = UniformSampler(["u", "v"], seed=1, batch=3)
    getattr(sampler, tell)(sampler.ask(), DRAWN[0], y, **given)
    return to_bytes(sampler)


def certified(y):
    certification = Certification(["u", "v"], CLASSIFIER, threshold=0.5, batch=6)
    certification.tell(certification.ask(), DRAWN[0], y)
    return certification.sums.tolist(), certification.counts.tolist()


def asked(features=X, groups=GROUP, content=None):
    queue = LabelQueue(IDS, features, groups=groups, content=content, seed=1)
    return queue.features.tolist(), queue.content, queue.config()["groups"], queue.ask(len(IDS))


def audited(rewards=WEIGHT, people=None):
    people = pd.DataFrame(people).to_dict("records") if isinstance(people, np.ndarray) else people
    queue = PairQueue(X, rewards, people=people, seed=1)
    return queue.rewards.tolist(), [list(shown.values()) for shown in queue.people]


def believed(learner, y):
    learner.verdict(FEATURES, y, 0.2, True)
    return getattr(learner, "metric", learner).bounds(FEATURES, y)


def paid(rewards):
    policy = UCB1(arms=["a", "b"], seed=1)
    decisions = pd.Series([policy.ask() for _ in range(4)], index=IDS[:4])
    policy.tell_all(decisions, rewards)
    return to_bytes(policy)


DOORS = {
    "evaluate, policy": ("policy", CHANCES, valued),
    "evaluate, function": ("policy(...)", CHANCES, lambda chances: valued(lambda log: chances)),
    "evaluate, contexts": ("contexts", X, lambda shown: valued(contexts=shown, model=CLASSIFIER)),
    "evaluate, model": ("model", CHANCES, lambda model: valued(model=model)),
    "ArrayPool, y": ("y", Y, lambda y: pooled(y, GROUP)),
    "ArrayPool, group": ("group", GROUP, lambda group: pooled(Y, group)),
    "label_pairs": ("labels", Y, lambda labels: to_bytes(label_pairs(X, labels, {"p": (0, 1)}))),
    "minimax_reweighting, y": ("y", Y, reweighted),
    "minimax_reweighting, group": ("group", GROUP, lambda group: reweighted(group=group)),
    "LogisticModel, y": ("y", Y, fitted),
    "LogisticModel, sample_weight": ("sample_weight", WEIGHT, lambda weight: fitted(weight=weight)),
    "fairness_report, y": ("y", Y, reported),
    "fairness_report, groups": ("groups", GROUP, lambda groups: reported(groups=groups)),
    "group_errors, y": ("y", Y, lambda y: group_errors(CLASSIFIER, X, y, groups=GROUP).tolist()),
    "group_errors, groups": ("groups", GROUP, lambda groups: group_errors(CLASSIFIER, X, Y, groups=groups).tolist()),
    "tell": ("y", DRAWN[1], told),
    "tell_rows": ("y", DRAWN[1], lambda y: told(y, "tell_rows", trains=3)),
    "Certification": ("y", DRAWN[1], certified),
    "LabelQueue, features": ("features", X, asked),
    "LabelQueue, groups": ("groups", GROUP, lambda groups: asked(groups=groups)),
    "LabelQueue, content": ("content", GROUP, lambda content: asked(content=content)),
    "PairQueue, rewards": ("rewards", WEIGHT, audited),
    "PairQueue, people": ("people", CHANCES, lambda people: audited(people=people)),
    "fair_distribution": ("distances", DISTANCES, lambda table: fair_distribution(REWARDS, table).tolist()),
    "MahalanobisOracle": ("probabilities", WEIGHT, lambda chances: ORACLE(X, chances)),
    "MomentDistance": ("y", OTHER, lambda y: believed(MomentDistance(), y)),
    "LipschitzUCB": ("y", OTHER, lambda y: believed(LipschitzUCB(3, seed=1), y)),
    "tell_all": ("rewards", WEIGHT.iloc[:4], paid),
}
EACH = pytest.mark.parametrize(("name", "thing", "door"), DOORS.values(), ids=list(DOORS))


def turned(thing):
    return thing.iloc[::-1]


@EACH
def test_every_door_matches_rows_by_their_labels_and_reads_arrays_by_position(name, thing, door):
    true = door(thing)
    assert door(turned(thing)) == true
    assert door(thing.reset_index(drop=True)) == true
    assert door(thing.to_numpy()) == true
    try:
        other = door(turned(thing).to_numpy())
    except ArgumentError:  # such as distances that are not symmetric
        other = None
    assert other != true


@EACH
def test_every_door_refuses_rows_with_other_labels(name, thing, door):
    with pytest.raises(ArgumentError) as refused:
        door(thing.set_axis([f"other {row}" for row in range(len(thing))]))
    assert str(refused.value).startswith(f"{name}: expected the row labels of ")


def test_a_table_of_distances_is_read_by_the_labels_of_its_columns_too():
    mixed = DISTANCES.loc[turned(REWARDS).index, ["bob", "ann", "cid"]]
    right = fair_distribution(REWARDS, DISTANCES).tolist()
    assert fair_distribution(REWARDS, mixed).tolist() == right
    assert fair_distribution(REWARDS.tolist(), DISTANCES[PEOPLE[::-1]]).tolist() == right
    with pytest.raises(ArgumentError, match="columns of distances: expected the row labels of rewards, each once"):
        fair_distribution(REWARDS, DISTANCES.set_axis(["ann", "bob", "dan"], axis=1))


def test_expected_rewards_are_read_by_arm():
    biased, true = pd.Series({"ann": 1.0, "bob": 3.0}), pd.Series({"bob": 3.0, "ann": 4.0})
    assert round_regrets(biased, true, 1, 2.5).tolist() == [0.0, 1.0, 0.5]
    rounds = pd.DataFrame([biased, biased * 2], index=["r1", "r2"])
    turned_rounds = pd.DataFrame([true * 2, true], index=["r2", "r1"])
    index, paid = pd.Series({"r2": 0, "r1": 1}), pd.Series({"r2": 2.0, "r1": 2.5})
    assert round_regrets(rounds, turned_rounds, index, paid).tolist() == [[0.0, 1.0, 0.5], [4.0, 0.0, 4.0]]
    ledger = Ledger({"ann": "F", "bob": "M"})
    ledger.add("bob", 2.5, biased=turned(biased), true=true)
    assert (ledger.biased_regret, ledger.true_regret, ledger.perceived_regret) == (0.0, 1.0, 0.5)
    with pytest.raises(ArgumentError, match=r"true: expected one entry for each of \['ann', 'bob'\]"):
        ledger.add("bob", 2.5, biased=biased, true=true.set_axis(["bob", "cid"]))
    assert ledger.pulls.tolist() == [0, 1]


def test_rewards_of_people_who_were_drawn_are_read_by_their_positions():
    policies = [LipschitzUCB(2, select="many", seed=1) for _ in range(2)]
    one, other = (policy.ask([[0.1, 0.2], [0.9, 0.1], [0.2, 0.8]]) for policy in policies)
    assert len(one.arm) > 1
    paid = pd.Series(np.linspace(0.0, 1.0, len(one.arm)), index=list(one.arm))
    shifted = paid.set_axis([f"p{place}" for place in one.arm])
    with pytest.raises(ArgumentError, match="reward: expected one entry for each of"):
        policies[0].tell(one, shifted)
    policies[0].tell(one, turned(paid))
    policies[1].tell(other, paid.tolist())
    assert to_bytes(policies[0]) == to_bytes(policies[1])


def test_a_dict_names_the_items_of_a_queue():
    assert asked(groups=turned(GROUP).to_dict(), content=turned(GROUP).to_dict()) == asked(content=GROUP)
    for wrong in ({**GROUP, "other": "u"}, GROUP.iloc[1:].to_dict()):
        with pytest.raises(ArgumentError, match=r"groups: expected one entry for each id, got .*(other|none for 'd0')"):
            asked(groups=wrong)
        with pytest.raises(ArgumentError, match="content: expected one entry for each id"):
            asked(content=wrong)


@pytest.mark.parametrize("kind", [dict, pd.Series])
def test_the_test_of_a_collection_may_name_its_groups(kind):
    def history(found):
        pool = ArrayPool(X, Y, group=GROUP)
        return collect(UniformSampler(pool.groups, seed=1), pool, rounds=2, test=lambda model: found, final=True)

    assert history(kind({"v": 0.2, "u": np.nan})).equals(history([np.nan, 0.2]))
    for wrong in (kind({"v": 0.2, "w": 0.1}), kind({"v": 0.2}), [0.1], ["a", "b"], 0.1):
        with pytest.raises(ArgumentError, match=r"test\(\.\.\.\): expected a number for each of the groups"):
            history(wrong)


def test_models_and_candidates_are_read_by_the_names_of_arms():
    true = valued(model=CHANCES)
    for same in (CHANCES[["b", "a"]], pl.DataFrame(CHANCES.to_dict("list"))):
        assert valued(model=same) == true
    with pytest.raises(ArgumentError, match=r"model: expected one entry for each of \['a', 'b'\]"):
        valued(model=CHANCES.rename(columns={"a": "c"}))


def test_the_means_of_a_frame_belong_to_the_arms_that_its_columns_name():
    world = ChangingArms(pd.DataFrame({"b": [0.1, 0.9], "a": [0.5, 0.5]}), [10])
    assert (world.arms, world.means.tolist()) == (("b", "a"), [[0.1, 0.5], [0.9, 0.5]])
    assert ChangingArms(pd.DataFrame([[0.1, 0.5], [0.9, 0.5]]), [10]).arms == (0, 1)


def rows(*given):
    policy = LinUCB(0.9, arms=["a", "b"], seed=1)
    policy.ask(list(given))
    return policy.contexts.table_columns, policy.tickets.open[1][1].tolist()


def test_rows_that_name_their_columns_follow_the_names():
    first, second = {"x": 1.0, "z": 0.0}, {"z": 1.0, "x": 5.0}
    for kind in (dict, pd.Series):
        assert rows(kind(first), kind(second)) == (["x", "z"], [[1.0, 0.0], [5.0, 1.0]])
    assert rows(pd.Series([1.0, 0.0]), pd.Series([1.0, 5.0]))[1] == [[1.0, 0.0], [1.0, 5.0]]
    assert rows(pd.Series({1: 0.0, 0: 1.0}), pd.Series([1.0, 5.0]))[1] == [[0.0, 1.0], [5.0, 1.0]]
    with pytest.raises(ContextError, match=r"contexts, row 2: expected the columns \['x', 'z'\], as in row 1, got"):
        rows(pd.Series(first), pd.Series({"x": 1.0, "y": 5.0}))


@pytest.mark.parametrize("name", ["policy", "model"])
def test_a_column_for_each_arm_is_refused_where_a_number_is_meant(name):
    columns = {arm: CHANCES[arm] for arm in ("b", "a")}
    for given in (columns, {arm: column.to_numpy() for arm, column in columns.items()}):
        with pytest.raises(ArgumentError, match=f"{name}: expected a number for each arm, got 'a column for each arm'"):
            valued(**{name: given})
