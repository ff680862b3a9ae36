"""Every kind of clause through everything that reads a promise: one case a kind, one test a reader."""

import json
import random

import pandas as pd
import pytest

import evenhand as eh
from evenhand.descriptions.policies import policy_from
from evenhand.errors import ArgumentError
from evenhand.learners import UCB1
from evenhand.quotas import DeadlineLearn
from evenhand.studies import Study
from evenhand.studies.files import flat, read_csv
from tests.cli.shell import answer

ARMS = ("a", "b", "c", "d")
NOBODY = dict.fromkeys(ARMS, 0)
KINDS = {
    "floor": {"shares": NOBODY | {"a": "1/3", "b": "1/5"}},
    "set": {"shares": NOBODY | {("a", "b"): "1/2", "a": "1/5"}},
    "cap": {"shares": NOBODY | {"a": "1/4"}, "caps": {"b": "2/5"}, "offers": ["c"]},
    "window": {"shares": NOBODY, "windows": {"a": 5, "b": (2, 11)}, "offers": "all"},
    "set window": {"shares": NOBODY, "windows": {("a", "b"): 4}, "offers": "all"},
    "slates": {"shares": NOBODY | {("a", "b"): "6/5", "c": "1/5"}, "plays": 2},
    "all": {"shares": NOBODY | {("a", "b"): "1/4"}, "caps": {"d": "2/5"}, "windows": {"c": 9}, "offers": "all"},
}


def offers_of(promise, rng):
    """An offer that the promise allows."""
    if promise.offers == "all":
        return ARMS
    always = set(promise.offers) if isinstance(promise.offers, tuple) else set()
    some = [arm for arm in ARMS if arm in always or rng.random() < 0.7]
    return tuple(some) if len(some) >= promise.plays else ARMS


DRAWN = ("set", "slates", "all")
"""Kinds that are kept by a lottery as well, which sees of a promise only what may be played."""


def pytest_generate_tests(metafunc):
    """Give a test that takes a `promise` one of every kind, and one that takes a `lottery` some by lottery too."""
    if {"promise", "lottery"} <= set(metafunc.fixturenames):
        cases = [pytest.param(eh.Promise(**KINDS[kind]), None, id=f"{kind}-forced") for kind in KINDS]
        cases += [pytest.param(eh.Promise(**KINDS[kind]), 0.5, id=f"{kind}-drawn") for kind in DRAWN]
        metafunc.parametrize(("promise", "lottery"), cases)
    elif "promise" in metafunc.fixturenames:
        metafunc.parametrize("promise", [pytest.param(eh.Promise(**KINDS[kind]), id=kind) for kind in KINDS])


def played(study_or_policy, promise, rounds=60):
    """Play some rounds with offers that come and go and return the log and the decisions."""
    rng, log, decisions = random.Random(5), [], []
    for _ in range(rounds):
        offered = offers_of(promise, rng)
        decision = study_or_policy.ask(available=list(offered))
        rewards = {arm: float(arm == "d") for arm in decision.arms}
        study_or_policy.tell(decision, rewards if promise.plays > 1 else rewards[decision.arm])
        log.append((decision.arms, offered))
        decisions.append(decision)
    return log, decisions


def test_a_study_keeps_replays_exports_and_verifies_it(promise, lottery, tmp_path):
    study = Study.create(":memory:", DeadlineLearn(UCB1(), promise, lottery=lottery, seed=1))
    decisions = played(study, promise)[1]
    found = study.verify()
    assert (found.ok, found.promise_kept, found.rounds_in_violation) == (True, True, 0)
    frame = study.frame()
    assert frame["propensity"].tolist() == [decision.propensity for decision in decisions]
    assert (set(frame["propensity"]) == {1.0}) == (lottery is None)
    if promise.plays > 1:
        assert frame["slate_propensity"].tolist() == [decision.slate_propensity for decision in decisions]
    early = study.verify()
    played(study, promise, 20)
    later, whole = study.verify(since=early), study.verify()
    assert (later.ok, later.worst_shortfall) == (True, whole.worst_shortfall)
    assert study.policy.promise == promise
    flat(study.frame()).to_csv(tmp_path / "log.csv", index=False)
    again = read_csv(tmp_path / "log.csv")
    assert again["propensity"].tolist() == pytest.approx(study.frame()["propensity"].tolist(), nan_ok=True)


def test_it_is_saved(promise, lottery, tmp_path):
    policy = DeadlineLearn(UCB1(), promise, lottery=lottery, seed=1)
    played(policy, promise, 15)
    eh.save(policy, tmp_path / "one.evenhand")
    again = eh.load(tmp_path / "one.evenhand")
    assert again.promise == promise
    later = [played(one, promise, 20)[1] for one in (again, policy)]
    assert [one.to_dict() for one in later[0]] == [one.to_dict() for one in later[1]]


@pytest.mark.nightly
@pytest.mark.compiled
def test_it_is_simulated_in_machine_code_too():
    simulated(eh.Promise(**KINDS["all"]), 0.5)


def test_it_is_simulated(promise, lottery):
    simulated(promise, lottery)


def simulated(promise, lottery):
    """Simulate it, and see that no clause was broken."""
    policy = DeadlineLearn(UCB1(), promise, lottery=lottery, seed=1)
    world = eh.quotas.BernoulliArms({"a": 0.2, "b": 0.4, "c": 0.5, "d": 0.9})
    history = eh.simulate(policy, world, rounds=80, seed=1, jobs=1)
    assert int(history["violations"].max()) == 0


