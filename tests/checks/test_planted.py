"""The contract and the search for broken promises find what was planted, and say where."""

from __future__ import annotations

from typing import Literal

import pytest

import evenhand as eh
from evenhand.checks import ask_tell
from evenhand.errors import ContractError
from evenhand.learners import UCB1
from evenhand.quotas import BernoulliArms
from tests import planted
from tests.promises.promise_game import check_promise

BROKEN = {
    planted.HasNoSuchField: r"same seed: .*has no attribute 'sum'.*\(at .*planted\.py, line \d+: state\.sum\[index\] ",
    planted.LearnsTheOpposite: r"learns: with rewards turned into their opposite it loses \[-.*\] more",
    planted.LearnsNothing: r"learns: with rewards turned into their opposite it loses \[0\.0\] more",
    planted.LooksAtLabels: "labels: in round 1 it decides for .*, by other names for",
    planted.TakesAnArgumentInVain: r"arguments: the argument patience changes nothing: 2 and \[3, 7, 1\] decide",
    planted.HandsAnArgumentOnInVain: r"arguments: the argument patience changes nothing: 2 and \[3, 7, 1\] decide",
    planted.LeavesNumbersAsTheyAre: "numbers: its parameters have the types .*coerce them in __init__",
}


@pytest.mark.parametrize("broken", BROKEN)
def test_the_contract_finds(broken, scratch_registry):
    scratch_registry(broken)
    with pytest.raises(ContractError, match=f"{broken.__name__} breaks the contract, {BROKEN[broken]}"):
        eh.check_policy(broken(arms=["c", "b", "a"], seed=1))


def test_a_policy_may_say_that_it_does_not_learn(scratch_registry):
    scratch_registry(planted.MeansNotToLearn)
    checks = {check.name: check.skipped for check in eh.check_policy(planted.MeansNotToLearn(arms=3, seed=1))}
    assert "does not learn" in checks["learns"]
    assert not checks["labels"]
    assert not checks["numbers"]


def test_an_argument_that_a_class_above_answers_is_named():
    class Patient(eh.quotas.FairUCB):
        def __init__(self, shares, tolerance=0.0, *, seed=None):
            super().__init__(shares, seed=seed)

    class Stated(Patient):
        def __init__(self, shares, tolerance=0.0, *, seed=None):
            super().__init__(shares, seed=seed)
            self.tolerance = tolerance

    assert Stated([0.1, 0.1], 2.5).tolerance == 2.5
    with pytest.raises(ContractError, match=r"made with tolerance=0.05 it states tolerance=0.0: a class above"):
        eh.check_policy(Patient([0.1, 0.1], 3.0))
    with pytest.raises(ContractError, match=r"arguments: the argument tolerance changes nothing: 3.0 and \["):
        eh.check_policy(Stated([0.1, 0.1], 3.0))


def test_an_argument_that_could_not_be_tried_is_named(scratch_registry):
    """A free text, for which the check knows no other; a choice of two is tried, and found in vain."""

    class Free(planted.TakesAnArgumentInVain):
        def __init__(self, patience: str = "a", *, arms=None, seed=None):
            super().__init__(patience, arms=arms, seed=seed)

    class Choice(Free):
        def __init__(self, patience: Literal["a", "b"] = "a", *, arms=None, seed=None):
            super().__init__(patience, arms=arms, seed=seed)

    scratch_registry(Free)
    assert {check.name: check.untried for check in eh.check_policy(Free(arms=3, seed=1))}["arguments"] == ("patience",)
    with pytest.raises(ContractError, match=r"the argument patience changes nothing: 'a' and \['b'\]"):
        eh.check_policy(Choice(arms=3, seed=1))


def test_a_promise_of_nothing_is_not_called_kept():
    checks = {check.name: check.skipped for check in eh.check_policy(eh.quotas.FairUCB([0.0, 0.0]))}
    assert checks["promise"] == "promises nothing: all its shares are 0"


@pytest.mark.slow
@pytest.mark.compiled
def test_the_contract_finds_a_promise_that_breaks_late(scratch_registry):
    scratch_registry(planted.BreaksItsPromiseLate)
    policy = planted.BreaksItsPromiseLate(UCB1(), [0.0101, 0.0203])
    with pytest.raises(ContractError, match=r"promise: within 100,000 rounds a clause was broken \d+,\d+ times"):
        eh.check_policy(policy)


@pytest.mark.parametrize("promise", [{"windows": {"c": 3}}, {"shares": {"a": 0, ("b", "c"): "3/4"}}], ids=str)
def test_the_contract_finds_every_kind_of_clause_that_the_loop_breaks(promise, monkeypatch):
    for name in ("LONG", "LONG_AS_PYTHON"):
        monkeypatch.setattr(ask_tell, name, 300)
    policy = UCB1(arms=["a", "b", "c"])
    policy.promise = eh.Promise(**{"shares": {"a": 0, "b": 0, "c": 0}} | promise)
    with pytest.raises(AssertionError, match=r"within 300 rounds a clause was broken \d+ times"):
        ask_tell.check_promise_kept(policy, BernoulliArms({"a": 0.9, "b": 0.1, "c": 0.1}), 10)


def test_a_promise_that_breaks_late_is_found_by_drawn_cases():
    with pytest.raises(
        ContractError, match=r"BreaksItsPromiseLate breaks its promise in round \d+: arm \d had .*Promise\(shares="
    ):
        check_promise(planted.BreaksItsPromiseLate)


def test_what_the_published_rules_promise_holds():
    report = check_promise(eh.quotas.FairUCB, cases=10, rounds=500)
    assert report.worst_shortfall == 0
    assert report.refused > 0  # shares above one over the number of arms
    assert report.conversations > 1000
