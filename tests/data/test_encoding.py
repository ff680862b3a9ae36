"""Categories of contexts become numbers by an explicit encoder, which is saved with the policy; and one row of contexts
stands for all arms."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

import evenhand as eh
from evenhand import Encoder
from evenhand.errors import ArgumentError, ContextError, TableError
from evenhand.groups import LinearThompson, NaiveFair, TopInterval
from evenhand.learners import LinUCB
from evenhand.quotas import DeadlineLearn
from evenhand.saving.state import from_bytes, to_bytes

ARMS = ["a", "b", "c"]
PEOPLE = pd.DataFrame({"job": ["none", "some", "much"], "age": [30.0, 40.0, 25.0], "id": ["x", "y", "z"]})
ENCODER = {"job": ["none", "some", "much"], "age": None}
KINDS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.DataFrame(frame.to_dict("list")),
    "pyarrow": lambda frame: pa.Table.from_pydict(frame.to_dict("list")),
    "DuckDB": lambda frame: duckdb.connect().from_df(frame),
}


def column_transformer():
    made = ColumnTransformer([("kinds", OneHotEncoder(), ["job"]), ("rest", "passthrough", ["age"])])
    return made.fit(PEOPLE)


ENCODERS = {
    "given": lambda: Encoder(ENCODER),
    "learned": lambda: Encoder.fit(PEOPLE, ["job", "age"]),
    "ignoring": lambda: Encoder(ENCODER, unseen="ignore"),
    "ColumnTransformer": column_transformer,
}


def linear(arms=ARMS):
    return LinUCB(arms=arms, seed=1)


def talk(policy, shown, rounds=8):
    said = []
    for t in range(rounds):
        decision = policy.ask(shown)
        policy.tell(decision, float(decision.index == t % 3))
        said.append(decision)
    return said


# ---------------------------------------------------------------------- encoders


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_any_library_is_encoded_alike(kind):
    encoder = Encoder(ENCODER)
    assert encoder.names == ["job=none", "job=some", "job=much", "age"]
    wanted = [[1, 0, 0, 30], [0, 1, 0, 40], [0, 0, 1, 25]]
    assert encoder.transform(KINDS[kind](PEOPLE)).tolist() == wanted
    assert Encoder.fit(KINDS[kind](PEOPLE), ["job", "age"]).columns == {"job": ("much", "none", "some"), "age": None}


def test_categories_are_learned_with_those_that_are_declared_and_in_natural_order():
    frame = pd.DataFrame({"size": pd.Categorical(["10", "9"], categories=["9", "10", "11"]), "yes": [True, False]})
    encoder = Encoder.fit(frame)
    assert encoder.columns == {"size": ("9", "10", "11"), "yes": None}
    assert encoder.transform({"size": 9, "yes": True}).tolist() == [[1.0, 0.0, 0.0, 1.0]]


def test_an_unseen_category_is_refused_by_name_or_ignored():
    row = {"job": "new", "age": 3}
    with pytest.raises(TableError, match=r"^column 'job', row 1: expected one of the categories \['none', .*got 'new'"):
        Encoder(ENCODER).transform(row)
    assert Encoder(ENCODER, unseen="ignore").transform(row).tolist() == [[0.0, 0.0, 0.0, 3.0]]
    policy = linear().encode_with(column_transformer())
    with pytest.raises(TableError, match=r"^column 'job', row 1: expected one of the categories \['much', .*got 'new'"):
        policy.ask(row)
    with pytest.raises(TableError, match=r"^table: expected the columns \['job', 'age'\], got .*'age' is missing"):
        policy.ask({"job": "none"})
    with pytest.raises(TableError, match=r"^column 'age', row 1: the cell is empty"):
        policy.ask({"job": "none", "age": np.nan})


@pytest.mark.parametrize("kinds", [[], "none", ["True", "true"], [1, "1"], [0.5], range(1001)], ids=repr)
def test_what_are_no_categories_is_refused(kinds):
    with pytest.raises(ArgumentError, match=r"columns\['job'\]: expected 1 to 1000 different categories"):
        Encoder({"job": kinds})


def test_what_is_no_encoder_is_refused():
    for columns in ({}, ["job"]):
        with pytest.raises(ArgumentError, match="columns: expected a dict column -> its categories"):
            Encoder(columns)
    with pytest.raises(ArgumentError, match="unseen: expected one of 'refuse', 'ignore'"):
        Encoder(ENCODER, unseen="drop")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (PEOPLE[["job"]], "'age'"),
        (PEOPLE.assign(age=[1.0, np.nan, 2.0]), "column 'age', row 2: the cell is empty"),
        (PEOPLE.assign(age=["x", "y", "z"]), "column 'age', row 1: expected finite numbers"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(frame, words):
    with pytest.raises(TableError, match=words):
        Encoder(ENCODER).transform(frame)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_with_numbers_in_place_of_text_goes_where_columns_are_named(kind):
    replaced = Encoder({"job": ["none", "some", "much"]}).replace(KINDS[kind](PEOPLE))
    assert replaced.columns.tolist() == ["age", "id", "job=none", "job=some", "job=much"]
    oracle = eh.similarity.MahalanobisOracle([[1.0, 0.0]])
    world = eh.similarity.TableIndividuals(replaced, features=["job=none", "age"], reward="job=some", oracle=oracle)
    assert world.rewards.tolist() == [0.0, 1.0, 0.0]


# ---------------------------------------------------------------------- policies with an encoder


@pytest.mark.parametrize(("name", "kind"), [*zip(ENCODERS, KINDS, strict=True)])
def test_a_policy_decides_as_on_the_encoded_numbers_and_is_saved_with_its_encoder(name, kind):
    encoder = ENCODERS[name]()
    numbers = np.asarray(encoder.transform(PEOPLE))
    shown = KINDS[kind](PEOPLE)
    plain = talk(linear(), numbers)
    policy = linear().encode_with(encoder)
    assert talk(policy, shown) == plain
    again = from_bytes(to_bytes(policy))
    assert to_bytes(again) == to_bytes(policy)
    assert talk(again, shown) == talk(policy, shown)
    assert talk(policy.fresh(seed=1), shown) == plain


def test_a_quota_takes_the_encoder_of_its_learner():
    inner = linear(None).encode_with(Encoder(ENCODER))
    outer = DeadlineLearn(linear(None), [0.1] * 3, seed=1).encode_with(Encoder(ENCODER))
    policy = DeadlineLearn(inner, [0.1] * 3, seed=1)
    said = talk(policy, PEOPLE)
    assert said == talk(outer, PEOPLE)
    assert talk(from_bytes(to_bytes(policy)), PEOPLE) == talk(policy, PEOPLE)
    assert talk(policy.fresh(seed=1), PEOPLE) == said


def test_a_study_keeps_the_encoder_and_replays(tmp_path):
    with eh.Study.create(tmp_path / "s", linear().encode_with(Encoder(ENCODER))) as study:
        talk(study, pl.DataFrame(PEOPLE.to_dict("list")))
    with eh.Study.open(tmp_path / "s") as study:
        talk(study, PEOPLE[["job", "age"]])
        assert study.verify().ok
        with pytest.raises(TableError, match="'new'"):
            study.ask(PEOPLE.assign(job="new"))


def test_a_warm_start_is_encoded():
    log = PEOPLE.assign(arm=ARMS, reward=[0.0, 1.0, 0.0])
    policy, other = linear().encode_with(Encoder(ENCODER)), linear()
    policy.learn(log, contexts=["job", "age"])
    coded = pd.DataFrame(Encoder(ENCODER).transform(PEOPLE), columns=list("wxyz")).assign(**log[["arm", "reward"]])
    other.learn(coded, contexts=list("wxyz"))
    assert talk(policy, PEOPLE) == talk(other, Encoder(ENCODER).transform(PEOPLE))


@pytest.mark.slow
def test_simulations_show_numbers_that_are_encoded_already():
    world = eh.groups.BiasedLinearArms(arms=3, sensitive=1)
    plain = TopInterval(world.groups)
    coded = TopInterval(world.groups).encode_with(Encoder({"x": None, "y": None}))
    one, other = (eh.simulate(policy, world, rounds=20, seed=1) for policy in (plain, coded))
    assert (one.pulls.values == other.pulls.values).all()


def test_text_without_an_encoder_is_refused_with_the_line_that_mends_it():
    policy = linear()
    with pytest.raises(
        ContextError, match=r"text or categories in a table.*policy.encode_with\(eh.Encoder\(\{'job': \['none', "
    ):
        policy.ask(PEOPLE[["job", "age"]])
    with pytest.raises(ContextError, match=r"eh.Encoder\(\{'job': \['some', \.\.\.\], 'age': None\}\)"):
        policy.ask({"job": "some", "age": 3})
    with pytest.raises(
        TableError, match=r"column 'job', row 1: .*; encode text and categories first: eh.Encoder\(.*\.replace\(frame\)"
    ):
        policy.learn(PEOPLE.assign(arm=ARMS, reward=0.0), contexts=["job"])


@pytest.mark.parametrize(
    ("policy", "encoder", "words"),
    [
        (linear, Encoder, "encoder: expected an Encoder, or a fitted transformer of scikit-learn"),
        (linear, OneHotEncoder(), "call its fit"),
        (lambda: eh.learners.UCB1(arms=3), Encoder(ENCODER), "encoder: expected none: UCB1 sees no contexts"),
    ],
)
def test_what_cannot_encode_is_refused(policy, encoder, words):
    with pytest.raises(ArgumentError, match=words):
        policy().encode_with(encoder)


def test_an_encoder_comes_before_the_first_contexts():
    policy = linear()
    policy.ask(np.eye(3))
    with pytest.raises(ArgumentError, match="a LinUCB that has seen no contexts yet"):
        policy.encode_with(Encoder(ENCODER))


# ---------------------------------------------------------------------- one row for all arms

ROW = [0.2, 0.4]
ONE_ROW = {
    "numbers": lambda: ROW,
    "an array": lambda: np.array(ROW),
    "a row": lambda: [ROW],
    "a dict": lambda: {"x": 0.2, "y": 0.4},
    "a Series": lambda: pd.Series({"x": 0.2, "y": 0.4}),
    "a Series without names": lambda: pd.Series(ROW),
    "a frame": lambda: pd.DataFrame([ROW], columns=["x", "y"], index=[7]),
    "polars": lambda: pl.DataFrame({"x": [0.2], "y": [0.4]}),
}
GROUPS = {"a": "f", "b": "m", "c": "m"}
POLICIES = {
    "groups": lambda: TopInterval(GROUPS, seed=1),
    "a lottery of groups": lambda: NaiveFair(GROUPS, seed=1),
    "a quota": lambda: DeadlineLearn(TopInterval(GROUPS), dict.fromkeys(ARMS, 0.1), seed=1),
}
OWN_ROWS = {
    "a learner": linear,
    "a learner with an encoder": lambda: linear().encode_with(Encoder({"x": None, "y": None})),
    "groups": lambda: LinearThompson(GROUPS, shared=True, seed=1),
    "a lottery of groups": lambda: NaiveFair(GROUPS, inner=LinearThompson(GROUPS, shared=True), seed=1),
    "a quota": lambda: DeadlineLearn(linear(None), dict.fromkeys(ARMS, 0.1), seed=1),
    "a study": lambda: eh.Study.create(":memory:", linear()),
}


@pytest.mark.parametrize("form", ONE_ROW)
@pytest.mark.parametrize("name", POLICIES)
def test_one_row_stands_for_all_arms(name, form):
    every, one = POLICIES[name](), POLICIES[name]()
    assert talk(one, ONE_ROW[form](), 4) == talk(every, [ROW] * 3, 4)


@pytest.mark.parametrize("form", ONE_ROW)
@pytest.mark.parametrize("name", OWN_ROWS)
def test_one_row_tells_the_arms_of_one_regression_not_apart_and_is_refused(name, form):
    policy = OWN_ROWS[name]()
    for _ in range(2):
        with pytest.raises(ContextError, match=r"one row per arm, got 'one row for all arms'; .* give each arm a row"):
            policy.ask(ONE_ROW[form]())
        policy.ask([ROW] * 3)  # two numbers a row are known now


@pytest.mark.parametrize("contexts", [[0.1, 0.2, 0.3], np.zeros(3)])
def test_as_many_numbers_as_arms_may_mean_either_and_are_refused(contexts):
    policy = TopInterval(GROUPS, seed=1)
    with pytest.raises(ContextError, match=r"3 numbers, as many as arms.*\[\[\.\.\.\]\] for one row.*one number per"):
        policy.ask(contexts)
    assert talk(policy, [contexts]) == talk(TopInterval(GROUPS, seed=1), [contexts] * 3)
    policy.ask(contexts)  # three numbers a row are known now


@pytest.mark.parametrize(
    "contexts", [[], {}, 3, [0.1] * 4, [[0.1] * 4], [[0.1, 0.2]] * 2, [["a", "b"]], {"x": [1, 2], "y": 3}, {"x": None}]
)
def test_what_is_no_row_is_refused(contexts):
    policy = linear()
    policy.ask([ROW] * 3)
    with pytest.raises(ContextError, match=r"^contexts: expected"):
        policy.ask(contexts)
