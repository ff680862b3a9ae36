"""The plays of the best that keeps a promise, against linear programmes that scipy solves."""

import math
from fractions import Fraction as F

import numpy as np
from scipy.optimize import linprog

import evenhand as eh
from evenhand.learners import UCB1
from evenhand.promises.best_counts import best_counts, limit_of
from evenhand.promises.promise import read_promise
from evenhand.quotas import BernoulliArms, DeadlineLearn
from evenhand.simulation.measures import fair_regret
from tests.fuzzing import many


def drawn_promise(random):
    """A promise of nested shares, caps and windows that need not be possible to keep, over 2 to 6 arms."""
    arms = list("abcdef")[: random.integers(2, 7)]
    inner = tuple(arms[: random.integers(1, len(arms))])
    outer = tuple(arms[: random.integers(len(inner), len(arms) + 1)])
    shares = dict.fromkeys(arms, 0) | {random.choice(arms): F(int(random.integers(0, 40)), 100)}
    shares |= {members: F(int(random.integers(0, 70)), 100) for members in (inner, outer) if len(members) > 1}
    caps = {arm: F(int(random.integers(20, 100)), 100) for arm in arms if random.random() < 0.5} or None
    windows = {inner: (int(random.integers(1, 4)), int(random.integers(4, 12)))} if random.random() < 0.5 else None
    slack = [float(random.choice([0, 0.5, 3])) for _ in range(2)]
    plays = int(random.integers(1, min(3, len(arms))))
    return read_promise(shares, slack[0], caps, slack[1], windows, plays, audited=True)


def best_by_scipy(promise, worth, limits, rounds=1):
    """What the best counts earn that keep the clauses within these limits, NaN where none do: the programme, written
    anew."""
    signs = [1 if clause.kind == "cap" else -1 for clause in promise.clauses]
    rows = [[s * (arm in c.arms) for arm in promise.arms] for s, c in zip(signs, promise.clauses, strict=True)]
    limits, every = [s * limit for s, limit in zip(signs, limits, strict=True)], [[1.0] * len(worth)]
    found = linprog(-worth, rows or None, limits or None, every, [promise.plays * rounds], bounds=(0, rounds))
    return -found.fun if found.status == 0 else math.nan


def least_loss(promise, gaps, round):
    limits = {
        "window": lambda rate: rate[0] * (round // rate[1]),
        "cap": lambda rate: math.ceil(rate * round) + promise.cap_tolerance,
        "floor": lambda rate: max(0, math.floor(rate * round) - promise.tolerance),
    }
    return -best_by_scipy(promise, -gaps, [limits[clause.kind](clause.rate) for clause in promise.clauses], round)


def test_every_promise_is_compared_with_the_best_that_keeps_it():
    judged = 0
    for seed in range(many(60)):
        random = np.random.default_rng(seed)
        try:
            promise = drawn_promise(random)
        except eh.errors.SharesError:
            continue
        gaps = random.integers(0, 5, len(promise.arms)) / 10  # with ties
        rounds, nothing = np.array([1, 7, 100, 4321]), np.zeros((4, len(gaps)))
        found = -fair_regret(nothing, gaps, promise, rounds, promise.plays)
        wanted = [least_loss(promise, gaps, int(t)) for t in rounds]
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
        judged += not np.isnan(wanted).any()
    assert judged >= many(20)


def test_counts_are_exact_where_floats_are_not():
    promise = eh.Promise({"a": 0, "b": 0.29})
    rounds = np.array([100, 10**20], dtype=object)
    limits = limit_of(promise.clauses[0], rounds, 0)[:, None]
    found = best_counts(np.array([1.0, 0.0]), promise.arms, promise.clauses, limits, rounds)
    assert found.tolist() == [[71, 29], [71 * 10**18, 29 * 10**18]]


def test_the_optimal_path_under_a_cap_has_no_r_regret():
    """The best under b at least 1/10 and a at most 1/2 plays each half of the rounds."""
    promise, world = eh.Promise({"a": 0, "b": 0.1}, caps={"a": 0.5}, offers="all"), BernoulliArms({"a": 0.9, "b": 0.5})
    history = eh.simulate(DeadlineLearn(UCB1(), promise), world, rounds=200, replications=2, seed=1, jobs=1)
    last = history.isel(round=-1)
    assert last.pulls.values.tolist() == [[[100, 100], [100, 100]]]
    assert last.r_regret.values.tolist() == [[0.0, 0.0]]
    caps = DeadlineLearn(UCB1(), eh.Promise({"a": 0, "b": 0}, caps={"a": 0.5}, offers="all"))
    alone = eh.simulate(caps, world, rounds=200, seed=1, jobs=1).isel(round=-1)
    assert alone.r_regret.values.tolist() == [[0.0]]
    free = eh.simulate({"kept": caps, "free": UCB1()}, world, rounds=200, seed=1, jobs=1).isel(round=-1)
    assert free.r_regret.sel(policy="free").item() < -20  # it breaks the cap
