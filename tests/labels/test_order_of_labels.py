"""The order of labels is the caller's: what is by position is read in the order of the categories, by size, or not at
all."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.cli.inputs.causal_data import fitted_model
from evenhand.data.tables import in_natural_order
from evenhand.errors import ArgumentError
from evenhand.groups import TableArms
from evenhand.interventions import CausalModel, Problem
from evenhand.quotas import LoggedArms
from evenhand.sampling import ArrayPool, TablePool, minimax_reweighting

WORDS = ["low", "mid", "high"]
MEANS = np.array([0.9, 0.5, 0.1])
ROWS = 60
CODES = 2 - np.arange(ROWS) % 3
REWARDS = (np.arange(ROWS) // 3 % 10 < 10 * MEANS[CODES]) * 1.0
"""Words come first in the order high, mid, low: their categories' order is neither that one nor the alphabet's."""


def of_words(words, codes=CODES):
    return [words[code] for code in codes]


def category(words, *, ordered=False):
    return pd.DataFrame({"arm": pd.Categorical(of_words(words), words, ordered=ordered)})


def unused(words):
    return pd.DataFrame({"arm": pd.Categorical(of_words(words), [*words[:1], "never", *words[1:]])})


def enum(words):
    return pl.DataFrame({"arm": pl.Series(of_words(words), dtype=pl.Enum(words))})


cut, digits = pd.cut(CODES * 20 + 1, [0, 5, 25, 100]), pd.Series(of_words(["2", "10", "1"]))
STATED = {
    "categories": category,
    "unused categories": unused,
    "enum of polars": enum,
    "arrow, from pandas": lambda words: pa.Table.from_pandas(category(words)),
}
SIZED = {
    "numbers": ([1, 2, 10], lambda words: pd.DataFrame({"arm": of_words(words)})),
    "numbers as text": (["1", "2", "10"], lambda words: pd.DataFrame({"arm": of_words(words)})),
    "truth values": (["false", "true"], lambda words: pd.DataFrame({"arm": CODES % 2 == 1})),
    "bands": (["under 5", "5 to under 25", "25 or more"], lambda words: pd.DataFrame({"arm": of_words(words)})),
    "intervals": (["(0, 5]", "(5, 25]", "(25, 100]"], lambda _: pd.DataFrame({"arm": cut})),
    "intervals as text": (["(0, 5]", "(5, 25]", "(25, 100]"], lambda words: pd.DataFrame({"arm": of_words(words)})),
}
UNSTATED = {
    "text": lambda words: pd.DataFrame({"arm": of_words(words)}),
    "categorical of polars": lambda words: pl.DataFrame({"arm": pl.Series(of_words(words)).cast(pl.Categorical)}),
    "arrow, encoded": lambda words: pa.table({"arm": pa.array(of_words(words)).dictionary_encode()}),
    "numbers that pandas sorted as text": lambda _: pd.DataFrame({"arm": digits.astype("category")}),
}


def with_rewards(frame, rewards=REWARDS):
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(reward=rewards, sex=pl.Series(np.arange(len(rewards)) // 3 % 2))
    if isinstance(frame, pa.Table):
        return frame.append_column("reward", pa.array(rewards)).append_column("sex", pa.array(np.arange(ROWS) // 3 % 2))
    return frame.assign(reward=rewards, sex=np.arange(len(rewards)) // 3 % 2)


def first(arms, rows=ROWS):
    return np.tile([1.0] + [0.0] * (arms - 1), (rows, 1))


def value(log, policy, **given):
    return eh.evaluate(log, policy, arm="arm", reward="reward", **given).value


def problem(model, **candidates):
    return Problem(model, intervene="arm", sensitive="sex", outcome="reward", candidates=candidates)


@pytest.mark.parametrize("kind", STATED)
def test_arrays_are_in_the_order_of_the_categories(kind):
    log = with_rewards(STATED[kind](WORDS))
    named = value(log, {"low": 1.0, "mid": 0.0, "high": 0.0})
    for same in (first(3), lambda rows: first(3), [1.0, 0.0, 0.0]):
        assert value(log, same) == named == pytest.approx(0.9, abs=0.01)
    model = dict(zip(WORDS, [0.8, 0.5, 0.2], strict=True))
    found = eh.evaluate(log, first(3), arm="arm", reward="reward", model=np.array([[0.8, 0.5, 0.2]]))
    assert found.value == value(log, first(3), model=model)
    assert found.weights["arm"].tolist() == WORDS
    assert found.weights["probability"].tolist() == [1, 0, 0]


@pytest.mark.parametrize("kind", STATED)
def test_states_are_in_the_order_of_the_categories_and_tables_are_read_by_it(kind):
    model = CausalModel.fit(with_rewards(STATED[kind](WORDS)), "sex -> arm -> reward")
    assert [state for state in model.states["arm"] if state != "never"] == WORDS
    assert model.unordered == ()
    table = np.eye(len(model.states["arm"]))[[0, 0]]
    named, by_table = problem(model, name="low", table=table).outcomes
    assert by_table == pytest.approx(named) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("kind", SIZED)
def test_numbers_bands_and_truth_values_are_in_the_order_of_their_size(kind):
    words, made = SIZED[kind]
    frame = made(words)
    log = with_rewards(frame)
    assert value(log, first(len(words))) == value(log, dict.fromkeys(words, 0.0) | {words[0]: 1.0})
    model = CausalModel.fit(log, "sex -> arm -> reward")
    assert list(map(str, model.states["arm"])) == list(map(str, words))
    named, by_table = problem(model, name=words[0], table=first(len(words), 2)).outcomes
    assert by_table == pytest.approx(named)


@pytest.mark.parametrize("kind", UNSTATED)
def test_what_is_by_position_is_refused_where_nobody_has_said_the_order(kind):
    log = with_rewards(UNSTATED[kind](WORDS))
    dict_, frame = "pass a dict arm", "pass a data frame with the arms as columns"
    for policy, words in ((first(3), frame), (lambda rows: first(3), frame), ([1.0, 0.0, 0.0], dict_)):
        said = rf"values by the names of the arms, as nothing states.*got values by position; {words}"
        with pytest.raises(ArgumentError, match=said):
            value(log, policy)
    model = CausalModel.fit(log, "sex -> arm -> reward")
    states = model.states["arm"]
    with pytest.raises(ArgumentError, match=r"candidates\['table'\]: .*by the states of 'arm', as .*; pass a rule"):
        problem(model, name=states[0], table=first(3, 2))
    with pytest.raises(ArgumentError, match=r"tables\['arm'\]: expected a table by the states of 'arm'"):
        model.probabilities(["reward"], tables={"arm": first(3, 2)})
    named = dict.fromkeys(states, 0.0) | {states[0]: 1.0}
    whole = pd.DataFrame([named] * ROWS)
    assert value(log, named) == value(log, whole)
    with pytest.raises(ArgumentError, match="model: expected values by the names of the arms"):
        value(log, named, model=np.array([[0.8, 0.5, 0.2]]))
    assert value(log, named, model=dict.fromkeys(states, 0.5)) == value(log, named, model=whole * 0 + 0.5)
    with pytest.raises(ArgumentError, match=r"contexts: .*by the names of the arms.*pass what all arms share"):
        value(log, named, contexts=np.arange(6.0 * ROWS).reshape(ROWS, 3, 2))
    assert value(log, [1 / 3] * 3) == value(log, dict.fromkeys(states, 1 / 3))  # whatever the order is
    labelled = pd.DataFrame([named] * 2, index=[0, 1])
    assert len(set(problem(model, name=states[0], table=labelled).outcomes.round(12))) == 1
    with pytest.raises(ArgumentError, match="got a table by position;"):
        problem(model, name=states[0], table=labelled.set_axis(range(3), axis=1))


def test_the_rows_of_several_parents_are_read_by_their_labels():
    people = pd.DataFrame({"arm": ["low", "mid"] * 4, "sex": [0, 1, 1, 0] * 2, "old": ["no"] * 4 + ["yes"] * 4})
    model = CausalModel.fit(people, "sex -> arm, old -> arm")
    rows = pd.MultiIndex.from_product([["1", 0], ["yes", "no"]])
    table = pd.DataFrame({"mid": [0.1, 0.2, 0.3, 0.4], "low": [0.9, 0.8, 0.7, 0.6]}, index=rows)
    for given in (table, table.stack()):
        assert model.read_table("t", given, "arm")[0].tolist() == [[[0.6, 0.4], [0.7, 0.3]], [[0.8, 0.2], [0.9, 0.1]]]
    with pytest.raises(ArgumentError, match=r"t: expected one entry for each of \[\(0, 'no'\), \(0, 'yes'\)"):
        model.read_table("t", table[1:], "arm")


def test_a_saved_problem_over_texts_is_read_again():
    model = CausalModel.fit(with_rewards(UNSTATED["text"](WORDS)), "sex -> arm -> reward")
    posed = problem(model, low="low", high="high")
    again = Problem.restored(posed.snapshot())
    assert again.model.unordered == ("arm",)
    np.testing.assert_array_equal(again.outcomes, posed.outcomes)


def test_worlds_and_groups_are_in_the_order_of_the_categories():
    sexes = pd.Categorical(of_words(["m", "f"], np.arange(ROWS) // 3 % 2), ["m", "f"])
    frame = category(WORDS).assign(sex=sexes, reward=REWARDS)
    frame["age"] = np.arange(ROWS) % 7
    assert LoggedArms(frame, arm="arm", reward="reward").arms == ("low", "mid", "high")
    world = TableArms(frame, ["sex", "arm"], group="sex", reward="reward", features=["age"])
    assert world.arms == tuple(f"{sex} & {word}" for sex in ("m", "f") for word in WORDS)
    assert eh.audit.parity(frame, group="arm", value="reward").groups["group"].tolist() == WORDS
    pool = TablePool(frame.assign(y=CODES % 2), group="arm", label="y", features=["age"])
    assert pool.groups == ("low", "mid", "high")
    pool = ArrayPool(frame[["age"]], CODES % 2, group=frame["arm"])
    assert ArrayPool.restored(pool.snapshot()).groups == pool.groups == ("low", "mid", "high")
    of_rows = pd.Categorical(of_words(WORDS), WORDS)
    found = minimax_reweighting(frame[["age"]], np.arange(ROWS) // 2 % 2, group=of_rows, rounds=2)
    assert found.groups == ("low", "mid", "high")


def test_bands_stand_where_they_begin():
    order = ["(-inf, 5]", "under 25", "(5, 10]", "7", "18-24", "25 to under 45", "45 or more", "b"]
    assert in_natural_order(order[::-1]) == order
    for first, *last in (("<18", ">65"), ("Under 18", "65 and over"), ("up to 18", "≥ 65"), ("≤18", "65+", "Over 70")):
        assert in_natural_order([*last[::-1], "30–64", "9-29", first]) == [first, "9-29", "30–64", *last]


def test_the_shell_s_cuts_are_in_the_order_of_their_limits(tmp_path):
    frame = pd.DataFrame({"age": np.arange(ROWS) % 90, "reward": REWARDS})
    frame.to_csv(tmp_path / "people.csv", index=False)
    model = fitted_model(tmp_path / "people.csv", "age -> reward", 1.0, ["age=5,30,45"])
    assert model.states["age"] == ("under 5", "5 to under 30", "30 to under 45", "45 or more")


def test_bands_that_begin_alike_are_in_no_known_order():
    log = with_rewards(pd.DataFrame({"arm": of_words(["1-2", "1-10", "3-4"])}))
    with pytest.raises(ArgumentError, match="nothing states the order"):
        value(log, first(3))
