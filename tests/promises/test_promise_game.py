"""The game against promises: what it plays, and what `make check` says of it."""

import re

import pytest

from evenhand.quotas import DeadlineLearn
from tests import planted
from tests.promises.generated_promises import PARTS
from tests.promises.promise_game import check_promise, main


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_rule_withstands_every_pair_and_triple():
    report = check_promise(DeadlineLearn, rounds=60, cases=40)
    assert report.kinds == PARTS[1:]
    assert report.conversations > 9 * 8 / 2 + 9 * 8 * 7 / 6


def test_a_broken_promise_is_exit_code_1_and_its_smallest_case_comes_first(scratch_registry, capsys):
    scratch_registry(planted.LooksAtNoDeadline)
    assert main("quotas/broken", rounds=50, cases=2) == 1
    found = r"breaks its promise in round [1-8]: arm .*\{0: \"\d/\d\", 1: \"\d/\d\"[^}]*\}, offers="
    assert re.search(f"quotas/broken: FAILED: LooksAtNoDeadline {found}", capsys.readouterr().out)
