"""The contract of every policy and world, over the registry."""

import pytest

from evenhand import registry
from evenhand.checks import check_policy, check_world, examples

ENTRIES = registry.entries(prefix="interventions/")


def test_all_searches_and_the_world_are_registered():
    names = {entry.name.split("/")[1] for entry in ENTRIES}
    assert names == {"csr", "two-stage-csr", "sris", "one-shot", "simulated-trial"}


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.name for entry in ENTRIES])
def test_the_contract_holds(entry):
    for example in examples(entry.cls):
        if entry.kind == "world":
            assert check_world(example)
        else:
            skipped = {check.name for check in check_policy(*example, rounds=40) if check.skipped}
            assert skipped == {"one kernel", "promise", "learns", "labels", "numbers"}
