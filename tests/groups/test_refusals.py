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


RULES = [TopInterval, IntervalChaining, GroupFairTopInterval, LinearThompson, NaiveFair]
WHO = "(groups|arms): expected"


def begun():
    policy = TopInterval(G)
    policy.ask(np.ones((3, 2)))
    return policy


@pytest.mark.parametrize(
    ("make", "match"),
    [
        *((lambda groups=groups: TopInterval(groups), WHO) for groups in ("abc", 5, {}, ["s"], [1.5, "r"], [[], "r"])),
        *((lambda cls=cls, delta=delta: cls(G, delta=delta), "delta") for cls in RULES for delta in (0.0, 1.0)),
        (lambda: TopInterval(G, noise_scale=0.0), "noise_scale"),
        (lambda: TopInterval(G, horizon=0), "horizon"),
        (lambda: TopInterval(G, preset="mine"), "preset"),
        (lambda: TopInterval(G, preset="authors"), "horizon"),
        (lambda: TopInterval(G, intercept="yes"), "intercept"),
        (lambda: TopInterval(G, cold_start="warm"), "cold_start"),
        (lambda: TopInterval(G, exploration=0.0), "exploration"),
        (lambda: TopInterval(G, exploration="often"), "exploration"),
        (lambda: LinearThompson(G, spread=0.0), "spread"),
        (lambda: LinearThompson(G, draws=0), "draws: expected"),
        (lambda: LinearThompson(G, draws=1.5), "draws: expected"),
        (lambda: LinearThompson(G, draws=8, exploration=0), "exploration: expected"),
        (lambda: LinearThompson(G, exploration=1.1), "exploration: expected"),
        (lambda: GroupFairTopInterval(G, "nobody"), "sensitive"),
        (lambda: GroupFairTopInterval(["x", "y", "z"], "x"), "exactly two groups"),
        (lambda: GroupFairTopInterval(["x", "x"]), "at least two groups"),
        (lambda: GroupFairTopInterval(G, "s", mean_reward=3.0), "mean_reward"),
        (lambda: GroupFairTopInterval(G, mean_reward=math.nan), "mean_reward"),
        (lambda: GroupFairTopInterval(G, within="ring"), "within"),
        (lambda: NaiveFair(G, "fair"), "group_odds"),
        (lambda: NaiveFair(G, inner=3), "inner"),
        (lambda: NaiveFair(G, inner=TopInterval(["s", "r"])), "inner"),
        (lambda: NaiveFair(G, inner=NaiveFair(G)), "inner"),
        (lambda: NaiveFair(G, inner=TopInterval(G), intercept=True), "intercept: expected False together with inner="),
        (lambda: NaiveFair(G, inner=TopInterval(G), delta=0.2), "delta: expected 0.1 together with inner="),
        (lambda: NaiveFair(G, inner=TopInterval(G), noise_scale=2.0), "noise_scale: expected 1.0 together with inner="),
        (lambda: NaiveFair(G, inner=begun()), "neither decided nor learned"),
        (lambda: Ledger(G).add("z", 1.0), "arm"),
    ],
)
def test_what_cannot_be_made(make, match):
    with pytest.raises(ArgumentError, match=match):
        make()


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        ({"s", "r"}, "a list with the group of each arm"),
        (pd.Series(["s", "r", "r"], index=["a", "b", "a"]), "the group of each arm.*a Series that names 'a' twice"),
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


@pytest.mark.parametrize(
    ("groups", "error"),
    [
        (["s", "r"], ArgumentError),
        ("srr", ArgumentError),
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
    with pytest.raises(error, match="groups"):
        policy.ask(np.ones((3, 2)), groups=groups)
    assert to_bytes(policy) == before


def test_beyond_the_horizon():
    inner = TopInterval(G, horizon=3)
    for policy in (GroupFairTopInterval(G, "s", horizon=3, seed=1), NaiveFair(G, inner=inner, seed=1)):
        for _ in range(3):
            policy.tell(policy.ask(np.ones((3, 2))), 1.0)
        before = to_bytes(policy)
        with pytest.raises(ArgumentError, match="horizon"):
            policy.ask(np.ones((3, 2)))
        assert to_bytes(policy) == before


def test_a_bias_of_nothing():
    policy = GroupFairTopInterval(G, "s", seed=1)
    with pytest.raises(ArgumentError, match="contexts"):
        policy.bias()
    policy._begin(2)
    with pytest.raises(ArgumentError, match="nothing has been told"):
        policy.bias()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"reference": "q"}, "reference"),
        ({"reference": 3.5}, "reference"),
        ({"level": 1.0}, "level"),
        ({"balance": "rows"}, "balance"),
        *(({"features": features}, "features") for features in (["one"], ["one", "one"], "ab", 2)),
        ({"features": ["one", "intercept"]}, "differ from 'intercept'"),
    ],
)
def test_bias(given, match):
    policy = GroupFairTopInterval(G, "s", intercept=True, seed=1)
    policy.tell(policy.ask(np.ones((3, 2))), 1.0)
    with pytest.raises(ArgumentError, match=match):
        policy.bias(**given)


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
    columns = {"age": list("oyoy"), "sex": list("FFMM"), "debt": [1.0, 2.0, 3.0, 4.0], "paid": [9.0, 8.0, 7.0, 6.0]}
    return pd.DataFrame(columns | changed)


@pytest.mark.parametrize(
    ("frame", "given", "match"),
    [
        (table(), {"arm": ["age", "race"]}, "race"),
        (table(), {"arm": []}, "arm"),
        (table(), {"features": []}, "features"),
        (table(), {"arm": ["age"]}, "one group"),
        (table(paid=[1, 2, None, 4]), {}, "row 3"),
        (table(), {"features": ["height"]}, "height"),
        (table(), {"sensitive": "X"}, "sensitive"),
        (table(), {"noise": -1}, "noise"),
        (table(), {"arm": ["age", "age"]}, "each once"),
        (table(), {"features": ["debt", "paid"]}, "other than the reward's"),
        (table(), {"group": "paid"}, "group: expected columns that have no other use, got 'paid'; it is the reward"),
        (table(sex=["F", None, "M", "M"]), {}, "row 2: the cell is empty"),
        (table(sex=pd.Series([True, "True", "M", "M"], dtype=object)), {}, "row 1: expected a whole number or text"),
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
