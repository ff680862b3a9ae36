"""Whatever is passed to a public call, it answers or refuses: no error of numpy, pandas or Python comes through.

Each argument of each call in turn is replaced by each of the wrong values, the others stay as they are right.
"""

import copy
import datetime
import functools
import inspect
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand import (
    audit,
    evaluation,
    groups,
    interventions,
    learners,
    quotas,
    registry,
    sampling,
    similarity,
    simulation,
)
from evenhand.checks import examples
from evenhand.client import Client, RemoteStudy
from evenhand.errors import EvenhandError
from evenhand.groups import TopInterval
from evenhand.sampling import LabelQueue
from evenhand.similarity import LipschitzUCB
from evenhand.studies import Ask, Study, bandit_frame

WRONG = {
    "None": None,
    "True": True,
    "-1": -1,
    "0": 0,
    "0.5": 0.5,
    "not a number": float("nan"),
    "infinite": float("inf"),
    "10^30": 10**30,
    "10^400": 10**400,
    "complex": 1j,
    "text": "wrong",
    "empty text": "",
    "bytes": b"a",
    "empty list": [],
    "list of None": [None],
    "list of one number": [0.5],
    "list of texts": ["a", "b"],
    "list of lists": [[0.5], [1, 2]],
    "pairs": [(0, 1)],
    "empty dict": {},
    "dict": {"a": 1},
    "dict of lists": {1: ["a"], None: 2},
    "set": {1, 2},
    "object": object(),
    "class": dict,
    "function": abs,
    "date": datetime.date(2026, 1, 1),
    "array": np.array([[[np.nan]]]),
    "frame": pd.DataFrame({"a": [1]}),
}

LOG = pd.DataFrame({"arm": ["a", "b"] * 10, "reward": [0.0, 1.0] * 10, "p": 0.5, "t": range(20), "x": [0.1, 0.3] * 10})
PEOPLE = pd.DataFrame(
    {"id": range(8), "sex": ["f", "m"] * 4, "x": np.linspace(0, 1, 8), "z": [1, 0] * 4, "y": [0, 1, 1, 0] * 2}
)
X, Y, G = np.linspace(0, 1, 16).reshape(8, 2), np.array([0, 1] * 4), np.array(["f", "f", "m", "m"] * 2)
"""Features (8, 2), labels (8,) and groups (8,) of as many people."""
ARMS = ["a", "b"]
TRIAL = {
    "states": {"V": ["low", "high"], "A": ["f", "m"], "Y": [0, 1]},
    "parents": {"A": [], "V": ["A"], "Y": ["V", "A"]},
    "tables": {
        "A": [0.5, 0.5],
        "V": [[0.5, 0.5], [0.4, 0.6]],
        "Y": [[[0.5, 0.5], [0.4, 0.6]], [[0.3, 0.7], [0.2, 0.8]]],
    },
}
MODEL = interventions.CausalModel(**TRIAL)


SEARCHED = {"model": MODEL, "intervene": "V", "sensitive": "A", "outcome": "Y", "candidates": [None, "high"]}
PROBLEM = interventions.Problem(**SEARCHED)


def queue():
    return LabelQueue(list(range(8)), X, groups=list(G), seed=1)


def asked_queue():
    one = queue()
    one.ask(8)
    return one


def labelled_queue():
    one = asked_queue()
    one.tell(3, 0)
    return one


@functools.cache
def offline():
    return Client("http://127.0.0.1:9", key="k", retries=0)


POLICY = quotas.FairUCB({"a": 0.2, "b": 0.2}, seed=1)
CHANGEABLE = quotas.DeadlineLearn(learners.UCB1(), {"a": 0.2, "b": 0.2}, seed=1)
FITTED = interventions.Problem(
    interventions.CausalModel.fit(PEOPLE[["sex", "z", "y"]], [("sex", "z"), ("z", "y"), ("sex", "y")]),
    intervene="z",
    sensitive="sex",
    outcome="y",
    candidates=[None, 1],
)


def call(function, /, **right):
    """Return a call with arguments that are right: these, and what the others are by default."""
    parameters = inspect.signature(function).parameters.values()
    return function, {one.name: one.default for one in parameters if one.default is not one.empty} | right


