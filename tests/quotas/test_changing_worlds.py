"""Worlds whose means change: when they change, what they pay, and regret against the best arm of each round."""

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.learners import Thompson
from evenhand.protocol import Decision
from evenhand.quotas import ChangingArms, DriftingArms


def means_over(world, rounds):
    """The means and the best of them, round by round."""
    world.reset(1)
    seen = []
    for _ in range(rounds):
        world.observe()
        state = world._core[1]
        seen.append([*state.means, state.best[0]])
    return np.array(seen)


def test_means_change_at_the_rounds_that_are_named():
    world = ChangingArms({"a": [0.7, 0.2, 0.0], "b": [0.5, 0.5, 1.0]}, [3, 4])
    assert means_over(world, 5).tolist() == [
        [0.7, 0.5, 0.7],
        [0.7, 0.5, 0.7],
        [0.2, 0.5, 0.5],
        [0.0, 1.0, 1.0],
        [0.0, 1.0, 1.0],
    ]


@pytest.mark.parametrize(
    ("shape", "wave"), [("sine", math.sin), ("linear", lambda x: 2 / math.pi * math.asin(math.sin(x)))]
)
def test_means_drift_by_the_wave(shape, wave):
    world = DriftingArms([0.5, 0.4], [0.3, 0.2], period=10.0, shape=shape, phases=[0.0, 0.3])
    seen = means_over(world, 40)
    for t in range(40):
        wanted = [0.5 + 0.3 * wave(2 * math.pi * t / 10), 0.4 + 0.2 * wave(2 * math.pi * (t / 10 + 0.3))]
        assert seen[t] == pytest.approx([*wanted, max(wanted)], abs=1e-12)


def test_rewards_have_the_means_of_their_round():
    """5000 tosses a stretch; Hoeffding: a mean off by 0.03 has a probability below 2 exp(-9) = 2.5e-4, seed fixed."""
    world = ChangingArms([[0.9, 0.5], [0.2, 0.5]], [5001])
    world.reset(5)
    paid = []
    for t in range(1, 10_001):
        world.observe()
        paid.append(world.respond(Decision(t, t, 0, 0, None, ""))[0])
    assert np.mean(paid[:5000]) == pytest.approx(0.9, abs=0.03)
    assert np.mean(paid[5000:]) == pytest.approx(0.2, abs=0.03)


def test_a_world_that_never_changes_is_one_of_bernoulli_arms():
    means = [0.3, 0.6, 0.5]
    still = eh.simulate(Thompson(), eh.quotas.BernoulliArms(means), rounds=300, seed=2, jobs=1)
    moving = eh.simulate(Thompson(), ChangingArms([means], []), rounds=300, seed=2, jobs=1)
    assert np.array_equal(still.pulls, moving.pulls)
    np.testing.assert_allclose(still.regret, moving.regret, atol=1e-9)


BAD = [
    (lambda: ChangingArms([[0.5, 1.5]], []), "means of 1 in stretch 1: expected a probability"),
    (lambda: ChangingArms({"a": [0.5, -0.1], "b": [0.5, 0.5]}, [2]), "means of 'a' in stretch 2"),
    (lambda: ChangingArms([[0.5, 0.5], [0.5]], [2]), "means"),
    (lambda: ChangingArms([[0.5, 0.5], [0.1, 0.2]], []), "changes: expected 1 rising rounds"),
    (lambda: ChangingArms([[0.5, 0.5]] * 3, [7, 7]), "changes"),
    (lambda: DriftingArms([0.5, 0.9], 0.2, period=10), "amplitude of 1"),
    (lambda: DriftingArms([0.5, 0.5], "much", period=10), "amplitude"),
    (lambda: DriftingArms([0.5, 0.5], period=0), "period"),
    (lambda: DriftingArms([0.5, 0.5], period=9, shape="square"), "shape"),
    (lambda: DriftingArms([0.5, 0.5], period=9, phases=[0.1, None]), "phases"),
    (lambda: DriftingArms([0.5], period=9), "arms"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[f"{message} {n}" for n, (_, message) in enumerate(BAD)])
def test_bad_worlds_are_refused_by_name(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    "world",
    [
        ChangingArms([[0.7, 0.5, 0.4, 0.1], [0.1, 0.5, 0.9, 0.8], [0.3, 0.3, 0.3, 0.9]], [40, 90]),
        DriftingArms([0.5, 0.5, 0.4, 0.6], 0.3, period=37, shape="linear", phases=[0.0, 0.4, 0.1, 0.9]),
    ],
)
def test_regret_of_several_arms_is_against_the_best_slate_of_each_round(world):
    policy = eh.quotas.DeadlineLearn(Thompson(), [0.1] * 4, plays=2)
    history = eh.simulate(policy, world, rounds=120, seed=1, checkpoints=120, jobs=1)
    means = np.array(means_over(world, 120))[:, :4]
    slates = np.diff(history.pulls.values[0, 0], axis=0, prepend=0)
    best = np.sort(means, axis=1)[:, -2:].sum(axis=1)
    lost = np.cumsum(best - (means * slates).sum(axis=1))
    assert history.regret.values[0, 0] == pytest.approx(lost, abs=1e-9)
    assert lost[-1] > 5
    sparse = eh.simulate(policy, world, rounds=120, seed=1, checkpoints=[7, 50], jobs=1)
    assert sparse.regret.values[0, 0] == pytest.approx(lost[[6, 49, 119]], abs=1e-9)
