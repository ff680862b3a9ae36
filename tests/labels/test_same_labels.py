"""When two labels are the same: one table, and one answer from every door, whatever type a log has its labels in."""

from __future__ import annotations

import enum
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
from evenhand import Promise, audit
from evenhand.data.encoding import Encoder
from evenhand.data.features import categories
from evenhand.descriptions.policies import policy_from
from evenhand.descriptions.promises import promise_from
from evenhand.errors import ArgumentError, SharesError, TableError, UnknownArmError
from evenhand.groups.problem import Groups
from evenhand.interventions import CSR, CausalModel, Problem
from evenhand.labels import Labels
from evenhand.learners import UCB1
from evenhand.protocol import label_of, labels_of_texts
from evenhand.quotas import DeadlineLearn, DriftingArms, FairUCB
from evenhand.sampling import LabelQueue, LogisticModel, OptimisticSampler, TablePool, group_errors
from evenhand.sampling.pools.table_pool import TableFeatures
from evenhand.sampling.problem import per_group
from evenhand.simulation.schedule import read_given
from evenhand.studies.log.codec import by_arm


class Size(int, enum.Enum):
    ONE = 1


class Colour(str, enum.Enum):  # noqa: UP042 - as Python had it before StrEnum
    CAFE = "cafe\u0301"


class Plain(enum.Enum):
    ONE = 1


OTHERS = ["01", "1.0", "+1", " 1", "1 ", "1_0", "1e0", "-0", "0.50", "\uff11", "tRue", "yes", "", "one"]
ALIKE = [
    [1, 1.0, np.int8(1), np.uint64(1), np.float32(1), Decimal("1.0"), "1", np.str_("1"), Size.ONE],
    [10, 10.0, "10"],
    [-3, -3.0, "-3"],
    [0, 0.0, -0.0, "0"],
    [True, np.True_, "true", "True", "TRUE"],
    [False, np.False_, "false", "False", "FALSE"],
    ["caf\u00e9", "cafe\u0301", Colour.CAFE],
    [0.5, np.float64(0.5), "0.5"],
    *([other] for other in OTHERS),
]
"""The table of docs/conversation.md: what stands in one row is the same label, what stands in two is not."""
VALUES = [(value, row) for row, values in enumerate(ALIKE) for value in values]
NO_LABELS = [None, b"1", [1], {1}, np.array([1]), float("nan"), pd.Timestamp(0), 1j, 2.0**53, 10**5000, Plain.ONE]


@pytest.mark.parametrize(("value", "row"), VALUES, ids=lambda part: repr(part))
def test_two_labels_are_the_same_where_the_table_says_so(value, row):
    for other, there in VALUES:
        known = str(other) if label_of(other) is None else label_of(other)
        assert (Labels([known, "another"]).place(value) == 0) == (row == there), (value, other)


@pytest.mark.parametrize(
    ("known", "values", "places"),
    [
        ([1, "1", "", "nan", "None"], NO_LABELS, [-1] * len(NO_LABELS)),
        ([1, "1", "true", "True", 0], [1, 1.0, "1", "true", True, "True", "TRUE"], [0, 0, 1, 2, 2, 3, -1]),
        ([0, 1], [True, "true"], [1, 1]),
        ([1, 0], [True, "true"], [0, 0]),
        (["0", "1"], [True, "true"], [1, 1]),
        ([1], [True, "true"], [0, 0]),
        ([0, 1, 2], [True], [-1]),
        (["false", "true"], [1], [-1]),
    ],
)
def test_of_labels_of_one_writing_the_very_same_one_is_found(known, values, places):
    assert Labels(known).places(values) == places


def test_a_list_of_texts_is_numbers_where_all_are_written_as_such():
    assert [label_of(value) for value in NO_LABELS] == [None] * len(NO_LABELS)
    assert labels_of_texts(["0", "1", "-2"]) == [0, 1, -2]
    for texts in (["1", "01", "2"], ["1_0", "2"], ["1.0", "2"], ["-0", "1"], [1, 2], []):
        assert labels_of_texts(texts) == texts


