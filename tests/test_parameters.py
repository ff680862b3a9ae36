"""Policies, learners and models as scikit-learn has its estimators: get_params, set_params, clone, grids."""

import copy
import gc
import weakref

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import evenhand as eh
from evenhand import registry
from evenhand.checks.contract import examples
from evenhand.checks.play import plain
from evenhand.errors import ArgumentError
from evenhand.learners import UCB1, Adapter, EpsilonGreedy
from evenhand.quotas import DeadlineLearn, FairLearn, FairUCB
from evenhand.sampling import EstimatorModel, LogisticModel, OptimisticSampler
from evenhand.saving.state import to_bytes
from evenhand.threads import run_together

POLICIES = {entry.name: entry.cls for entry in registry.entries("policy")}


def first_example(name):
    return examples(POLICIES[name])[0]


def texts(params):
    """Parameters as text, without those of parts, whose own text they are in."""
    return {name: str(plain(value)) for name, value in params.items() if "__" not in name}


@pytest.mark.parametrize("name", POLICIES)
def test_parameters_can_be_set_to_what_they_are(name):
    policy, world = first_example(name)
    again = clone(policy)
    shown = texts(again.get_params())
    assert again.set_params(**again.get_params(deep=False)) is again
    assert texts(again.get_params()) == shown
    world.reset(7)
    first = plain(policy.ask(*world.observe()))
    world.reset(7)
    assert plain(again.ask(*world.observe())) == first


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_that_has_decided_keeps_its_parameters(name):
    policy, world = first_example(name)
    world.reset(1)
    policy.ask(*world.observe())
    with pytest.raises(ArgumentError, match=r"neither decided nor learned anything.*sklearn.base.clone"):
        policy.set_params(**policy.get_params(deep=False))
    with pytest.raises(
        ArgumentError, match=f"set_params: expected a parameter of {type(policy).__name__}: .*'nothing'"
    ):
        clone(policy).set_params(nothing=1)


def test_a_nested_learner_is_reached_by_two_underscores():
    learner = EpsilonGreedy(0.2)
    policy = FairLearn(learner, [0.1, 0.1], seed=1)
    assert policy.get_params()["learner__epsilon"] == 0.2
    assert policy.set_params(learner__epsilon=0.4, tolerance=3) is policy
    assert (policy.get_params()["learner__epsilon"], policy.tolerance) == (0.4, 3.0)
    assert learner.epsilon == 0.2
    assert "learner__epsilon" not in policy.get_params(deep=False)


def test_a_new_learner_and_its_parameter_may_be_set_together():
    policy = FairLearn(UCB1(), [0.1, 0.1], seed=1).set_params(learner__epsilon=0.4, learner=EpsilonGreedy())
    assert policy.learner.epsilon == 0.4


def test_a_model_inside_a_sampler_is_reached_too():
    sampler = OptimisticSampler(["u", "v"], model=EstimatorModel(LogisticRegression(C=2.0)), seed=1)
    assert sampler.get_params()["model__estimator__C"] == 2.0
    sampler.set_params(model__estimator__C=0.5, batch=4)
    assert (sampler.get_params()["model__estimator__C"], sampler.batch) == (0.5, 4)
    assert OptimisticSampler(["u", "v"]).set_params(model__C=0.25).model.C == 0.25


MADE = {
    "policy": lambda: FairUCB({"a": 0.2, "b": 0.3}, seed=1),
    "quota": lambda: FairLearn(EpsilonGreedy(), [0.1, 0.1], seed=1),
    "sampler": lambda: OptimisticSampler(["u", "v"], seed=1),
}


@pytest.mark.parametrize(
    ("made", "params", "said"),
    [
        ("policy", {"tolerance": -1}, "tolerance"),
        ("policy", {"shares": {"a": 0.9, "b": 0.9}}, "shares: they sum to"),
        ("policy", {"shares__a": 0.1}, "set_params: expected no parameter of dict, which has none, got 'shares__a'"),
        ("policy", {"alpha": 1, "tolerance": 2}, "set_params: expected a parameter of FairUCB: shares, tolerance"),
        ("policy", {"learner__epsilon": 1}, "set_params: expected a parameter of FairUCB: .* got 'learner__epsilon'"),
        ("quota", {"learner__epsilon": 7}, "epsilon"),
        ("quota", {"learner__heat": 1}, "set_params: expected a parameter of EpsilonGreedy: epsilon, arms, seed"),
        ("quota", {"tolerance": 5, "learner": "nothing"}, "learner: expected an object with choose"),
        ("sampler", {"model__D": 1}, "set_params: expected a parameter of LogisticModel: C, got 'model__D'"),
        ("sampler", {"batch": 0}, "batch"),
    ],
)
def test_what_is_no_parameter_or_no_value_of_one_is_refused_and_nothing_changes(made, params, said):
    thing = MADE[made]()
    before = to_bytes(thing)
    with pytest.raises(ArgumentError, match=said):
        thing.set_params(**params)
    assert to_bytes(thing) == before


@pytest.mark.parametrize("made", MADE)
def test_what_made_the_new_parameters_is_not_kept_alive(made):
    thing = MADE[made]()
    gc.collect()
    before = {id(one) for one in gc.get_objects() if type(one) is type(thing)}
    old = weakref.ref(clone(thing))
    thing.set_params(seed=5)
    gc.collect()
    assert old() is None
    assert {id(one) for one in gc.get_objects() if type(one) is type(thing)} <= before


def test_parameters_may_be_set_while_other_threads_ask():
    policy = FairUCB({"a": 0.2, "b": 0.3}, seed=1)
    lock = policy._lock
    run_together([lambda n=n: policy.set_params(tolerance=n) for n in range(8)])
    assert policy._lock is lock
    assert policy.ask().round == 1


def test_a_learner_from_elsewhere_is_cloned_as_it_is():
    learner = Adapter([2, 0, 1], choose=lambda counts: counts.index(min(counts)), update=lambda counts, *told: None)
    twin = clone(learner)
    assert (twin.learner, twin.learner is learner.learner) == ([2, 0, 1], False)
    assert learner.set_params(reward_range=(0, 5)).reward_range == (0.0, 5.0)
    policy = DeadlineLearn(EpsilonGreedy(), [0.1, 0.1]).set_params(learner=learner)
    assert clone(policy).learner.reward_range == (0.0, 5.0)


@pytest.mark.parametrize("model", [LogisticModel(C=0.5), EstimatorModel(LogisticRegression(C=0.5, random_state=None))])
def test_models_are_cloned_untrained(model):
    sampler = OptimisticSampler(["u", "v"], model=model, seed=1)
    world = eh.sampling.SyntheticModel1(instance="I")
    world.reset(1)
    for _ in range(10):
        draw = sampler.ask()
        sampler.tell(draw, *world.respond(draw))
    trained = sampler.model
    assert trained._has_history
    twin = clone(trained)
    assert not twin._has_history
    key = "C" if isinstance(model, LogisticModel) else "estimator__C"
    assert twin.get_params()[key] == 0.5
    assert twin.set_params(**{key: 0.1}).get_params()[key] == 0.1


def test_copies_and_saved_states_do_not_know_the_difference(tmp_path):
    policy = FairUCB({"a": 0.2, "b": 0.3}, seed=1).set_params(tolerance=2)
    eh.save(policy, tmp_path / "policy")
    for one in (copy.deepcopy(policy), eh.load(tmp_path / "policy")):
        assert texts(one.get_params()) == texts(FairUCB({"a": 0.2, "b": 0.3}, tolerance=2, seed=1).get_params())
