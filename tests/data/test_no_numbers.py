"""What is no number is refused wherever a number is wanted: rewards, contexts, settings; numbers of any kind pass."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from evenhand.arguments import as_float, is_whole
from evenhand.errors import ArgumentError, ContextError, RewardError
from evenhand.groups import NaiveFair, TopInterval
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import FairLearn, FairUCB
from evenhand.sampling import OptimisticSampler
from evenhand.similarity import LipschitzUCB
from tests.naming import named
from tests.strategies import Stubborn

NONE = [
    *(True, np.True_, np.array(True), "1", b"1"),
    *(1j, np.array(1j), np.array([1.0, 0.0]), {}),
    *(None, pd.NA, float("nan"), Decimal("nan"), Decimal("snan")),
    *(float("inf"), 10**400, -(10**400), np.longdouble("1e4000")),
    *(date(2026, 1, 1), np.datetime64("2026-01-01"), np.timedelta64(1, "ns")),
]
"""None of these is a finite number."""
ROWS = [[0.4, 0.1], [0.2, 0.5]]
PAIR = {"a": "F", "b": "M"}
POLICIES = {
    "FairUCB": (FairUCB([0.2, 0.2]), ()),
    "FairLearn over a Python learner": (FairLearn(Stubborn(0), [0.2, 0.2]), ()),
    "Thompson": (Thompson(arms=2), ()),
    "TopInterval": (TopInterval(PAIR), (ROWS,)),
    "NaiveFair": (NaiveFair(PAIR), (ROWS,)),
    "LipschitzUCB": (LipschitzUCB(2, seed=1), (ROWS,)),
}


@pytest.mark.parametrize(("policy", "shown"), POLICIES.values(), ids=POLICIES)
def test_what_is_no_number_is_no_reward_and_no_index(policy, shown):
    decision = policy.ask(*shown)
    for value in NONE:
        if value is not None or not isinstance(policy, LipschitzUCB):
            with pytest.raises(RewardError, match="reward: expected"):
                policy.tell(decision, value)
        if hasattr(policy, "update"):
            with pytest.raises(RewardError, match="reward: expected"):
                policy.update(*shown, 0, value)
            with pytest.raises(ArgumentError, match="index: expected an arm's index below 2"):
                policy.update(*shown, value, 1.0)
        if value is not None:
            with pytest.raises(ArgumentError, match="seed: expected"):
                FairUCB([0.2, 0.2], seed=value)
    assert policy.open_tickets == [decision.id]


TABLES = [
    [["1", "0"], ["0", "1"]],
    np.eye(2) + 0j,
    np.eye(2).astype("datetime64[D]"),
    np.ma.masked_array(np.eye(2), mask=np.eye(2)),
    np.eye(2) * np.longdouble("1e4000"),
    np.eye(2) * 1e200,
    [[10**400, 0.0], [0.0, 1.0]],
    [[None, 0.0], [0.0, 1.0]],
    [[1.0, 0.0], [1.0]],
    pd.DataFrame({"x": [pd.NA, 0], "y": [0, 1]}),
]


@pytest.mark.parametrize("name", ["TopInterval", "NaiveFair", "LipschitzUCB"])
@pytest.mark.parametrize("table", TABLES, ids=named)
def test_a_table_with_what_is_no_number_shows_no_contexts(name, table):
    policy = POLICIES[name][0]
    before = policy.open_tickets
    with pytest.raises(ContextError, match="contexts: expected"):
        policy.ask(table)
    assert policy.open_tickets == before


def test_numbers_of_every_kind_are_numbers():
    for value in (1, 1.0, np.float32(1), np.int8(1), np.uint64(1), Fraction(1), Decimal(1), np.array(1.0)):
        assert (as_float(value), type(as_float(value))) == (1.0, float)
        policy = FairUCB([0.2, 0.2])
        policy.tell(policy.ask(), value)
        assert TopInterval(PAIR).ask([[value, 0.5], [0.5, value]]).round == 1
    assert is_whole(np.uint8(3))
    assert not is_whole(3.0)


@pytest.mark.parametrize("label", [2**63, -(10**400)], ids=["just too large", "beyond floating point"])
def test_a_number_beyond_64_bits_is_no_label(label):
    for made in (lambda: UCB1(arms=[0, label]), lambda: FairUCB({0: 0.1, label: 0.1})):
        with pytest.raises(ArgumentError, match=r"arms: expected numbers below 2\^63"):
            made()
    with pytest.raises(ArgumentError, match=r"groups: expected numbers below 2\^63"):
        OptimisticSampler([0, label])
    assert UCB1(arms=[0, 2**63 - 1]).arms[1] == 2**63 - 1