# ---------------------------------------------------------------------- the same log in other types, door by door

TWO, TRUTHS = [1 + n % 2 for n in range(40)], [bool(n % 2) for n in range(40)]
TEXTS = [str(n) for n in TWO]
NUMBERS = ["int64", "int8", "float64", "Int64", "Float64", "category", pd.ArrowDtype(pa.int64())]
LOGS = {str(kind): pd.Series(TWO, dtype=kind) for kind in [*NUMBERS, pd.ArrowDtype(pa.float64())]} | {
    "text": pd.Series(TEXTS),
    "string": pd.Series(TEXTS, dtype="string"),
    "category of floats": pd.Series(TWO, dtype=float).astype("category"),
    "objects": pd.Series([(int, float, np.int8, Decimal)[n % 4](one) for n, one in enumerate(TWO)], dtype=object),
    "Arrow text": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string())),
    "Arrow decimal": pd.Series([Decimal(n) for n in TWO], dtype=pd.ArrowDtype(pa.decimal128(3, 1))),
}
FLAGS = {str(kind): pd.Series(TRUTHS, dtype=kind) for kind in ["bool", "boolean", object, "category", "bool[pyarrow]"]}
FLAGS |= {f"as {word(True)}": pd.Series(map(word, TRUTHS)) for word in (json.dumps, str, lambda it: str(it).upper())}
NAMES = {"int": (1, 2), "float": (1.0, 2.0), "text": ("1", "2"), "numpy": (np.int16(1), np.float64(2.0))}
FLAG_NAMES = [(True, False), (np.True_, np.False_), ("true", "false"), ("True", "FALSE")]


def frame(labels):
    return pd.DataFrame({"arm": labels, "reward": [0, 1, 1, 1] * 10, "chance": 0.5, "x": np.arange(40.0)})


def as_text(label):
    return str(label_of(label))


def audited(arms, shares=None, **promised):
    log = arms if isinstance(arms, pd.DataFrame) else pd.DataFrame({"arm": arms})
    return audit.promise(log, arm="arm", shares=shares, **promised)


def found_in(finding):
    return finding.kept, finding.rounds_in_violation, finding.arms["pulls"].tolist()


def evaluated(log, policy, **more):
    found = eh.evaluate(log, policy, arm="arm", reward="reward", **more)
    return found.value, found.low


def learned(log, one, other):
    policy = FairUCB({one: 0.2, other: 0.3}, seed=1)
    policy.learn(log)
    return [policy.ask().index for _ in range(4)]


def pooled(log, one, other):
    pool = TablePool(log, group="arm", label="reward", features=["x"])
    drawn = pool.respond(OptimisticSampler([as_text(one), as_text(other)], seed=1).ask())
    return pool.sizes.tolist(), len(drawn[1]), per_group("costs", {one: 2, other: 3}, pool.groups).tolist()


def stated(one, other):
    return Promise({one: 0.4, other: 0.3}, caps={as_text(one): 0.9}, tolerance=1)


def rewards(one, other):
    return {"model": {as_text(one): 0.1, as_text(other): 0.2}, "propensity": "chance"}


DOORS = {
    "shares": lambda log, one, other: found_in(audited(log, {one: 0.4, other: "1/3"})),
    "a promise": lambda log, *names: found_in(audited(log, promise=stated(*names))),
    "offers": lambda log, one, other: audited(log.assign(here=log["arm"]), {one: 1, other: 0}, available="here").kept,
    "evaluate": lambda log, one, other: evaluated(log, {one: 0.25, other: 0.75}, **rewards(one, other)),
    "replay": lambda log, one, other: evaluated(log, FairUCB({other: 0.2, one: 0.3}, seed=1), replays=1)[0],
    "learn": learned,
    "a pool": pooled,
}


