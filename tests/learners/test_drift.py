"""Learners for means that change: what they forget, by which formulas, and that they keep every promise's company."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import ArgumentError
from evenhand.learners import DiscountedUCB, LinUCB, SlidingWindowUCB
from evenhand.quotas import DeadlineLearn
from tests.fuzzing import many


def test_a_window_forgets_an_arm_and_says_so():
    learner = SlidingWindowUCB(6, 0.01, arms=["a", "b"])
    for _ in range(8):
        decision = learner.ask()
        learner.tell(decision, float(decision.arm == "a"))
    reasons = {learner.tell(d, float(d.arm == "a")) or (d.arm, d.reason) for d in (learner.ask() for _ in range(7))}
    assert ("b", "no reward within the window") in reasons


def test_late_rewards_enter_when_they_are_told():
    """Told in the opposite order, two rewards leave the window in that order."""
    learner, other = (SlidingWindowUCB(2, arms=2) for _ in range(2))
    tickets = [learner.ask() for _ in range(3)]
    for ticket, reward in zip(reversed(tickets), (0.1, 0.2, 0.3), strict=True):
        learner.tell(ticket, reward)
    for ticket, reward in zip(reversed(tickets), (0.1, 0.2, 0.3), strict=True):
        other.update(ticket.index, reward)
    assert np.array_equal(learner.engine.state.sums, other.engine.state.sums)
    assert learner.engine.state.pulls.sum() == 2


def test_discounts_and_windows_follow_the_horizon():
    assert DiscountedUCB(horizon=10_000, changes=4, arms=2).engine.params.discount == 1 - 0.25 * np.sqrt(4 / 10_000)
    window = SlidingWindowUCB(horizon=10_000, changes=4, arms=2)
    assert window.engine.state.arms.size == 304  # 2 sqrt(10000 ln 10000 / 4)
    learner = LinUCB(horizon=1000, variation=2.0, arms=2)
    learner._begin(2)
    assert learner.engine.params.discount == pytest.approx(1 - 0.001 ** (2 / 3), rel=1e-12)


@settings(max_examples=many(6))
@given(seed=st.integers(0, 10**6), gamma=st.sampled_from([0.6, 0.97, 1.0]), d=st.integers(1, 4))
def test_lin_ucb_decides_by_its_formulas(seed, gamma, d):
    chance = np.random.default_rng(seed)
    learner = LinUCB(gamma, 0.5, delta=0.05, ridge=2.0, coefficient_norm=1.5, context_norm=3.0, arms=4)
    told = []
    for _ in range(30):
        shown = chance.normal(size=(4, d))
        age = gamma ** np.arange(len(told))[::-1]
        X, y = np.array([x for x, _ in told]).reshape(-1, d), np.array([r for _, r in told])
        gram = (X.T * age) @ X + 2.0 * np.eye(d)
        squared = (X.T * age**2) @ X + 2.0 * np.eye(d)
        inverse = np.linalg.inv(gram)
        beta = np.sqrt(2.0) * 1.5 + 0.5 * np.sqrt(
            2 * np.log(1 / 0.05) + d * np.log(1 + 9.0 * (age**2).sum() / (2.0 * d))
        )
        spread = np.sqrt(np.einsum("ai,ij,aj->a", shown, inverse @ squared @ inverse, shown))
        bounds = shown @ inverse @ (X.T * age) @ y + beta * spread
        arm = learner.choose(shown)
        assert bounds[arm] >= bounds.max() - 1e-8
        reward = float(chance.normal())
        learner.update(shown, arm, reward)
        told.append((shown[arm], reward))


@pytest.mark.parametrize("learner", [DiscountedUCB(0.95), SlidingWindowUCB(40)], ids=["discounted", "window"])
def test_an_arm_that_joins_in_mid_run_is_learned_and_served(learner):
    policy = DeadlineLearn(learner, {"a": 0.3, "b": 0.2}, seed=1)
    for _ in range(30):
        policy.tell(policy.ask(), 0.2)
    late = policy.add("c", 0.2)
    for _ in range(80):
        decision = policy.ask()
        policy.tell(decision, 0.9 if decision.arm == "c" else 0.2)
    assert policy.pulls["c"] >= max(30, (80 - late) // 5)
    assert policy.pulls["a"] >= 110 * 3 // 10


BAD = [
    (lambda: DiscountedUCB(0.0), "discount: expected a number > 0 and <= 1"),
    (lambda: DiscountedUCB(horizon=0), "horizon"),
    (lambda: DiscountedUCB(xi=0), "xi"),
    (lambda: LinUCB(noise_scale=0), "noise_scale"),
    (lambda: LinUCB(delta=1.0), "delta"),
    (lambda: LinUCB(ridge=-1.0), "ridge"),
    (lambda: LinUCB(variation=float("nan")), "variation"),
    (lambda: LinUCB(context_norm=None), "context_norm"),
    (lambda: DiscountedUCB(0.9, horizon=100), "discount: expected None together with horizon="),
    (lambda: DiscountedUCB(horizon=10, changes=11), "changes: expected a whole number >= 1 and <= 10"),
    (lambda: DiscountedUCB(0.9, changes=2), "changes: expected 1 without horizon="),
    (lambda: SlidingWindowUCB(0), "window"),
    (lambda: SlidingWindowUCB(10**9), "window"),
    (lambda: SlidingWindowUCB(10, horizon=10), "window: expected None together with horizon="),
    (lambda: LinUCB(2.0), "discount"),
    (lambda: LinUCB(0.9, horizon=5), "discount: expected 1.0 together with horizon="),
    (lambda: LinUCB(0.9, variation=2.0), "variation: expected 1.0 without horizon="),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[f"{message} {n}" for n, (_, message) in enumerate(BAD)])
def test_bad_settings_are_refused_by_name(make, message):
    with pytest.raises(ArgumentError, match=message.replace(".", r"\.")):
        make()
