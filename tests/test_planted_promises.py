"""The search for broken promises knows slates, caps, sets, windows, arms on offer, segments and changes."""

from __future__ import annotations

import pytest

import evenhand as eh
from evenhand.checks import promise_cases
from evenhand.errors import ContractError
from tests import planted_promises as planted

BROKEN = {
    planted.ForgetsOwnClocks: "(arms on offer|changes), ",
    planted.IgnoresACapAtATie: r"caps, .*arm \d had \d+ pulls where \d+ are allowed",
    planted.DropsALagSilently: "changes, .*of the .* pulls owed in .* rounds",
    planted.IsLateWithSlates: "slates, .*, plays 2, .*of the .* pulls owed in .* rounds",
    planted.ForgetsSets: r"sets, .*arms \(0, 1\) together had",
    planted.CountsOverSegments: "segments, .*of the .* pulls owed in .* rounds",
    planted.ServesTheWindowThatEndsFirst: r"windows, windows .* pulls owed in the last \d rounds",
}


@pytest.fixture
def only_these(monkeypatch):
    """Leave out the search over fixed shares, which these rules keep."""
    monkeypatch.setattr("evenhand.checks.adversary._small_cases", lambda: iter(()))


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN)
def test_the_search_finds(broken, only_these):
    with pytest.raises(ContractError, match=f"{broken.__name__} breaks its promise: {BROKEN[broken]}"):
        eh.check_promise(broken, rounds=600, cases=80)


def test_every_kind_is_tried_where_a_class_takes_it(only_these):
    report = eh.check_promise(eh.quotas.DeadlineLearn, rounds=100, cases=8)
    assert report.kinds == tuple(promise_cases.KINDS)
    assert eh.check_promise(eh.quotas.WindowLearn, rounds=100, cases=8).kinds == ("windows",)
    assert eh.check_promise(eh.quotas.FairUCB, rounds=50, cases=20).kinds == ()
