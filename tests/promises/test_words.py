"""What a promise says of itself and why it is refused, in words that are understood at first reading."""

import pytest

from evenhand import Promise
from evenhand.errors import ArgumentError, SharesError
from evenhand.learners import UCB1
from evenhand.quotas import DeadlineLearn

PLAIN = {"a": 0, "b": 0.2, "c": 0}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shares": 0.2}, r"one number for all needs the names of the arms, as in \{'a': 0\.2"),
        ({"shares": {"a": 0.5}, "windows": {"b": 1}}, r"\(a at least 1/2 of the rounds; b in every round\); lower the"),
        ({"windows": dict.fromkeys("abcd", 3)}, r"make them 1\.33333 times as long, or longer"),
        (
            {"shares": {"a": 0.5, "b": 0.2}, "windows": {"b": 3}},
            r"a play of arm 'b' both for its window and for a share .*lengthen the windows, or drop one",
        ),
        (
            {"shares": PLAIN, "windows": {"a": 9}, "caps": {"a": 0.5}},
            "arm 'a' has a window and a cap, and no known rule",
        ),
        ({"shares": PLAIN, "caps": {"a": 0.5}, "offers": ["b"], "plays": 2}, "of which every offer contains 2, as"),
        ({"caps": dict.fromkeys("abc", 0.5), "offers": ["a"]}, "got 'a'; say offers=\"any\""),
        ({"shares": PLAIN, "caps": {"a": 0.5}, "offers": ["a"]}, "name some of .*'c'.*, say offers=\"any\", or"),
        (
            {"shares": [0.25] * 4, "caps": 0.25, "offers": [0]},
            'got 0; say offers="all"; "any" is refused as well: cap_tolerance: expected at least 3',
        ),
        ({"shares": {("a", "b"): 1.5, "c": 0}, "plays": 2, "offers": "any"}, "an offer may hold only one of them"),
    ],
)
def test_a_refusal_names_what_clashes_and_what_to_change(given, said):
    with pytest.raises(SharesError, match=said):
        Promise(**given)


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.1, 'come and go, pass offers="any" to Promise'), (0.25, "come and go: cap_tolerance: expected at least 2")],
)
def test_a_refused_offer_says_at_once_what_is_possible(share, said):
    policy = DeadlineLearn(UCB1(), Promise([share] * 4, caps=0.5))
    with pytest.raises(ArgumentError, match=said):
        policy.ask(available=[0, 1, 2])


def test_no_mend_of_shares_is_offered_for_windows_and_none_of_windows_for_shares():
    with pytest.raises(SharesError) as refused:
        Promise(windows=dict.fromkeys("abcd", 3))
    assert "scale them" not in str(refused.value)
    with pytest.raises(SharesError, match=r"scale them by 0\.8+ or lower") as refused:
        Promise({("a", "b"): 0.625, ("c", "d"): 0.5})
    assert "windows" not in str(refused.value)


def test_a_promise_of_offers_says_when_fewer_arms_may_come():
    promise = Promise({"a": 0, "b": 0, "c": 0, "d": 0}, caps={"c": 0.2}, offers=["a", "b"], plays=2)
    assert str(promise).endswith("2 plays per round; every offer contains at least 2 of a, b, or only these")
    assert str(Promise(PLAIN, caps={"a": 0.2}, offers=["b", "c"])).endswith("every offer contains at least one of b, c")
    assert str(Promise(windows={"a": (2, 9), "b": 9})).startswith("a at least twice in any 9 rounds; b at least once")


def test_what_several_arms_are_promised_alike_is_said_once():
    promise = Promise(dict.fromkeys(range(34), 0.01) | {(1, 2): 0.1}, tolerance=1)
    assert str(promise) == (
        "0, 1, 2, 3, 4, 5, 6, ..., 33 each at least 1/100 of the rounds (behind by less than 2); "
        "1, 2 together at least 1/10 of the rounds (behind by less than 2)"
    )
