"""Open tickets of contexts, while an arm is added."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.learners import LinUCB
from evenhand.quotas import DeadlineLearn


@pytest.mark.parametrize("plays", [1, 2])
def test_contextual_tickets_stay_open_while_an_arm_is_added(plays, tmp_path):
    policy = DeadlineLearn(LinUCB(), {"a": 0.3, "b": 0.2, "c": 0.1}, plays=plays)
    few, more = np.arange(6.0).reshape(3, 2) / 6, np.arange(8.0).reshape(4, 2) / 8
    told, forgotten = policy.ask(few), policy.ask(few)
    policy.add("d", 0.1)
    late = policy.ask(more)
    eh.save(policy, tmp_path / "open.evenhand")
    other = eh.load(tmp_path / "open.evenhand")
    assert other.open_tickets == policy.open_tickets
    for one in (policy, other):
        for decision in (told, late):
            one.tell(decision.id, [1.0, 0.5] if plays == 2 else 1.0)
        one.forget(forgotten.id)
    assert [policy.ask(more).arms for _ in range(20)] == [other.ask(more).arms for _ in range(20)]
