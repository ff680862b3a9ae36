"""What may be told: labels are text or whole numbers of one type, and columns decide, not their order."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, ContextError
from evenhand.sampling import (
    Certification,
    LogisticModel,
    OptimisticSampler,
    SyntheticModel1,
    UniformSampler,
    collect,
    group_errors,
    minimax_reweighting,
)
from evenhand.sampling.pools.labels import read_labels
from evenhand.saving.state import from_bytes, to_bytes

pytestmark = pytest.mark.compiled

X = np.array([[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ([True, False], [1, 0]),
        (np.array([True, False]), [1, 0]),
        (np.array([1.0, 0.0]), [1, 0]),
        ([np.int64(3), np.float64(4.0)], [3, 4]),
        (np.array(["a", "b"]), ["a", "b"]),
        ([np.str_("a"), "b"], ["a", "b"]),
        (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
        (pd.Series(["a", "b"], dtype="string"), ["a", "b"]),
        (pd.Series([1, 2], dtype="Int64"), [1, 2]),
        (np.array([1, 2**63 - 1], np.uint64), [1, 2**63 - 1]),
        ([-(2**63) + 1, 0], [-(2**63) + 1, 0]),
    ],
)
def test_labels_are_text_or_whole_numbers(told, read):
    labels = read_labels(told)
    assert labels == read
    assert [type(label) for label in labels] == [type(label) for label in read]


NO_LABELS = [
    [0.37, 1.37],
    [0, np.nan],
    [0, None],
    [0, np.inf],
    [0, -np.inf],
    np.array([b"no", b"yes"]),
    [b"no", "yes"],
    [0, 2**63],
    [0, 10**400],
    [0, 10**5000],
    [1e300, 0],
    np.array([0, 2**64 - 1], np.uint64),
    [0, 1j],
    [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
    np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
    [["u", "v"], ["u"]],
    [{"u"}, {"v"}],
    np.eye(2),
    pd.Series([1, pd.NA], dtype="Int64"),
    "ab",
    3,
    {0, 1},
]


@pytest.mark.parametrize("told", NO_LABELS, ids=range(len(NO_LABELS)))
def test_what_is_no_label_is_refused_at_every_door(told):
    sampler = UniformSampler(["u", "v"], seed=0)
    draw, before = sampler.ask(), None
    before = to_bytes(sampler)
    check = Certification(["u", "v"], LogisticModel().fit(X, [0, 1]), threshold=0.5, batch=2)
    ticket = check.ask()
    doors = {
        "y": (
            lambda: sampler.tell(draw, X, told),
            lambda: check.tell(ticket, X, told),
            lambda: LogisticModel().fit(X, told),
            lambda: minimax_reweighting(X, told, group=[0, 1]),
        ),
        "classes": (lambda: UniformSampler(["u", "v"], classes=told),),
        "group": (lambda: minimax_reweighting(X, [0, 1], group=told),),
    }
    for name, calls in doors.items():
        for call in calls:
            with pytest.raises(ArgumentError, match=f"^{name}: expected"):
                call()
    assert to_bytes(sampler) == before
    assert check.open_tickets == [ticket.id]


def test_labels_of_two_types_or_unseen_before_are_refused():
    for classes in ([0, "a"], [True, "a"]):
        with pytest.raises(ArgumentError, match="classes: expected labels of one type"):
            UniformSampler(["u", "v"], classes=classes)
    sampler = UniformSampler(["u", "v"], batch=2, seed=0)
    draw = sampler.ask()
    for labels, match in (
        ([1, "a"], "labels of one type"),
        (["a", 1], "labels of one type"),
        ([0, 1, 2], r"labels among \[0, 1\], got 2"),
    ):
        with pytest.raises(ArgumentError, match=f"y: expected {match}"):
            sampler.tell(draw, np.zeros((len(labels), 2)), labels)
    sampler.tell(draw, np.zeros((4, 2)), [1, 1, 1, 1])
    with pytest.raises(ArgumentError, match="labels of one type, as 1"):
        sampler.tell(sampler.ask(), np.zeros((4, 2)), ["a", "a", "a", "a"])
    sampler.tell(sampler.open_tickets[0], np.zeros((4, 2)), [True, 0.0, 1, 0])
    with pytest.raises(ArgumentError, match=r"y: expected labels among \[0, 1\], got 2"):
        sampler.tell(sampler.ask(), np.zeros((4, 2)), [2, 0, 1, 0])


def frame(rows, columns=("age", "income"), index=None):
    return pd.DataFrame(rows, columns=list(columns), index=index)


def test_columns_decide_not_their_order():
    sampler = UniformSampler(["u", "v"], classes=[0, 1], seed=0)
    sampler.tell(sampler.ask(), frame([[1.0, 2.0], [3.0, 4.0]]), [0, 1])
    sampler = from_bytes(to_bytes(sampler))
    sampler.tell(sampler.ask(), frame([[6.0, 5.0], [8.0, 7.0]], ("income", "age")), [0, 1])
    assert sampler.training.X[:2].tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert sampler.validation.X[:2].tolist() == [[3.0, 4.0], [7.0, 8.0]]
    draw, before = sampler.ask(), None
    before = to_bytes(sampler)
    for columns in (("age", "height"), ("age", "age"), ("age", "income", "height")):
        with pytest.raises(ContextError, match=r"X: expected the columns \['age', 'income'\], each once"):
            sampler.tell(draw, frame(np.ones((2, len(columns))), columns), [0, 1])
    assert to_bytes(sampler) == before
    sampler.tell(draw, [[1.0, 2.0], [3.0, 4.0]], [0, 1])


def test_labels_belong_to_the_rows_that_their_index_names():
    sampler = UniformSampler(["u", "v"], classes=[0, 1], seed=0)
    draw, X = sampler.ask(), frame([[1.0, 2.0], [3.0, 4.0]], index=[7, 3])
    before = to_bytes(sampler)
    for index in ([3, 8], [3, 3]):
        with pytest.raises(ArgumentError, match="y: expected the row labels of X, each once"):
            sampler.tell(draw, X, pd.Series([1, 0], index=index))
    assert to_bytes(sampler) == before
    sampler.tell(draw, X, pd.Series([1, 0], index=[3, 7]))
    assert (sampler.training.y[:1].tolist(), sampler.validation.y[:1].tolist()) == ([0], [1])
    sampler.tell(sampler.ask(), X, [0, 1])


@pytest.mark.parametrize(
    "rows",
    [
        "text",
        None,
        3,
        [[1j, 0], [0, 0]],
        np.array([["2020-01-01"] * 2] * 2, "M8[D]"),
        [[0, 1], [2]],
        {"a": [1]},
        np.zeros((2, 0)),
        [[10**400, 0], [0, 0]],
        [[None, 0], [0, 0]],
    ],
    ids=range(10),
)
def test_what_is_no_table_of_numbers_is_refused(rows):
    sampler = OptimisticSampler(["u", "v"], seed=0)
    with pytest.raises(ContextError, match="X: expected"):
        sampler.tell(sampler.ask(), rows, [0, 1])
    with pytest.raises(ContextError, match="X: expected"):
        LogisticModel().fit(rows, [0, 1])
    with pytest.raises(ContextError, match="X: expected"):
        LogisticModel().fit(X, [0, 1]).predict(rows)


@pytest.mark.parametrize("weight", [[1.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], ["a", "b"], [[1.0, 1.0]]])
def test_weights_that_do_not_fit_are_refused(weight):
    with pytest.raises(ArgumentError, match="sample_weight: expected 2 numbers"):
        LogisticModel().fit(X, [0, 1], weight)
    for y in ([0], [0, 1, 1], []):
        with pytest.raises(ArgumentError, match="y: expected 2 labels"):
            LogisticModel().fit(X, y)


@pytest.mark.parametrize(
    "arguments",
    [
        {"batch": 10**400},
        {"warmup": 10**30},
        {"validation_rows": 10**400},
        {"budget": 10**400},
        {"delta": 10**400},
        {"exploration": 10**400},
        {"exploration": np.complex128(1)},
        {"budget": 10**5000},
        {"batch": -(10**400)},
    ],
    ids=range(9),
)
def test_numbers_too_large_to_compute_with_are_refused_by_name(arguments):
    with pytest.raises(ArgumentError, match=f"^{next(iter(arguments))}: expected"):
        OptimisticSampler(["u", "v"], **arguments)


@pytest.mark.parametrize(
    "classes", [np.array(["no", "yes"]), pd.Series(["yes", "no"]), ("no", "yes"), ["yes", "no", "no"]]
)
def test_classes_are_saved_in_whatever_kind_of_list_they_come(classes):
    sampler = UniformSampler(["u", "v"], classes=classes, seed=0)
    again = from_bytes(to_bytes(sampler))
    assert tuple(again.classes) == ("no", "yes")
    again.tell(again.ask(), X, ["no", "yes"])
    assert again.fresh().ask().group == "u"


def test_groups_in_a_set_have_no_order_and_are_refused():
    for groups in ({"u", "v"}, frozenset({"u", "v"})):
        with pytest.raises(ArgumentError, match="groups: expected a number of groups or a list of labels"):
            UniformSampler(groups, seed=0)


def test_held_out_rows_and_checkpoints_that_do_not_fit_are_refused():
    model, world = LogisticModel().fit(X, [0, 1]), SyntheticModel1(instance="I")
    for y, groups in (([0], ["a", "b"]), ([0, 1], ["a"]), ([0, 1, 1], ["a", "b", "b"])):
        with pytest.raises(ArgumentError, match="groups: expected a prediction, a label and a group for each row"):
            group_errors(model, X, y, groups=groups)
    for checkpoints in (-3, [0], [1.5], "x", 10**30):
        with pytest.raises(ArgumentError, match="checkpoints: expected"):
            collect(UniformSampler(["u", "v"], seed=0), world, rounds=3, checkpoints=checkpoints)
    history = collect(UniformSampler(["u", "v"], seed=0), world, rounds=3, checkpoints=10**9)
    assert history["round"].tolist() == [1, 1, 2, 2, 3, 3]
