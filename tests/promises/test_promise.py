"""The value of a promise: equal by what it says, the same in any notation, refused by name where it cannot be kept."""

import json
from fractions import Fraction as F

import pytest

from evenhand.errors import ArgumentError, SharesError
from evenhand.learners import UCB1
from evenhand.promises.promise import Clause, Promise
from evenhand.quotas import DeadlineLearn
from tests.naming import named

A = {"a": "3/10", "b": "1/5", "c": 0}
FULL = Promise(
    {"a": "1/4", "b": 0, ("a", "b"): "1/3", "c": "1/10"},
    1.5,
    caps={"c": "40%"},
    cap_tolerance=1,
    windows={"d": (2, 20)},
)
PROMISES = [
    FULL,
    Promise(A),
    Promise([0.5, 0.25]),
    Promise({1: 0.5, 2: 0, (1, 2): 0.75}, offers=[2]),
    Promise(A, plays=2, caps={"c": 0.9, "b": 0.7}),
    Promise(windows={("a", "b"): 4, "c": (2, 9)}),
    Promise({"a": 0, "b": 0}, caps={"a": 0.5}, offers=["b"]),
]


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_a_promise_lives_as_plain_data(promise):
    data = promise.to_dict()
    again = Promise.from_dict(json.loads(json.dumps(data)))
    assert again == promise
    assert hash(again) == hash(promise)
    assert again.arms == promise.arms
    assert again.clauses == promise.clauses
    assert again.to_dict() == data
    assert eval(repr(promise), {"Promise": Promise, "Fraction": F}) == promise


def test_equal_promises_say_the_same_in_any_order():
    one = Promise({"a": 0.25, "b": 0.5, ("a", "b"): "4/5"}, offers=["a", "b"])
    assert one == Promise({"b": "1/2", "a": "25%", frozenset("ab"): 0.8}, offers=["b", "a"])
    assert len({one, Promise({("b", "a"): 0.8, "b": "1/2", "a": "25%"}, offers=["b", "a"])}) == 1
    for other in ({"a": 0.25, "b": 0.5}, {"a": 0.25, "b": 0.5, "c": 0, ("a", "b"): 0.8}):
        assert one != Promise(other, offers=["a", "b"])
    assert one != Promise({"a": 0.25, "b": 0.5, ("a", "b"): "4/5"}, offers="all")
    assert one != "a promise"


def test_clauses_are_all_that_is_promised():
    assert FULL.arms == ("a", "b", "c", "d")
    assert FULL.clauses == (
        Clause("floor", ("a",), F(1, 4), 1),
        Clause("floor", ("c",), F(1, 10), 1),
        Clause("floor", ("a", "b"), F(1, 3), 1),
        Clause("cap", ("c",), F(2, 5), 1),
        Clause("window", ("d",), (2, 20)),
    )
    assert Promise({"a": 0, "b": 0}).clauses == ()


def test_it_is_said_in_one_plain_line():
    assert str(FULL) == (
        "a at least 1/4 of the rounds (behind by less than 2); c at least 1/10 of the rounds (behind by less than 2); "
        "a, b together at least 1/3 of the rounds (behind by less than 2); c at most 2/5 of the rounds (ahead by less "
        "than 2); d at least twice in any 20 rounds; every arm is always on offer"
    )
    assert str(Promise({"a": 0, "b": 0})) == "nothing is owed to a, b"
    assert str(Promise(A, offers=["a", "b"])).endswith("; every offer contains at least one of a, b")
    assert str(Promise(A, plays=2, offers=["a", "b"])).endswith(
        "2 plays per round; every offer contains at least 2 of a, b, or only these"
    )
    assert "at most 2/5 of the rounds (ahead by less than 2)" in FULL._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "offers"),
    [
        ({"shares": A}, "any"),
        ({"shares": A, "plays": 2}, "any"),
        ({"shares": {("a", "b"): 1.5, "c": 0.1}, "plays": 2}, "all"),
        ({"shares": A, "caps": {"c": 0.5}}, "all"),
        ({"shares": A, "caps": {"c": 0.5}, "offers": ["a"]}, ("a",)),
        ({"shares": A, "caps": {"c": 0.5}, "offers": "any"}, "any"),
        ({"windows": {"a": 3, "b": 3, "c": 4}}, "any"),
        ({"windows": {"a": 2, "b": 4, "c": 4}}, "all"),
        ({"shares": {"a": 0.1}, "windows": {"b": 9}}, "all"),
        ({"shares": A, "offers": "all"}, "all"),
    ],
    ids=named,
)
def test_what_may_be_on_offer_follows_from_what_can_be_kept(arguments, offers):
    assert Promise(**arguments).offers == offers