@cache
def expected(door, truths):
    return DOORS[door](*((frame(FLAGS["as true"]), "true", "false") if truths else (frame(LOGS["int64"]), 1, 2)))


@pytest.mark.parametrize("kind", [*LOGS, *FLAGS])
def test_a_log_says_the_same_in_every_type(kind):
    """Each type of labels meets each door, and each writing of the names meets each door, and each type."""
    truths = kind in FLAGS
    types, names = (FLAGS, FLAG_NAMES) if truths else (LOGS, list(NAMES.values()))
    for number, door in enumerate(DOORS):
        written = names[(number + list(types).index(kind)) % len(names)]
        assert DOORS[door](frame(types[kind]), *written) == expected(door, truths), door


# ---------------------------------------------------------------------- the doors of policies, samplers and searches

ARMS = {1: 0.2, 2: 0.3, 3: 0}
STATES = {"sex": [0, 1], "dose": [0, 1], "cured": [0, 1]}
NOW, MEMBERS = [[0.8, 0.2], [0.4, 0.6]], Groups.read({1: "f", 2: "m"})
GROUP_FAIR = {"policy": "groups/group-fair-top-interval", "groups": {"a": 1, "b": 0}}


def made(**settings):
    return DeadlineLearn(UCB1(), ARMS, seed=1, **settings)


def changed(shares):
    policy = made()
    policy.change(shares)
    return policy.promise


def capped(one, two):
    return Promise({one: 0.4, two: 0.5, 3: 0}, caps={one: 0.5})


def retired(arm):
    policy = made()
    policy.retire(arm)
    return policy.retired