def of_new(make, method):
    """Return a method of an object that is made anew for each call."""
    return functools.wraps(method)(lambda **given: method(make(), **given))


def told(make, ticket):
    """Return a function that tells an object made anew of its first ticket, or of whatever is given in its place."""

    def tell(**given):
        one = make()
        return one.tell(**{ticket: one.ask(), **given})

    return tell


def asked(policy):
    policy.ask()
    return policy


UNCHANGED = []
"""The study that has refused the last call, and is as it was."""


def of_study(method):
    """Return a method of a study that no call has changed."""

    def run(**given):
        if UNCHANGED:
            study = UNCHANGED.pop()
        else:
            study = Study.create(":memory:", CHANGEABLE, name="one")
            study.ask()
        try:
            answer = getattr(study, method)(**given)
        except EvenhandError:
            UNCHANGED.append(study)
            raise
        study.close()
        return answer

    return run


def create_study(**given):
    with TemporaryDirectory() as folder:
        Study.create(**{"store": Path(folder) / "one.db", **given}).close()


def relabelled(**given):
    sampler = sampling.GreedySampler(["f", "m"], warmup=1, seed=1)
    sampler.tell(sampler.ask(), X[:2], [0, 1])
    sampler.relabel(**given)


CALLS = {
    "audit.parity": call(audit.parity, frame=PEOPLE, group="sex", value="y"),
    "audit.promise": call(audit.promise, frame=LOG, arm="arm", shares={"a": 0.2, "b": 0.2}, order="t"),
    "evaluate": call(
        eh.evaluate,
        log=LOG,
        policy={"a": 0.5, "b": 0.5},
        arm="arm",
        reward="reward",
        propensity="p",
        estimator="ips",
        order="t",
    ),
    "effects": call(eh.effects, log=LOG.assign(p_a=0.5, p_b=0.5), control="a", propensity="p"),
    "under_shares": call(evaluation.under_shares, distribution={"a": 0.5, "b": 0.5}, shares={"a": 0.2, "b": 0.2}),
    "price": call(quotas.price, promise=eh.Promise({"a": 0.2, "b": 0}), means=LOG),
    "quotas.regret_bound": call(
        quotas.regret_bound, promise=eh.Promise({"a": 0.2, "b": 0}), means=[0.9, 0.5], rounds=10
    ),
    "Promise": call(eh.Promise, shares={"a": 0.2, "b": 0.2}),
    "Promise.is_kept": call(POLICY.promise.is_kept, pulls=[1, 1], round=2),
    "Promise.owed": call(POLICY.promise.owed, round=2),
    "Promise.split": call(eh.Promise({"a": 0.2, "b": 0.2}, tolerance=5).split, workers=2),
    "Promise.from_dict": call(eh.Promise.from_dict, data=POLICY.promise.to_dict()),
    "BernoulliArms": call(quotas.BernoulliArms, means={"a": 0.2, "b": 0.3}),
    "ChangingArms": call(quotas.ChangingArms, means=[[0.2, 0.3], [0.3, 0.2]], changes=[5]),
    "DriftingArms": call(quotas.DriftingArms, means=[0.4, 0.5], period=10.0),
    "LoggedArms": call(quotas.LoggedArms, frame=LOG, arm="arm", reward="reward", propensity="p"),
    "Adapter": call(
        learners.Adapter,
        learner={},
        choose=lambda one, *rest: 0,
        update=lambda one, *rest: None,
        contextual=False,
        arms=ARMS,
    ),
    "from_sklearn": call(learners.from_sklearn, estimator=LogisticRegression()),
    "BiasedLinearArms": call(groups.BiasedLinearArms),
    "TableArms": call(groups.TableArms, frame=PEOPLE, arm="z", group="sex", reward="y", features=["x"]),
    "Groups.read": call(groups.Groups.read, groups={"a": "f", "b": "m"}),
    "Ledger.add": call(of_new(lambda: groups.Ledger({"a": "f", "b": "m"}), groups.Ledger.add), arm="a", reward=1.0),
    "round_regrets": call(groups.round_regrets, biased=[[1.0, 2.0]], true=[[1.0, 2.0]], index=[0], reward=[1.0]),
    "CausalModel": call(interventions.CausalModel, **TRIAL),
    "CausalModel.fit": call(
        interventions.CausalModel.fit, frame=PEOPLE[["sex", "z", "y"]], edges=[("sex", "z"), ("z", "y")]
    ),
    "CausalModel.from_bif": call(interventions.CausalModel.from_bif, path="absent.bif"),
    "CausalModel.probabilities": call(MODEL.probabilities, nodes=["Y"], do={"V": "low"}),
    "CausalModel.sample": call(MODEL.sample, count=3, do={"V": "low"}, nodes=["Y"]),
    "Problem": call(interventions.Problem, **SEARCHED),
    "Problem.recommend": call(PROBLEM.recommend, tolerance=0.1),
    "Problem.sensitivity": call(PROBLEM.sensitivity, tolerance=0.1),
    "Problem.posterior": call(FITTED.posterior),
    "Sampler.tell": call(
        told(lambda: sampling.GreedySampler(["f", "m"], warmup=1, batch=1, seed=1), "draw"), X=X[:2], y=[0, 1]
    ),
    "ArrayPool": call(sampling.ArrayPool, X=X, y=Y, group=G),
    "TablePool": call(sampling.TablePool, frame=PEOPLE, group="sex", label="y", features=["x"]),
    "label_pairs": call(sampling.label_pairs, images=X, labels=Y, pairs={"one": (0, 1)}),
    "SyntheticModel1": call(sampling.SyntheticModel1, instance="I"),
    "LogisticModel": call(sampling.LogisticModel),
    "LogisticModel.fit": call(sampling.LogisticModel().fit, X=X, y=Y),
    "EstimatorModel": call(sampling.EstimatorModel, estimator=DecisionTreeClassifier()),
    "collect": call(
        sampling.collect,
        sampler=sampling.UniformSampler(["f", "m"], seed=1),
        world=sampling.ArrayPool(X, Y, group=G),
        rounds=3,
        test=lambda model: [0.5, 0.5],
    ),
    "group_errors": call(sampling.group_errors, model=sampling.LogisticModel().fit(X, Y), X=X, y=Y, groups=G),
    "fairness_report": call(sampling.fairness_report, model=sampling.LogisticModel().fit(X, Y), X=X, y=Y, groups=G),
    "confidence_sequence": call(sampling.confidence_sequence, total=1.0, n=4),
    "mann_kendall": call(sampling.mann_kendall, values=[1.0, 2.0, 3.0]),
    "minimax_reweighting": call(sampling.minimax_reweighting, rounds=2, X=X, y=Y, group=G),
    "rademacher_deviation": call(sampling.rademacher_deviation, n=10.0, complexity=0.5),
    "vc_deviation": call(sampling.vc_deviation, n=10.0, dimension=2.0),
    "LabelQueue": call(LabelQueue, ids=list(range(8)), features=X, groups=list(G)),
    "LabelQueue.ask": call(of_new(queue, LabelQueue.ask), n=2),
    "LabelQueue.ask_again": call(of_new(asked_queue, LabelQueue.ask_again), ids=[]),
    "LabelQueue.tell": call(of_new(asked_queue, LabelQueue.tell), id=3, label=0),
    "LabelQueue.forget": call(of_new(asked_queue, LabelQueue.forget), id=3),
    "LabelQueue.correct": call(of_new(labelled_queue, LabelQueue.correct), id=3, label=0),
    "LabelQueue.open_items": call(of_new(asked_queue, LabelQueue.open_items)),
    "LabelQueue.write_tasks": call(lambda path: asked_queue().write_tasks(path), path="/absent/absent.json"),
    "LabelQueue.read_labels": call(of_new(asked_queue, LabelQueue.read_labels), path="/absent/absent.json"),
    "PairQueue": call(similarity.PairQueue, features=X, rewards=Y * 0.5),
    "PairQueue.tell": call(
        told(lambda: similarity.PairQueue(X, Y * 0.5, individuals=3, seed=1), "ticket"),
        label="acceptable",
        annotator=None,
    ),
    "Scale": call(similarity.Scale, centre=[0.0, 0.0], unit=[1.0, 1.0], features=["x", "z"]),
    "Scale.of": call(similarity.Scale.of, people=PEOPLE[["x", "z"]]),
    "simulate": call(
        simulation.simulate,
        policies=POLICY.fresh(),
        world=quotas.BernoulliArms({"a": 0.2, "b": 0.3}),
        rounds=5,
        jobs=1,
        backend="sequential",
    ),
    "FairUCB.tell": call(told(lambda: POLICY.fresh(seed=1), "decision"), reward=0.5),
    "FairUCB.ask": call(of_new(lambda: POLICY.fresh(seed=1), quotas.FairUCB.ask), available=None),
    "FairUCB.forget": call(of_new(lambda: asked(POLICY.fresh(seed=1)), quotas.FairUCB.forget), decision=1),
    "FairUCB.fresh": call(POLICY.fresh),
    "TopInterval.ask": call(of_new(lambda: TopInterval({"a": "f", "b": "m"}), TopInterval.ask), contexts=X[:2]),
    "LipschitzUCB.ask": call(of_new(lambda: LipschitzUCB(2), LipschitzUCB.ask), contexts=X[:3]),
    "load": call(eh.load, path="absent.evenhand"),
    "Client": call(Client, url="http://127.0.0.1:9", key="k"),
    "Client.study": call(of_new(offline, Client.study), name="absent"),
    "RemoteStudy.ask": call(of_new(lambda: offline().study("one"), RemoteStudy.ask)),
    "Sampler.relabel": call(relabelled, part="training", row=0, label=1),
    "Study.create": call(create_study, policy=POLICY.fresh(), name=None, expire_after=None),
    "Study.open": call(Study.open, store="absent.db"),
    "Study.ask": call(of_study("ask"), available=None, key=None, sticky=False, count=None, subject=None),
    "Study.tell": call(of_study("tell"), ticket=1, reward=0.5),
    "Study.forget": call(of_study("forget"), ticket=1),
    "Study.sign": call(of_study("sign"), ticket=1),
    "Study.change": call(of_study("change"), shares={"a": 0.1, "b": 0.1}),
    "Study.add": call(of_study("add"), arm="c", share=0.1),
    "Study.retire": call(of_study("retire"), arm="a"),
    "Study.erase": call(of_study("erase"), subject="one", older_than=None),
    "Study.verify": call(of_study("verify"), known=None, since=None, progress=False),
    "Study.run": call(of_study("run"), operations=[Ask()]),
    "bandit_frame": call(bandit_frame, study=None),
    "reset": call(quotas.BernoulliArms([0.2, 0.3]).reset, seed=1),
    "pool.reset": call(sampling.ArrayPool(X, Y, group=G).reset, seed=1),
    "check_policy": call(eh.check_policy, policy=POLICY),
}


