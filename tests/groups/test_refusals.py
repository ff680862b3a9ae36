"""What cannot be is refused once, by name, and nothing has changed."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, ContextError, TableError, UnknownArmError
from evenhand.groups import (
    BiasedLinearArms,
    GroupFairTopInterval,
    IntervalChaining,
    Ledger,
    LinearThompson,
    NaiveFair,
    TableArms,
    TopInterval,
)
from evenhand.saving.state import to_bytes

G = {"a": "s", "b": "r", "c": "r"}


@pytest.mark.parametrize("cls", [TopInterval, IntervalChaining, GroupFairTopInterval, LinearThompson, NaiveFair])
@pytest.mark.parametrize(
    "delta", [0.0, 1.0, -0.1, 2, math.nan, 10**400, "0.1", None, True, [0.1], np.array([0.1, 0.2])]
)
def test_delta(cls, delta):
    with pytest.raises(ArgumentError, match="delta"):
        cls(G, delta=delta)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("noise_scale", 0.0),
        ("horizon", 0),
        ("preset", "mine"),
        ("intercept", "yes"),
        ("cold_start", "warm"),
        ("exploration", 0.0),
        ("exploration", "often"),
    ],
)
def test_settings(name, value):
    with pytest.raises(ArgumentError, match=name):
        TopInterval(G, **{name: value})


def test_authors_need_a_horizon():
    with pytest.raises(ArgumentError, match="horizon"):
        TopInterval(G, preset="authors")


@pytest.mark.parametrize("groups", ["abc", 5, None, {}, ["s"], {"a": 1.5, "b": "r"}, {"a": None, "b": "r"}, [[], "r"]])
def test_groups(groups):
    with pytest.raises(ArgumentError):
        TopInterval(groups)


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        ({"s", "r"}, "a list with the group of each arm"),
        (
            pd.Series(["s", "r", "r"], index=["a", "b", "a"]),
            "the group of each arm.*a Series that names 'a' twice",
        ),
        (pd.DataFrame({"a": ["s"], "b": ["r"]}), r"the group of each arm.*a table of shape \(1, 2\)"),
        ([True, "True"], "each label once, got 'true'"),
        ([("s", None), ("s", "None")], "str or int.*None"),
        ([frozenset("sr"), "s"], "str or int"),
        ([("s", "r"), "s & r", '["s", "r"]'], "tell the combinations apart"),
    ],
    ids=range(7),
)
def test_groups_are_named_once_and_in_an_order(groups, match):
    with pytest.raises(ArgumentError, match=f"groups: expected.*{match}"):
        TopInterval(groups)


def test_group_fair():
    with pytest.raises(UnknownArmError, match="sensitive"):
        GroupFairTopInterval(G, "nobody")
    with pytest.raises(ArgumentError, match="exactly two groups"):
        GroupFairTopInterval(["x", "y", "z"], "x")
    with pytest.raises(ArgumentError, match="at least two groups"):
        GroupFairTopInterval(["x", "x"])
    with pytest.raises(ArgumentError, match="mean_reward"):
        GroupFairTopInterval(G, "s", mean_reward=3.0)
    with pytest.raises(ArgumentError, match="mean_reward"):
        GroupFairTopInterval(G, mean_reward=math.nan)
    with pytest.raises(ArgumentError, match="within"):
        GroupFairTopInterval(G, within="ring")


def test_naive_fair():
    with pytest.raises(ArgumentError, match="group_odds"):
        NaiveFair(G, "fair")
    with pytest.raises(ArgumentError, match="inner"):
        NaiveFair(G, inner=3)
    with pytest.raises(ArgumentError, match="inner"):
        NaiveFair(G, inner=TopInterval(["s", "r"]))
    with pytest.raises(ArgumentError, match="inner"):
        NaiveFair(G, inner=NaiveFair(G))
    begun = TopInterval(G)
    begun.ask(np.ones((3, 2)))
    with pytest.raises(ArgumentError, match="neither decided nor learned"):
        NaiveFair(G, inner=begun)


BAD_CONTEXTS = [
    None,
    np.ones((2, 2)),
    np.ones((3, 3)),
    np.ones(3),
    [[1, 2], [3, math.nan], [5, 6]],
    [[1, math.inf]] * 3,
    [[1, 1e200]] * 3,
    "x",
]


@pytest.mark.parametrize("contexts", BAD_CONTEXTS)
@pytest.mark.parametrize("groups", [None, ["r", "s", "s"]])
def test_contexts(contexts, groups):
    policy = GroupFairTopInterval(G, "s", seed=1)
    policy.tell(policy.ask(np.ones((3, 2))), 1.0)
    before = to_bytes(policy)
    with pytest.raises(ContextError, match="contexts"):
        policy.ask(contexts, groups=groups)
    assert to_bytes(policy) == before


@pytest.mark.parametrize(
    ("groups", "error"),
    [
        (["s", "r"], ArgumentError),
        ("srr", UnknownArmError),
        ({"z": "s"}, UnknownArmError),
        ({"a": "q"}, UnknownArmError),
        (pd.Series(["s", "r", "r"]), UnknownArmError),
        (pd.Series(["s", "r"], index=["a", "a"]), ArgumentError),
    ],
    ids=range(6),
)
def test_membership_of_a_round(groups, error):
    policy = GroupFairTopInterval(G, "s", seed=1)
    policy.tell(policy.ask(np.ones((3, 2))), 1.0)
    before = to_bytes(policy)
    with pytest.raises(ArgumentError if isinstance(groups, str) else error, match="groups"):
        policy.ask(np.ones((3, 2)), groups=groups)
    assert to_bytes(policy) == before


@pytest.mark.parametrize(
    "make",
    [
        lambda: GroupFairTopInterval(G, "s", horizon=3, seed=1),
        lambda: NaiveFair(G, inner=TopInterval(G, horizon=3), seed=1),
    ],
)
def test_beyond_the_horizon(make):
    policy = make()
    for _ in range(3):
        policy.tell(policy.ask(np.ones((3, 2))), 1.0)
    before = to_bytes(policy)
    with pytest.raises(ArgumentError, match="horizon"):
        policy.ask(np.ones((3, 2)))
    assert to_bytes(policy) == before


def test_bias():
    policy = GroupFairTopInterval(G, "s", seed=1)
    with pytest.raises(ArgumentError, match="contexts"):
        policy.bias()
    policy._begin(2)
    with pytest.raises(ArgumentError, match="nothing has been told"):
        policy.bias()
    policy.tell(policy.ask(np.ones((3, 2))), 1.0)
    with pytest.raises(UnknownArmError, match="reference"):
        policy.bias("q")
    with pytest.raises(ArgumentError, match="level"):
        policy.bias(level=1.0)
    with pytest.raises(ArgumentError, match="balance"):
        policy.bias(balance="rows")
    with pytest.raises(ArgumentError, match="features"):
        policy.bias(features=["one"])
    for features in (["one", "one"], "ab", 2):
        with pytest.raises(ArgumentError, match="features"):
            policy.bias(features=features)
    with pytest.raises(ArgumentError, match="reference"):
        policy.bias(3.5)
    constant = GroupFairTopInterval(G, "s", intercept=True, seed=1)
    constant.tell(constant.ask(np.ones((3, 1))), 1.0)
    with pytest.raises(ArgumentError, match="differ from 'intercept'"):
        constant.bias(features=["intercept"])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"arms": 1}, "arms"),
        ({"arms": 10**12}, "arms"),
        ({"dimension": 10**12}, "dimension"),
        ({"dimension": 0}, "dimension"),
        ({"sensitive": -1}, "sensitive"),
        ({"bias": math.nan}, "bias"),
        ({"spread": -1.0}, "spread"),
        ({"base": math.inf}, "base"),
        ({"bias_spread": -1.0}, "bias_spread"),
        ({"noise": -1.0}, "noise"),
        ({"groups": ["x", "y"], "sensitive": None}, "sensitive"),
        ({"groups": ["x", "y"], "sensitive": 2.5}, "sensitive"),
        ({"arms": 3, "sensitive": 4}, "sensitive"),
        ({"groups": ["x", "y"], "sensitive": "z"}, "sensitive"),
        ({"groups": ["x", "y"], "bias": {"z": 1.0}}, "sensitive"),
    ],
)
def test_linear_world(given, name):
    with pytest.raises(ArgumentError, match=name):
        BiasedLinearArms(**given)


def table(**changed):
    columns = {
        "age": ["o", "y", "o", "y"],
        "sex": list("FFMM"),
        "debt": [1.0, 2.0, 3.0, 4.0],
        "paid": [9.0, 8.0, 7.0, 6.0],
    }
    return pd.DataFrame(columns | changed)


@pytest.mark.parametrize(
    ("frame", "given", "match"),
    [
        (table(), {"arm": ["age", "race"]}, "race"),
        (table(), {"arm": []}, "arm"),
        (table(), {"features": []}, "features"),
        (table(), {"arm": ["age"]}, "one group"),
        (table(paid=[1, 2, None, 4]), {}, "row 3"),
        (table(debt=[1, math.nan, 3, 4]), {}, "row 2"),
        (table(), {"features": ["height"]}, "height"),
        (table(), {"sensitive": "X"}, "sensitive"),
        (table(), {"noise": -1}, "noise"),
        (table(), {"arm": ["age", "age"]}, "each once"),
        (table(), {"features": ["debt", "debt"]}, "each once"),
        (table(), {"features": ["debt", "paid"]}, "other than the reward's"),
        (table(), {"group": "paid"}, "group: expected columns that have no other use, got 'paid'; it is the reward"),
        (table(debt=pd.date_range("2020", periods=4)), {}, "column 'debt'.*turn dates and durations"),
        (table(sex=["F", None, "M", "M"]), {}, "row 2: the cell is empty"),
        (table(sex=pd.Series([True, "True", "M", "M"], dtype=object)), {}, "row 1: expected a whole number or text"),
        ("table.csv", {}, "DataFrame"),
    ],
)
def test_table_world(frame, given, match):
    with pytest.raises(ArgumentError, match=match):
        TableArms(frame, **({"arm": ["age", "sex"], "group": "sex", "reward": "paid"} | given))
    assert issubclass(TableError, ArgumentError)


def test_contexts_too_wide_for_memory():
    policy = TopInterval(G)
    with pytest.raises(ContextError, match=r"contexts: expected at most .* features for 3 arms"):
        policy.ask(np.ones((3, 30_000)))
    policy.ask(np.ones((3, 2)))


def test_ledger():
    with pytest.raises(UnknownArmError, match="arm"):
        Ledger(G).add("z", 1.0)


def test_thompson_spread():
    with pytest.raises(ArgumentError, match="spread"):
        LinearThompson(G, spread=0.0)
