"""Which pairs an auditor is asked about: all that a verdict teaches about, and no others."""

import copy

import numpy as np
import pytest

from evenhand.errors import VerdictError
from evenhand.similarity import EllipsoidDistance, LipschitzUCB, MahalanobisOracle, MomentDistance
from tests.similarity.conversations import METRICS

PEOPLE = [[1.0, 0.0], [-1.0, 0.0]]
OTHERS = [[0.2, 0.0], [-0.2, 0.0]]
BELIEFS = {
    "with errors": lambda **given: MomentDistance(error_rate=0.1, **given),
    "tolerant": lambda **given: MomentDistance(tolerance=0.01, **given),
}
LEARNERS = METRICS | BELIEFS


def one_to_nothing(make):
    """Return a policy that plays one individual with certainty and the other never."""
    policy = LipschitzUCB(theta=[1.0, 0.0], metric=make(radius=2.0), silence="nothing", seed=1)
    decision = policy.ask(PEOPLE)
    assert decision.probabilities.tolist() == [1.0, 0.0]
    return policy, decision


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_a_pair_played_one_to_nothing_is_asked_about_and_acceptable_settles_it(make):
    policy, decision = one_to_nothing(make)
    assert policy.questions(decision) == [(0, 1)]
    before = policy.distances(OTHERS)[1][0, 1]
    policy.tell(decision, 1.0, acceptable=[(0, 1)])
    surprised = not isinstance(policy.metric, EllipsoidDistance)  # an ellipsoid takes no cut that is too shallow
    assert (policy.distances(OTHERS)[1][0, 1] > before) == surprised
    if surprised and policy.metric.error_rate == policy.metric.tolerance == 0:
        assert policy.distances(PEOPLE)[0][0, 1] == pytest.approx(1.0)
        assert policy.questions(policy.ask(PEOPLE)) == []


@pytest.mark.parametrize("make", [MomentDistance, BELIEFS["tolerant"]])
def test_what_is_asked_teaches_and_what_is_not_asked_does_not(make):
    oracle, rng, asked, left = MahalanobisOracle([[0.5, 0.2], [0.0, 0.4]]), np.random.default_rng(2), 0, 0
    equal = 0
    policy = LipschitzUCB(2, metric=make(radius=2.0), silence="nothing", seed=1)
    for _ in range(25):
        people = rng.uniform(-0.7, 0.7, size=(3, 2))
        decision = policy.ask(people)
        gaps = np.abs(decision.probabilities[:, None] - decision.probabilities[None, :])
        questions = policy.questions(decision)
        for i, j in [(0, 1), (0, 2), (1, 2)]:
            if gaps[i, j] <= 1e-9:
                assert (i, j) not in questions
                equal += 1
                continue
            taught = [teaches(policy.metric, people[i], people[j], gaps[i, j], unfair) for unfair in (True, False)]
            assert any(taught) == ((i, j) in questions), (i, j, taught)
            asked, left = asked + any(taught), left + (not any(taught))
        unfair = oracle(people, decision.probabilities)
        flagged = [pair for pair in questions[:1] if pair in unfair]
        fine = [pair for pair in questions[:1] if pair not in unfair]
        policy.tell(decision, 0.5 if decision.index >= 0 else None, flagged, acceptable=fine)
    assert asked > 8
    assert left > 8
    assert equal > 0


def teaches(metric, x, y, gap, unfair):
    """Return whether a verdict would change what a copy of the learner believes; one that is refused would not."""
    twin = copy.deepcopy(metric)
    try:
        twin.verdict(x, y, gap, unfair)
    except VerdictError:
        return False
    return twin.state.tally[0] > metric.state.tally[0]
