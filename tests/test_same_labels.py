"""When two labels are the same: one table, and one answer from every door, whatever type a log has its labels in."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.protocol import find_label, label_of, labels_of_texts
from evenhand.quotas import FairUCB, Promise, audit
from evenhand.sampling import OptimisticSampler, TablePool
from evenhand.sampling.problem import per_group

ALIKE = [
    [1, 1.0, np.int8(1), np.uint64(1), np.float32(1), Decimal("1.0"), "1", np.str_("1")],
    [10, 10.0, "10"],
    [-3, -3.0, "-3"],
    [0, 0.0, -0.0, "0"],
    [True, np.True_, "true", "True", "TRUE"],
    [False, np.False_, "false", "False", "FALSE"],
    ["caf\u00e9", "cafe\u0301"],
    [0.5, np.float64(0.5), "0.5"],
    *(
        [other]
        for other in ("01", "1.0", "+1", " 1", "1 ", "1_0", "1e0", "-0", "0.50", "\uff11", "tRue", "yes", "", "one")
    ),
]
"""The table of docs/conversation.md: what stands in one row is the same label, what stands in two is not."""
VALUES = [(value, row) for row, values in enumerate(ALIKE) for value in values]


@pytest.mark.parametrize(("value", "row"), VALUES, ids=lambda part: repr(part))
def test_two_labels_are_the_same_where_the_table_says_so(value, row):
    for other, there in VALUES:
        known = str(other) if label_of(other) is None else label_of(other)
        assert (find_label(value, [known, "another"]) == 0) == (row == there), (value, other)


@pytest.mark.parametrize(
    "value", [None, b"1", [1], {1}, np.array([1]), float("nan"), pd.NA, pd.Timestamp(0), 1j, 2.0**53]
)
def test_what_is_no_label_is_found_nowhere(value):
    assert label_of(value) is None
    assert find_label(value, [1, "1", "", "nan", "None"]) is None


def test_of_two_labels_of_one_writing_each_is_found_exactly():
    known = [1, "1", "true", "True", 0]
    assert [find_label(value, known) for value in (1, 1.0, "1", "true", True, "True", "TRUE")] == [
        0,
        0,
        1,
        2,
        2,
        3,
        None,
    ]
    assert FairUCB({1: 0.2, "1": 0.3}).arms == (1, "1")


@pytest.mark.parametrize("numbers", [[0, 1], [1, 0], ["0", "1"], [1]])
def test_where_all_are_0_and_1_true_is_1(numbers):
    assert find_label(True, numbers) == find_label("true", numbers) == numbers.index(type(numbers[0])(1))
    assert find_label(True, [0, 1, 2]) is None
    assert find_label(1, ["false", "true"]) is None


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["0", "1", "-2"], [0, 1, -2]),
        (["1", "01", "2"], ["1", "01", "2"]),
        (["1_0", "2"], ["1_0", "2"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["-0", "1"], ["-0", "1"]),
        ([1, 2], [1, 2]),
        ([], []),
    ],
)
def test_a_list_of_texts_is_numbers_where_all_are_written_as_such(texts, labels):
    assert labels_of_texts(texts) == labels


# ---------------------------------------------------------------------- the same log in other types, door by door

TWO = [1 + n % 2 for n in range(40)]
TEXTS = [str(n) for n in TWO]
LOGS = {
    "int": pd.Series(TWO),
    "int8": pd.Series(TWO, dtype="int8"),
    "float": pd.Series(TWO, dtype=float),
    "text": pd.Series(TEXTS),
    "string": pd.Series(TEXTS, dtype="string"),
    "Int64": pd.Series(TWO, dtype="Int64"),
    "Float64": pd.Series(TWO, dtype="Float64"),
    "category": pd.Series(TWO).astype("category"),
    "category of floats": pd.Series(TWO, dtype=float).astype("category"),
    "objects": pd.Series([(int, float, np.int8, Decimal)[n % 4](one) for n, one in enumerate(TWO)], dtype=object),
    "Arrow int": pd.Series(TWO, dtype=pd.ArrowDtype(pa.int64())),
    "Arrow float": pd.Series(TWO, dtype=pd.ArrowDtype(pa.float64())),
    "Arrow text": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string())),
    "Arrow decimal": pd.Series([Decimal(n) for n in TWO], dtype=pd.ArrowDtype(pa.decimal128(3, 1))),
}
TRUTHS = [bool(n % 2) for n in range(40)]
FLAGS = {
    "bool": pd.Series(TRUTHS),
    "boolean": pd.Series(TRUTHS, dtype="boolean"),
    "objects": pd.Series(TRUTHS, dtype=object),
    "category": pd.Series(TRUTHS).astype("category"),
    "Arrow bool": pd.Series(TRUTHS, dtype=pd.ArrowDtype(pa.bool_())),
    "text": pd.Series([json.dumps(truth) for truth in TRUTHS]),
    "as pandas writes it": pd.Series([str(truth) for truth in TRUTHS]),
    "as a spreadsheet writes it": pd.Series([str(truth).upper() for truth in TRUTHS]),
}
NAMES = {
    "int": (1, 2),
    "float": (1.0, 2.0),
    "text": ("1", "2"),
    "numpy": (np.int16(1), np.float64(2.0)),
}
FLAG_NAMES = {
    "bool": (True, False),
    "numpy": (np.True_, np.False_),
    "text": ("true", "false"),
    "Text": ("True", "FALSE"),
}


def frame(labels):
    return pd.DataFrame({"arm": labels, "reward": [0, 1, 1, 1] * 10, "chance": 0.5, "x": np.arange(40.0)})


def as_text(label):
    return str(label_of(label))


def audited(log, one, other):
    found = audit(log, arm="arm", shares={one: 0.4, other: "1/3"})
    return found.kept, found.rounds_in_violation, found.arms["pulls"].tolist()


def stated(log, one, other):
    promise = Promise({one: 0.4, other: 0.3}, caps={as_text(one): 0.9}, tolerance=1)
    found = audit(log, arm="arm", promise=promise)
    return found.kept, found.arms["pulls"].tolist()


def offered(log, one, other):
    return audit(log.assign(here=log["arm"]), arm="arm", shares={one: 1, other: 0}, available="here").kept


def evaluated(log, one, other):
    said = {"arm": "arm", "reward": "reward", "propensity": "chance"}
    found = eh.evaluate(log, {one: 0.25, other: 0.75}, model={as_text(one): 0.1, as_text(other): 0.2}, **said)
    return found.value, found.low


def replayed(log, one, other):
    policy = FairUCB({other: 0.2, one: 0.3}, seed=1)
    return eh.evaluate(log, policy, arm="arm", reward="reward", replays=1).value


def learned(log, one, other):
    policy = FairUCB({one: 0.2, other: 0.3}, seed=1)
    policy.learn(log)
    return [policy.ask().index for _ in range(4)]


def pooled(log, one, other):
    pool = TablePool(log, group="arm", label="reward", features=["x"])
    sampler = OptimisticSampler([as_text(one), as_text(other)], seed=1)
    return (
        pool.sizes.tolist(),
        len(pool.respond(sampler.ask())[1]),
        per_group("costs", {one: 2, other: 3}, pool.groups).tolist(),
    )


DOORS = [audited, stated, offered, evaluated, replayed, learned, pooled]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", LOGS)
def test_a_log_of_numbers_says_the_same_in_every_type(door, kind):
    expected = door(frame(LOGS["int"]), 1, 2)
    for one, other in NAMES.values():
        assert door(frame(LOGS[kind]), one, other) == expected


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", FLAGS)
def test_a_log_of_truth_values_says_the_same_in_every_type(door, kind):
    expected = door(frame(FLAGS["text"]), "true", "false")
    for one, other in FLAG_NAMES.values():
        assert door(frame(FLAGS[kind]), one, other) == expected
