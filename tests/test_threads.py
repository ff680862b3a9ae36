"""One object, many threads: ids are unique, rounds consecutive, promises kept, no reward lost, no state torn."""

import copy
import pickle
import threading
import time

import joblib
import numpy as np
import pytest

import evenhand as eh
from evenhand import registry
from evenhand.checks import examples
from evenhand.errors import ArgumentError, ContractError
from evenhand.interventions import CSR, SimulatedTrial
from evenhand.learners import KLUCB, Adapter
from evenhand.policy.ask_tell import AskTell
from evenhand.quotas import DeadlineLearn, FairLearn, FairUCB
from evenhand.saving import state
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import LipschitzUCB, MahalanobisOracle
from evenhand.threads import run_together

THREADS, ROUNDS = 8, 25
POLICIES = [entry for entry in registry.entries("policy") if issubclass(entry.cls, AskTell)]


class Slow:
    """Wants arm 0 and counts what it is told, leaving every other thread the time to come between."""

    def __init__(self):
        self.told, self.chosen = [0, 0, 0], 0

    def choose(self):
        chosen = self.chosen
        time.sleep(0)
        self.chosen = chosen + 1
        return 0

    def update(self, index, reward):
        told = self.told[index]
        time.sleep(0)
        self.told[index] = told + 1


def talk(policy, rounds=ROUNDS):
    """Take decisions and report every second one late."""
    said, late = [], []
    for t in range(rounds):
        said.append(policy.ask())
        late.append(said[-1])
        if t % 2:
            while late:
                policy.tell(late.pop(), 1.0)
    for decision in late:
        policy.tell(decision, 1.0)
    return said


@pytest.mark.parametrize(
    "policy",
    [
        FairLearn(Slow(), [0.3, 0.3, 0.3]),
        FairLearn(Adapter(Slow(), choose=Slow.choose, update=Slow.update), [0.3, 0.3, 0.3]),
        DeadlineLearn(Slow(), ["1/3", "1/3", "1/3"]),
    ],
    ids=["python", "adapter", "deadline"],
)
def test_many_threads_keep_the_promise_and_lose_nothing(policy):
    said = run_together([lambda: talk(policy)] * THREADS)
    decisions = sorted((decision for some in said for decision in some), key=lambda decision: decision.id)
    total = THREADS * ROUNDS
    assert [decision.id for decision in decisions] == list(range(1, total + 1))
    assert [decision.round for decision in decisions] == list(range(1, total + 1))
    assert policy.open_tickets == []
    pulls = [0, 0, 0]
    for decision in decisions:
        pulls[decision.index] += 1
        assert policy.promise.is_kept(pulls, decision.round)
    assert list(policy.pulls.values()) == pulls
    assert getattr(policy.learner, "learner", policy.learner).told == pulls


@pytest.mark.parametrize("entry", POLICIES, ids=lambda entry: entry.name)
def test_every_copy_has_a_lock_of_its_own(entry):
    policy, _ = examples(entry.cls)[0]
    if getattr(policy, "arms", 0) is None:
        policy = policy.fresh(arms=3)
    copies = [
        copy.deepcopy(policy),
        copy.copy(policy),
        pickle.loads(pickle.dumps(policy)),
        from_bytes(to_bytes(policy)),
    ]
    copies += [policy.fresh()] if hasattr(policy, "fresh") else []
    with policy._lock:  # held by this thread: another can go on only with a copy
        assert run_together([lambda one=one: one.open_tickets for one in copies]) == [[]] * len(copies)
    assert joblib.hash(policy) == joblib.hash(copy.deepcopy(policy))
    assert "_lock" not in str(policy.snapshot())


@pytest.mark.parametrize("take", [to_bytes, copy.deepcopy, pickle.dumps], ids=["save", "deepcopy", "pickle"])
def test_what_is_kept_while_others_talk_is_of_one_moment(take):
    policy = FairLearn(KLUCB(), [0.2, 0.2, 0.2])
    policy.tell(policy.ask(), 1.0)
    kept = run_together([*[lambda: talk(policy)] * 4, lambda: [take(policy) for _ in range(20)]])[-1]
    for one in kept:
        then = from_bytes(one) if take is to_bytes else pickle.loads(one) if take is pickle.dumps else one
        told = then.engine.state.learner.pulls.sum()
        assert sum(then.pulls.values()) == then.round == told + len(then.open_tickets)
        assert then.engine.waiting.sum() == len(then.open_tickets)


