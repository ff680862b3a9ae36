"""Every interval policy pulls the arm that its slow twin pulls, round by round; a constant bias changes nothing."""

from __future__ import annotations

import pytest

from evenhand.groups import BiasedLinearArms, GroupFairTopInterval, IntervalChaining, TopInterval
from tests.reference.groups_twin import Twin

ROUNDS = 160
TWO = BiasedLinearArms(arms=5, sensitive=2, dimension=3)
THREE = BiasedLinearArms(groups=["x", "y", "z", "x", "y", "z"], bias={"y": 5.0, "z": -3.0}, dimension=2)
AUTHORS = {"preset": "authors", "horizon": ROUNDS}
CHAINED = {"sensitive": "sensitive", "within": "chain"}
LIFTED, SHIFTED = {"corrected": [0], "target": 1}, {"corrected": [0, 1, 2], "shift": 30.0}

CASES = {
    "top": (TWO, TopInterval, {}, {}),
    "top, authors": (TWO, TopInterval, AUTHORS, {}),
    "top, minimum norm": (TWO, TopInterval, {"cold_start": "minimum_norm", "noise_scale": 0.5}, {}),
    "top, no exploration": (TWO, TopInterval, {"exploration": 50.0, "delta": 0.4}, {}),
    "chain": (TWO, IntervalChaining, {}, {"pick": "chain"}),
    "fair": (TWO, GroupFairTopInterval, {"sensitive": "sensitive", "horizon": 1000}, LIFTED),
    "fair, anytime": (TWO, GroupFairTopInterval, {"sensitive": "sensitive"}, LIFTED),
    "fair, other side": (TWO, GroupFairTopInterval, {"sensitive": "reference"}, {"corrected": [1], "target": 0}),
    "fair, within": (TWO, GroupFairTopInterval, CHAINED, LIFTED | {"pick": "within"}),
    "pooled": (THREE, GroupFairTopInterval, {"horizon": 500}, {"corrected": [0, 1, 2], "target": "pool"}),
    "scalar": (THREE, GroupFairTopInterval, {"mean_reward": 30.0}, SHIFTED),
    "scalar, authors": (THREE, GroupFairTopInterval, {"mean_reward": 30.0, **AUTHORS}, SHIFTED),
}


@pytest.mark.parametrize("case", CASES)
def test_same_arm_every_round(case):
    world, cls, given, more = CASES[case]
    policy = cls(world.groups, seed=11, **given)
    shared = {k: v for k, v in given.items() if k not in ("sensitive", "mean_reward", "within")}
    twin = Twin(world.membership.codes, seed=11, **shared, **more)
    world.reset(3)
    for t in range(1, ROUNDS + 1):
        (contexts,) = world.observe()
        decision = policy.ask(contexts)
        assert decision.index == twin.choose(contexts, t), f"round {t}"
        (reward,) = world.respond(decision)
        policy.tell(decision, reward)
        twin.update(decision.index, contexts[decision.index], reward)


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
