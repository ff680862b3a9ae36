"""The policies: one kernel for both callers, what they promise, what they refuse; oracles and worlds."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ContextError, RewardError, VerdictError
from evenhand.rng import child
from evenhand.saving.state import to_bytes
from evenhand.similarity import (
    EllipsoidDistance,
    KnownDistance,
    KnownRewardLipschitz,
    LinearContexts,
    LipschitzUCB,
    MahalanobisOracle,
    MomentDistance,
    ProjectedVolumeDistance,
    TableIndividuals,
    fair_distribution,
)
from tests.naming import at_night, named
from tests.similarity.conversations import talk

pytestmark = pytest.mark.slow

A = np.array([[0.4, 0.1], [0.0, 0.3]])
THETA = np.array([0.7, 0.4])
PAIR = [[1.0, 0.0], [0.0, 1.0]]


def world(**given):
    oracle = given.pop("oracle", MahalanobisOracle(A, seed=1))
    return LinearContexts(THETA, oracle, **{"individuals": 4, **given})


def run(policy, place, rounds, **given):
    history = eh.simulate(policy, place, rounds=rounds, seed=7, jobs=1, checkpoints=5, **given)
    return history.isel(policy=0, replication=0)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("policy", "place"),
    [
        (LipschitzUCB(2), world()),
        at_night(
            LipschitzUCB(2, metric=EllipsoidDistance(shared=False), individuals=4, margin=False),
            world(contexts="ball"),
        ),
        at_night(
            LipschitzUCB(2, metric=ProjectedVolumeDistance(seed=2), select="many"),
            world(select="many", contexts="clustered"),
        ),
        at_night(
            LipschitzUCB(2, metric=MomentDistance(error_rate=0.1)),
            world(oracle=MahalanobisOracle(A, error_rate=0.1, seed=3), contexts="adversarial"),
        ),
        at_night(
            KnownRewardLipschitz(THETA, silence="acceptable unless another is named"),
            world(oracle=MahalanobisOracle(A, names="one", seed=3)),
        ),
    ],
    ids=["moments", "one learner a pair", "many", "adversary and errors", "one pair named"],
)
def test_the_compiled_loop_and_the_conversation_are_one(policy, place):
    kept = np.array([1, 10, 40, 120])
    seeds = {"policy_seed": child(1, 1), "world_seed": child(1, 0), "checkpoints": kept, "stop": lambda done: None}
    fast, slow = place.replicate(policy, **seeds), place.replicate(policy, **seeds, compiled=False)
    for name, (_, values) in fast.items():
        assert np.array_equal(values, slow[name][1]), name


@pytest.mark.compiled
def test_violations_stop_and_the_margin_keeps_them_from_coming_back():
    safe = run(LipschitzUCB(2), world(), 20_000)
    paper = run(LipschitzUCB(2, margin=False), world(), 20_000)
    assert safe.violations[-1] == safe.violations[1] < 100
    assert safe.violations_above_zero[-1] < 200
    assert paper.violations_above_zero[-1] > 5 * safe.violations_above_zero[-1]
    assert paper.violations[-1] < 100


def test_known_metric_and_known_rewards_have_no_regret_and_no_violation():
    found = run(KnownRewardLipschitz(THETA, metric=KnownDistance(A)), world(), 300)
    assert abs(float(found.regret[-1])) < 1e-6
    assert found.violations_above_zero[-1] == 0


def test_the_ridge_estimate_is_that_of_the_textbook():
    place, policy = world(noise=0.5), LipschitzUCB(2, seed=3)
    place.reset(5)
    rows, outcomes = [], []
    for x, decision, reward in talk(policy, place, 50):
        if decision.index >= 0:
            rows.append(x[decision.index])
            outcomes.append(reward)
    X = np.array(rows)
    assert np.allclose(policy._state.theta, np.linalg.solve(X.T @ X + np.eye(2), X.T @ outcomes))
    t, d = policy.round + 1, 2
    shown = np.array(PAIR)
    spread = np.sqrt(2 * d * np.log((1 + t) / 0.05)) + 1
    width = np.sqrt(np.einsum("ia,ab,ib->i", shown, np.linalg.inv(X.T @ X + np.eye(2)), shown))
    policy.ask(shown)
    assert np.allclose(policy._state.rewards, shown @ policy._state.theta + np.minimum(1, spread * width))


def test_the_certificate_adds_up_prices_and_bounds_the_regret_of_a_metric_that_is_nearly_right():
    rng, believed = np.random.default_rng(4), MahalanobisOracle(0.97 * A)
    policy = KnownRewardLipschitz(THETA, metric=KnownDistance(0.97 * A), seed=1)
    total, lost = 0.0, 0
    for n in range(300):
        x = rng.uniform(-0.5, 0.5, size=(3 + n % 4, 2))
        p, before = policy.ask(x).probabilities, policy.certificate
        solved = fair_distribution(x @ THETA, believed.distances(x), details=True)
        assert np.allclose(p, solved.probabilities)
        total += 0.02 * solved.prices.sum()
        assert before == pytest.approx(total)
        part = 0.02 * solved.prices.sum()
        regret = (fair_distribution(x @ THETA, MahalanobisOracle(A).distances(x)) - p) @ (x @ THETA)
        assert regret <= part + 1e-12
        lost += regret > 0.2 * part > 0
    assert lost > 100


def test_draws_follow_the_probabilities_and_leave_the_rest_to_nobody():
    policy = KnownRewardLipschitz(theta=[1.0, 0.0], metric=KnownDistance([[0.3, 0.0]]), seed=4)
    assert policy.ask([[1.0, 0.0], [-0.5, 0.0]]).probabilities == pytest.approx([0.725, 0.275], abs=1e-9)
    only = [policy.ask([[1.0, 0.0], [-1.0, 0.0], [-0.9, 0.1]]) for _ in range(1000)]
    p = only[0].probabilities
    rest = 1 - p.sum()
    share = np.mean([decision.index == -1 for decision in only])
    assert abs(share - rest) < 4 * np.sqrt(0.25 / 1000)
    nobody = next(decision for decision in only if decision.index == -1)
    assert nobody.reason.startswith("nobody")
    policy.tell(nobody, None)


def test_many_draws_are_told_a_reward_each():
    policy = KnownRewardLipschitz(theta=[1.0, 0.2], metric=KnownDistance(9 * np.eye(2)), select="many", seed=1)
    decision = policy.ask(PAIR)
    assert decision.arm == (0, 1)
    with pytest.raises(RewardError, match="2 finite numbers"):
        policy.tell(decision, 1.0)
    policy.tell(decision, [1.0, 0.5])


def test_rounds_that_would_take_minutes_with_projected_volume_are_refused_by_name():
    learner = ProjectedVolumeDistance(seed=1)
    policy = LipschitzUCB(2, metric=learner, select="many", seed=1)
    before = to_bytes(policy)
    with pytest.raises(ContextError, match=r"at most 200 pairs for ProjectedVolumeDistance, got '?21 with 210 pairs"):
        policy.ask(np.zeros((21, 2)))
    assert to_bytes(policy) == before
    policy.prepare(20)
    LipschitzUCB(2, metric=ProjectedVolumeDistance(most_pairs=None, seed=1), select="many").prepare(21)
    with pytest.raises(ArgumentError, match="most_pairs: expected"):
        ProjectedVolumeDistance(most_pairs=0)


def test_many_draws_name_all_who_were_drawn_and_the_chance_of_exactly_these():
    theta, people = np.array([1.0, -0.2]), np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.0], [0.0, 0.0]])
    policy = KnownRewardLipschitz(theta=theta, metric=KnownDistance(0.6 * np.eye(2)), select="many", seed=1)
    seen = set()
    for _ in range(300):
        decision = policy.ask(people)
        p = decision.probabilities
        assert decision.arms == decision.indexes == decision.arm
        assert decision.index == (decision.arm[0] if decision.arm else -1)
        chance = np.prod([p[i] if i in decision.arm else 1.0 - p[i] for i in range(4)])
        assert decision.propensity == pytest.approx(chance, abs=1e-15)
        seen.add(decision.indexes)
    assert len(seen) > 2


def test_one_named_pair_a_round_is_enough_for_a_shared_learner():
    oracle = MahalanobisOracle(A, names="one", seed=1)
    found = run(LipschitzUCB(2, silence="acceptable unless another is named"), world(oracle=oracle), 800)
    assert found.violations[-1] == found.violations[2] < 100


def test_silence_that_means_nothing_teaches_only_explicit_verdicts():
    policy, oracle = LipschitzUCB(2, silence="nothing", seed=1), MahalanobisOracle(A)
    place = world()
    place.reset(3)
    list(talk(policy, place, 150, acceptable=6))
    low, _, high = policy.distances(PAIR)
    assert low[0, 1] <= oracle.distances(PAIR)[0, 1] <= high[0, 1]
    assert high[0, 1] - low[0, 1] < 0.1
    mute = LipschitzUCB(2, silence="nothing", seed=1)
    decision = mute.ask(PAIR)
    mute.tell(decision, 0.5 if decision.index >= 0 else None)
    assert mute.metric.verdicts == []


@pytest.mark.compiled
def test_a_belief_keeps_violations_few_though_the_auditor_errs():
    oracle = MahalanobisOracle(A, error_rate=0.1, seed=1)
    robust = run(LipschitzUCB(2, metric=MomentDistance(error_rate=0.1)), world(oracle=oracle), 10_000)
    assert robust.violations[-1] < 300


def test_an_auditor_may_be_any_callable_beside_the_truth():
    mild, strict = MahalanobisOracle(2 * A), MahalanobisOracle(A)
    found = run(LipschitzUCB(2), world(oracle=lambda x, p: strict(x, p) or mild(x, p), truth=strict), 400)
    assert found.violations[-1] == found.violations[1]


def test_something_was_unfair_asks_which_pair():
    policy = LipschitzUCB(2, seed=1)
    decision = policy.ask([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    with pytest.raises(VerdictError, match=r"which pair was unfair\? No pair of this round teaches anything new"):
        policy.tell(decision, 1.0, True)
    policy.tell(decision, 1.0 if decision.index >= 0 else None)
    decision = policy.ask([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    with pytest.raises(VerdictError, match=r"which pair was unfair\? Candidates, most telling first: \[\("):
        policy.tell(decision, 1.0, True)
    assert policy.open_tickets == [decision.id]
    policy.tell(decision, 1.0 if decision.index >= 0 else None, False)


@pytest.mark.parametrize("metric", [MomentDistance(), EllipsoidDistance(), ProjectedVolumeDistance(seed=1)], ids=named)
def test_the_same_people_every_round_do_not_leave_the_policy_stuck_at_treating_all_alike(metric):
    policy, oracle = LipschitzUCB(2, metric=metric, seed=1), MahalanobisOracle([[0.3, 0.0]])
    people = [[0.9, 0.1], [0.2, 0.8], [0.9, 0.4], [0.1, 0.1]]
    for _ in range(60):
        decision = policy.ask(people)
        reward = [0.8, 0.5, 0.6, 0.1][decision.index] if decision.index >= 0 else None
        policy.tell(decision, reward, oracle(people, decision.probabilities))
    assert np.ptp(decision.probabilities) > 0.1
    low, _, high = policy.distances(people)
    true = oracle.distances(people)
    assert ((low <= true + 1e-9) & (true <= high + 1e-9)).all()


@pytest.mark.parametrize(
    ("violations", "acceptable", "says"),
    [([(0, 1)], (), "both had the same probability"), ([(0, 2)], [(2, 0)], "each pair on one side")],
)
def test_bad_verdicts_are_refused(violations, acceptable, says):
    policy = KnownRewardLipschitz(theta=[1.0, 0.0], metric=KnownDistance([[0.3, 0.0]]), seed=1)
    decision = policy.ask([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(VerdictError, match=says):
        policy.tell(decision, 1.0 if decision.index >= 0 else None, violations, acceptable=acceptable)
    assert policy.open_tickets == [decision.id]


TABLE = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 0.5], "r": [0, 1, 1]})


def test_the_table_shows_its_own_rows():
    place = TableIndividuals(TABLE, features=["a", "b"], reward="r", oracle=MahalanobisOracle(A), individuals=2)
    place.reset(2)
    rows = {tuple(row): value for row, value in zip(place.rows.round(12), place.rewards, strict=True)}
    policy = LipschitzUCB(2, seed=1)
    for x, decision, reward in talk(policy, place, 40):
        assert all(tuple(row) in rows for row in x.round(12))
        assert decision.index < 0 or reward == rows[tuple(x[decision.index].round(12))]
    assert np.linalg.norm(place.rows, axis=1).max() == pytest.approx(1.0)
