"""What minimum shares cost while UCB1 learns: the bound of Theorem 1, by hand and against simulations."""

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, SharesError
from evenhand.quotas import regret_bound


def test_the_bound_by_hand():
    """Two arms, gap 0.2, no shares, by both forms."""
    T, gap = 100_000, 0.2
    plain = gap * (math.ceil(8 * math.log(T) / gap**2) + 2 * 1.2020569)
    sharper = []
    for part in np.linspace(0.02, 0.98, 97):
        d = part * gap
        u = math.ceil(2 * math.log(T) / (gap - d) ** 2)
        tail = np.exp(-2 * np.arange(u, u + 200_000) * d**2).sum()
        sharper.append(gap * (u + 1.2020569 + tail))
    found = regret_bound(eh.Promise({"a": 0, "b": 0}), [0.9, 0.7], T)
    assert found == pytest.approx(min(plain, *sharper), rel=1e-3)
    assert found < plain / 1.8


def test_what_is_owed_pays_for_exploration():
    """An arm with 1/10 needs no exploration beyond it in the end; two arms with a share may meet in one deadline."""
    shares = eh.Promise({"a": 0.1, "b": 0.1}, tolerance=3)
    at = regret_bound(shares, {"a": 0.9, "b": 0.7}, [1, 100, 10**6])
    assert at[0] == pytest.approx(0.2)
    assert at[1] == pytest.approx(0.2 * (100 - 2 * 7))
    assert 0.2 * (1 + 1.2020569) < at[2] < 0.2 * (1 + 2 * 1.2020569) + 1e-9


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        ({"shares": {"a": 0, "b": 0}, "caps": {"a": 0.5}, "offers": "all"}, "a at most 1/2"),
        ({"shares": {"a": 0, "b": 0, ("a", "b"): 0.5}}, "a, b together"),
        ({"windows": {"a": 5, "b": 7}}, "once in any 5 rounds"),
        ({"shares": {"a": 0.2, "b": 0, "c": 0}, "plays": 2}, "2 plays a round|at least 1/5"),
    ],
)
def test_promises_without_a_bound_are_refused_by_name(promise, words):
    with pytest.raises(SharesError, match=f"shares of single arms alone, one play a round, got .*({words})"):
        regret_bound(eh.Promise(**promise), [0.5, 0.4, 0.3], 100)


@pytest.mark.parametrize(
    ("means", "rounds", "words"),
    [
        ([0.5], 10, "one for each of the arms"),
        ({"a": 0.5, "b": 0.4, "c": 1}, 10, "one for each of the arms"),
        ([0.5, 1.5], 10, "a probability in"),
        ([0.5, 0.4], 0, "a whole number >= 1"),
        ([0.5, 0.4], [10, 2.5], "a whole number >= 1"),
    ],
)
def test_what_cannot_be_read_is_refused(means, rounds, words):
    with pytest.raises(ArgumentError, match=words):
        regret_bound(eh.Promise({"a": 0, "b": 0.1}), means, rounds)


def test_what_is_no_promise_is_refused():
    for function in (lambda: regret_bound({"a": 0.1}, [0.5], 10), lambda: eh.quotas.price({"a": 0.1}, [0.5])):
        with pytest.raises(ArgumentError, match=r"promise: expected an eh\.Promise"):
            function()


@pytest.mark.parametrize(("arms", "gap", "share", "alpha"), [(2, 0.5, "1/20", 0), (4, 0.2, "1/4", 3)])
def test_simulated_means_lie_below_the_bound(arms, gap, share, alpha):
    promise = eh.Promise(dict.fromkeys(range(arms), share), alpha)
    world = eh.quotas.BernoulliArms([0.9, *[0.9 - gap] * (arms - 1)])
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), promise)
    more = {"rounds": 200, "replications": 2, "checkpoints": 12, "spacing": "log", "seed": 1, "jobs": 1}
    history = eh.simulate(policy, world, **more)
    bound = regret_bound(promise, world.means, history["round"].values)
    assert (history.r_regret.mean("replication").values[0] <= bound + 1e-9).all()
