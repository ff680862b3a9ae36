"""A policy is played in a world that it fits, or refused by name before anything is played; never a traceback."""

import warnings

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand import registry
from evenhand.checks import examples
from evenhand.errors import ArgumentError
from evenhand.groups import BiasedLinearArms, GroupFairTopInterval, LinearThompson, TableArms, TopInterval
from evenhand.learners import KLUCB, UCB1, Adapter, EpsilonGreedy
from evenhand.policy.traits import traits_of
from evenhand.quotas import BernoulliArms, FairLearn, FairUCB, LoggedArms
from evenhand.sampling import SyntheticModel1, UniformSampler
from evenhand.similarity import LinearContexts, LipschitzUCB, MahalanobisOracle
from tests.naming import named
from tests.strategies import Stubborn

POLICIES = [(entry.name, examples(entry.cls)[0][0]) for entry in registry.entries("policy")]
WORLDS = [(entry.name, examples(entry.cls)[0]) for entry in registry.entries("world")]
KIND = {"learners": "arms", "quotas": "arms", "groups": "groups", "similarity": "similarity"}


def kind(name):
    return KIND.get(name.split("/")[0])


def play(policy, world, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return eh.simulate(policy, world, **{"rounds": 3, "seed": 1, "jobs": 1, "backend": "sequential"} | more)


def fits(name, policy, place, world):
    """Return whether they belong together, by what a reader of their docstrings would compare."""
    if kind(name) is None or kind(name) != kind(place):
        return False
    if kind(name) == "similarity":
        return policy.select == world.select and policy.individuals in (None, world.individuals)
    if policy.arms is not None and policy.arms != world.arms:
        return False
    if kind(name) == "arms":
        return not traits_of(policy).contextual
    return policy.groups == world.groups


@pytest.mark.parametrize(("place", "world"), WORLDS, ids=named)
def test_every_policy_is_played_or_refused_by_name(place, world):
    for name, policy in POLICIES:
        if fits(name, policy, place, world):
            assert play(policy, world).sizes["round"] == 3
        else:
            with pytest.raises(ArgumentError, match=r"^(policies\['\w+'\]|world): expected .*, got "):
                play(policy, world)


ARMS = BernoulliArms([0.2, 0.5])
LINEAR = BiasedLinearArms(arms=4, sensitive=2)
PEOPLE = LinearContexts([0.5, 0.3], MahalanobisOracle([[0.4, 0.1]], seed=3), individuals=3)
QUIET = {"choose": lambda one: 0, "update": lambda one, index, reward: None}
SEES = {"choose": lambda one, contexts: 0, "update": lambda one, contexts, index, reward: None}


class Outside:
    """A policy from elsewhere, and a world."""

    arms, scores, totals = (0, 1), (), ()

    def __init__(self, shown=()):
        self.shown = shown

    def reset(self, seed):
        pass

    def observe(self):
        return self.shown

    def respond(self, decision):
        return (1.0,)

    def ask(self):
        return eh.Decision(1, 1, 0, 0, None, "")

    def tell(self, decision, reward):
        pass


MISFITS = {
    "contexts for a world without": (TopInterval([0, 1]), ARMS, "a policy that needs no contexts, got .*TopInterval"),
    "no contexts for a world with": (FairUCB([0.1] * 4), LINEAR, "a policy that takes contexts of 2 numbers per arm"),
    "a learner without arms": (UCB1(), LINEAR, "a policy that takes contexts of 2 numbers"),
    "other arms": (FairUCB([0.1] * 3), ARMS, "2 arms, as the world has, got '3 arms'"),
    "other labels": (FairUCB({"a": 0.1, "b": 0.1}), ARMS, r"the world's arms \[0, 1\]"),
    "the labels' order": (UCB1(arms=[1, 0]), ARMS, r"the world's arms \[0, 1\], got '\[1, 0\]'"),
    "crossed groups": (
        GroupFairTopInterval({0: "x", 1: "y", 2: "x", 3: "y"}),
        LINEAR,
        r"arms in the groups of BiasedLinearArms, \{0: 'sensitive'",
    ),
    "another dimension": (LipschitzUCB(3), PEOPLE, "a world that shows 3 individuals with 3 features, got .3 with 2"),
    "other individuals": (LipschitzUCB(2, individuals=4), PEOPLE, "a world that shows 4 individuals with 2 features"),
    "another selection": (LipschitzUCB(2, select="many"), PEOPLE, "a policy with select='one', as the world has"),
    "an auditor is missing": (LipschitzUCB(2), ARMS, "a policy for arms, as BernoulliArms has, got .a LipschitzUCB"),
    "arms among individuals": (TopInterval([0, 1, 2]), PEOPLE, "a policy that chooses among individuals by contexts"),
    "a sampler among arms": (UniformSampler(["u", "v"]), ARMS, "a policy that chooses among arms, got .* a Draw"),
    "a world of rows": (FairUCB([0.1, 0.1]), SyntheticModel1(instance="I"), "^world: expected an object with arms"),
    "an adapter that sees": (Adapter(0, **SEES), ARMS, r"to take 1 arguments, as BernoulliArms has it"),
    "a policy from elsewhere": (Outside(), BiasedLinearArms(arms=2, sensitive=1), "ask to take 1 arguments"),
    "a world from elsewhere": (FairUCB([0.1, 0.1]), Outside((np.eye(2),)), "a policy that takes contexts"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_what_does_not_fit_is_refused_and_says_why(case):
    policy, world, words = MISFITS[case]
    for policies in (policy, {"first": UCB1() if world is ARMS else policy, "second": policy}):
        with pytest.raises(ArgumentError, match=words):
            play(policies, world)


def table(**more):
    frame = pd.DataFrame(
        {"arm": list("aabb"), "age": [1.0, 2.0, 3.0, 4.0], "sex": list("FFMM"), "paid": [0, 1, 0.5, 1]}
    )
    return TableArms(frame, arm="arm", group="sex", reward="paid", features=["age"], **more)


class Contextual(Stubborn):
    """Rewards outside what a policy promises to take would reach the kernels unseen."""

    contextual = True

    def choose(self, contexts):
        return 0

    def update(self, contexts, index, reward):
        pass


def test_rewards_outside_the_range_are_refused():
    policy = FairLearn(Contextual(0), {"a": 0.1, "b": 0.1})
    words = "a policy for the rewards of TableArms, from -inf to inf, got .* from 0 to 1"
    with pytest.raises(ArgumentError, match=words):
        play(policy, table(noise=0.1))
    assert play(policy, table()).sizes["round"] == 3
    play(FairLearn(LinearThompson({"a": "F", "b": "M"}), {"a": 0.1, "b": 0.1}), table(noise=0.1))


def test_groups_may_be_named_otherwise_and_told_apart_more_finely():
    for groups in (["x", "y", "z", "z"], ["x", "x", "x", "x"]):
        assert play(TopInterval(groups), LINEAR).sizes["round"] == 3


def test_what_fits_from_elsewhere_is_played():
    for policy in (Outside(), Stubborn(0), Adapter(0, **QUIET), UCB1(), FairLearn(Adapter(0, **QUIET), [0.1, 0.1])):
        assert play(policy, Outside()).reward.isel(round=-1).item() == 3
        play(policy, ARMS)
    play(Adapter(0, **SEES), LINEAR)
    assert "r_regret" not in play(FairUCB([0.2, 0.2]), Outside()), "a world without gaps has no fair regret"
    play(KLUCB(), LoggedArms(pd.DataFrame({"a": [0, 1], "r": [0.0, 1.0]}), arm="a", reward="r"))


def test_a_policy_may_write_the_labels_of_the_world_otherwise():
    world = LoggedArms(pd.DataFrame({"a": [1, 2], "r": [0.0, 1.0]}), arm="a", reward="r")
    one, other = (
        eh.simulate({"p": FairUCB(dict.fromkeys(arms, 0.1))}, world, rounds=40, seed=1, jobs=1)
        for arms in ((1, 2), ("1", "2"))
    )
    assert one.equals(other)


def test_a_list_of_policies_is_named_by_their_classes():
    """Two of one class are numbered, and each plays as it does under a name of one's own."""
    world = BernoulliArms([0.7, 0.5])
    policies = [UCB1(arms=2), EpsilonGreedy(arms=2), UCB1(arms=2)]
    listed = eh.simulate(policies, world, rounds=60, seed=1, jobs=1)
    assert listed.policy.values.tolist() == ["UCB1 1", "EpsilonGreedy", "UCB1 2"]
    by_name = dict(zip(["UCB1 1", "EpsilonGreedy", "UCB1 2"], policies, strict=True))
    assert listed.equals(eh.simulate(by_name, world, rounds=60, seed=1, jobs=1))
    assert eh.simulate((UCB1(arms=2),), world, rounds=5, seed=1, jobs=1).policy.values.tolist() == ["UCB1"]
