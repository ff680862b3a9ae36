"""An intercept is a feature that is always 1 and that nobody passes; a bias without features needs it."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.groups import (
    BiasedLinearArms,
    GroupFairTopInterval,
    IntervalChaining,
    LinearThompson,
    NaiveFair,
    TopInterval,
)

GROUPS = ["s", "r", "r"]
MAKES = {
    "top": lambda **more: TopInterval(GROUPS, seed=1, **more),
    "chain": lambda **more: IntervalChaining(GROUPS, seed=1, **more),
    "two groups": lambda **more: GroupFairTopInterval(GROUPS, "s", horizon=100, seed=1, **more),
    "pooled": lambda **more: GroupFairTopInterval(GROUPS, cold_start="minimum_norm", seed=1, **more),
    "naive": lambda **more: NaiveFair(GROUPS, seed=1, **more),
    "thompson": lambda **more: LinearThompson(GROUPS, shared=True, seed=1, **more),
}


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_an_intercept_decides_as_a_column_of_ones_does(make):
    own, other = make(intercept=True), make()
    random = np.random.default_rng(3)
    for _ in range(70):
        contexts = random.uniform(0, 1, (3, 2))
        groups = None if random.random() < 0.7 else random.permutation(GROUPS).tolist()
        first = own.ask(contexts, groups=groups)
        second = other.ask(np.column_stack([contexts, np.ones(3)]), groups=groups)
        assert first == second
        reward = float(contexts[first.index] @ [2.0, 3.0] - 4.0 * (first.index == 0) + random.normal())
        own.tell(first, reward), other.tell(second, reward)
    assert (own.dimension, other.dimension) == (2, 3)


def test_it_is_kept_by_copies_files_and_simulations(tmp_path):
    world = BiasedLinearArms(arms=3, sensitive=1)
    policy = GroupFairTopInterval(world.groups, "sensitive", intercept=True, seed=1)
    one, two = (eh.simulate(policy, world, rounds=60, replications=1, seed=2, jobs=1) for _ in range(2))
    assert one.equals(two)
    world.reset(1)
    for _ in range(20):
        policy.tell(decision := policy.ask(*world.observe()), *world.respond(decision))
    eh.save(policy, tmp_path / "policy")
    loaded = eh.load(tmp_path / "policy")
    assert loaded.intercept
    assert loaded.bias().equals(policy.bias())
    assert loaded.ask(np.ones((3, 2))) == policy.ask(np.ones((3, 2)))


def biased(intercept, run):
    """Talk with arms of equal worth, of which those of one group are paid 5 less whatever they show."""
    policy = GroupFairTopInterval([*"sssssrrrrr"], "s", intercept=intercept, seed=run)
    random = np.random.default_rng([run, 7])
    for _ in range(300):
        contexts = random.uniform(0, 1, (10, 2))
        decision = policy.ask(contexts)
        worth = contexts[decision.index] @ [30.0, 35.0]
        policy.tell(decision, float(worth - 5.0 * (decision.index < 5) + random.normal()))
    return policy.bias(features=["debt", "years"])


def test_a_constant_bias_is_found_with_an_intercept_alone():
    """Of 60 runs at 95 %, 51 at least hold each truth: fewer would happen once in 2,000 times."""
    with_one = [biased(True, run) for run in range(60)]
    assert with_one[0]["feature"].tolist() == ["debt", "years", "intercept"]
    for row, truth in enumerate([0.0, 0.0, -5.0]):
        held = sum(table["low"][row] <= truth <= table["high"][row] for table in with_one)
        assert held >= 51
    without = [biased(False, run) for run in range(20)]
    assert sum((table["low"] <= 0.0).all() and (table["high"] >= 0.0).all() for table in without) == 0


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
@pytest.mark.parametrize("value", ["no", 1, None])
def test_anything_but_a_truth_value_is_refused(make, value):
    with pytest.raises(ArgumentError, match="intercept: expected True or False"):
        make(intercept=value)


@pytest.mark.parametrize(
    ("name", "value", "silent"), [("intercept", True, False), ("delta", 0.2, 0.1), ("noise_scale", 2.0, 1.0)]
)
def test_an_inner_policy_has_its_own(name, value, silent):
    with pytest.raises(ArgumentError, match=f"{name}: expected {silent} together with inner="):
        NaiveFair(GROUPS, inner=TopInterval(GROUPS), **{name: value})
