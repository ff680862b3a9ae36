"""Rewards that come late in a simulation: the compiled loop, plain Python and the stepped conversation tell alike."""

import copy

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.groups import BiasedLinearArms
from evenhand.kernels.compose import entry, interpreted
from evenhand.learners import UCB1, LinUCB, SlidingWindowUCB, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn
from evenhand.rng import child
from evenhand.similarity import LipschitzUCB
from evenhand.simulation.delay import lose, read_delay, wait
from evenhand.simulation.loop import replicate

SHARES = [0.2, 0.3, 0.25]
WORLD = BernoulliArms([0.7, 0.5, 0.4])
LINEAR = BiasedLinearArms(arms=4, sensitive=2)
PLAYED = {
    "UCB1": (UCB1(arms=3), WORLD),
    "slates": (DeadlineLearn(UCB1(), SHARES, plays=2), WORLD),
    "window": (SlidingWindowUCB(20, arms=3), WORLD),
    "contexts": (LinUCB(0.99, arms=4), LINEAR),
}
DELAYS = [7, ("geometric", 6.0), [0, 2, 9]]


def by_hand(policy, world, delay, rounds, missing=0.0):
    """Ask and tell round by round; each reward is told when its delay is over, or forgotten if it is missing."""
    policy, world = policy.fresh(seed=child(5, 0)), copy.deepcopy(world)
    world.reset(child(5, 1))
    drawn, late, pulls = read_delay(delay, missing).pending(child(5, 1), rounds, 1, np.zeros((0, 0))), [], []
    for t in range(1, rounds + 1):
        decision = policy.ask(*world.observe())
        (reward,) = world.respond(decision)
        late.append((t + interpreted(wait)(drawn), decision, reward, interpreted(lose)(drawn)))
        for due, told, paid, lost in late:
            if due == t:
                policy.forget(told) if lost else policy.tell(told, paid)
        pulls.append(np.bincount(decision.indexes, minlength=len(world.arms)))
    return np.cumsum(pulls, axis=0)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("delay", DELAYS, ids=str)
@pytest.mark.parametrize("name", PLAYED)
def test_late_and_missing_rewards_are_told_alike_in_every_loop(name, delay, missing):
    policy, world = PLAYED[name]
    rounds = 60
    arguments = {"policy_seed": child(5, 0), "world_seed": child(5, 1), "checkpoints": np.arange(1, rounds + 1)}
    expected = by_hand(policy, world, delay, rounds, missing)
    for compiled in (True, False):
        late = {"stop": lambda done: None, "compiled": compiled, "delay": read_delay(delay, missing)}
        assert np.array_equal(replicate(policy, world, None, **arguments, **late).pulls, expected)
        if name != "slates":
            assert np.array_equal(replicate(policy, world, None, **arguments, **late, log=[]).pulls, expected)


def test_no_delay_is_a_delay_of_nothing():
    histories = [eh.simulate(Thompson(), WORLD, rounds=50, seed=3, jobs=1, delay=late) for late in (None, 0, [0, 0])]
    assert all(one.identical(histories[0]) for one in histories)


def test_geometric_delays_have_their_mean_and_losses_their_share():
    """20,000 draws of mean 6 and standard deviation sqrt(42): a mean off by 0.25 is 5.4 standard errors, p < 1e-7; of a
    share of 0.2 one that is off by 0.02 is 7."""
    delay = read_delay(("geometric", 6.0), 0.2)
    pending = delay.pending(3, 10**5, 1, np.zeros((0, 0)))
    drawn = np.array([(entry(wait)(pending), entry(lose)(pending)) for _ in range(20_000)])
    assert abs(drawn[:, 0].mean() - 6.0) < 0.25
    assert drawn[:, 0].min() == 0
    assert drawn[:, 0].max() <= delay.largest
    assert abs(drawn[:, 1].mean() - 0.2) < 0.02


BAD = [-1, 1.5, "often", ("geometric", 0.0), ("geometric", "long"), ("geometric", 10**5), ("normal", 3.0), [], [1, -2]]
BAD += [[1.5], [[1, 2]], True, 10**7, [1, None], {3: 4}]


@pytest.mark.parametrize("delay", BAD, ids=str)
def test_a_bad_delay_is_refused_by_name(delay):
    with pytest.raises(ArgumentError, match=r"^delay: expected"):
        eh.simulate(Thompson(), WORLD, rounds=10, delay=delay)


def test_worlds_with_rounds_of_their_own_know_no_delay():
    policy, world = next(LipschitzUCB._examples())
    for name, nothing, given in (("delay", None, 3), ("missing", 0, 0.1), ("analyse", None, len)):
        with pytest.raises(ArgumentError, match=rf"^{name}: expected {nothing}: \w+ plays rounds of its own"):
            eh.simulate(policy, world, rounds=10, **{name: given})
