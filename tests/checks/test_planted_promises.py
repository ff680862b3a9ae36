"""The search for broken promises knows every part of a promise, and everything that a decision says of itself."""

from __future__ import annotations

import re

import pytest

import evenhand as eh
from evenhand.errors import ContractError
from tests import planted_promises as planted
from tests.naming import rest_at_night
from tests.planted import LooksAtNoDeadline
from tests.promises.generated_promises import PARTS
from tests.promises.promise_game import check_promise, main

ENOUGH = r"had \d+ plays where \d+ are owed in \d+ rounds"
BROKEN = {
    planted.ForgetsOwnClocks: "(breaks its promise|gives a wrong reason|refuses a proposal that some rule could "
    "grant) in "
    "round .*, with arms on offer",
    planted.IgnoresACapAtATie: r"breaks its promise .*arm \d had \d+ plays where \d+ are allowed in .* caps=",
    planted.DropsALagSilently: r"states a wrong claim .*it says that 0 plays of \[\d\] are dropped where .* behind",
    planted.IsLateWithSlates: f"breaks its promise .* {ENOUGH}, .* plays=",
    planted.PlaysAnArmTwice: r"plays what may not be played .*it played .* where \d of .* were to be played",
    planted.ForgetsSets: f"breaks its promise .*the arms .* together {ENOUGH}",
    planted.AlwaysSaysForced: r"gives a wrong reason .*says forced where the learner proposed \[\d\], which was played",
    planted.NeverSaysForced: r"gives a wrong reason .*it does not say forced where \[\d\] was proposed",
    planted.StatesEvenChances: r"states a wrong chance .*arm \d had .* plays (more|fewer) than its chances sum to",
    planted.ForgetsTheFloor: r"states a wrong chance .*arm \d has chance .* may be played and is owed",
    planted.IsStricterThanItSays: "refuses a proposal that some rule could grant .* was proposed and could be granted",
    planted.ServesTheWindowThatEndsFirst: r"breaks its promise .* of the \d plays owed in the last \d+ rounds",
}


@pytest.fixture
def only_these(monkeypatch):
    """Leave out the search over fixed shares, which these rules keep."""
    monkeypatch.setattr("tests.promises.promise_game._small_cases", lambda: iter(()))


@pytest.mark.slow
@pytest.mark.parametrize("broken", [rest_at_night(broken, ("IgnoresACapAtATie",)) for broken in BROKEN])
def test_the_search_finds(broken, only_these):
    with pytest.raises(ContractError, match=f"{broken.__name__} {BROKEN[broken]}.*seed 0"):
        check_promise(broken, rounds=1200, cases=100)


def test_every_kind_is_tried_where_a_class_takes_it(only_these):
    report = check_promise(eh.quotas.DeadlineLearn, rounds=100, cases=8)
    assert report.kinds == PARTS[1:]
    assert check_promise(eh.quotas.FairUCB, rounds=50, cases=20).kinds == ()


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_rule_withstands_every_pair_and_triple():
    report = check_promise(eh.quotas.DeadlineLearn, rounds=60, cases=40)
    assert report.kinds == PARTS[1:]
    assert report.conversations > 9 * 8 / 2 + 9 * 8 * 7 / 6


def test_a_broken_promise_is_exit_code_1_and_its_smallest_case_comes_first(scratch_registry, capsys):
    scratch_registry(LooksAtNoDeadline)
    assert main("quotas/broken", rounds=50, cases=2) == 1
    found = r"breaks its promise in round [1-8]: arm .*\{0: \"\d/\d\", 1: \"\d/\d\"[^}]*\}, offers="
    assert re.search(f"quotas/broken: FAILED: LooksAtNoDeadline {found}", capsys.readouterr().out)
