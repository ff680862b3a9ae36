"""Learners from elsewhere: copied as they are, seeded where they say how, and told when they cannot be."""

import random
import warnings

import pytest
import xarray as xr

import evenhand as eh
from evenhand.learners import Adapter
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn

WORLD = BernoulliArms([0.7, 0.5])


class Gambler:
    """A learner of the user's own, without an Adapter."""

    def __init__(self):
        self.dice = random.Random(1)
        self.told = 0

    def choose(self):
        return self.dice.randrange(2)

    def update(self, index, reward):
        self.told += 1

    def reseed(self, seed):
        self.dice.seed(seed)


DICE = {"choose": lambda dice: dice.randrange(2), "update": lambda dice, index, reward: None}
SEEDED = Adapter(random.Random(1), **DICE, seed=lambda dice, number: dice.seed(number))


def play(policy, **more):
    settings = {"rounds": 100, "replications": 3, "seed": 1, "jobs": 1, "backend": "sequential"} | more
    return eh.simulate(policy, WORLD, **settings)


@pytest.mark.parametrize("policy", [SEEDED, DeadlineLearn(SEEDED, [0.1, 0.1]), Gambler()], ids=["bare", "fair", "own"])
def test_a_seed_function_makes_replications_differ_and_the_same_seed_the_same_dataset(policy):
    """So does a method `reseed` of the learner."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = play(policy)
    pulls = history.pulls.isel(policy=0)
    assert not pulls.isel(replication=0).equals(pulls.isel(replication=1))
    xr.testing.assert_identical(play(policy), history)
    xr.testing.assert_identical(play(policy, backend="loky", jobs=2), history)
    assert not play(policy, seed=2).pulls.equals(history.pulls)


UNSEEDED = Adapter(random.Random(1), **DICE)


@pytest.mark.parametrize("policy", [UNSEEDED, FairLearn(UNSEEDED, [0.1, 0.1])], ids=["bare", "fair"])
def test_without_one_replications_are_alike_and_simulate_warns_once(policy):
    with pytest.warns(UserWarning, match=r"all replications of 'x' share the randomness.*seed= to its Adapter") as told:
        history = play({"x": policy})
    assert len(told) == 1
    assert (history.pulls == history.pulls.isel(replication=0)).all()
    play(policy, replications=1)


def test_the_original_stays_as_it_was():
    policy = Gambler()
    before = policy.dice.getstate()
    play(policy)
    assert (policy.dice.getstate(), policy.told) == (before, 0)


def test_what_a_foreign_learner_has_learned_it_knows_in_every_replication():
    learner = Adapter(
        [1],
        choose=lambda memory: memory[-1],
        update=lambda memory, index, reward: None,
        seed=lambda memory, number: None,
    )
    assert (play(learner, rounds=5).pulls.isel(round=-1, arm=1) == 5).all()
    learner.learner.append(0)
    assert (play(learner, rounds=5).pulls.isel(round=-1, arm=1) == 0).all()
