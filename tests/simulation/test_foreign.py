"""Learners from elsewhere: copied as they are, seeded where they say how, and told when they cannot be."""

import random
import warnings

import pytest
import xarray as xr

import evenhand as eh
from evenhand.learners import Adapter
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn

WORLD = BernoulliArms([0.7, 0.5])


def gambler(**seed):
    return Adapter(
        random.Random(1), choose=lambda dice: dice.randrange(2), update=lambda dice, index, reward: None, **seed
    )


def play(policy, **more):
    settings = {"rounds": 100, "replications": 3, "seed": 1, "jobs": 1, "backend": "sequential"} | more
    return eh.simulate(policy, WORLD, **settings)


@pytest.mark.parametrize("around", [lambda learner: learner, lambda learner: DeadlineLearn(learner, [0.1, 0.1])])
def test_a_seed_function_makes_replications_differ_and_the_same_seed_the_same_dataset(around):
    policy = around(gambler(seed=lambda dice, number: dice.seed(number)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        history = play(policy)
    pulls = history.pulls.isel(policy=0)
    assert not pulls.isel(replication=0).equals(pulls.isel(replication=1))
    xr.testing.assert_identical(play(policy), history)
    xr.testing.assert_identical(play(policy, backend="loky", jobs=2), history)
    assert not play(policy, seed=2).pulls.equals(history.pulls)


@pytest.mark.parametrize("around", [lambda learner: learner, lambda learner: FairLearn(learner, [0.1, 0.1])])
def test_without_one_replications_are_alike_and_simulate_warns_once(around):
    with pytest.warns(UserWarning, match=r"all replications of 'x' share the randomness.*seed= to its Adapter") as told:
        history = play({"x": around(gambler())})
    assert len(told) == 1
    assert (history.pulls == history.pulls.isel(replication=0)).all()
    play(around(gambler()), replications=1)


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


def test_a_method_reseed_does_the_same_and_the_original_stays_as_it_was():
    policy = Gambler()
    before = policy.dice.getstate()
    pulls = play(policy).pulls.isel(policy=0)
    assert not pulls.isel(replication=0).equals(pulls.isel(replication=1))
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
