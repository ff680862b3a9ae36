"""What must not change a decision: a constant added to a group's bias, the order of arms, the names of groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.groups import BiasedLinearArms, GroupFairTopInterval, TopInterval
from tests.fuzzing import many


def arms_pulled(policy, bias, rounds=400):
    world = BiasedLinearArms(arms=6, sensitive=3, dimension=3, bias=bias)
    world.reset(9)
    pulled = []
    for _ in range(rounds):
        decision = policy.ask(*world.observe())
        policy.tell(decision, *world.respond(decision))
        pulled.append(decision.index)
    return pulled


@pytest.mark.parametrize("bias", [0.0, 500.0, -40.0])
def test_a_constant_bias_changes_nothing(bias):
    groups = BiasedLinearArms(arms=6, sensitive=3).groups
    fair = [arms_pulled(GroupFairTopInterval(groups, "sensitive", horizon=400, seed=4), b) for b in (10.0, bias)]
    assert fair[0] == fair[1]
    blind = [arms_pulled(TopInterval(groups, seed=4), b) for b in (10.0, bias)]
    assert blind[0] != blind[1]


@settings(max_examples=many(25))
@given(st.integers(0, 10**6), st.booleans())
def test_permuted_arms_permute_the_choice(seed, pooled):
    rng = np.random.default_rng(seed)
    order = rng.permutation(5)
    groups = {f"arm {i}": "s" if i < 2 else "r" for i in range(5)}
    sensitive = None if pooled else "s"
    one = GroupFairTopInterval(groups, sensitive, exploration=200.0, seed=1)
    other = GroupFairTopInterval({f"arm {i}": groups[f"arm {i}"] for i in order}, sensitive, exploration=200.0, seed=1)
    first = rng.uniform(0, 1, (5, 2))
    one.choose(first), other.choose(first[order])
    for _ in range(40):
        x, arm, y = rng.uniform(0, 1, (5, 2)), int(rng.integers(5)), float(rng.normal(20, 5))
        one.update(x, arm, y)
        other.update(x[order], int(np.flatnonzero(order == arm)[0]), y)
    for _ in range(5):
        x = rng.uniform(0, 1, (5, 2))
        if (one.engine.state.fit.samples[:5] >= 2).all():
            assert one.ask(x).arm == other.ask(x[order]).arm
