"""Saved files whose content has changed: they are refused at once, whatever changed; and forged ones run nothing."""

import numpy as np
import pytest

from evenhand.errors import EvenhandError, StateFileError
from evenhand.learners import Thompson
from evenhand.quotas import BernoulliArms, FairLearn
from evenhand.saving.saved import fill
from evenhand.saving.state import from_bytes, to_bytes
from tests.saved_files import rewritten


def saved(policy, world):
    world.reset(1)
    for _ in range(3):
        ticket = policy.ask()
        policy.tell(ticket, *world.respond(ticket))
    policy.ask()
    return to_bytes(policy)


SAVED = saved(FairLearn(Thompson(), {"x": 0.2, "y": 0.3}, seed=1), BernoulliArms([0.3, 0.6]))


def another_number(body, arrays):
    body["object"]["snapshot"]["tickets"]["next"] += 1


def a_bit_of_an_array(body, arrays):
    arrays[len(arrays) // 2] ^= 1


def arrays_cut_short(body, arrays):
    del arrays[-8:]


@pytest.mark.parametrize("change", [another_number, a_bit_of_an_array])
def test_what_was_not_saved_so_is_refused_by_name(change):
    with pytest.raises(StateFileError, match=r"^state: damaged or edited by hand: its content is not what was saved"):
        from_bytes(rewritten(SAVED, change, signed=False))


def test_the_file_as_it_was_written_is_taken():
    copy = from_bytes(rewritten(SAVED, lambda body, arrays: None, signed=False))
    assert to_bytes(copy) == SAVED


def another_class(body, arrays):
    body["object"]["$object"] = "os.system"


def objects(body, arrays):
    body["arrays"][0][0] = "|O"


def text_that_would_be_evaluated(body, arrays):
    body["arrays"][0][0] = "__import__('os').abort()"


@pytest.mark.parametrize("change", [another_class, objects, text_that_would_be_evaluated, arrays_cut_short])
def test_a_forged_file_runs_nothing(change):
    with pytest.raises(EvenhandError, match=r"no entry is named 'os.system'|truncated, damaged or not a state file"):
        from_bytes(rewritten(SAVED, change, signed=True))


def test_an_array_of_a_class_that_has_changed_since_is_refused_by_name():
    for kept in (np.zeros(1), np.zeros(3, np.float32)):
        with pytest.raises(StateFileError, match=r"saved state\.sums: expected an array float64 \(3,\), got"):
            fill(np.zeros(3), kept, "state.sums")
