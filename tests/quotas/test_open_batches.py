"""Many decisions before any reward: open tickets count as pulls, and every promise holds."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand import audit
from evenhand.learners import UCB1, LinUCB, Thompson
from evenhand.quotas import DeadlineLearn
from evenhand.studies import Study

ARMS = ("a", "b", "c", "d")
SHARES = {"a": 0.3, "b": 0.2, "c": 0, "d": 0.1}
KINDS = {
    "floors": (lambda learner: DeadlineLearn(learner, SHARES), {"shares": SHARES}),
    "slates": (lambda learner: DeadlineLearn(learner, SHARES, plays=2), {"shares": SHARES}),
    "caps": (
        lambda learner: DeadlineLearn(learner, SHARES, caps={"c": 0.2, "d": 0.3}),
        {"shares": SHARES, "caps": {"c": 0.2, "d": 0.3}},
    ),
    "sets": (
        lambda learner: DeadlineLearn(learner, {("a", "b"): 0.6, **SHARES}),
        {"shares": {("a", "b"): 0.6, **SHARES}},
    ),
    "windows": (
        lambda learner: DeadlineLearn(learner, 0, windows={"a": (2, 9), "d": 20}, arms=ARMS),
        {"windows": {"a": (2, 9), "d": 20}},
    ),
    "arms on offer": (lambda learner: DeadlineLearn(learner, SHARES), {"shares": SHARES, "available": "available"}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", [UCB1(), Thompson(seed=2)], ids=["ucb1", "thompson"])
def test_a_batch_before_any_reward_keeps_every_promise(kind, learner):
    make, owed = KINDS[kind]
    policy, rng, rows = make(learner), np.random.default_rng(3), []
    for round in range(240):
        offered = [arm for arm in ARMS if arm == "c" or rng.random() < 0.6] if "available" in owed else None
        decision = policy.ask(available=offered)
        rows += [{"arm": arm, "round": round, "available": ",".join(offered or ARMS)} for arm in decision.arms]
    assert len(policy.open_tickets) == 240
    assert audit.promise(pd.DataFrame(rows), arm="arm", round="round", **owed).kept


@pytest.mark.parametrize("kind", ["floors", "slates", "caps", "sets", "windows"])
def test_a_study_asked_for_a_batch_keeps_every_promise(kind):
    make, _ = KINDS[kind]
    study = Study.create(":memory:", make(UCB1()), name="batch")
    decisions = study.ask(count=100)
    for decision in decisions[::3]:
        study.tell(decision, [1.0] * len(decision.arms) if decision.slate else 1.0)
    study.ask(count=50)
    verdict = study.verify()
    assert verdict.ok
    assert verdict.promise_kept


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
