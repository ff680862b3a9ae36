"""Wrong verdicts do not end the conversation: a robust belief takes over, and names what is probably wrong."""

import warnings

import numpy as np
import pytest

from evenhand.errors import ArgumentError, VerdictError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import LipschitzUCB, MomentDistance

ORIGIN = [0.0, 0.0]
X = [1.0, 0.0]


def contradicted(**more):
    """Return a policy that met a contradiction: one slip, and five honest verdicts against it."""
    given = {"on_contradiction": "robust", "silence": "nothing", "seed": 1, **more}
    policy = LipschitzUCB(2, metric=MomentDistance(radius=2.0), **given)
    policy.verdict([0.0, 1.0], ORIGIN, 0.5, unfair=True)
    slip = policy.verdict(X, ORIGIN, 0.1, unfair=True)
    match = "some are wrong; from now on the policy estimates how many are wrong, .* measured, not certified"
    with pytest.warns(UserWarning, match=match):
        policy.verdict(X, ORIGIN, 0.4, unfair=False)
    for gap in (0.3, 0.35, 0.4, 0.45):
        policy.verdict(X, ORIGIN, gap, unfair=False)
    return policy, slip


def test_a_contradiction_is_said_once_and_the_conversation_goes_on():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy, slip = contradicted()
    assert policy.metric.guarantee == "measured, not certified"
    assert [v.id for v in policy.metric.verdicts] == list(range(1, 8))
    suspects = policy.suspects()
    assert suspects[0].id == slip
    assert suspects[0].wrong > 0.9
    assert [one.wrong for one in suspects] == sorted((one.wrong for one in suspects), reverse=True)
    assert policy.metric.bounds(X, ORIGIN)[1] > 0.3
    assert policy.metric.rate < 0.45


def test_suspects_follow_the_formula():
    learner = MomentDistance(radius=2.0, error_rate=0.1)
    learner.verdict(X, ORIGIN, 0.9, unfair=False)
    learner.verdict(X, ORIGIN, 0.2, unfair=True)
    state = learner.state
    mid, spread = state.centre[0, 0], np.linalg.norm(state.factor[0, 0])
    for one in learner.suspects():
        v = one.verdict
        draws = np.random.default_rng(1).normal(mid, spread, 400_000) < v.gap**2
        right = draws.mean() if v.unfair else 1 - draws.mean()
        assert one.wrong == pytest.approx(0.1 * (1 - right) / (0.1 * (1 - right) + 0.9 * right), abs=0.01)
    assert MomentDistance().suspects() == []


def test_a_report_that_contradicts_is_learned_by_the_robust_belief():
    policy = LipschitzUCB(2, metric=MomentDistance(radius=2.0), silence="nothing", on_contradiction="robust", seed=1)
    people = [X, ORIGIN, ORIGIN]
    policy.metric.verdict([-1.0, 0.0], ORIGIN, 0.9, unfair=False)
    decision = policy.ask(people)
    with pytest.warns(UserWarning, match="measured, not certified"):
        policy.tell(decision, 0.5, [(0, 1)], acceptable=[(0, 2)], auditor="ann")
    assert policy.open_tickets == []
    assert [v.auditor for v in policy.metric.verdicts] == [None, "ann", "ann"]
    decision = policy.ask(people)
    with pytest.raises(ArgumentError, match="auditor: expected a name"):
        policy.tell(decision, 0.5, [(0, 1)], auditor=3)
    assert policy.open_tickets == [decision.id]


def test_refusing_stays_the_default_and_equal_treatment_stays_refused():
    policy = LipschitzUCB(2, metric=MomentDistance(radius=2.0), seed=1)
    policy.verdict(X, ORIGIN, 0.1, unfair=True)
    before = to_bytes(policy)
    with pytest.raises(VerdictError, match=r"agrees with verdicts \[1\]; nothing has changed"):
        policy.verdict(X, ORIGIN, 0.4, unfair=False)
    assert to_bytes(policy) == before
    robust = LipschitzUCB(2, on_contradiction="robust", seed=1)
    before = to_bytes(robust)
    with pytest.raises(VerdictError, match="gap: expected a difference above 1e-09"):
        robust.verdict(X, ORIGIN, 1e-9, unfair=True)
    with pytest.raises(VerdictError, match="the two being equal"):
        robust.verdict(X, X, 0.3, unfair=False)
    assert robust.metric.guarantee == "certified"


def test_a_robust_policy_is_saved_and_its_fresh_copy_is_exact_again():
    policy, slip = contradicted()
    again = from_bytes(to_bytes(policy))
    assert to_bytes(again) == to_bytes(policy)
    assert again.fresh().metric.error_rate == 0.0
    assert again.metric.guarantee == "measured, not certified"
    for one in (policy, again):
        one.withdraw(slip)
    assert to_bytes(again) == to_bytes(policy)
    with pytest.raises(VerdictError, match="verdict: expected the id of a verdict"):
        policy.withdraw(slip)


def test_an_interval_of_a_belief_by_moments_holds_the_truth_after_many_wrong_verdicts():
    """Asked at its centre again and again, one verdict in ten wrong: at most 2 of 60 intervals miss the truth."""
    rng, missed = np.random.default_rng(5), 0
    for _ in range(60):
        learner = MomentDistance(radius=1.0, error_rate=0.1, structure="diagonal")
        true = float(np.clip(0.5 + 0.29 * rng.normal(), 0.02, 0.98))
        for _ in range(25):
            gap = learner.bounds([1.0], [0.0])[1]
            if gap > 1e-9:
                learner.verdict([1.0], [0.0], gap, bool((true < gap**2) != (rng.random() < 0.1)))
        low, _, high = learner.bounds([1.0], [0.0])
        missed += not low**2 <= true <= high**2
    assert missed <= 2
