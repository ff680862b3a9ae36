"""States of the forms that the rule of a promise once had go on: the same decisions, for the same reasons."""

import copy
import json
import pickle

import pytest

import evenhand as eh
from evenhand.errors import StateFileError
from evenhand.quotas import DeadlineLearn
from evenhand.saving.state import from_bytes, to_bytes
from tests.states.forms import FORMS, MADE, told

NEXT = json.loads((FORMS / "next.json").read_text())


@pytest.mark.parametrize("name", MADE)
def test_a_state_of_an_older_form_goes_on(name):
    policy = eh.load(FORMS / f"{name.replace(' ', '-')}.state")
    assert told(policy, name, 120) == NEXT[name]
    again = eh.load(FORMS / f"{name.replace(' ', '-')}.state")
    told(again, name, 30)
    assert told(again, name, 90) == NEXT[name][30:]


@pytest.mark.parametrize("name", MADE)
def test_what_it_decides_from_the_start_is_as_before(name):
    policy = MADE[name]()
    told(policy, name, 60)
    assert told(policy, name, 120) == NEXT[name]


@pytest.mark.parametrize("flags", [{"ranked": True}, {"composed": True}])
def test_a_state_that_no_form_had_is_refused(flags):
    snapshot = eh.load(FORMS / "caps.state").snapshot()
    del snapshot["arrays"], snapshot["ranked"]
    for state in (snapshot["state"][:4], ["text"] * 40):
        with pytest.raises(StateFileError, match="state: wanted"):
            DeadlineLearn.restored(snapshot | flags | {"state": state})


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda policy: pickle.loads(pickle.dumps(policy))])
def test_a_copy_has_the_form_of_its_original(name, copied):
    policy = MADE[name]()
    told(policy, name, 5)
    twin = copied(policy)
    assert to_bytes(twin) == to_bytes(policy)
    assert told(twin, name, 20) == told(from_bytes(to_bytes(policy)), name, 20)