CALLS |= {one.name: call(one.cls, **examples(one.cls)[0][0].config()) for one in registry.entries("policy")}
ABSENT = {
    "CausalModel.from_bif",
    "LabelQueue.read_labels",
    "LabelQueue.write_tasks",
    "RemoteStudy.ask",
    "Study.open",
    "bandit_frame",
    "load",
}
"""Calls about what is not there."""
CALLED = {("collect", "test"), ("collect", "watch"), ("minimax_reweighting", "loss")}
CALLED |= {("simulate", "offers"), ("simulate", "analyse")}
"""Arguments that may be functions, whose own errors come through when they are called."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in a folder of the test's own: what is given for a path may be one."""
    monkeypatch.chdir(tmp_path)
    yield
    while UNCHANGED:
        UNCHANGED.pop().close()


def copied(arguments):
    return {name: value if callable(value) else copy.deepcopy(value) for name, value in arguments.items()}


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ABSENT])
def test_right_arguments_are_taken(name):
    function, right = CALLS[name]
    function(**copied(right))


@pytest.mark.parametrize(("name", "argument"), [(name, one) for name, (_, right) in CALLS.items() for one in right])
@pytest.mark.filterwarnings("ignore:drawing with replacement")
def test_wrong_arguments_are_refused_by_errors_of_evenhand(name, argument):
    function, right = CALLS[name]
    for words, value in WRONG.items():
        if (name, argument) in CALLED and callable(value):
            continue
        try:
            function(**copied(right) | {argument: value})
        except EvenhandError:
            pass
        except Exception as error:
            pytest.fail(f"{name}({argument}={words}): {type(error).__name__}: {error}")
