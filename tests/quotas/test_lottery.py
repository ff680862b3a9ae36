"""A lottery: the promise holds surely, every arm that may be played keeps its floor, and what is said is drawn."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.learners import Adapter, Thompson, TsallisINF
from evenhand.quotas import DeadlineLearn
from tests.fuzzing import many
from tests.quotas.board import quietly
from tests.reference import quotas as slow
from tests.strategies import tolerances

FLOORS = [0.0, 0.5, 0.9, 1.0]


def check_round(policy, wishes):
    """Compare the next decision with the twin's, with the floor of every arm that may be played, and return it."""
    promise, t, pulls, floor = policy.promise, policy.round, list(policy.pulls.values()), policy.lottery
    decision = policy.ask()
    expected, allowed = slow.lottery_learn(promise.shares, promise.slack, F(floor), pulls, t, wishes)
    assert sum(expected) == 1
    assert decision.probabilities == pytest.approx([float(p) for p in expected], abs=1e-12)
    assert all(decision.probabilities[arm] >= floor * promise.shares[arm] - 1e-12 for arm in allowed)
    assert decision.index in allowed
    assert decision.propensity > 0
    assert promise.is_kept(policy.pulls, t + 1)
    return decision


@st.composite
def small_shares(draw):
    """Shares over a small denominator, so that the twin's search of all deadlines is short."""
    weights = draw(st.lists(st.integers(0, 6), min_size=2, max_size=4).filter(any))
    rest = draw(st.integers(0, 6))
    return [F(weight, sum(weights) + rest) for weight in weights]


@pytest.mark.filterwarnings("ignore:learner. Adapter names an arm")
@settings(max_examples=many(40))
@given(small_shares(), tolerances, st.sampled_from(FLOORS), st.integers(0, 2**31), st.booleans())
def test_every_decision_is_the_twin_s_whatever_the_learner_wishes(shares, tolerance, floor, seed, stubborn):
    random, wished = np.random.default_rng(seed), [0]

    def choose(_):
        if not stubborn or random.random() < 0.05:
            wished[0] = int(random.integers(len(shares)))
        return wished[0]

    def proposals(allowed, urgent):
        """Those of one that names an arm, in whose place the promise decides where it may not be played."""
        return [F(other == (wished[0] if wished[0] in allowed else urgent)) for other in range(len(shares))]

    learner = Adapter(None, choose=choose, update=lambda *_: None)
    policy = quietly(DeadlineLearn, learner, shares, tolerance, lottery=floor, seed=seed)
    for _ in range(25):
        check_round(policy, proposals)


@pytest.mark.parametrize(("shares", "tolerance"), [(["1/2", "1/3", "1/6"], 1.5), ([0.6, 0.3, 0.0], 0.0)])
@pytest.mark.parametrize(
    ("learner", "evenly"),
    [
        (lambda: TsallisINF(seed=4), lambda allowed, urgent: [F(1, 3)] * 3),
        (lambda: Thompson(seed=4), lambda allowed, urgent: [F(arm in allowed, len(allowed)) for arm in range(3)]),
    ],
)
def test_over_learners_that_draw_evenly(learner, evenly, shares, tolerance):
    policy = quietly(DeadlineLearn, learner(), shares, tolerance, lottery=0.5, seed=2)
    for _ in range(40):
        policy.forget(check_round(policy, evenly))


def test_tsallis_inf_is_told_the_probability_of_the_lottery():
    policy = DeadlineLearn(TsallisINF(seed=1), [0.3, 0.2, 0.1], 1.0, lottery=0.5, seed=2)
    for _ in range(50):
        decision = policy.ask()
        learner, arm = policy.engine.state.learner, decision.index
        before, baselines = learner.losses.copy(), learner.baselines.copy()
        policy.tell(decision, 0.0)
        raised = learner.losses - before - baselines
        assert raised[arm] - raised[(arm + 1) % 3] == pytest.approx((1 - baselines[arm]) / decision.propensity)
