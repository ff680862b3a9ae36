"""Learners of one's own are replayed on a log, alone, in a dict and under a promise, and stay as they were passed."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import evenhand as eh
from evenhand.errors import ArgumentError, ContextError, UnknownArmError
from evenhand.evaluation.logged import read_logged
from evenhand.evaluation.replay import least_chance, read_learner, replay
from evenhand.learners import Adapter, from_sklearn
from evenhand.quotas.quota_policy import BY_RULE
from evenhand.rng import generator

NAMED = {"arm": "arm", "reward": "y", "propensity": "p"}
BEST = 0.8


class Means:
    """The mean reward of each arm by the sign of the first feature."""

    def __init__(self):
        self.sums, self.counts = np.zeros((2, 2)), np.ones((2, 2))

    def choose(self, contexts):
        row = int(contexts[0][0] > 0)
        return int(np.argmax(self.sums[row] / self.counts[row] + 1 / self.counts[row]))

    def update(self, contexts, index, reward):
        row = int(contexts[0][0] > 0)
        self.sums[row, index] += reward
        self.counts[row, index] += 1


class Own:
    """A policy of one's own, with ask and tell, that draws one decision in ten at random."""

    arms, contextual = ("a", "b"), True

    def __init__(self):
        self.means, self.random, self.asked = Means(), np.random.default_rng(1), []

    def ask(self, contexts):
        index = self.means.choose(contexts) if self.random.random() > 0.1 else int(self.random.integers(2))
        self.asked.append((np.array(contexts), index))
        return eh.Decision(len(self.asked), len(self.asked), self.arms[index], index, None, "mine")

    def tell(self, decision, reward):
        contexts, index = self.asked[decision.id - 1]
        self.means.update(contexts, index, reward)


def adapter():
    return Adapter(Means(), choose=Means.choose, update=Means.update, contextual=True)


def log(rows=1200, seed=0):
    random = np.random.default_rng(seed)
    x, arm = random.normal(size=rows), random.integers(0, 2, rows)
    means = np.where((x > 0) == (arm == 0), BEST, 0.2)
    return pd.DataFrame({"x": x, "arm": np.array(["a", "b"])[arm], "p": 0.5, "y": (random.random(rows) < means) * 1})


def test_what_is_no_decision_is_refused():
    class Bare(Own):
        def ask(self, contexts):
            return super().ask(contexts).arm

    words = r"expected a decision for an arm of the log, got '[ab]'; ask returns an eh"
    with pytest.raises(UnknownArmError, match=words):
        eh.evaluate(log(100), Bare(), **NAMED, contexts=["x"])


LEARNERS = {
    "alone": adapter,
    "a plain learner": lambda: Plain(),
    "own ask and tell": Own,
    "under a promise": lambda: eh.quotas.DeadlineLearn(adapter(), {"a": 0.1, "b": 0.1}, seed=1),
    "of scikit-learn": lambda: from_sklearn(LogisticRegression(), epsilon=0.1),
    "ours": lambda: eh.groups.TopInterval({"a": "all", "b": "all"}, seed=1),
    "of one regression": lambda: eh.learners.LinUCB(arms=["a", "b"], seed=1),
}


class Plain(Means):
    contextual = True


def test_a_learner_of_one_regression_is_replayed_with_a_row_for_each_arm_alone():
    frame, learner = log(1200).astype({"arm": "category"}), LEARNERS["of one regression"]()
    with pytest.raises(ContextError, match=r"expected an array \(n_rows, n_arms, d\).* got 'one row for all arms'"):
        eh.evaluate(frame, learner, **NAMED, contexts=["x"])
    which = np.where(frame["x"].to_numpy()[:, None, None] > 0, np.eye(2), np.eye(2)[::-1])  # arm is the better one
    assert eh.evaluate(frame, learner, **NAMED, contexts=which, replays=2).value > 0.7


@pytest.mark.parametrize("name", sorted({*LEARNERS} - {"of one regression"}))
def test_any_learner_is_replayed_with_contexts(name):
    learner, frame = LEARNERS[name](), log(300)
    before = copy.deepcopy(learner)
    found = eh.evaluate(frame, learner, **NAMED, contexts=["x"], replays=2)
    assert 0.4 < found.value < 0.9
    words = f"This log supports about {found.rounds} rounds of this policy, because the least"
    assert any(note.startswith(words) for note in found.notes)
    assert (BY_RULE in found.notes) == (name == "under a promise")
    if isinstance(learner, Own):
        assert (learner.asked, learner.means.sums.tolist()) == ([], before.means.sums.tolist())
    elif name == "alone":
        assert learner.learner.sums.tolist() == before.learner.sums.tolist()


def test_learners_are_compared_and_see_the_same_rows():
    frame = log(300)
    learners = {"free": adapter(), "same": adapter(), "fair": LEARNERS["under a promise"]()}
    found = eh.evaluate(frame, learners, **NAMED, contexts=["x"], replays=3)
    same, fair = found.differences.to_dict("records")
    assert (same["difference"], same["spread"]) == (0.0, 0.0)
    assert fair["spread"] >= 0
    assert found.notes[0].startswith("The 2 differences hold together")
    assert any(note.startswith("Nothing is seen of a difference between same and free") for note in found.notes)
    assert found["fair"].audit.kept
    assert found["free"].audit is None
    each = eh.evaluate(frame, learners, **NAMED, contexts=["x"], replays=1, each=True)
    assert not any("hold together" in note for note in each.notes)


@pytest.mark.parametrize("name", ["under a promise", "of one regression", "own ask and tell"])
def test_a_decision_that_is_not_taken_leaves_no_trace(name):
    frame = log(300).astype({"arm": "category"})
    rows = frame[["x"]].to_numpy()[:, :, None] * ([[1.0], [-1.0]] if name == "of one regression" else [[1.0], [1.0]])
    given = {"contexts": rows, "position": None, "order": None, "unit": None}
    logged = read_logged(frame, arm="arm", reward="y", propensity="p", **given)
    ready = read_learner("policy", LEARNERS[name](), logged)
    found = replay(ready, logged, 10**6, 5, 0)
    policy, arms, random = copy.deepcopy(ready), [], generator(5, 0)
    taken = np.flatnonzero(random.random(300) < least_chance(logged) / logged.chances)
    assert len(taken) == 300
    if name != "own ask and tell":
        policy._begin(1)
    for row in taken:
        trial = copy.deepcopy(policy)
        decision = trial.ask(logged.contexts[row])
        if decision.arm == logged.arms[logged.codes[row]]:
            trial.tell(decision, float(logged.rewards[row]))
            arms.append(decision.arm)
            policy = trial
    assert found.arms == arms
    assert 100 < len(arms) < 200


def test_a_learner_that_looks_at_contexts_needs_them():
    with pytest.raises(eh.errors.ContextError, match="contexts: expected columns or an array"):
        eh.evaluate(log(100), adapter(), **NAMED)
    with pytest.raises(ArgumentError, match="unit: expected None where a policy is replayed"):
        eh.evaluate(log(100), adapter(), **NAMED, contexts=["x"], unit="x")
