"""What has learned something is refused where its memory would be lost, by name, and with what to do."""

import copy

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand import registry
from evenhand.checks import examples
from evenhand.errors import ArgumentError
from evenhand.groups import LinearThompson, NaiveFair, TopInterval
from evenhand.interventions import CSR
from evenhand.interventions.measures import simulated_searches
from evenhand.learners import KLUCB, UCB1, Adapter, EpsilonGreedy, Thompson, TsallisINF
from evenhand.policy.traits import traits_of
from evenhand.quotas import LFG, BernoulliArms, DeadlineLearn, FairLearn, FairUCB
from evenhand.sampling import GreedySampler, LogisticModel, OptimisticSampler, UniformSampler
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import EllipsoidDistance, LipschitzUCB, MomentDistance, ProjectedVolumeDistance
from evenhand.studies import Study
from tests.naming import timed

LEARNERS = [UCB1, KLUCB, TsallisINF, Thompson, EpsilonGreedy]


WAYS = {
    "asked": lambda learner: learner.ask(),
    "chosen": lambda learner: learner.choose(),
    "updated": lambda learner: learner.update(0, 0.0),
    "told": lambda learner: learner.tell(learner.ask(), 1.0),
}


@pytest.mark.parametrize(
    ("learner", "way", "wrap"),
    [(UCB1, way, FairLearn) for way in WAYS] + [(learner, "told", DeadlineLearn) for learner in LEARNERS],
)
def test_a_taught_learner_is_not_wrapped(learner, way, wrap):
    one = learner(arms=2, seed=1)
    WAYS[way](one)
    for again in (one, from_bytes(to_bytes(one)), copy.deepcopy(one)):
        with pytest.raises(ArgumentError, match=r"learner: expected one that has neither decided nor .*fresh\(\)"):
            wrap(again, [0.2, 0.2])
    wrap(one.fresh(), [0.2, 0.2])


@pytest.mark.parametrize("policy", [LFG([0.1, 0.1]), FairUCB([0.1, 0.1]), TopInterval(["a", "b"])], ids=repr)
def test_a_taught_policy_is_no_learner(policy):
    one = policy.fresh()
    one.update(*([[[1.0], [2.0]]] if traits_of(one).contextual else []), 1, 1.0)
    with pytest.raises(ArgumentError, match="learner: expected one that has neither decided nor learned"):
        FairLearn(one, [0.1, 0.1])


def test_a_taught_policy_is_not_put_inside_naive_fair():
    groups = ["a", "a", "b", "b"]
    contexts = np.arange(8.0).reshape(4, 2)
    for teach in (lambda one: one.ask(contexts), lambda one: one.update(contexts, 0, 1.0)):
        teach(inner := LinearThompson(groups))
        with pytest.raises(ArgumentError, match=r"inner: expected one that has neither .*pass inner.fresh\(\)"):
            NaiveFair(groups, inner=inner)


def test_a_learner_that_is_taught_after_it_was_wrapped_changes_nothing():
    learner, inner = UCB1(arms=2), TopInterval(["a", "b"])
    quota, fair = FairLearn(learner, [0.1, 0.1], seed=1), NaiveFair(["a", "b"], inner=inner, seed=1)
    learner.update(1, 1.0)
    inner.update([[1.0], [2.0]], 1, 5.0)
    assert not quota._has_history
    assert quota.fresh().ask().arm == quota.ask().arm == 0
    fair.fresh().ask([[1.0], [2.0]])


def fitted(model):
    return model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


MODELS = {
    "logistic": lambda: fitted(LogisticModel()),
    "tree": lambda: fitted(DecisionTreeClassifier()),
    "another sampler's": lambda: sampled(UniformSampler(["u", "v"], seed=1)).model,
}


def sampled(sampler):
    for _ in range(4):
        sampler.tell(sampler.ask(), [[0.0], [1.0]], [0, 1])
    return sampler


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sampler", [OptimisticSampler, GreedySampler, UniformSampler])
def test_a_trained_model_is_refused_by_samplers(sampler, model):
    with pytest.raises(ArgumentError, match=r"model: expected one that has neither decided nor .*fresh\(\), or"):
        sampler(["u", "v"], MODELS[model]())


@pytest.mark.parametrize("model", [None, DecisionTreeClassifier()], ids=["logistic", "tree"])
def test_samplers_go_on_after_loading_and_begin_anew_when_fresh(model):
    sampler = sampled(UniformSampler(["u", "v"], model, seed=1))
    assert from_bytes(to_bytes(sampler)).labels == 8
    assert sampler._has_history
    fresh = sampler.fresh()
    assert not fresh._has_history
    assert sampled(fresh).labels == 8


@pytest.mark.parametrize("metric", [MomentDistance, EllipsoidDistance, ProjectedVolumeDistance])
def test_a_taught_metric_is_refused_by_policies(metric):
    one = metric(radius=2.0)
    number = one.verdict([1.0, 0.0], [0.0, 0.0], 0.5, True)
    with pytest.raises(ArgumentError, match=r"metric: expected one that has neither .*metric.fresh\(\), or tell the"):
        LipschitzUCB(2, metric=one)
    LipschitzUCB(2, metric=one.fresh())
    one.withdraw(number)
    policy = LipschitzUCB(2, metric=one, seed=1)
    policy.metric.verdict([1.0, 0.0], [0.0, 0.0], 0.5, True)
    assert policy._has_history
    assert len(from_bytes(to_bytes(policy)).metric.verdicts) == 1
    assert policy.fresh().metric.verdicts == []


STEPPED = ("interventions", "sampling")
SIMULATED = [entry.name for entry in registry.entries("policy") if entry.name.split("/")[0] not in STEPPED]


@pytest.mark.parametrize("name", [timed(name) for name in SIMULATED])
def test_simulate_refuses_a_policy_whose_memory_it_would_not_use(name):
    policy, world = examples(registry.get(name).cls)[0]
    policy = policy.fresh(arms=world.arms) if getattr(policy, "arms", 0) is None else policy
    before = policy._has_history
    world.reset(1)
    policy.ask(*world.observe())
    with pytest.raises(ArgumentError, match=r"policies\['one'\]: expected one that has neither .*policy.fresh\(\)"):
        eh.simulate({"one": policy}, world, rounds=5)
    assert not before


def test_simulate_refuses_a_policy_that_was_told_without_a_ticket():
    policy = FairLearn(Adapter(object(), choose=lambda one: 0, update=lambda one, index, reward: None), [0.1, 0.1])
    policy.update(0, 1.0)
    with pytest.raises(ArgumentError, match="expected one that has neither decided nor learned"):
        eh.simulate(policy, BernoulliArms([0.1, 0.2]), rounds=5)


def test_searches_that_have_begun_are_not_simulated():
    search, _ = next(CSR._examples())
    search.ask()
    with pytest.raises(ArgumentError, match=r"searches\['csr'\]: expected one that has neither .*search.fresh\(\)"):
        simulated_searches({"csr": search}, replications=1)


def test_a_study_goes_on_with_what_a_learner_knows():
    """Nothing is lost where the policy is taken as it is."""
    learner = UCB1(arms=2)
    for reward in (0.0, 1.0):
        learner.tell(learner.ask(), reward)
    study = Study.create(":memory:", learner)
    assert study.policy.round == 2
    assert study.ask().round == 3
