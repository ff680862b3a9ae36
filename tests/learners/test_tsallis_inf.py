"""Tsallis-INF against its formulas, with rewards that come late, under promises, and where levels move."""

from __future__ import annotations

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.learners import TsallisINF
from evenhand.policy.engine import NO_CONTEXTS
from tests.reference import learners as slow

ARMS = 3


def test_it_draws_as_its_twin_and_weighs_a_late_reward_by_the_probability_of_its_own_decision():
    chance = np.random.default_rng(5)
    policy, twin, waiting, told, halves = TsallisINF(arms=ARMS, seed=7), slow.TsallisINF(ARMS), [], 0, 0
    for _ in range(400):
        decision = policy.ask()
        assert decision.probabilities == pytest.approx(twin.probabilities(), rel=1e-9)
        assert policy.engine.state.baselines.tolist() == twin.baselines
        halves += 0 < sum(twin.baselines) < ARMS / 2
        waiting.append((decision, float(decision.probabilities[decision.index])))
        while waiting and chance.random() < 0.45:
            late, probability = waiting.pop(int(chance.integers(len(waiting))))
            reward = float(chance.random() < [0.2, 0.5, 0.8][late.index])
            policy.tell(late.id, reward)
            twin.update(late.index, reward, probability)
            told += 1
    assert told > 200
    assert waiting
    assert halves > 20, "some arms are likely enough for the smaller variance, and others are not"


@pytest.mark.parametrize("told", [0, 10**3, 10**12])
@pytest.mark.parametrize(
    "losses", [np.zeros(2), np.linspace(0, 1e-9, 1000), np.array([0, 1e-3, 1.0, 1e6, 1e12, 1e100])]
)
def test_probabilities_are_exact_and_sum_to_one_however_far_apart_the_losses_are(losses, told):
    policy, twin = TsallisINF(arms=losses.size, seed=1), slow.TsallisINF(losses.size)
    policy.engine.state.losses[:], policy.engine.state.told[0] = losses, told
    twin.losses, twin.t = losses.tolist(), told + 1
    found = policy.ask().probabilities
    assert found == pytest.approx(twin.probabilities(), rel=1e-9, abs=0)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_under_a_promise_the_probability_is_that_of_the_arm_that_is_played():
    shares = [0.3, 0.2, 0.3]
    counts, expected = np.zeros(ARMS), np.zeros(ARMS)
    rounds = 40
    for seed in range(500):
        policy = eh.quotas.FairLearn(TsallisINF(), shares, seed=seed)
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
    policy = eh.quotas.FairLearn(TsallisINF(), [0.3, 0.3, 0.3], seed=1)
    forced = [d for d in (policy.ask() for _ in range(200)) if d.reason_code == "forced"]
    assert forced
    assert all(d.probabilities[d.index] == 1.0 for d in forced)


def test_where_nobody_knows_a_probability_its_own_stands_in_and_the_losses_stay_finite():
    known, unknown = TsallisINF(arms=2, seed=1), TsallisINF(arms=2, seed=1)
    for _ in range(100):
        assert np.array_equal(known.ask().probabilities, unknown.ask().probabilities)
        known.update(0, 0.0)
        unknown.engine.tell(NO_CONTEXTS, 0, 0.0, 1, math.nan)
    assert np.isfinite(unknown.engine.state.losses).all()
    assert unknown.ask().probabilities[0] < 1e-12