class Reader(Slow):
    """Looks at its own policy before it chooses."""

    def choose(self):
        return int(np.argmin(list(self.policy.pulls.values())))


def test_no_other_thread_changes_a_policy_until_its_file_is_there(tmp_path, monkeypatch):
    policy, write, seen = FairUCB([0.2, 0.2]), state.write, []

    def watched(target, data):
        seen.extend(run_together([lambda: policy._lock.acquire(blocking=False)]))
        write(target, data)

    monkeypatch.setattr(state, "write", watched)
    eh.save(policy, tmp_path / "policy")
    assert seen == [False]
    assert [one.name for one in tmp_path.iterdir()] == ["policy"]


def test_a_learner_may_read_its_policy():
    policy = FairLearn(Reader(), [0.1, 0.1, 0.1])
    policy.learner.policy = policy
    run_together([lambda: talk(policy)] * 4)
    assert max(policy.pulls.values()) - min(policy.pulls.values()) <= 1


class Asker(Slow):
    policy = None

    def choose(self):
        if Asker.policy is not None:
            policy, Asker.policy = Asker.policy, None
            policy.ask()
        return 0


def test_a_learner_that_asks_its_own_policy_is_refused():
    policy = FairLearn(Asker(), [0.0, 0.0])
    Asker.policy = policy
    with pytest.raises(ArgumentError, match="without asking its own policy"):
        policy.ask()
    assert (policy.round, policy.open_tickets, sum(policy.pulls.values())) == (1, [1], 1)


class Moody:
    """Fails at every second choice and every second reward."""

    calls = 0

    def choose(self):
        self.calls += 1
        if self.calls % 2 == 0:
            raise OSError("the model cannot be reached")
        return 0

    def update(self, index, reward):
        self.calls += 1
        if self.calls % 2 == 0:
            raise OSError("the model cannot be reached")


@pytest.mark.parametrize(("rule", "shares"), [(FairLearn, [0.1, 0.1]), (DeadlineLearn, [0.3, 0.6])])
def test_a_learner_that_fails_changes_nothing(rule, shares):
    policy = rule(Moody(), shares)

    def seen():
        open_tickets, waiting = dict(policy.tickets.open), policy.engine.waiting.tolist()
        return policy.round, policy.tickets.next, open_tickets, waiting, dict(policy.pulls)

    failed, decision = 0, None
    for _ in range(80):
        before = seen()
        try:
            decision = policy.ask() if decision is None else policy.tell(decision, 1.0)
        except OSError:
            failed += 1
            assert seen() == before
    assert failed > 5


def test_the_metric_may_be_read_and_taught_while_its_policy_decides():
    policy, oracle = LipschitzUCB(2, seed=1), MahalanobisOracle([[0.5, 0.2]])
    contexts = np.array([[0.9, 0.1], [0.1, 0.8], [0.5, 0.5]])

    def decide():
        for _ in range(10):
            decision = policy.ask(contexts)
            policy.tell(decision, 0.5, violations=oracle(contexts, decision.probabilities))

    def read():
        for _ in range(10):
            low, _, high = policy.metric.bounds(contexts[0], contexts[1])
            assert low <= high
            for verdict in policy.metric.verdicts[:1]:
                policy.metric.withdraw(verdict.id)

    run_together([decide, decide, read])
    assert policy.round == 20
    assert not policy.open_tickets


def test_two_searches_of_one_problem_share_its_program():
    problem = next(SimulatedTrial._examples()).problem
    searches = [CSR(problem, tolerance=0.1, budget=500) for _ in range(4)]

    def search(one):
        world = SimulatedTrial(problem)
        world.reset(1)
        while not one.finished:
            one.tell(allocation := one.ask(), *world.respond(allocation))
        return one.recommend().candidate

    assert len(set(run_together([lambda one=one: search(one) for one in searches]))) == 1


def test_threads_that_wait_for_one_another_are_found(monkeypatch):
    monkeypatch.setattr("evenhand.threads.PATIENCE", 0.2)
    never = threading.Event()
    with pytest.raises(ContractError, match="the threads wait for one another"):
        run_together([lambda: never.wait(5), lambda: 1])
    never.set()