def test_an_evaluation_audits_what_was_replayed(promise):
    rng = random.Random(1)
    log = pd.DataFrame({"arm": rng.choices(ARMS, k=400), "reward": [rng.random() for _ in range(400)], "chance": 0.25})
    named = {"arm": "arm", "reward": "reward", "propensity": "chance", "estimator": "replay"}
    if promise.plays > 1:
        with pytest.raises(ArgumentError, match="a policy that plays one arm in a round"):
            eh.evaluate(log, DeadlineLearn(UCB1(), promise, seed=1), **named)
        return
    found = eh.evaluate(log, DeadlineLearn(UCB1(), promise, seed=1), **named)
    assert found.audit.kept
    assert found.audit.rounds >= found.rounds > 50


def test_a_notebook_shows_every_clause(promise, lottery):
    shown = promise._repr_html_() + DeadlineLearn(UCB1(), promise, lottery=lottery)._repr_html_()
    for clause in promise.clauses:
        assert ", ".join(clause.arms) in shown
        assert clause.what in shown


def test_plain_data_makes_it(promise, lottery):
    data = json.loads(json.dumps(promise.to_dict()))
    described = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "promise": data, "seed": 1}
    made = policy_from(described | ({} if lottery is None else {"lottery": lottery}))
    assert (made.promise, made.lottery) == (promise, lottery)


@pytest.mark.parametrize(("kind", "lottery"), [("slates", None), ("set window", None), ("all", 0.5)])
def test_the_shell_makes_shows_audits_and_simulates_it(kind, lottery, tmp_path):
    promise = eh.Promise(**KINDS[kind])
    file, store, log = (tmp_path / name for name in ("p.json", "one.evenhand", "log.parquet"))
    file.write_text(json.dumps({"promise": promise.to_dict()} | ({} if lottery is None else {"lottery": lottery})))
    answer("new", store, "--promise", file, "--seed", "1", "--name", "one")
    with Study.open(str(store), "one") as study:
        assert (study.policy.promise, study.policy.lottery) == (promise, lottery)
        rounds, _ = played(study, promise, 30)
    shown = answer("show", store)
    assert "BROKEN" not in shown
    assert all(word in shown for kind, word in WORDS.items() if any(c.kind == kind for c in promise.clauses))
    assert answer("verify", store)
    cells = [list(arms) if promise.plays > 1 else arms[0] for arms, _ in rounds]
    pd.DataFrame({"arm": cells, "offered": [",".join(offered) for _, offered in rounds]}).to_parquet(log)
    found = json.loads(answer("audit", log, "--promise", file, "--available", "offered", "--json"))
    assert found["kept"]
    world = ("simulate", "quotas/bernoulli-arms", "--means", "0.2,0.4,0.5,0.9", "--rounds", "50")
    numbers = {name: renamed(value) for name, value in promise.to_dict().items()}
    file.write_text(json.dumps({"promise": numbers}))
    options = ("--promise", file, "--replications", "1", "--seed", "1", "--jobs", "1", "--json")
    assert json.loads(answer(*world, *options))["policies"][1]["promise_kept"]


WORDS = {"cap": " cap ", "window": " window "}


def renamed(value):
    """Plain data with the arms called 0, 1, 2 and 3, as a simulation calls them."""
    if isinstance(value, dict):
        return {str(ARMS.index(arm)) if arm in ARMS else arm: renamed(one) for arm, one in value.items()}
    if isinstance(value, list):
        return [renamed(one) for one in value]
    return ARMS.index(value) if value in ARMS else value


BESIDE = {
    "fair-ucb": lambda promise: eh.quotas.FairUCB(promise, tolerance=3),
    "lfg": lambda promise: eh.quotas.LFG(promise, plays=2),
    "plays": lambda promise: eh.quotas.DeadlineLearn(UCB1(), promise, plays=2),
    "caps": lambda promise: eh.quotas.DeadlineLearn(UCB1(), promise, caps={"b": 0.5}),
}


@pytest.mark.parametrize("made", BESIDE.values(), ids=BESIDE)
def test_nothing_is_said_to_a_policy_beside_a_promise(made):
    said = r"(tolerance|plays|caps): expected nothing together with a promise, which states it"
    with pytest.raises(ArgumentError, match=said):
        made(eh.Promise({"a": 0.3, "b": 0.2}))


def test_parts_beside_a_promise_are_refused_by_name():
    promise, log = eh.Promise({"a": 0.5, "b": 0.25}), pd.DataFrame({"arm": list("abab")})
    for beside in ({"shares": {"a": 0.5}}, {"tolerance": 1}, {"caps": 0.5}, {"windows": {"a": 3}}):
        with pytest.raises(ArgumentError, match=f"{next(iter(beside))}: expected nothing together with a promise"):
            eh.audit.promise(log, arm="arm", promise=promise, **beside)
    with pytest.raises(ArgumentError, match=r"promise: expected an eh\.Promise"):
        eh.audit.promise(log, arm="arm", promise={"shares": {"a": 0.5}})
    described = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "promise": promise.to_dict()}
    with pytest.raises(ArgumentError, match="tolerance: expected nothing together with a promise"):
        policy_from(described | {"tolerance": 1})
    with pytest.raises(ArgumentError, match="promise: expected an object with shares"):
        policy_from(described | {"promise": [1]})
    with pytest.raises(ArgumentError, match="arguments among"):
        policy_from(described | {"policy": "quotas/fair-learn"})
