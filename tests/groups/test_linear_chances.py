"""The probabilities of LinearThompson: integrals where samples are independent, else made by many draws."""

import math

import numpy as np
import pytest

from evenhand.errors import ArgumentError
from evenhand.groups import LinearThompson

GROUPS = {"a": "x", "b": "y", "c": "x"}
PAIR = {"a": "x", "b": "y"}
CASES = {
    "own coefficients": (GROUPS, {"spread": 0.5}),
    "own coefficients with an intercept": (GROUPS, {"intercept": True}),
    "a shared vector and two arms": (PAIR, {"shared": True, "spread": 0.7}),
    "a shared vector and many draws": (GROUPS, {"shared": True, "spread": 0.7, "draws": 16}),
}


def told(groups, **settings):
    """A policy that has learned from a few rewards, and contexts to show it."""
    policy, random = LinearThompson(groups, seed=1, **settings), np.random.default_rng(2)
    for _ in range(8):
        decision = policy.ask(random.normal(size=(len(groups), 2)))
        policy.tell(decision, float(random.normal()))
    return policy, random.normal(size=(len(groups), 2))


@pytest.mark.parametrize("case", CASES)
def test_arms_are_drawn_as_often_as_their_probabilities_say(case):
    groups, settings = CASES[case]
    policy, shown = told(groups, **settings)
    rounds = 1_500
    counts, expected = np.zeros(len(groups)), np.zeros(len(groups))
    for t in range(rounds):
        before = policy.probabilities(shown) if t % 10 == 0 else None
        decision = policy.ask(shown)
        assert before is None or decision.propensity == before[decision.arm]
        counts[decision.index] += 1
        expected += decision.probabilities
        policy.forget(decision)
    # a martingale with steps of at most one: Azuma's bound, error 1e-6 over three arms
    assert np.abs(counts - expected).max() < math.sqrt(2 * rounds * math.log(2 * 3 / 1e-6))


def test_many_draws_leave_every_arm_a_part_of_the_decisions():
    policy, shown = told(GROUPS, draws=4, exploration=0.3)
    for _ in range(20):
        decision = policy.ask(shown)
        counts = (decision.probabilities - 0.1) * 4 / 0.7
        assert counts == pytest.approx(counts.round())
        assert decision.probabilities.sum() == pytest.approx(1.0)
        policy.forget(decision)


def test_dependent_samples_of_three_arms_have_no_known_probabilities():
    policy, shown = told(GROUPS, shared=True)
    decision = policy.ask(shown)
    assert (decision.probabilities, decision.propensity) == (None, None)
    with pytest.raises(ArgumentError, match="policy: expected one that states the probabilities"):
        policy.probabilities(shown)


def test_an_arm_without_contexts_is_its_mean():
    policy = LinearThompson(PAIR, spread=1.0, seed=1)
    assert policy.probabilities([[0.0, 0.0], [0.0, 0.0]]) == {"a": 1.0, "b": 0.0}
    assert policy.probabilities([[0.0, 0.0], [1.0, 0.0]]) == pytest.approx({"a": 0.5, "b": 0.5}, abs=1e-6)
    assert policy.dimension is None
