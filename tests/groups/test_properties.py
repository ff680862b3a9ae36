"""What must not change a decision: a constant added to a group's bias."""

from __future__ import annotations

import pytest

from evenhand.groups import BiasedLinearArms, GroupFairTopInterval, TopInterval


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
