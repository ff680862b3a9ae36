"""Histories count every kind of promise: floors of sets, caps and windows, as a count of all rounds does."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.learners import UCB1
from evenhand.quotas import BernoulliArms, DeadlineLearn
from tests.reference.books import counted

ARMS = ("a", "b", "c", "d")
WORLD = BernoulliArms(dict(zip(ARMS, [0.2, 0.4, 0.6, 0.5], strict=True)))
ROUNDS = 300


def played(history, name):
    """Return the arm of each round."""
    pulls = history.pulls.sel(policy=name).values[0]
    return np.diff(pulls, axis=0, prepend=0).argmax(axis=1).tolist()


def broken_by(promise, arms):
    """Return how many pairs of promise and round were broken in these rounds."""
    found, _ = counted(promise.clauses, [([ARMS[arm]], ARMS, 0) for arm in arms])
    return sum(one["times"] for one in found.values())


class Free:
    """A learner from elsewhere that stays with an arm for long, so that the loop is stepped in Python, whatever it
    promises."""

    turn = 0

    def __init__(self, promise):
        self.promise = promise

    def choose(self):
        return self.turn // 40 % 4

    def update(self, index, reward):
        self.turn += 1


def simulated(policies):
    return eh.simulate(policies, WORLD, rounds=ROUNDS, seed=3, checkpoints=ROUNDS, jobs=1)


@pytest.mark.parametrize(
    "promise",
    [
        eh.Promise({"a": 0.2, "b": 0.1, "c": 0, "d": 0}, 1.5, caps={"c": 0.3, "d": 0.1}, cap_tolerance=2),
        eh.Promise({("a", "b"): 0.5, "c": 0.1, "d": 0.2, "a": 0.1, "b": 0}),
        eh.Promise(dict.fromkeys(ARMS, 0), windows={"a": (2, 9), "b": 12, "d": (1, 5)}),
    ],
    ids=["caps", "nested sets", "windows"],
)
def test_every_promise_that_is_broken_is_counted(promise):
    history, broken = simulated({"free": UCB1(), "stepped": Free(promise)}), 0
    for name in ("free", "stepped"):
        arms = played(history, name)
        expected = [broken_by(promise, arms[:t]) for t in (20, 100, ROUNDS)]
        assert history.violations.sel(policy=name, round=[20, 100, ROUNDS]).values[0].tolist() == expected
        broken = max(broken, expected[-1])
    assert broken > 50


def test_how_far_a_set_is_behind_counts_as_an_arm_does():
    history = simulated({"free": UCB1(), "stepped": Free(eh.Promise({"a": 0, "b": 0, ("c", "d"): 0.5}))})
    for name in ("free", "stepped"):
        behind = 0.5 * np.arange(1, ROUNDS + 1) - history.pulls.sel(policy=name, arm=["c", "d"]).values[0].sum(axis=1)
        assert history.shortfall.sel(policy=name).values[0].tolist() == behind.tolist()
        most = np.maximum.accumulate(np.maximum(behind, 0))
        assert history.worst_shortfall.sel(policy=name).values[0].tolist() == most.tolist()
    assert behind.max() > 1


def test_a_policy_that_promises_nothing_beside_another_with_its_own_has_no_violations():
    one, other = (Free(eh.Promise(dict.fromkeys(ARMS, 0), windows={"a": rounds})) for rounds in (9, 8))
    history = simulated({"one": one, "other": other, "free": UCB1()})
    assert np.isnan(history.violations.sel(policy="free")).all()
    said = "free: it promises nothing, and the others do not promise the same: violations and r_regret are NaN."
    assert history.notes == [said]
    assert "notes" not in simulated({"one": one, "free": UCB1()}).attrs
    assert history.violations.sel(policy=["one", "other"]).notnull().all()


def test_a_promise_of_ones_own_kind_is_not_measured_and_said():
    class Own(UCB1):
        promise = "each arm once a day"

    history = simulated({"own": Own(), "fair": DeadlineLearn(UCB1(), 0.2, arms=ARMS)})
    assert np.isnan(history.violations.sel(policy="own")).all()
    assert np.isnan(history.r_regret.sel(policy="own")).all()
    said = "own: its promise is no eh.Promise, which could be counted: violations and r_regret are NaN."
    assert history.notes == [said]
    assert float(history.violations.sel(policy="fair").max()) == 0
