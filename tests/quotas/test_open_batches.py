"""Many decisions before any reward: open tickets count as pulls, and every promise holds."""

import random

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand import audit
from evenhand.learners import UCB1, LinUCB, Thompson
from evenhand.quotas import DeadlineLearn
from tests.promises.test_consumers import KINDS, offers_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", [UCB1(), Thompson(seed=2)], ids=["ucb1", "thompson"])
def test_a_batch_before_any_reward_keeps_every_promise(kind, learner):
    promise, rng, rows = eh.Promise(**KINDS[kind]), random.Random(3), []
    policy = DeadlineLearn(learner, promise)
    for round in range(240):
        offered = offers_of(promise, rng)
        decision = policy.ask(available=list(offered))
        rows += [{"arm": arm, "round": round, "available": ",".join(offered)} for arm in decision.arms]
    assert len(policy.open_tickets) == 240
    assert audit.promise(pd.DataFrame(rows), arm="arm", round="round", available="available", promise=promise).kept


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
