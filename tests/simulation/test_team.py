"""Several workers in a simulation: one promise over all of them, and what they do not know of each other."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, SharesError
from evenhand.learners import UCB1, Exp3, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairUCB, WindowLearn

WORLD = BernoulliArms([0.6, 0.5, 0.5, 0.5])


@pytest.mark.parametrize("workers", [2, 5])
@pytest.mark.parametrize(
    ("shares", "tolerance"), [([0.1, 0.1, 0.1, 0.1], 0), ([0.5, 0.2, 0.1, 0.1], 0), ([0.25] * 4, 4)]
)
def test_the_promise_holds_over_all_workers_at_every_round(workers, shares, tolerance):
    policy = DeadlineLearn(UCB1(), shares, tolerance)
    history = eh.simulate(policy, WORLD, rounds=600, seed=1, checkpoints=600, workers=workers, exchange_rounds=10)
    assert history["pulls"].sum("arm").isel(round=-1).item() == 600
    assert history["violations"].isel(round=-1).sum().item() == 0
    pulls = history["pulls"].squeeze().transpose("round", "arm").to_numpy()
    due = np.floor(np.arange(1, 601)[:, None] * np.array(shares) + 1e-9) - tolerance
    assert (pulls >= due).all()


@pytest.mark.compiled
def test_one_worker_in_turn_is_the_policy_itself_and_exchange_pays():
    """Regret is over 12 replications: alone, 8 workers lose more than twice what they do with exchange."""
    named = {"ucb": UCB1()}
    call = {"rounds": 4000, "replications": 12, "seed": 2, "checkpoints": 1}
    regret = {
        every: eh.simulate(named, WORLD, workers=8, exchange_rounds=every, **call)["regret"]
        .isel(round=-1)
        .mean()
        .item()
        for every in (1, None)
    }
    one = eh.simulate(named, WORLD, **call)["regret"].isel(round=-1)
    assert regret[None] > 1.3 * regret[1]
    assert abs(regret[1] - one.mean().item()) < 0.25 * one.mean().item()


def test_the_seed_decides_and_jobs_do_not():
    call = {"rounds": 200, "replications": 3, "seed": 5, "checkpoints": 5, "workers": 3, "exchange_rounds": 20}
    one = eh.simulate(Thompson(), WORLD, jobs=1, **call)
    two = eh.simulate(Thompson(), WORLD, jobs=2, **call)
    assert one.identical(two)
    assert one.attrs["workers"] == 3


@pytest.mark.parametrize(
    ("policy", "given", "error", "words"),
    [
        (UCB1(), {"workers": 0}, ArgumentError, "workers: wanted a whole number from 1"),
        (UCB1(), {"workers": 2.5}, ArgumentError, "workers: wanted a whole number from 1"),
        (UCB1(), {"workers": 2, "exchange_rounds": 0}, ArgumentError, "exchange_rounds"),
        (FairUCB([0.1] * 4), {"workers": 2}, ArgumentError, "DeadlineLearn, whose promise several workers can keep"),
        (WindowLearn(UCB1(), {0: (1, 9)}, arms=4), {"workers": 2}, ArgumentError, "DeadlineLearn, for several workers"),
        (Exp3(arms=4), {"workers": 2}, ArgumentError, "statistics add"),
        (DeadlineLearn(UCB1(), [0.25] * 4), {"workers": 4}, SharesError, "a tolerance of 3 is enough"),
    ],
)
def test_what_workers_cannot_do_is_refused(policy, given, error, words):
    with pytest.raises(error, match=words):
        eh.simulate(policy, WORLD, rounds=10, seed=1, **given)


def test_workers_that_learn_alone_may_have_any_learner():
    history = eh.simulate(Exp3(), WORLD, rounds=100, seed=1, workers=4, exchange_rounds=None)
    assert history["pulls"].sum("arm").isel(round=-1).item() == 100


@pytest.mark.parametrize("exchange_rounds", [None, 5])
@pytest.mark.parametrize(
    "promise",
    [
        {"shares": [0.2, 0, 0, 0], "tolerance": 4, "caps": {3: 0.5}, "cap_tolerance": 4},
        {"shares": {(0, 1): 0.4, 2: 0, 3: 0}, "tolerance": 4},
        {"shares": [0.5, 0.5, 0, 0], "tolerance": 4, "plays": 2},
        {"shares": [0, 0.1, 0, 0], "tolerance": 4, "windows": {0: 20}},
    ],
    ids=["caps", "sets", "plays", "windows"],
)
@pytest.mark.parametrize("lottery", [None, 0.5], ids=["forced", "drawn"])
def test_every_kind_of_clause_holds_over_all_workers(promise, lottery, exchange_rounds):
    policy = DeadlineLearn(UCB1(), eh.Promise(**promise), lottery=lottery, seed=1)
    world = BernoulliArms([0.2, 0.4, 0.5, 0.9])
    history = eh.simulate(policy, world, rounds=300, workers=3, exchange_rounds=exchange_rounds, seed=2, jobs=1)
    assert int(history["violations"].max()) == 0