REFUSED = [
    ({"shares": A, "plays": 0}, "plays: expected a whole number >= 1"),
    ({"shares": A, "plays": 4}, "plays: expected at most 3"),
    ({"shares": A, "tolerance": -1}, "tolerance: expected a finite number"),
    ({"shares": A, "offers": []}, 'offers: expected "any", "all", or a list'),
    ({"shares": A, "offers": ["z"]}, "offers: expected .* the arms are"),
    ({"shares": A, "plays": 2, "offers": ["b"]}, "a list of arms of which every offer contains 2, as many as"),
    ({"shares": {("a",): 0.5, "b": 0}}, "two or more of the arms"),
    ({"shares": {("a", "a"): 0.5, "b": 0}}, "each once"),
    ({"shares": {("a", "b"): 0.5, ("b", "a"): 0.1}}, "twice"),
    ({"shares": {("a", "b"): 2.5, "c": 0}, "plays": 2}, "at most 2 plays per round"),
    ({"shares": {("a", "b"): 1.4}}, "numbers from 0 to 1"),
    ({"shares": A, "caps": [0.5, 0.5]}, "caps: expected 3, one for each arm"),
    ({"shares": A, "caps": {"a": 0}}, "a cap above 0"),
    ({"shares": A, "caps": {("a", "b"): 0.5}}, "a cap of one arm"),
    ({"shares": {"a": "3/5", "b": 0}, "caps": {"a": 0.5}}, "at least its share 3/5"),
    ({"shares": {"a": 0, "b": 0}, "caps": 0.4}, r"raise them by 0\.2 in total"),
    ({"shares": {("a", "b"): 0.9, "c": 0}, "caps": {"a": 0.4, "b": 0.4}}, "at most 4/5, what the caps"),
    (
        {"shares": {"a": 0, "b": 0, "c": 0}, "caps": ["0.623456789", "0.876543211", "1/2"], "plays": 2},
        "common denominator",
    ),
    ({"shares": A, "windows": 5}, "windows: expected a dict"),
    ({"shares": A, "windows": {"c": (3, 2)}}, "1 <= plays <= rounds"),
    *(({"windows": {"a": rounds, "b": 3}}, r"windows\['a'\]") for rounds in (0, "x", True)),
    ({"shares": A, "windows": {"c": 10**7}}, "1,000,000"),
    ({"windows": {"a": (20_000, 100_000), "b": 9}}, "10,000 plays"),
    ({"shares": {"d": 0.1}, "windows": {"a": 5}, "caps": {"a": 0.5}}, "has a window and a cap"),
    ({"shares": {"d": 0.1, "e": 0}, "windows": {"a": 5}, "plays": 2}, "windows together with shares with plays=2"),
    (
        {"shares": {"d": 0, "e": 0}, "windows": {"a": 5}, "caps": {"d": 0.9}, "plays": 2},
        "windows together with caps with plays=2",
    ),
    ({"windows": {"a": 2, "b": 3, "c": 6}}, "no schedule keeps them"),
    ({"shares": {("a", "b"): 0.3, ("b", "c"): 0.3}}, "overlap; one must contain the other or share no arm with it"),
    ({"shares": {"a": 0.6}, "windows": {"a": 2}}, "counts a play of arm 'a' both for its window and for a share"),
    (
        {"shares": {"a": 0, "b": 0, "c": 0}, "caps": {"a": 0.5}, "plays": 2, "offers": "any"},
        "no known rule keeps these caps with plays=2 while",
    ),
    ({"shares": {("a", "b"): 0.3, "c": 0}, "caps": {"a": 0.5}, "offers": ["c"]}, "a cap of an arm and a share of sev"),
    (
        {"shares": {"d": 0}, "windows": {"a": 5}, "caps": {"d": 0.9}, "offers": "any"},
        "windows together with shares or caps",
    ),
    ({"shares": [0.25] * 4, "caps": [0.25] * 4, "offers": "any"}, "expected at least 3, as no known rule keeps less"),
    ({"shares": {"a": 0, "b": 0}, "caps": {"a": 0.5}, "offers": ["a"]}, "arms without caps"),
    ({"windows": {"a": 2, "b": 4, "c": 4}, "offers": "any"}, "at least 3 rounds long"),
    (
        {"shares": {("a", "b"): 1.5, "c": 0.1}, "plays": 2, "offers": "any"},
        "more than one of these arms in some rounds",
    ),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=named)
def test_what_cannot_be_promised_is_refused_by_name(arguments, words):
    with pytest.raises((SharesError, ArgumentError), match=words):
        Promise(**arguments)


def test_a_refusal_names_the_fewest_clauses_that_clash_and_when():
    with pytest.raises(SharesError) as refused:
        Promise({"a": 0.1, "b": 0.6, "c": 0.1}, windows={"d": 2})
    assert "(b at least 3/5 of the rounds; d at least once in any 2 rounds)" in str(refused.value)
    assert "11 plays fall due in the first 10 rounds" in str(refused.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([1], "a table of shares"),
        ({"share": {}}, "the names shares, tolerance"),
        ({"shares": [{"arms": "a", "value": 1}]}, "rows such as"),
        ({"shares": [{"arms": [["a"]], "value": 0.1}]}, "rows such as"),
        ({"shares": [{"arms": ["a"], "value": 0.1}, {"arms": ["a"], "value": 0.2}]}, "in one row"),
        ({"shares": {"a": 0.2}, "windows": [["a", 3]]}, "windows: expected a dict"),
    ],
    ids=named,
)
def test_plain_data_that_is_no_promise_is_refused_by_name(data, words):
    with pytest.raises(SharesError, match=words):
        Promise.from_dict(data)


def test_a_list_beside_names_is_one_for_each_arm():
    assert Promise(A, caps=[0.5, None, 0.75]).caps == (F(1, 2), None, F(3, 4))


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.1, 'come and go, pass offers="any" to Promise'), (0.25, "come and go: cap_tolerance: expected at least 2")],
)
def test_a_refused_offer_says_at_once_what_is_possible(share, said):
    policy = DeadlineLearn(UCB1(), Promise([share] * 4, caps=0.5))
    with pytest.raises(ArgumentError, match=said):
        policy.ask(available=[0, 1, 2])


def test_what_several_arms_are_promised_alike_is_said_once():
    promise = Promise(dict.fromkeys(range(34), 0.01) | {(1, 2): 0.1}, tolerance=1)
    assert str(promise) == (
        "0, 1, 2, 3, 4, 5, 6, ..., 33 each at least 1/100 of the rounds (behind by less than 2); "
        "1, 2 together at least 1/10 of the rounds (behind by less than 2)"
    )
