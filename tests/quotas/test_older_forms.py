"""States of the forms that the rule of a promise once had go on: the same decisions, for the same reasons."""

import json

import pytest

import evenhand as eh
from tests.states.forms import FORMS, MADE, told

NEXT = json.loads((FORMS / "next.json").read_text())


@pytest.mark.parametrize("name", MADE)
def test_a_state_of_an_older_form_goes_on(name):
    policy = eh.load(FORMS / f"{name.replace(' ', '-')}.state")
    assert told(policy, name, 120) == NEXT[name]
    again = eh.load(FORMS / f"{name.replace(' ', '-')}.state")
    told(again, name, 30)
    assert told(again.copy() if hasattr(again, "copy") else again, name, 90) == NEXT[name][30:]


@pytest.mark.parametrize("name", MADE)
def test_what_it_decides_from_the_start_is_as_before(name):
    policy = MADE[name]()
    told(policy, name, 60)
    assert told(policy, name, 120) == NEXT[name]
