"""A learner of one's own that fails half-way leaves no trace: many rewards are recorded, or none."""

from __future__ import annotations

import copy
import threading

import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ModelError
from evenhand.learners import Adapter
from evenhand.quotas import DeadlineLearn, FairLearn
from evenhand.saving.state import to_bytes
from evenhand.studies import Ask, Forget, Tell
from evenhand.studies.log.codec import now

SHARES = {"a": 0.2, "b": 0.3, "c": 0}
FAILING: list[int] = []
"""The updates that fail now, counted by each learner from 1, after it has learned half of them."""


class Counting:
    """It plays in turn, and counts what it hears."""

    def __init__(self, arms=3):
        self.arms, self.asked, self.half, self.learned = arms, 0, 0, []

    def choose(self):
        self.asked += 1
        if -self.asked in FAILING:
            raise RuntimeError("no choice")
        return [(self.asked + arm) % self.arms for arm in range(self.arms)]

    def update(self, index, reward):
        self.half += 1
        if self.half in FAILING:
            raise RuntimeError("out of memory")
        self.learned.append((index, reward))

    def dump(self):
        return [self.asked, self.half, [list(one) for one in self.learned]]

    @classmethod
    def load(cls, dumped):
        learner = cls()
        learner.asked, learner.half, learned = dumped
        learner.learned = [tuple(one) for one in learned]
        return learner


def adapter(arms=3):
    of = {name: getattr(Counting, name) for name in ("choose", "update", "dump", "load")}
    return Adapter(Counting(arms), **of)


@pytest.fixture(autouse=True)
def sound():
    yield
    FAILING.clear()


def inside(policy):
    learner = policy.learner
    return vars(learner.learner if isinstance(learner, Adapter) else learner)


def told_all(policy):
    decisions = [policy.ask() for _ in range(5)]
    return lambda: policy.tell_all(decisions, [0.5] * 5)


def told_a_slate(policy):
    decision = policy.ask()
    return lambda: policy.tell(decision, [0.5] * len(decision.arms))


def taught(policy):
    log = pd.DataFrame({"arm": ["a", "b", "c", "a", "b"], "reward": 0.5})
    return lambda: policy.learn(log)


@pytest.mark.parametrize("learner", [Counting, adapter])
@pytest.mark.parametrize(("calls", "plays"), [(told_all, 1), (told_a_slate, 3), (taught, 1)])
def test_a_learner_that_fails_half_way_has_learned_nothing_and_the_call_can_be_repeated(learner, calls, plays):
    policy, twin = (DeadlineLearn(learner(4), {"a": 0.2, "b": 0.3, "c": 0, "d": 0}, plays=plays) for _ in range(2))
    call = calls(policy)
    before, open, waiting = copy.deepcopy(inside(policy)), policy.open_tickets, policy.engine.waiting.tolist()
    FAILING.append(2)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="out of memory") as failed:
            call()
        assert "the same call can be repeated" in failed.value.__notes__[0]
        assert (inside(policy), policy.open_tickets, policy.engine.waiting.tolist()) == (before, open, waiting)
    FAILING.clear()
    call()
    calls(twin)()
    assert inside(policy) == inside(twin)
    assert policy.open_tickets == []
    assert policy.ask() == twin.ask()


def test_what_a_learner_cannot_take_back_is_refused_before_anything_is_told():
    policy = FairLearn(Counting(), SHARES)
    decisions = [policy.ask() for _ in range(2)]
    policy.learner.lock = threading.Lock()
    with pytest.raises(ArgumentError, match=r"cannot copy its Counting.*tell each decision by itself"):
        policy.tell_all(decisions, [0.5, 0.5])
    for decision in decisions:
        policy.tell(decision, 0.5)
    assert policy.open_tickets == []


@pytest.mark.parametrize("snapshots", [False, True])
def test_a_study_goes_on_as_its_log_says_after_a_learner_failed(tmp_path, snapshots):
    with eh.Study.create(tmp_path / "s.evenhand", DeadlineLearn(adapter(), SHARES)) as study:
        decisions = [study.ask() for _ in range(5)]
        if snapshots:
            study.state.snapshot()
        FAILING[:] = [2]
        reports = [Tell(ticket=decision, given={"reward": 0.5}) for decision in decisions]
        outcomes = study.run(reports)
        assert outcomes[0] == "told"
        assert all(isinstance(one, ModelError) for one in outcomes[1:])
        FAILING[:] = [-6]
        with pytest.raises(ModelError):
            study.ask()
        FAILING.clear()
        assert study.run(reports) == ["already told", *["told"] * 4]
        study.ask()
        assert study.verify().ok
        assert inside(study.policy)["half"] == 5
        assert inside(study.policy)["asked"] == 6


def test_a_ticket_is_closed_without_a_reward_where_the_learner_fails_at_that_of_expiry(tmp_path, monkeypatch):
    policy = DeadlineLearn(adapter(), SHARES)
    with eh.Study.create(tmp_path / "s.evenhand", policy, expire_after="1m", expire_reward=0) as study:
        study.ask(count=4)
        later = now() + 61_000_000
        monkeypatch.setattr("evenhand.studies.log.transaction.now", lambda: later)
        FAILING[:] = [2, -5]
        failed, forgotten = study.run([Ask(), Forget(ticket=4)])
        assert (type(failed), forgotten) == (ModelError, "already forgotten")
        FAILING.clear()
        study.tell(study.ask(), 1.0)
        refused = [event.given.get("refused", "") for event in study.log.events() if event.kind == "expire"]
        assert ["out of memory" in words for words in refused] == [False, True, True, True]
        first = study.verify()
        assert (first.problems, first.told, first.forgotten, first.open) == ((), 2, 3, 0)
        (note,) = first.notes
        assert note.startswith("tickets that expired without the study's reward for it: 3; the policy refused it")
        assert [note] == list(study.statistics().notes) == [*study.verify(since=first).notes[1:]]
        assert [rewards for _, rewards in inside(study.policy)["learned"]] == [0.0, 1.0]


def test_a_policy_without_such_a_learner_takes_back_what_a_stopped_call_told(monkeypatch):
    policy = eh.learners.UCB1(arms=["a", "b"], seed=1)
    decisions = [policy.ask() for _ in range(4)]
    before, tell = to_bytes(policy), type(policy).tell

    def stopped(self, decision, reward):
        if decision is decisions[2]:
            raise KeyboardInterrupt
        tell(self, decision, reward)

    monkeypatch.setattr(type(policy), "tell", stopped)
    with pytest.raises(KeyboardInterrupt):
        policy.tell_all(decisions, [1.0] * 4)
    assert to_bytes(policy) == before
