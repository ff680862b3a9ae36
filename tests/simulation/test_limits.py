"""Histories count every kind of promise: floors of sets, caps and windows, as a count of all rounds does."""

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.learners import UCB1
from evenhand.quotas import BernoulliArms, DeadlineLearn

ARMS = ("a", "b", "c", "d")
WORLD = BernoulliArms(dict(zip(ARMS, [0.2, 0.4, 0.6, 0.5], strict=True)))
ROUNDS = 300


def played(history, name):
    """Return the arm of each round."""
    pulls = history.pulls.sel(policy=name).values[0]
    return np.diff(pulls, axis=0, prepend=0).argmax(axis=1).tolist()


def of_shares(promise, arms):
    """Return after each round how many pairs of promise and round were broken so far."""
    total, pulls, found = 0, [0] * len(ARMS), []
    for round, arm in enumerate(arms, 1):
        pulls[arm] += 1
        total += sum(n < owed for n, owed in zip(pulls, promise.owed(round), strict=True))
        caps = zip(pulls, promise.caps or (), strict=False)
        total += sum(n > math.ceil(cap * round) + promise.cap_tolerance for n, cap in caps if cap is not None)
        for members, share in promise.sets:
            together = sum(pulls[ARMS.index(member)] for member in members)
            total += together < math.floor(share * round) - promise.slack
        found.append(total)
    return found


def of_windows(windows, arms):
    total, found = 0, []
    for round in range(1, len(arms) + 1):
        for label, (least, length) in windows.items():
            recent = arms[max(0, round - length) : round].count(ARMS.index(label))
            total += round >= length and recent < least
        found.append(total)
    return found


class Free:
    """A learner from elsewhere that stays with an arm for long, so that the loop is stepped in Python."""

    def choose(self):
        return self.turn // 40 % 4

    def update(self, index, reward):
        self.turn += 1

    turn = 0


@pytest.mark.parametrize(
    "kept",
    [
        DeadlineLearn(UCB1(), {"a": 0.2, "b": 0.1, "c": 0, "d": 0}, 1.5, caps={"c": 0.3, "d": 0.1}, cap_tolerance=2),
        DeadlineLearn(UCB1(), {("a", "b"): 0.5, "c": 0.1, "d": 0.2, "a": 0.1, "b": 0}),
        DeadlineLearn(UCB1(), 0, windows={"a": (2, 9), "b": 12, "d": (1, 5)}, arms=ARMS),
    ],
    ids=["caps", "nested sets", "windows"],
)
def test_every_promise_that_is_broken_is_counted(kept):
    policies = {"kept": kept, "free": UCB1(), "stepped": Free()}
    history = eh.simulate(policies, WORLD, rounds=ROUNDS, seed=3, checkpoints=ROUNDS, jobs=1)
    assert float(history.violations.sel(policy="kept").max()) == 0
    broken = 0
    for name in ("free", "stepped"):
        arms = played(history, name)
        expected = of_windows(kept.windows, arms) if kept.windows else of_shares(kept.promise, arms)
        assert history.violations.sel(policy=name).values[0].tolist() == expected
        broken = max(broken, expected[-1])
    assert broken > 50


def test_how_far_a_set_is_behind_counts_as_an_arm_does():
    promise = eh.Promise({"a": 0, "b": 0, ("c", "d"): 0.5})
    policies = {"kept": DeadlineLearn(UCB1(), promise), "stepped": Free()}
    history = eh.simulate(policies, WORLD, rounds=ROUNDS, seed=3, checkpoints=ROUNDS, jobs=1)
    for name in policies:
        behind = 0.5 * np.arange(1, ROUNDS + 1) - history.pulls.sel(policy=name, arm=["c", "d"]).values[0].sum(axis=1)
        assert history.shortfall.sel(policy=name).values[0].tolist() == behind.tolist()
        most = np.maximum.accumulate(np.maximum(behind, 0))
        assert history.worst_shortfall.sel(policy=name).values[0].tolist() == most.tolist()
    assert behind.max() > 1


def test_a_policy_that_promises_nothing_beside_another_with_its_own_has_no_violations():
    policies = {
        "one": DeadlineLearn(UCB1(), 0, windows={"a": 9}, arms=ARMS),
        "other": DeadlineLearn(UCB1(), 0, windows={"a": 8}, arms=ARMS),
    }
    history = eh.simulate(policies | {"free": UCB1()}, WORLD, rounds=50, seed=3, checkpoints=1, jobs=1)
    assert np.isnan(history.violations.sel(policy="free")).all()
    assert float(history.violations.sel(policy=["one", "other"]).max()) == 0


def test_a_promise_of_ones_own_kind_is_not_measured_and_said():
    class Own(UCB1):
        promise = "each arm once a day"

    history = eh.simulate(
        {"own": Own(), "fair": DeadlineLearn(UCB1(), 0.2, arms=ARMS)}, WORLD, rounds=50, seed=3, jobs=1
    )
    assert np.isnan(history.violations.sel(policy="own")).all()
    assert np.isnan(history.r_regret.sel(policy="own")).all()
    assert history.notes == [
        "own: its promise is no eh.Promise, which could be counted: violations and r_regret are NaN."
    ]
    assert float(history.violations.sel(policy="fair").max()) == 0
