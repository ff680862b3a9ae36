"""What the pictures of quotas show."""

import pytest

import evenhand as eh
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import BernoulliArms, FairUCB


@pytest.fixture(scope="package")
def history():
    policies = {"fair": FairUCB({"a": 0.2, "b": 0.3, "c": 0.25}), "free": UCB1(), "thompson": Thompson()}
    world = BernoulliArms({"a": 0.7, "b": 0.5, "c": 0.4})
    return eh.simulate(policies, world, rounds=400, replications=3, seed=1, checkpoints=20)
