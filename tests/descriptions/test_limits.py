"""What one request may cost."""

from __future__ import annotations

import pytest

from evenhand.descriptions.limits import check_pairs, check_shown
from evenhand.errors import ArgumentError


def shown(rows, features):
    return {"contexts": [[0.0] * features] * rows}


@pytest.mark.parametrize(
    ("policy", "asks", "words"),
    [
        (
            "learners/ucb1",
            [shown(1, 100_001)],
            "contexts: numbers in one decision: expected at most 100,000, got 100001",
        ),
        ("similarity/lipschitz-ucb", [shown(201, 2)], "contexts: individuals: expected at most 200, got 201"),
        (
            "groups/naive-fair",
            [shown(2, 1500)],
            "contexts: arms by the square of their features: expected at most 4,000",
        ),
        ("learners/ucb1", [shown(1, 100_000)] * 41, "contexts: numbers in one request: expected at most 4,000,000"),
        ("similarity/lipschitz-ucb", [shown(200, 1)] * 101, "contexts: pairs of individuals in one request: expected"),
    ],
    ids=["one decision", "individuals", "features", "one request", "pairs"],
)
def test_what_would_cost_too_much_is_refused(policy, asks, words):
    with pytest.raises(ArgumentError) as refusal:
        check_shown(policy, asks)
    assert words in str(refusal.value)


def test_what_is_just_not_too_much_passes():
    check_shown("similarity/lipschitz-ucb", [shown(200, 1)] * 100)
    check_shown("groups/naive-fair", [shown(1000, 63)])
    check_shown("learners/ucb1", [shown(1, 100_000)] * 40)
    check_shown("learners/ucb1", [{}, {"contexts": []}])
    check_pairs({"reward": 1.0, "violations": [[0, 1]] * 20_000})


@pytest.mark.parametrize("name", ["violations", "acceptable"])
def test_more_pairs_than_a_round_has_are_refused(name):
    with pytest.raises(ArgumentError, match=f"{name}: pairs: expected at most 20,000, got 20001"):
        check_pairs({name: [[0, 1]] * 20_001})