def spec(**settings):
    return policy_from({"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "seed": 1} | settings)


def problem(states=STATES, rule=1, **settings):
    tables = {"sex": [0.5, 0.5], "dose": NOW, "cured": [[0.7, 0.3], [0.1, 0.9]]}
    model = CausalModel.from_tables(states, {"sex": [], "dose": ["sex"], "cured": ["dose"]}, tables)
    given = {"intervene": "dose", "sensitive": "sex", "outcome": "cured", "candidates": {"now": NOW, "rule": rule}}
    return Problem(model, **given | settings)


def search(**settings):
    return CSR(problem(**settings), tolerance=0.2, budget=3000)


def scored(labels):
    model = LogisticModel().fit([[0.0], [1.0], [2.0], [3.0]], ["false", "false", "true", "true"])
    return group_errors(model, np.array([[0.0], [3.0]]), labels, groups=[1, 1]).tolist()


def classes_told(classes, labels):
    sampler = OptimisticSampler(["u", "v"], classes=classes, seed=1)
    sampler.tell(sampler.ask(), [[0.0], [1.0]], labels)
    return [int(rows.y[0]) for rows in (sampler.training, sampler.validation)]


def here(offers, arms):
    return read_given([offers], None, rounds=1, replications=1, arms=arms).offers.tolist()


def queue(**settings):
    return LabelQueue([1, 2, 3, 4], np.eye(4), groups=["a", "a", "b", "b"], seed=1, **settings)


def drifting(amplitude):
    return DriftingArms({1: 0.5, 2: 0.5}, amplitude, period=9)


def feature(size):
    return TableFeatures(pd.DataFrame({"x": ["1", "2"]}), ["x"]).transform(pd.DataFrame({"x": [size]})).tolist()


SAME_ANSWER = {
    "available": (lambda one, two: made().ask(available=[one, two]).arm, 1),
    "retire": (lambda one, two: retired(one), (1,)),
    "change": (lambda one, two: changed({one: 0.4, two: 0.5, 3: 0}), Promise({1: 0.4, 2: 0.5, 3: 0})),
    "a promise": (lambda *names: changed(capped(*names)), capped(1, 2)),
    "sets beside arms": (lambda one, two: Promise({1: 0.1, 2: 0.1, (one, two): 0.5}).arms, (1, 2)),
    "groups": (lambda one, two: MEMBERS.of_round({one: "m", two: "f"}).tolist(), [1.0, 0.0]),
    "a group": (lambda one, two: Groups.read({"a": 1, "b": 2}).code(two), 1),
    "means": (lambda one, two: drifting({two: 0.2, one: 0.1}).amplitude.tolist(), [0.1, 0.2]),
    "classes": (lambda one, two: classes_told([1, 2], [one, two]), [0, 1]),
    "an encoder": (lambda one, two: Encoder({"size": [1, 2]}).transform({"size": two}).tolist(), [[0.0, 1.0]]),
    "features": (lambda one, two: feature(two), [[0.0, 1.0]]),
    "offers of a simulation": (lambda one, two: here([two], (1, 2)), [[False, True]]),
    "an item of a queue": (lambda one, two: queue()._items.position(two), 1),
}
BOTH = ("true", "false")
MIXED = pd.DataFrame({"who": pd.Series([1, "1", 2, "2"] * 50, dtype=object), "x": [*range(100)] * 2, "y": [0, 1] * 100})
TRIALS = pd.DataFrame({"sex": [0, 1] * 50, "dose": [0, 0, 1, 1] * 25, "cured": [0, 1, 1, 1] * 25})
SAME_ALWAYS = {
    "a promise": (lambda: promise_from({"shares": {"1": 0, "2": 0.2}, "caps": {"2": 0.9}}, [1, 2]).arms, (1, 2)),
    "shares": (lambda: spec(arms=[1, 2], shares={"2": 0.2, "1": 0.1}, windows={"2": 9}).arms, (1, 2)),
    "caps": (lambda: spec(shares=[0.1, 0.2], caps={"1": 0.9}).caps, {0: None, 1: Fraction(9, 10)}),
    "a sensitive group": (lambda: policy_from(GROUP_FAIR | {"sensitive": "1"}).sensitive, 1),
    "rewards": (lambda: by_arm({"2": 0.0, "1": 1.0}, [1, 2]), [1.0, 0.0]),
    "groups": (lambda: Groups.read({"a": True, "b": False}).names, BOTH),
    "states": (lambda: CausalModel.from_tables({"a": [True, False]}, {"a": []}, {"a": [0.5, 0.5]}).states["a"], BOTH),
    "parity": (lambda: eh.audit.parity(MIXED, group="who", value="y").groups["group"].tolist(), [1, 2]),
    "an audit": (lambda: audit.promise(MIXED, arm="who", shares=0.4).arms["arm"].tolist(), [1, 2]),
    "evaluate": (lambda: eh.evaluate(MIXED, {1: 0.5, 2: 0.5}, arm="who", reward="y").value, 0.5),
    "a queue": (lambda: LabelQueue(range(200), MIXED[["x"]], groups=MIXED["who"].tolist()).groups, (1, 2)),
    "features": (lambda: categories(MIXED, "who"), [1, 2]),
    "states of floats": (lambda: CausalModel.fit(TRIALS.astype(float), "sex -> dose -> cured").states["cured"], (0, 1)),
    "states of bools": (lambda: CausalModel.fit(TRIALS.astype(bool), "sex -> dose").states["dose"], BOTH[::-1]),
    "predictions": (lambda: [scored(y) for y in ([False, True], ["False", "TRUE"])], [[0.0]] * 2),
    "predictions in an array": (lambda: scored(np.array([True, True])), [0.5]),
    "a mask of a simulation": (lambda: here([True, False], (0, 1)), [[True, False]]),
}


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("door", SAME_ANSWER)
def test_a_door_takes_a_label_as_it_is_written(door, names):
    answer, right = SAME_ANSWER[door]
    assert answer(*NAMES[names]) == right


@pytest.mark.parametrize("door", SAME_ALWAYS)
def test_texts_truth_values_and_mixtures_are_the_labels_that_they_mean(door):
    answer, right = SAME_ALWAYS[door]
    assert answer() == right


RULES = [1, "1", 1.0, True, np.int64(1), np.True_, {0: 1, 1: "1"}, {"0": True, "1": 1.0}, {("0",): 1, (1.0,): 1}]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_a_state_as_it_is_written(rule):
    for states in (STATES, {node: ["0", "1"] for node in STATES}):
        assert problem(states, rule).tables[1].tolist() == [[0.0, 1.0], [0.0, 1.0]]


TYPES = {kind: TRIALS.astype(kind) for kind in ("int", "float", "str", "bool", "object", "category", "Int64")}
TYPES |= {"Arrow": TRIALS.astype("int64[pyarrow]"), "pandas' words": TRIALS.astype(bool).astype(str)}


@pytest.mark.parametrize("kind", TYPES)
def test_a_log_of_trials_says_the_same_in_every_type(kind):
    found, texts = [], {node: ["0", "1"] for node in STATES}
    for states, log in ((STATES, TRIALS), (STATES, TYPES[kind]), (texts, TYPES[kind])):
        asked = search(states=states, rule=[[0.5, 0.5]] * 2, values={0: 3, "1": 5})
        asked.tell(None, log)
        found.append(asked.recommend().table["outcome"].tolist())
    assert found[1:] == found[:1] * 2


# ---------------------------------------------------------------------- audits

OFTEN_TRUE = [True] * 90 + [False] * 10
SHARES_FROM = pd.DataFrame({"from": [1, 1, 11], "arm": pd.Series([1, 2, "1"], dtype=object), "share": [0.4, 0.4, 0.2]})


@pytest.mark.parametrize(
    ("arms", "promised", "kept"),
    [
        (OFTEN_TRUE, {"caps": {1: 0.1, 0: 1.0}}, False),
        ([True] * 50, {"windows": {1: 3}}, True),
        (["a", "b"] * 9, {"shares": {"a": 0, "b": 0}, "windows": {"c": 3}}, False),
        (["a", "b"] * 9, {"shares": 0.1, "caps": {"c": 0.3}}, False),
        ([1, 2] * 20, {"shares": SHARES_FROM}, True),
    ],
    ids=str,
)
def test_a_promise_is_about_the_same_arms_as_the_log(arms, promised, kept):
    found = audited(arms, **promised)
    assert found.kept == kept
    assert found.never_seen == (("c",) if "a" in arms else ())


def test_labels_that_are_the_same_in_one_log_are_told_apart_by_names_alone():
    log = pd.Series([1, "1", 2], dtype=object)
    for shares, pulls in ((0.1, [2, 1]), ({1: 0.1, "1": 0.1, 2: 0}, [1, 1, 1]), ({1: 0.1, 2: 0}, [2, 1])):
        assert audited(log, shares).arms["pulls"].tolist() == pulls
    assert audited([1, 2] * 20, SHARES_FROM).arms["owed"].tolist() == [0.2, 0.4]
    flagged = pd.DataFrame({"arm": [True, False], "here": [[True, False]] * 2})
    assert audited(flagged, {True: 0.1, False: 0.1}, available="here").arms["pulls"].tolist() == [1, 1]


# ---------------------------------------------------------------------- refusals

ZERO, ONES, FLAGGED_LOG = (frame(pd.Series(labels)) for labels in (["01", "2"] * 20, TWO, [True, False] * 20))
HERE = ZERO.assign(arm=1, here=ZERO["arm"])
BY_FLAG = pd.DataFrame({1: [0.5] * 40, 0: [0.5] * 40})
GOT = "(whole numbers), got '01' (text)"
NOT_ONE = f"arms among [1, 2] {GOT}"
A_SHARE = f"expected an arm that has a share, one of [1, 2] {GOT}"
OFFERED = f"expected arms that have a share, one of [1, 2] {GOT}"
TRIAL = f"column 'dose', row 1: expected one of [0, 1] {GOT}; no row has one of them"
LACKING = "none for 1 (a whole number) among ['01'] (text)"
A_CLASS = "expected labels among ['false', 'true'] (text), got 0 (a whole num"
A_ROW = "policy: expected one entry for each of ['false', 'true'] (text), got 1 (a whole number)"
STATE = "candidates['rule']: expected an entry for each state of 'sex': [0, 1] (whole numbers), got '00' (text)"
REFUSED = {
    UnknownArmError: {
        f"column 'arm', row 1: {A_SHARE}": lambda: audited(ZERO, {1: 0.2, 2: 0.3}),
        f"column 'here', row 1: {OFFERED}": lambda: audited(HERE, {1: 0, 2: 0}, available="here"),
        "policy: expected the arms of the log, [1, 2] (whole": lambda: evaluated(ONES, {"01": 0.5, "2": 0.5}),
        A_ROW: lambda: evaluated(FLAGGED_LOG, BY_FLAG),
        f"groups: expected a dict over the arms [1, 2] {GOT}": lambda: MEMBERS.of_round({"01": "m"}),
    },
    SharesError: {
        f"shares: expected arms among [1, 2, 3] {GOT}; did you mean 1?": lambda: changed({"01": 0.1, "2": 0.1, "3": 0}),
        "each set of arms once, got \"the arms of '1' twice\"": lambda: changed({1: 0.1, "1": 0.1, 2: 0.1, 3: 0}),
        f"caps: expected {NOT_ONE}": lambda: audited([1, 2] * 9, caps=pd.Series({"01": 0.1})),
        f"shares: expected {NOT_ONE}": lambda: audited([1, 2] * 9, {1: 0, 2: 0, "01": 0.1}),
    },
    TableError: {
        f"column 'arm', row 1: expected one of the arms [1, 2, 3] {GOT}": lambda: made().learn(ZERO),
        TRIAL: lambda: search().tell(None, TRIALS.assign(dose="01")),
    },
    ArgumentError: {
        LACKING: lambda: evaluated(ONES, {1: 0.5, 2: 0.5}, model={"01": 0.5, "2": 0.5}),
        f"y: expected labels among [1, 2] {GOT}": lambda: classes_told([1, 2], ["01", "2"]),
        f"expected one of the categories [1, 2] {GOT}": lambda: Encoder({"size": [1, 2]}).transform({"size": "01"}),
        STATE: lambda: problem(rule={"00": 1, "1": 1}),
        f"a state of 'dose': [0, 1] {GOT}": lambda: problem().model.probabilities(["cured"], do={"dose": "01"}),
        A_CLASS: lambda: scored([0, 1]),
        "expected labels of the arms": lambda: FairUCB({"true": 0.2, "false": 0.3}).ask(available=[True, False]),
        "expected each label once, got 'true'": lambda: FairUCB({True: 0.2, "true": 0.3}),
    },
}


@pytest.mark.parametrize(("error", "words"), [(error, words) for error, doors in REFUSED.items() for words in doors])
def test_a_label_of_another_type_is_refused_with_both_types(error, words):
    with pytest.raises(error, match=re.escape(words)):
        REFUSED[error][words]()


# ---------------------------------------------------------------------- files and the shell


def test_parquet_files_of_several_types_are_one_log(tmp_path):
    for kind in ("int64", "float64", "text"):
        frame(LOGS[kind]).to_parquet(tmp_path / f"{kind}.parquet")
    found = audit.promise(tmp_path / "*.parquet", arm="arm", shares={"1": 0.4, 2: 1 / 3})
    assert (found.kept, found.arms["pulls"].tolist()) == (True, [60, 60])
    with pytest.raises(UnknownArmError, match=r"one of \['01', '2'\] \(text\), got 1 \(a whole number\); give it"):
        audit.promise(tmp_path / "*.parquet", arm="arm", shares={"01": 0.4, "2": 0.3})
