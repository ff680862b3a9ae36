"""Verdicts that cannot all hold: they are refused by name, the wrong one is found and taken back, growth is said."""

import re

import numpy as np
import pytest

from evenhand.errors import VerdictError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import (
    EllipsoidDistance,
    LinearContexts,
    LipschitzUCB,
    MahalanobisOracle,
    MomentDistance,
    contradictions,
)
from evenhand.similarity.forms import agreeing, contradicting
from evenhand.similarity.verdicts import Verdict
from tests.naming import at_night
from tests.similarity.conversations import METRICS, talk

A = np.array([[0.4, 0.1], [0.0, 0.3]])
ORIGIN = [0.0, 0.0]
STATE = ("centre", "factor", "radius", "counts", "doublings", "thin", "tally", "stream")


# ---------------------------------------------------------------------- the fewest answers against a form


def fewest_by_integers(away, gaps, unfair, structure):
    """Return the fewest of n answers that two features contradict: an integer program whose rows are let go at a
    price."""
    from scipy.optimize import LinearConstraint, milp

    sign, n = np.where(unfair, 1.0, -1.0), len(gaps)
    one, other = np.abs(away).T if structure == "absolute" else away.T
    told = np.column_stack([one, other] if structure == "absolute" else [one**2, 2 * one * other, other**2])
    limits = sign * (gaps if structure == "absolute" else gaps**2)
    turn = np.linspace(0, np.pi, 721)[:-1]
    squares = np.column_stack([np.cos(turn) ** 2, np.sin(2 * turn), np.sin(turn) ** 2])[:, : told.shape[1]]
    psd = np.zeros((0, 2)) if structure == "absolute" else -squares
    rows = np.block([[sign[:, None] * told, -50 * np.eye(n)], [psd, np.zeros((len(psd), n))]])
    m, low = told.shape[1], [0, 0] if structure == "absolute" else [0, -20, 0]
    return round(
        milp(
            np.r_[np.zeros(m), np.ones(n)],
            constraints=LinearConstraint(rows, ub=np.r_[limits, np.zeros(len(psd))]),
            integrality=np.r_[np.zeros(m), np.ones(n)],
            bounds=(np.r_[low, np.zeros(n)], np.r_[np.full(m, 20.0), np.ones(n)]),
        ).fun
    )


