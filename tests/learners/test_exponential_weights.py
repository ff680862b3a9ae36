"""Exp3 against its formulas, with rewards that come late and under promises."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.learners import Exp3
from evenhand.saving.state import from_bytes, to_bytes

ARMS = 3
GAMMA = 0.3


def weights_after(told: list[tuple[int, float, float]]) -> np.ndarray:
    """Figure 1 of Auer et al. (2002); of each tell the index, the chance it had, and the reward."""
    weights = np.ones(ARMS)
    for index, probability, reward in told:
        weights[index] *= math.exp(GAMMA * reward / probability / ARMS)
    return (1 - GAMMA) * weights / weights.sum() + GAMMA / ARMS


def test_exp3_weighs_a_late_reward_by_the_probability_of_its_own_decision():
    chance = np.random.default_rng(5)
    policy, told, waiting = Exp3(GAMMA, arms=ARMS, seed=7), [], []
    for _ in range(200):
        decision = policy.ask()
        assert decision.probabilities == pytest.approx(weights_after(told), rel=1e-9)
        waiting.append((decision, float(decision.probabilities[decision.index])))
        while waiting and chance.random() < 0.45:
            late, probability = waiting.pop(int(chance.integers(len(waiting))))
            reward = float(chance.random())
            policy.tell(late.id, reward)
            told.append((late.index, probability, reward))
    assert len(told) > 100
    assert waiting


def test_the_probability_of_an_open_ticket_is_saved():
    policy = Exp3(GAMMA, arms=ARMS, seed=7)
    first = policy.ask()
    for _ in range(20):
        policy.tell(policy.ask(), 1.0)
    other = from_bytes(to_bytes(policy))
    for one in (policy, other):
        one.tell(first.id, 1.0)
    assert np.array_equal(policy.ask().probabilities, other.ask().probabilities)


@pytest.mark.parametrize("rule", [partial(eh.quotas.DeadlineLearn, lottery=0.5), eh.quotas.FairLearn])
def test_under_a_promise_the_probability_is_that_of_the_arm_that_is_played(rule):
    shares = [0.3, 0.2, 0.3]
    counts, expected = np.zeros(ARMS), np.zeros(ARMS)
    rounds = 40
    for seed in range(500):
        policy = rule(Exp3(1.0), shares, seed=seed)
        for _ in range(rounds):
            decision = policy.ask()
            assert decision.probabilities.sum() == pytest.approx(1.0)
            assert decision.probabilities[decision.index] > 0
            counts[decision.index] += 1
            expected += decision.probabilities
            policy.tell(decision, 0.0)
    # a martingale with steps of at most one: Azuma's bound at 20,000 steps, error 1e-6 over three arms
    assert np.abs(counts - expected).max() < math.sqrt(2 * 500 * rounds * math.log(2 * ARMS / 1e-6))


def test_forced_decisions_are_certain():
    policy = eh.quotas.FairLearn(Exp3(0.5), [0.3, 0.3, 0.3], seed=1)
    forced = [d for d in (policy.ask() for _ in range(200)) if d.reason_code == "forced"]
    assert forced
    assert all(d.probabilities[d.index] == 1.0 for d in forced)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Exp3(0.0),
        lambda: Exp3(1.5),
        lambda: Exp3(True),
        lambda: Exp3(0.1, horizon=100),
        lambda: Exp3(horizon=0),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(make):
    with pytest.raises(ArgumentError, match=r"exploration|horizon"):
        make()


def test_exp3_with_a_horizon_keeps_its_bound_against_the_best_arm():
    rounds, replications = 5_000, 40
    world = eh.quotas.BernoulliArms([0.5, 0.5, 0.6])
    history = eh.simulate(Exp3(horizon=rounds), world, rounds=rounds, replications=replications, seed=3, jobs=1)
    bound = 2.63 * math.sqrt(rounds * ARMS * math.log(ARMS))
    regret = history.regret.isel(round=-1)
    assert float(regret.mean()) + 5 * float(regret.std()) / math.sqrt(replications) < bound


@pytest.mark.parametrize(("promise", "available"), [({"caps": {"a": 0.6}}, None), ({}, ["b", "c", "d"])])
def test_exp3_learns_under_a_rule_that_ranks_arms(promise, available):
    policy = eh.quotas.DeadlineLearn(Exp3(seed=1), {"a": 0.1, "b": 0.1, "c": 0.1, "d": 0.1}, **promise)
    for _ in range(600):
        decision = policy.ask(available=available)
        policy.tell(decision, float(decision.arm == "c"))
    assert policy.pulls["c"] > 300
