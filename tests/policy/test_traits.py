"""What policies state about themselves, evenhand's and everybody's, with defaults for what they leave out."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import evenhand as eh
from evenhand import registry
from evenhand.checks import examples
from evenhand.learners import UCB1
from evenhand.policy.traits import Traits, traits_of


class Plain:
    """A policy that states nothing."""

    def ask(self):
        return eh.Decision(1, 1, "a", 0, None, "always")

    def tell(self, decision, reward): ...


class OnSale(Plain):
    """One that states a few things."""

    arms = ("a", "b")
    contextual = True
    reward_range = (0.0, 5.0)


def test_who_states_nothing_has_the_defaults():
    assert traits_of(Plain()) == Traits()


def test_what_is_stated_is_read():
    traits = traits_of(OnSale())
    assert traits.arms == traits.labels == ("a", "b")
    assert (traits.contextual, traits.reward_range) == (True, (0.0, 5.0))
    assert traits.promise is traits.holds_when is traits.bias is None


def test_what_is_of_another_kind_is_its_own_affair():
    policy = OnSale()
    policy.plays, policy.work, policy.learns = [0, 0], 3, True
    assert traits_of(policy) == traits_of(OnSale())
    world = eh.quotas.BernoulliArms({"a": 0.2, "b": 0.3})
    policy.contextual = False
    assert eh.simulate(policy, world, rounds=9, seed=1, jobs=1).pulls[0, 0, -1].values.tolist() == [9, 0]


@pytest.mark.parametrize("shares", [{"b": "1/2", "a": 0}, {"b": "1/2"}])
def test_a_promise_has_the_arms_of_the_policy_in_their_order(shares):
    policy = OnSale()
    policy.promise = eh.Promise(shares)
    assert traits_of(policy).promise.arms == ("a", "b")
    assert traits_of(policy).promise == eh.Promise({"a": 0, "b": "1/2"})
    policy.promise = eh.Promise({"z": "1/2", "a": 0})
    assert traits_of(policy).promise is policy.promise


def test_who_breaks_a_promise_of_arms_in_another_order_is_found_to():
    policy = OnSale()
    policy.contextual, policy.promise = False, eh.Promise({"b": "1/2", "a": 0})
    world = eh.quotas.BernoulliArms({"a": 0.2, "b": 0.3})
    history = eh.simulate(policy, world, rounds=9, checkpoints=1, seed=1, jobs=1)
    assert history.violations.values.tolist() == [[[8]]]
    assert history.share.values.tolist() == [[0, 0.5]]


def test_groups_and_bias_are_the_learners_where_the_policy_has_none():
    groups = {"ann": "F", "bob": "M", "eve": "F"}
    learner = eh.groups.GroupFairTopInterval(groups, seed=1)
    policy = eh.quotas.DeadlineLearn(learner, {"ann": 0.2, "bob": 0.2, "eve": 0.1})
    assert traits_of(policy).membership.names == learner.membership.names
    for t in range(20):
        policy.tell(policy.ask(np.eye(3)[:, :2] + t / 20), 1.0)
    assert len(traits_of(policy).bias()) > 0
    assert traits_of(UCB1(arms=2)).membership is None


@pytest.mark.parametrize("name", [entry.name for entry in registry.entries("policy")])
def test_every_registered_policy_states_its_traits(name):
    cls = registry.get(name).cls
    for policy, _ in examples(cls):
        traits = traits_of(policy)
        problem = name.split("/")[0]
        assert traits.feedback == {"sampling": "rows", "interventions": "samples"}.get(problem, "reward")
        work = {"similarity": "pairs", "groups": "squares"}.get(problem, "numbers")
        assert traits.work == traits_of(cls).work == work
        assert traits.audited == (problem == "similarity")
        promises = traits.promise is not None
        assert (
            promises
            == (traits.holds_when is not None)
            == bool({"shares", "windows"} & {*inspect.signature(cls).parameters})
        )
        assert problem == "quotas" or not promises
        assert traits.hands_out.__name__ == {"sampling": "Draw", "interventions": "Allocation"}.get(problem, "Decision")