@pytest.mark.parametrize("structure", ["symmetric", "absolute"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_fewest_answers_contradict_a_form_and_the_rest_agree_with_it(structure, seed):
    """The juror is milder with one in three people, so that neither form fits."""
    draws = np.random.default_rng(seed)
    x, y = draws.uniform(-0.5, 0.5, (2, 20, 2))
    true = np.abs(x - y) @ [0.5, 0.3] * np.where(x[:, 0] > 0.17, 0.4, 1.0)
    gaps = np.round(true * np.exp(0.4 * draws.normal(size=20)), 3).clip(max=1)
    log = [Verdict(n + 1, x[n], y[n], gaps[n], bool(true[n] < gaps[n]), n) for n in range(20)]
    found = contradicting(log, structure, 2)
    assert found.least == len(found.ids) == fewest_by_integers(x - y, gaps, true < gaps, structure) > 1
    assert agreeing([one for one in log if one.id not in found.ids], structure) is not None


def test_where_clashes_are_too_many_a_bound_is_said_and_the_rest_agrees(monkeypatch):
    monkeypatch.setattr(contradictions, "MOST_CLASHES", 2)
    log = [
        Verdict(n, np.array([1.0 + n // 2, 0.0]), np.zeros(2), 0.1, n % 2 == 0, n)
        for n in range(10)  # each pair of answers is a contradiction of its own
    ]
    found = contradicting(log, "absolute", 2)
    assert found.least < 5 == len(found.ids)
    assert str(found) == f"{found.least} to 5"
    assert agreeing([one for one in log if one.id not in found.ids], "absolute") is not None


# ---------------------------------------------------------------------- equal treatment, up to rounding


@pytest.mark.parametrize("make", METRICS.values(), ids=METRICS)
@pytest.mark.parametrize("gap", [1e-300, 1e-9])
def test_gaps_of_rounding_teach_nothing_to_a_learner(make, gap):
    learner = make(radius=2.0)
    with pytest.raises(VerdictError, match="gap: expected a difference above 1e-09"):
        learner.verdict([1.0, 0.0], ORIGIN, gap, unfair=True)
    untaught = learner.bounds([1.0, 0.0], ORIGIN)
    learner.verdict([max(gap, 1e-18), 0.0], ORIGIN, gap, unfair=False)
    assert learner.bounds([1.0, 0.0], ORIGIN)[0] == untaught[0] == 0.0
    learner.verdict([1.0, 0.0], ORIGIN, 1.1e-9, unfair=True)
    assert learner.bounds([1.0, 0.0], ORIGIN)[0] == 0.0


# ---------------------------------------------------------------------- one wrong verdict among right ones


def told_with_one_wrong_flag(metric, seed, rounds):
    """Tell honest verdicts but for one flag on a pair that was treated fairly, as early as possible.

    Return the policy, its world, the id of the wrong verdict and the refusals.
    """
    policy = LipschitzUCB(2, metric=metric, seed=seed)
    world = LinearContexts([0.6, 0.4], MahalanobisOracle(A), individuals=4)
    world.reset(seed)
    wrong, refusals = None, []
    for _ in range(rounds):
        (people,) = world.observe()
        decision = policy.ask(people)
        reward, flags = world.respond(decision)
        gaps = np.abs(decision.probabilities[:, None] - decision.probabilities[None, :])
        fair = np.argwhere(np.triu((gaps > 0.02) & (gaps < 0.6 * world.oracle.distances(people)), 1)).tolist()
        extra = [tuple(pair) for pair in fair[:1] if policy.round >= 3 and wrong is None]
        try:
            policy.tell(decision, reward, [*flags, *extra])
        except VerdictError as refusal:
            if not extra:
                refusals.append(str(refusal))
            policy.forget(decision)
        else:
            for i, j in extra:
                same = [v for v in policy.metric.verdicts if v.unfair and np.array_equal([v.x, v.y], people[[i, j]])]
                wrong = same[-1].id
    return policy, world, wrong, refusals


@pytest.mark.compiled
@pytest.mark.parametrize("make", [MomentDistance, at_night(METRICS["projected volume"])], ids=["moments", "volume"])
def test_one_wrong_verdict_is_found_and_taking_it_back_ends_the_refusals(make):
    for seed in (3, 10):
        policy, world, wrong, refusals = told_with_one_wrong_flag(make(), seed, 60)
        assert len(refusals) > 20
        assert wrong in policy.metric.contradictions()
        for refusal in refusals:
            named = re.search(r"agrees with verdicts (\[[\d, ]*\])", refusal)
            assert named, refusal
            assert wrong in eval(named[1]), refusal
            assert "withdraw(id)" in refusal
        policy.metric.withdraw(wrong)
        assert policy.metric.contradictions() == []
        *_, (people, _, _) = talk(policy, world, 40)
        low, _, high = policy.distances(people)
        true = world.oracle.distances(people)
        assert ((low <= true + 1e-9) & (true <= high + 1e-9)).all()


@pytest.mark.parametrize("structure", ["symmetric", "absolute"])
def test_one_refusal_is_enough_to_name_the_verdict_that_it_clashes_with(structure):
    learner = MomentDistance(radius=2.0, structure=structure)
    learner.verdict([0.0, 1.0], ORIGIN, 0.9, unfair=True)
    wrong = learner.verdict([1.0, 0.0], ORIGIN, 0.4, unfair=True)
    with pytest.raises(
        VerdictError, match=rf"verdicts \[{wrong}\]; nothing has changed; {wrong} called a gap of 0\.4 un"
    ):
        learner.verdict([0.5, 0.0], ORIGIN, 0.21, unfair=False)
    assert learner.contradictions() == [wrong]
    assert learner.fresh().contradictions() == []
    learner.withdraw(wrong)
    assert learner.contradictions() == []
    learner.verdict([0.5, 0.0], ORIGIN, 0.21, unfair=False)


def test_a_slip_that_was_refused_accuses_nobody_where_many_stand_against_it():
    learner = MomentDistance(radius=2.0)
    for angle in (0.0, 0.3, 0.6, 0.9):
        learner.verdict([np.cos(angle), np.sin(angle)], ORIGIN, 0.6, unfair=False)
    with pytest.raises(VerdictError, match=r"no metric calls a gap of 0\.05 unfair"):
        learner.verdict([np.cos(0.3), np.sin(0.3)], ORIGIN, 0.05, unfair=True)
    assert learner.contradictions() == []


def test_a_slip_is_forgotten_when_the_auditor_says_the_opposite():
    learner = MomentDistance(radius=2.0)
    first = learner.verdict([1.0, 0.0], ORIGIN, 0.6, unfair=False)
    with pytest.raises(VerdictError):
        learner.verdict([1.0, 0.0], ORIGIN, 0.5, unfair=True)
    assert learner.contradictions() == [first]
    learner.verdict([1.0, 0.0], ORIGIN, 0.4, unfair=False)
    assert learner.contradictions() == [first]
    learner.verdict([1.0, 0.0], ORIGIN, 0.5, unfair=False)
    assert learner.contradictions() == []


@pytest.mark.parametrize(
    ("make", "unfair"),
    [(MomentDistance, True), (EllipsoidDistance, False), (METRICS["projected volume"], True)],
    ids=METRICS,
)
def test_the_opposite_on_the_same_pair_and_gap_is_refused_and_certifies_no_exact_distance(make, unfair):
    learner = make(radius=2.0)
    first = learner.verdict([1.0, 0.0], ORIGIN, 0.3, unfair=unfair)
    with pytest.raises(VerdictError, match=rf"agrees with verdicts \[{first}\]; nothing has changed") as refusal:
        learner.verdict(ORIGIN, [1.0, 0.0], 0.3, unfair=not unfair)
    assert refusal.value.verdicts == [first]
    low, _, high = learner.bounds([1.0, 0.0], ORIGIN)
    assert high - low > 0.02
    policy = LipschitzUCB(2, metric=make(radius=2.0), silence="nothing", seed=1)
    people = [[1.0, 0.0], [0.0, 0.0]]
    policy.metric.verdict([-1.0, 0.0], ORIGIN, 0.9, unfair=False)
    decision = policy.ask(people)
    gap = float(abs(np.subtract(*decision.probabilities)))
    policy.metric.verdict(*people, gap, unfair=unfair)
    told = {"acceptable": [(0, 1)]} if unfair else {"violations": [(0, 1)]}
    with pytest.raises(VerdictError, match=r"pair \(0, 1\): .*agrees with verdicts \[2\]"):
        policy.tell(decision, 0.5 if decision.index >= 0 else None, **told)
    assert policy.open_tickets == [decision.id]
    believer = MomentDistance(error_rate=0.1)
    believer.verdict([1.0, 0.0], ORIGIN, 0.3, unfair=unfair)
    believer.verdict([1.0, 0.0], ORIGIN, 0.3, unfair=not unfair)


@pytest.mark.parametrize(("make", "silence"), [(MomentDistance, "nothing"), (EllipsoidDistance, "acceptable")])
def test_opposite_verdicts_about_people_who_are_alike_are_refused_within_one_report(make, silence):
    """Somebody is treated otherwise than two people who are alike: unfair beside one, acceptable beside the other."""
    policy = LipschitzUCB(2, metric=make(radius=2.0), silence=silence, seed=1)
    policy.metric.verdict([-1.0, 0.0], ORIGIN, 0.9, unfair=False)
    people = [[1.0, 0.0], ORIGIN, ORIGIN]
    decision = policy.ask(people)
    assert decision.probabilities.tolist() == [1.0, 0.0, 0.0]
    before = policy.metric.bounds(people[0], ORIGIN)
    with pytest.raises(VerdictError, match=r"pair \(0, 2\): .*agrees with the rest of this report"):
        policy.tell(decision, 0.5, [(0, 1)], acceptable=[(0, 2)])
    assert policy.metric.bounds(people[0], ORIGIN) == before
    policy.tell(decision, 0.5, [(0, 1), (0, 2)])
    assert policy.metric.contradictions() == []


@pytest.mark.parametrize(
    ("make", "silence", "precision"),
    [
        (MomentDistance, "acceptable", 0.2),
        (EllipsoidDistance, "nothing", 0.02),
        (METRICS["projected volume"], "acceptable", 0.02),
        (lambda: MomentDistance(error_rate=0.1), "nothing", 0.02),
    ],
    ids=[*METRICS, "moments with errors"],
)
def test_a_verdict_taken_back_leaves_exactly_what_the_conversation_taught(make, silence, precision):
    policy = LipschitzUCB(2, metric=make(), silence=silence, precision=precision, noise_scale=0.1, seed=2)
    world = LinearContexts([0.6, 0.4], MahalanobisOracle([[0.4, 0.1]]), individuals=4)
    world.reset(2)
    *_, (people, _, _) = talk(policy, world, 15, acceptable=2)
    policy.ask(people)
    before = {name: getattr(policy.metric.state, name).copy() for name in STATE}
    told = [v.id for v in policy.metric.verdicts]
    extra = policy.metric.verdict([0.9, 0.1], [0.1, 0.9], 0.5, unfair=True)
    policy = from_bytes(to_bytes(policy))
    policy.metric.withdraw(extra)
    assert [v.id for v in policy.metric.verdicts] == told
    for name, value in before.items():
        assert np.array_equal(getattr(policy.metric.state, name), value), name


# ---------------------------------------------------------------------- a radius that grows


@pytest.mark.parametrize("make", [METRICS["moments"], METRICS["projected volume"]], ids=["moments", "volume"])
def test_a_radius_that_was_given_never_grows(make):
    learner = make(radius=0.5)
    with pytest.raises(VerdictError, match=r"agrees with the radius 0\.5; nothing has changed; give a larger radius"):
        learner.verdict([1.0, 0.0], ORIGIN, 0.9, unfair=False)
    with pytest.raises(
        VerdictError, match=r"the two being equal; nothing has changed; whoever is equal is treated equal"
    ):
        learner.verdict([1.0, 0.0], [1.0, 0.0], 0.1, unfair=False)
    assert learner.radius_reached == 0.5
    assert learner.contradictions() == []
    assert MomentDistance().radius_reached is None


def test_a_simulation_says_it_as_well():
    import evenhand as eh

    place = LinearContexts([0.6, 0.4], MahalanobisOracle(A), individuals=4, contexts="adversarial")
    with pytest.warns(UserWarning, match="radius: no metric"):
        eh.simulate(LipschitzUCB(2, metric=EllipsoidDistance(structure="diagonal")), place, rounds=60, seed=1, jobs=1)
