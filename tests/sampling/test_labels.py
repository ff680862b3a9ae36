"""What may be told: labels are text or whole numbers of one type, and columns decide, not their order."""

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, ContextError
from evenhand.sampling import (
    ArrayPool,
    Certification,
    LogisticModel,
    SyntheticModel1,
    UniformSampler,
    collect,
    fairness_report,
    group_errors,
    minimax_reweighting,
)
from evenhand.saving.state import from_bytes, to_bytes

pytestmark = pytest.mark.compiled

X = np.array([[0.0, 1.0], [1.0, 0.0]])


NO_LABELS = [
    [0.37, 1.37],
    [0, np.nan],
    [0, None],
    [0, np.inf],
    np.array([b"no", b"yes"]),
    [0, 2**63],
    [0, 10**5000],
    [0, 1j],
    np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
    [["u", "v"], ["u"]],
    np.eye(2),
    pd.Series([1, pd.NA], dtype="Int64"),
    pd.DataFrame({"who": ["u", "v"]}),
    {0: "u", 1: "v"},
    "ab",
    3,
    {0, 1},
]


@pytest.mark.parametrize("told", NO_LABELS, ids=range(len(NO_LABELS)))
def test_what_is_no_label_is_refused_at_every_door(told):
    sampler = UniformSampler(["u", "v"], seed=0)
    draw, before = sampler.ask(), None
    before = to_bytes(sampler)
    model = LogisticModel().fit(X, [0, 1])
    check = Certification(["u", "v"], model, threshold=0.5, batch=2)
    ticket = check.ask()
    doors = {
        "y": (
            lambda: sampler.tell(draw, X, told),
            lambda: check.tell(ticket, X, told),
            lambda: LogisticModel().fit(X, told),
            lambda: minimax_reweighting(X, told, group=[0, 1]),
            lambda: group_errors(model, X, told, groups=[0, 1]),
            lambda: ArrayPool(X, told, group=[0, 1]),
        ),
        "classes": (lambda: UniformSampler(["u", "v"], classes=told),),
        "group": (
            lambda: minimax_reweighting(X, [0, 1], group=told),
            lambda: ArrayPool(X, [0, 1], group=told),
        ),
        "groups": (
            lambda: group_errors(model, X, [0, 1], groups=told),
            lambda: fairness_report(model, X, [0, 1], groups=told),
        ),
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


@pytest.mark.parametrize("weight", [[1.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], ["a", "b"], [[1.0, 1.0]]])
def test_weights_that_do_not_fit_are_refused(weight):
    with pytest.raises(ArgumentError, match="sample_weight: expected 2 numbers"):
        LogisticModel().fit(X, [0, 1], weight)
    for y in ([0], [0, 1, 1], []):
        with pytest.raises(ArgumentError, match="y: expected 2 labels"):
            LogisticModel().fit(X, y)


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
