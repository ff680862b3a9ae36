"""When two labels are the same: one table, and one answer from every door, whatever type a log has its labels in."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.data.encoding import Encoder
from evenhand.data.features import categories
from evenhand.errors import ArgumentError, SharesError, TableError, UnknownArmError
from evenhand.groups.problem import Groups
from evenhand.interventions import CSR, CausalModel, Problem
from evenhand.labels import in_order
from evenhand.learners import UCB1
from evenhand.protocol import find_label, label_of, labels_of_texts
from evenhand.quotas import DeadlineLearn, DriftingArms, FairUCB, Promise, audit
from evenhand.sampling import (
    LabelQueue,
    LogisticModel,
    OptimisticSampler,
    TablePool,
    annotations_table,
    group_errors,
)
from evenhand.sampling.pools.table_pool import TableFeatures
from evenhand.sampling.problem import per_group
from evenhand.simulation.schedule import read_given
from evenhand.studies.log.codec import by_arm
from evenhand.studies.specification import policy_from, promise_from
from tests.cli.shell import call

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


def test_what_is_no_label_is_found_nowhere():
    no_labels = [None, b"1", [1], {1}, np.array([1]), float("nan"), pd.NA, pd.Timestamp(0), 1j, 2.0**53, 10**5000]
    for value in no_labels:
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


@cache
def of_numbers(door):
    return door(frame(LOGS["int"]), 1, 2)


@cache
def of_truths(door):
    return door(frame(FLAGS["text"]), "true", "false")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", LOGS)
def test_a_log_of_numbers_says_the_same_in_every_type(door, kind):
    for one, other in NAMES.values():
        assert door(frame(LOGS[kind]), one, other) == of_numbers(door)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", FLAGS)
def test_a_log_of_truth_values_says_the_same_in_every_type(door, kind):
    for one, other in FLAG_NAMES.values():
        assert door(frame(FLAGS[kind]), one, other) == of_truths(door)


# ---------------------------------------------------------------------- the doors of policies, samplers and searches

ARMS = {1: 0.2, 2: 0.3, 3: 0}


def made(**settings):
    return DeadlineLearn(UCB1(), ARMS, seed=1, **settings)


def changed(shares):
    policy = made()
    policy.change(shares)
    return policy.promise


def told_by_arm(reward):
    policy = made(plays=2)
    policy.tell(policy.ask(), dict.fromkeys(policy.ask().arms, reward))
    return policy.open_tickets


def spec(**settings):
    return policy_from({"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "seed": 1} | settings)


STATES = {"sex": [0, 1], "dose": [0, 1], "cured": [0, 1]}
GRAPH = {"sex": [], "dose": ["sex"], "cured": ["dose"]}
NOW = [[0.8, 0.2], [0.4, 0.6]]


def problem(states=STATES, rule=1, **settings):
    model = CausalModel.from_tables(states, GRAPH, {"sex": [0.5, 0.5], "dose": NOW, "cured": [[0.7, 0.3], [0.1, 0.9]]})
    given = {"intervene": "dose", "sensitive": "sex", "outcome": "cured", "candidates": {"now": NOW, "rule": rule}}
    return Problem(model, **given | settings)


def scored(labels):
    model = LogisticModel().fit([[0.0], [1.0], [2.0], [3.0]], ["false", "false", "true", "true"])
    return group_errors(model, np.array([[0.0], [3.0]]), labels, groups=[1, 1]).tolist()


def classes_told(classes, labels):
    sampler = OptimisticSampler(["u", "v"], classes=classes, seed=1)
    sampler.tell(sampler.ask(), [[0.0], [1.0]], labels)
    return [int(rows.y[0]) for rows in (sampler.training, sampler.validation)]


def here(offers, arms):
    return read_given([offers], None, rounds=1, replications=1, arms=arms).offers.tolist()


SAME_ANSWER = {
    "available": (lambda one, two: made().ask(available=[one, two]).arm, 1),
    "retire": (lambda one, two: (policy := made(), policy.retire(one), policy.retired)[2], (1,)),
    "change": (lambda one, two: changed({one: 0.4, two: 0.5, 3: 0}), Promise({1: 0.4, 2: 0.5, 3: 0})),
    "change to a promise": (
        lambda one, two: changed(Promise({one: 0.4, two: 0.5, 3: 0}, caps={one: 0.5})),
        Promise({1: 0.4, 2: 0.5, 3: 0}, caps={1: 0.5}),
    ),
    "several tables of a promise": (lambda one, two: Promise(ARMS, caps={one: 0.9}, offers="all").arms, (1, 2, 3)),
    "sets beside arms": (lambda one, two: Promise({1: 0.1, 2: 0.1, (one, two): 0.5}).arms, (1, 2)),
    "groups of a round": (
        lambda one, two: Groups.read({1: "f", 2: "m"}).of_round({one: "m", two: "f"}).tolist(),
        [1.0, 0.0],
    ),
    "a group": (lambda one, two: Groups.read({"a": 1, "b": 2}).code(two), 1),
    "costs": (lambda one, two: OptimisticSampler([1, 2], costs={two: 3, one: 1}).costs, {1: 1.0, 2: 3.0}),
    "means": (
        lambda one, two: DriftingArms({1: 0.5, 2: 0.5}, {two: 0.2, one: 0.1}, period=9).amplitudes.tolist(),
        [0.1, 0.2],
    ),
    "classes": (lambda one, two: classes_told([1, 2], [one, two]), [0, 1]),
    "an encoder": (lambda one, two: Encoder({"size": [1, 2]}).transform({"size": two}).tolist(), [[0.0, 1.0]]),
    "features": (
        lambda one, two: (
            TableFeatures(pd.DataFrame({"x": ["1", "2"]}), ["x"]).transform(pd.DataFrame({"x": [two]})).tolist()
        ),
        [[0.0, 1.0]],
    ),
    "offers of a simulation": (lambda one, two: here([two], (1, 2)), [[False, True]]),
    "a table by arm": (lambda one, two: in_order(pd.Series({two: 5, one: 6}), [(1, 2)], "costs").tolist(), [6, 5]),
    "an item of a queue": (
        lambda one, two: LabelQueue([1, 2, 3, 4], np.eye(4), groups=["a", "a", "b", "b"], seed=1)._items.position(two),
        1,
    ),
}


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("door", SAME_ANSWER)
def test_a_door_takes_a_label_as_it_is_written(door, names):
    call, expected = SAME_ANSWER[door]
    assert call(*NAMES[names]) == expected


BY_TEXT = {
    "a promise as data": (
        lambda: promise_from({"shares": {"1": 0.1, "2": 0.2}, "caps": {"2": 0.9}}, [1, 2]).arms,
        (1, 2),
    ),
    "shares beside arms": (lambda: spec(arms=[1, 2], shares={"2": 0.2, "1": 0.1}, windows={"2": 9}).arms, (1, 2)),
    "caps beside a list": (lambda: spec(shares=[0.1, 0.2], caps={"1": 0.9}).caps, {0: None, 1: Fraction(9, 10)}),
    "a sensitive group": (
        lambda: (
            policy_from(
                {"policy": "groups/group-fair-top-interval", "groups": {"a": 1, "b": 0}, "sensitive": "1"}
            ).sensitive
        ),
        1,
    ),
    "rewards by arm": (lambda: by_arm({"2": 0.0, "1": 1.0}, [1, 2]), [1.0, 0.0]),
}


@pytest.mark.parametrize("door", BY_TEXT)
def test_keys_of_json_are_texts_and_name_numbers(door):
    call, expected = BY_TEXT[door]
    assert call() == expected


@pytest.mark.parametrize(
    "rule", [1, "1", 1.0, True, np.int64(1), np.True_, {0: 1, 1: "1"}, {"0": True, "1": 1.0}, {("0",): 1, (1.0,): 1}]
)
def test_a_rule_says_a_state_as_it_is_written(rule):
    for states in (STATES, {node: ["0", "1"] for node in STATES}):
        assert problem(states, rule).tables[1].tolist() == [[0.0, 1.0], [0.0, 1.0]]


TRIALS = pd.DataFrame({"sex": [0, 1] * 50, "dose": [0, 0, 1, 1] * 25, "cured": [0, 1, 1, 1] * 25})
TYPES = {
    "int": TRIALS,
    "float": TRIALS.astype(float),
    "text": TRIALS.astype(str),
    "bool": TRIALS.astype(bool),
    "object": TRIALS.astype(object),
    "category": TRIALS.astype("category"),
    "Int64": TRIALS.astype("Int64"),
    "Arrow": TRIALS.astype("int64[pyarrow]"),
    "pandas' words": TRIALS.astype(bool).astype(str),
}


@pytest.mark.parametrize("kind", TYPES)
def test_a_log_of_trials_says_the_same_in_every_type(kind):
    found = []
    for states, log in ((STATES, TRIALS), (STATES, TYPES[kind]), ({node: ["0", "1"] for node in STATES}, TYPES[kind])):
        search = CSR(problem(states, [[0.5, 0.5]] * 2, values={0: 3, "1": 5}), tolerance=0.2, budget=3000)
        search.tell(None, log)
        found.append(search.recommend().table["outcome"].tolist())
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("kind", TYPES)
def test_a_value_that_was_held_is_compared_with_the_value_observed(kind):
    search = CSR(problem(), tolerance=0.2, budget=3000)
    allocation, types = search.ask(), TYPES[kind].dtypes
    held = allocation.frame["do(sex)"].astype(float)
    values = pd.DataFrame({"sex": held.fillna(0).astype(int), "dose": 0, "cured": 1}).astype(types)
    rows = allocation.frame.drop(columns=["sex", "dose", "cured"], errors="ignore").assign(**{"do(sex)": held})
    search.tell(allocation, rows.join(values.astype(bool).astype(str) if kind == "pandas' words" else values))
    assert search.trials == rows["count"].sum()


def test_a_model_of_a_column_that_met_an_empty_cell_has_whole_states():
    fitted = CausalModel.fit(TRIALS.astype(float), "sex -> dose -> cured")
    assert fitted.states["cured"] == (0, 1)
    assert CausalModel.fit(TRIALS.astype(bool), "sex -> dose").states["dose"] == ("false", "true")
    assert problem({node: ["false", "true"] for node in STATES}, True).low == 0.0


@pytest.mark.parametrize(
    ("labels", "error"), [([False, True], [0.0]), (["False", "TRUE"], [0.0]), (np.array([True, True]), [0.5])]
)
def test_predictions_are_compared_with_labels_of_any_type(labels, error):
    assert scored(labels) == error
    with pytest.raises(
        ArgumentError, match=r"y: expected labels among \['false', 'true'\] \(text\), got 0 \(a whole num"
    ):
        scored([0, 1])


@pytest.mark.parametrize("classes", [[0, 1], ["0", "1"], ["false", "true"], ["False", "True"]])
def test_truth_values_are_told_as_the_classes_are_named(classes):
    assert classes_told(classes, [False, True]) == [0, 1]


# ---------------------------------------------------------------------- refusals

LOG = frame(pd.Series(["01", "2"] * 20))
BOTH = "(whole numbers), got '01' (text)"
NOT_THESE = {
    "audit": (
        lambda: audit(LOG, arm="arm", shares={1: 0.2, 2: 0.3}),
        "column 'arm', row 1: expected an arm that has a share",
    ),
    "offers": (
        lambda: audit(LOG.assign(arm=1, here=LOG["arm"]), arm="arm", shares={1: 0, 2: 0}, available="here"),
        "column 'here', row 1: expected arms that have a share",
    ),
    "evaluate": (
        lambda: eh.evaluate(frame(LOGS["int"]), {"01": 0.5, "2": 0.5}, arm="arm", reward="reward"),
        "policy: expected the arms of the log, [1, 2] (whole",
    ),
    "True": (
        lambda: eh.evaluate(frame(LOGS["int"]), {True: 0.5, 2: 0.5}, arm="arm", reward="reward"),
        "policy: expected the arms of the log, [1, 2] (whole numbers), got 'true' (text)",
    ),
    "a model": (
        lambda: eh.evaluate(
            frame(LOGS["int"]), {1: 0.5, 2: 0.5}, arm="arm", reward="reward", model={"01": 0.5, "2": 0.5}
        ),
        "none for 1 (a whole number) among ['01'] (text)",
    ),
    "learn": (lambda: made().learn(LOG), "column 'arm', row 1: expected one of the arms [1, 2, 3] " + BOTH),
    "change": (
        lambda: changed({"01": 0.1, "2": 0.1, "3": 0}),
        "shares: expected arms among [1, 2, 3] " + BOTH + "; did you mean 1?",
    ),
    "groups": (
        lambda: Groups.read({1: "f", 2: "m"}).of_round({"01": "m"}),
        "groups: expected a dict over the arms [1, 2] " + BOTH,
    ),
    "classes": (lambda: classes_told([1, 2], ["01", "2"]), "y: expected labels among [1, 2] " + BOTH),
    "an encoder": (
        lambda: Encoder({"size": [1, 2]}).transform({"size": "01"}),
        "column 'size', row 1: expected one of the categories [1, 2] " + BOTH,
    ),
    "a trial": (
        lambda: CSR(problem(), tolerance=0.2, budget=3000).tell(None, TRIALS.assign(dose="01")),
        "column 'dose', row 1: expected one of [0, 1] " + BOTH + "; no row has one of them",
    ),
    "a rule": (
        lambda: problem(rule={"00": 1, "1": 1}),
        "candidates['rule']: expected an entry for each state of 'sex': [0, 1] (whole numbers), got '00' (text)",
    ),
    "a state": (
        lambda: problem().model.probabilities(["cured"], do={"dose": "01"}),
        "do['dose']: expected a state of 'dose': [0, 1] " + BOTH,
    ),
}


@pytest.mark.parametrize("door", NOT_THESE)
def test_a_label_of_another_type_is_refused_with_both_types(door):
    call, words = NOT_THESE[door]
    with pytest.raises(ArgumentError) as refusal:
        call()
    assert words in str(refusal.value)
    if door in ("audit", "offers"):
        assert "one of [1, 2] (whole numbers), got '01' (text)" in str(refusal.value)


def test_advice_to_leave_rows_out_is_given_where_others_are_left():
    search = CSR(problem(), tolerance=0.2, budget=3000)
    with pytest.raises(
        TableError,
        match=r"^column 'dose', row 3: expected one of \[0, 1\], got 7; leave such rows "
        r"out$",
    ):
        search.tell(None, TRIALS.assign(dose=[0, 1, 7, 1] * 25))


def test_a_mask_is_no_list_of_labels():
    flags = DeadlineLearn(UCB1(), {"true": 0.2, "false": 0.3}, seed=1)
    for policy in (flags, made()):
        with pytest.raises(ArgumentError, match="available: expected labels of the arms"):
            policy.ask(available=[True, False])
    log = pd.DataFrame({"arm": [0, 1], "here": [[True, False], [True, True]]})
    with pytest.raises(UnknownArmError, match=r"row 1: expected arms that have a share, one of \[0, 1\] .*got True"):
        audit(log, arm="arm", shares={0: 0.1, 1: 0.1}, available="here")
    flagged = log.assign(arm=[True, False], here=[[True, False]] * 2)
    assert audit(flagged, arm="arm", shares={True: 0.1, False: 0.1}, available="here").arms["pulls"].tolist() == [1, 1]
    assert here([True, False], (0, 1)) == [[True, False]]
    assert here("[true]", ("false", "true")) == [[False, True]]


def test_labels_that_are_the_same_in_one_log_are_told_apart_by_names_alone():
    log = pd.DataFrame({"arm": pd.Series([1, "1", 2], dtype=object)})
    assert audit(log, arm="arm", shares=0.1).arms["pulls"].tolist() == [2, 1]
    assert audit(log, arm="arm", shares={1: 0.1, "1": 0.1, 2: 0}).arms["pulls"].tolist() == [1, 1, 1]
    assert audit(log, arm="arm", shares={1: 0.1, 2: 0}).arms["pulls"].tolist() == [2, 1]
    with pytest.raises(SharesError, match="each set of arms once, got \"the arms of '1' twice\""):
        changed({1: 0.1, "1": 0.1, 2: 0.1, 3: 0})
    with pytest.raises(TableError, match="row 2: expected a whole number or text, got True; turn each bool into text"):
        audit(pd.DataFrame({"arm": ["True", True]}), arm="arm", shares=0.1)


# ---------------------------------------------------------------------- files and the shell


def written(folder, name, values):
    """The same column as CSV, JSON lines, Parquet and Feather."""
    table = pd.DataFrame({"arm": values, "reward": 1})
    table.assign(arm=[json.dumps(one) if isinstance(one, bool) else one for one in values]).to_csv(
        folder / f"{name}.csv", index=False
    )
    lines = "".join(json.dumps({"arm": one, "reward": 1}) + "\n" for one in values)
    (folder / f"{name}.jsonl").write_text(lines)
    table.to_parquet(folder / f"{name}.parquet")
    table.to_feather(folder / f"{name}.feather")
    return [folder / f"{name}.{ending}" for ending in ("csv", "jsonl", "parquet", "feather")]


@pytest.mark.parametrize(
    ("values", "shares"),
    [
        (TWO, "1=0.4,2=1/3"),
        (TEXTS, "2=1/3,1=0.4"),
        (TRUTHS, "true=0.4,false=1/3"),
        (TRUTHS, "FALSE=1/3,True=0.4"),
        (TRUTHS, "1=0.4,0=1/3"),
    ],
    ids=["numbers", "texts", "truth values", "in other words", "as numbers"],
)
def test_a_file_of_any_format_is_audited_alike(values, shares, tmp_path):
    found = set()
    for file in written(tmp_path, "log", values):
        result = call("audit", file, "--shares", shares, "--json")
        assert result.exit_code == 0, result.output
        body = json.loads(result.output)
        found.add((body["kept"], body["worst_shortfall"], str(body["worst_arm"])))
    assert len(found) == 1


@pytest.mark.parametrize(
    ("values", "shares", "words"),
    [
        (TWO, "01=0.4,2=0.4", r"arms among 1,2 \(whole numbers\), got '01' \(text\); did you mean 1\?"),
        ([1.0, 2.0], "1.0=0.4,2.0=0.4", r"arms among 1,2 \(whole numbers\), got '1.0' \(text\); did you mean 1\?"),
    ],
    ids=["a leading zero", "a point"],
)
def test_a_name_that_may_mean_a_number_of_the_log_is_refused(values, shares, words, tmp_path):
    for file in written(tmp_path, "log", values)[1:]:
        for option in (["--shares", shares], ["--shares", "1=0.1,2=0.1", "--cap", shares.split(",")[0]]):
            assert re.search(words, str(call("audit", file, *option).exception))


@pytest.mark.parametrize(
    ("arms", "promise", "words"),
    [
        (["1.0", "2.0"], ["--shares", "1=0.4,2=0.4"], "--shares: expected arms among 1.0,2.0, got '1'; did you"),
        (["1", "2"], ["--shares", "01=0.4,02=0.4"], "--shares: expected arms among 1,2, got '01'; did you mean"),
        (["01", "02"], ["--shares", "1=0.4"], "--shares: expected arms among 01,02, got '1'; did you mean '01'?"),
        (["1", "2"], ["--cap", "01=0.1"], "--cap: expected arms among 1,2, got '01'; did you mean '1'?"),
        (["1", "2"], ["--window", "01=5"], "--window: expected arms among 1,2, got '01'; did you mean '1'?"),
        (["a", "b"], ["--cap", "c=0.5"], "--cap: expected an arm of the log, one of a,b, got 'c'; also name an arm of"),
        (["a", "b"], ["--shares", "c=0.5"], "--shares: expected an arm of the log, one of a,b, got 'c'; also name an"),
    ],
    ids=str,
)
def test_a_promise_that_names_no_arm_of_the_log_is_refused_not_broken(arms, promise, words, tmp_path):
    (tmp_path / "log.csv").write_text("arm\n" + "\n".join(arms) + "\n")
    result = call("audit", tmp_path / "log.csv", *promise)
    assert isinstance(result.exception, SharesError)
    assert words in str(result.exception)


def test_a_cap_of_an_arm_that_never_appears_is_said_loudly(tmp_path):
    (tmp_path / "log.csv").write_text("arm\na\nb\n")
    said = call("audit", tmp_path / "log.csv", "--cap", "a=0.5,c=0.3").output
    assert "ATTENTION: arm c has a cap and never appears in the log." in said


OFTEN_TRUE = [True] * 90 + [False] * 10


@pytest.mark.parametrize(
    ("arms", "promised", "kept"),
    [
        (OFTEN_TRUE, {"caps": {1: 0.1, 0: 1.0}}, False),
        (OFTEN_TRUE, {"caps": {1: 1.0, "0": 1.0}}, True),
        ([True] * 50, {"windows": {1: 3}}, True),
        (["1", "2"] * 9, {"caps": {1: 0.6, 2.0: 0.6}}, True),
        ([1.0, 2.0] * 9, {"windows": {"1": 3}}, True),
        (["a", "b"] * 9, {"shares": {"a": 0, "b": 0}, "windows": {"c": 3}}, False),
        (["a", "b"] * 9, {"shares": 0.1, "caps": {"c": 0.3}}, False),
    ],
    ids=str,
)
def test_caps_and_windows_are_about_the_same_arms_as_the_log(arms, promised, kept):
    found = audit(pd.DataFrame({"arm": arms}), arm="arm", **promised)
    assert found.kept == kept
    assert found.never_seen == (("c",) if "a" in arms else ())


@pytest.mark.parametrize(
    ("arms", "promised", "words"),
    [
        (
            [1] * 36 + [0] * 4,
            {"caps": {"01": 0.1}},
            "caps: expected arms among [0, 1] (whole numbers), got '01' (text)",
        ),
        ([1, 2] * 9, {"caps": pd.Series({"01": 0.1})}, "caps: expected arms among [1, 2] (whole numbers), got '01'"),
        ([1, 2] * 9, {"shares": 0.1, "windows": {"01": 3}}, "windows: expected arms among [1, 2] (whole numbers), got"),
        (OFTEN_TRUE, {"windows": {1: 3}}, "one of ['false', 'true'] (text), got 1 (a whole number)"),
        (
            [1, 2] * 9,
            {"caps": {"a": 0.5}},
            "one of [1, 2] (whole numbers), got 'a' (text); also name an arm of the log",
        ),
        (["ads", "news"] * 9, {"caps": {"Ads": 0.5}}, "one of ['ads', 'news'], got 'Ads'; did you mean 'ads'?"),
        (
            ["1.0", "2"] * 9,
            {"caps": {"1": 0.5, "2": 1}},
            "caps: expected arms among ['1.0', '2'], got '1'; did you mean",
        ),
        (
            [1, 2] * 9,
            {"shares": {1: 0, 2: 0, "01": 0.1}},
            "shares: expected arms among [1, 2] (whole numbers), got '01'",
        ),
    ],
    ids=str,
)
def test_a_cap_or_window_of_no_arm_of_the_log_is_refused_with_types(arms, promised, words):
    with pytest.raises(SharesError, match=re.escape(words)):
        audit(pd.DataFrame({"arm": arms}), arm="arm", **promised)


def test_a_distribution_over_other_texts_is_not_said_to_be_untried():
    log = frame(pd.Series(["1.0", "2.0"] * 20))
    words = r"policy: expected the arms of the log, \['1.0', '2.0'\], got '1'; did you mean '1.0'"
    with pytest.raises(UnknownArmError, match=words):
        eh.evaluate(log, {"1": 0.5, "2": 0.5}, arm="arm", reward="reward")


def test_a_table_of_other_arms_is_refused_with_types():
    log, table = frame(pd.Series([True, False] * 20)), pd.DataFrame({1: [0.5] * 40, 0: [0.5] * 40})
    words = r"policy: expected one entry for each of \['false', 'true'\] \(text\), got 1 \(a whole number\)"
    with pytest.raises(UnknownArmError, match=words):
        eh.evaluate(log, table, arm="arm", reward="reward")
    with pytest.raises(UnknownArmError, match=r"policy: expected the arms of the log, \[0, 1\] .*, got '00' .*mean 0"):
        eh.evaluate(frame(pd.Series([0, 1] * 20)), {"00": 0.5, 1: 0.5}, arm="arm", reward="reward")
    with pytest.raises(UnknownArmError, match=r"policy: expected the arms of the log, \['a', 'b'\], got 'ann'"):
        eh.evaluate(frame(pd.Series(["a", "b"] * 20)), {"ann": 0.5, "bob": 0.5}, arm="arm", reward="reward")


MIXED = pd.DataFrame({"who": pd.Series([1, "1", 2, "2"] * 50, dtype=object), "x": [*range(100)] * 2, "y": [0, 1] * 100})
ONE_EACH = {
    "parity": lambda: eh.audit.parity(MIXED, group="who", value="y").groups["group"].tolist(),
    "table arms": lambda: list(eh.groups.TableArms(MIXED, arm="who", group="who", reward="y").arms),
    "logged arms": lambda: list(eh.quotas.LoggedArms(MIXED, arm="who", reward="y").arms),
    "an audit": lambda: audit(MIXED, arm="who", shares=0.4).arms["arm"].tolist(),
    "evaluate": lambda: eh.evaluate(MIXED, {1: 0.5, 2: 0.5}, arm="who", reward="y") and [1, 2],
    "a pool": lambda: list(TablePool(MIXED, group="who", label="y").groups),
    "a queue": lambda: list(LabelQueue(range(200), MIXED[["x"]], groups=MIXED["who"].tolist()).groups),
    "a causal model": lambda: list(CausalModel.fit(MIXED[["who", "y"]], [("who", "y")]).states["who"]),
    "features": lambda: categories(MIXED, "who"),
}


@pytest.mark.parametrize("door", ONE_EACH)
def test_labels_of_one_writing_in_a_table_are_one(door):
    assert ONE_EACH[door]() == [1, 2]


def test_shares_in_a_table_are_of_the_same_arm_however_it_is_written():
    shares = pd.DataFrame({"from": [1, 1, 11], "arm": pd.Series([1, 2, "1"], dtype=object), "share": [0.4, 0.4, 0.2]})
    found = audit(pd.DataFrame({"arm": [1, 2] * 20}), arm="arm", shares=shares)
    assert (found.kept, found.never_seen, found.arms["owed"].tolist()) == (True, (), [0.2, 0.4])


FLAGGED = {
    "a learner": lambda: UCB1(arms=[True, False]).arms,
    "a world": lambda: eh.quotas.BernoulliArms({True: 0.2, False: 0.3}).arms,
    "shares": lambda: FairUCB({True: 0.2, False: 0.3}).arms,
    "a Series of shares": lambda: FairUCB(pd.Series({True: 0.2, False: 0.3})).arms,
    "groups": lambda: Groups.read({"a": True, "b": False}).names,
    "a Series of groups": lambda: Groups.read(pd.Series([True, False], index=["a", "b"])).names,
    "a sampler": lambda: eh.sampling.UniformSampler([True, False]).groups,
    "states": lambda: CausalModel.from_tables({"a": [True, False]}, {"a": []}, {"a": [0.5, 0.5]}).states["a"],
}


@pytest.mark.parametrize("door", FLAGGED)
def test_truth_values_are_labels_everywhere(door):
    assert FLAGGED[door]() == ("true", "false")


@pytest.mark.parametrize("shares", [{True: 0.2, "true": 0.3}, {"True": 0.2, "true": 0.3}], ids=str)
def test_one_truth_value_is_one_arm(shares):
    with pytest.raises(ArgumentError, match="expected each label once, got 'true'"):
        FairUCB(shares)


def test_codes_with_a_leading_zero_are_arms_of_their_own(tmp_path):
    for file in written(tmp_path, "log", ["1", "01", "2"] * 9):
        body = json.loads(
            call("audit", file, "--shares", "1=0.3,01=0.3,2=0.3,02=0", "--tolerance", "1", "--json").output
        )
        assert [row["pulls"] for row in body["arms"] if row["arm"] != "02"] == [9, 9, 9]


def test_parquet_files_of_several_types_are_one_log(tmp_path):
    for number, values in enumerate((LOGS["int"], LOGS["float"], LOGS["text"])):
        frame(values).to_parquet(tmp_path / f"{number}.parquet")
    found = audit(tmp_path / "*.parquet", arm="arm", shares={"1": 0.4, 2: 1 / 3})
    assert (found.kept, found.arms["pulls"].tolist()) == (True, [60, 60])
    with pytest.raises(UnknownArmError, match=r"one of \['01', '2'\] \(text\), got 1 \(a whole number\); give it"):
        audit(tmp_path / "*.parquet", arm="arm", shares={"01": 0.4, "2": 0.3})


def test_labels_of_files_are_those_of_the_queue(tmp_path):
    for classes, texts in (([0, 1], ("0", "1")), (["0", "01"], ("0", "01"))):
        sampler = OptimisticSampler(["a", "b"], classes=classes, seed=1)
        queue = LabelQueue([1, 2, 3, 4], np.eye(4), groups=["a", "a", "b", "b"], sampler=sampler, seed=1)
        items = queue.ask(2)
        given = pd.DataFrame({"id": [float(item) for item in items], "label": texts})
        assert queue.read_labels(given)["told"] == 2
        assert sorted(annotations_table(queue)["label"], key=str) == sorted(classes, key=str)
