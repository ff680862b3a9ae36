"""Answers that may be wrong: the belief against grids, what it misses, and what it says where no metric fits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import betainc, betaln, logsumexp

from evenhand.errors import ArgumentError, ExhaustedError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import LipschitzUCB, MahalanobisOracle, PairQueue, PosteriorDistance
from evenhand.similarity.line_walk import Answers, MetricCone, log_weights, start, walk, wrong_under
from evenhand.similarity.misfit import ALARM, misfit, regions
from tests.naming import long
from tests.reference.similarity_belief import evidence, grid

TURNED = np.array([[0.6, 0.1], [-0.2, 0.5]])


def asked(n, seed, rate, A=TURNED):
    """Yield n answers about random pairs with gaps near their distance, this share of them wrong."""
    draws = np.random.default_rng(seed)
    for _ in range(n):
        x, y = draws.uniform(-0.7, 0.7, (2, A.shape[1]))
        true = float(np.linalg.norm(A @ (x - y)))
        gap = float(np.clip(true + 0.1 * draws.normal(), 0.01, 1.0))
        yield x, y, gap, bool((true < gap) != (draws.random() < rate))


def told(learner, n, seed, rate, answer=lambda x, y, gap, unfair: unfair, A=TURNED):
    """Return the learner after answers that `answer` may change."""
    for x, y, gap, unfair in asked(n, seed, rate, A):
        learner.verdict(x, y, gap, bool(answer(x, y, gap, unfair)))
    return learner


def missed(learner, A=TURNED, pairs=100):
    """Return the share of new pairs whose interval misses the truth, and the mean width."""
    people = np.random.default_rng(9).uniform(-0.7, 0.7, (pairs, 2, A.shape[1]))
    true = np.minimum(np.linalg.norm((people[:, 0] - people[:, 1]) @ A.T, axis=1), 1.0)
    low, _, high = np.transpose([learner.bounds(x, y) for x, y in people])
    return float(((true < low - 1e-9) | (true > high + 1e-9)).mean()), float((high - low).mean())


def diagonal(m, n, seed):
    """Return answers about a diagonal metric, its coordinates, and what the twin is given."""
    draws = np.random.default_rng(seed)
    directions, true = draws.uniform(0.0, 1.0, (n, m)), np.full(m, 0.5)
    squares = np.clip(directions @ true + 0.2 * draws.normal(size=n), 0.01, 1.0)
    unfair = (directions @ true < squares) ^ (draws.random(n) < 0.2)
    answers = Answers(directions, squares, np.where(unfair, 1.0, -1.0), np.zeros(n, np.int64))
    places = np.arange(m)
    return answers, MetricCone(places, places, np.ones(m), 2.0), (directions, squares, unfair, 2.0)


# ------------------------------------------------------------------ the belief


def test_the_weights_are_the_integrals_over_the_rate():
    for n in (1, 7, 60):
        answers = Answers(np.ones((n, 1)), np.ones(n), np.ones(n), np.zeros(n, np.int64))
        k = np.arange(n + 1)
        exact = betaln(k + 1, n - k + 4) + np.log(betainc(k + 1, n - k + 4, 0.5))
        assert log_weights(answers, None)[0] - np.log(1600.0) == pytest.approx(exact, abs=1e-3)


def test_two_numbers_are_drawn_as_on_the_grid():
    answers, metrics, given = diagonal(2, 40, 4)
    first = start(answers, metrics)
    points, chances = grid(*given, 300)
    drawn = walk(answers, metrics, log_weights(answers, None), first, 6000, np.random.default_rng(2))[500:]
    assert (np.linalg.norm(drawn, axis=1) <= 2.0).all()
    assert (drawn >= 0.0).all()
    for u in ([1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.2]):
        mean = chances @ (points @ u)
        spread = np.sqrt(chances @ (points @ u - mean) ** 2)
        for place in (mean - 2 * spread, mean - spread, mean, mean + spread, mean + 2 * spread):
            assert (drawn @ u <= place).mean() == pytest.approx(chances[points @ u <= place].sum(), abs=0.05)


def test_auditors_have_rates_of_their_own():
    """A weight of two auditors is the product of theirs: the walk over all equals the grid of both.

    On a line every draw is exact and of its own: sup |F - F_n| > 0.04 has probability 2 exp(-2 4000 0.04^2) = 5e-6
    (Massart 1990).
    """
    answers, metrics, given = diagonal(1, 40, 6)
    both = answers._replace(auditors=np.arange(40) % 2)
    directions, squares, unfair, radius = given
    points, one = grid(directions[::2], squares[::2], unfair[::2], radius, 4000)
    _, other = grid(directions[1::2], squares[1::2], unfair[1::2], radius, 4000)
    chances = one * other / (one * other).sum()
    drawn = walk(both, metrics, log_weights(both, None), np.array([1.0]), 4000, np.random.default_rng(1))[:, 0]
    for place in np.linspace(0.05, 1.95, 20):
        assert (drawn <= place).mean() == pytest.approx(chances[points[:, 0] <= place].sum(), abs=0.04)


def test_the_evidence_against_a_metric_is_that_of_the_slow_twin():
    answers, _, _ = diagonal(2, 30, 5)
    draws = np.random.default_rng(1)
    people, metrics = draws.normal(size=(2, 30, 2)), draws.uniform(0.0, 1.0, (7, 2))
    found, among = misfit(metrics, answers, tuple(people)), regions(*people)
    values = []
    for metric in metrics:
        wrong, unfair = wrong_under(metric[None], answers)[0], answers.directions @ metric < answers.levels
        bets = [evidence(wrong.tolist(), unfair.tolist(), region.members.tolist()) for region in among]
        values.append(logsumexp(bets) - np.log(len(bets)))
    assert len(among) == 1 + 2 * 10
    assert np.log(found.e) == pytest.approx(min(values), abs=1e-9)


@pytest.mark.parametrize("rate", [0.05, long(0.2)])
def test_intervals_hold_the_truth_whatever_share_of_answers_is_wrong(rate):
    """Seeds are fixed, and 5 % of pairs is what is quoted, in the mean over metrics."""
    found = []
    for seed in range(4):
        A = 0.6 * np.random.default_rng(seed).normal(size=(2, 2))
        learner = told(PosteriorDistance(radius=4.0, seed=seed), 200, [seed, 1], rate, A=A)
        assert learner.caveat() is None
        found.append(missed(learner, A))
    assert np.mean([one for one, _ in found]) <= 0.05
    assert np.mean([width for _, width in found]) < {0.05: 0.04, 0.2: 0.2}[rate]


def test_a_feature_that_does_not_count_has_distances_of_zero():
    A = np.array([[0.6, 0.0]])
    learner = told(PosteriorDistance(radius=4.0, seed=1), 200, 1, 0.1, A=A)
    assert learner.bounds([0.0, 0.5], [0.0, -0.5])[0] == 0.0
    assert missed(learner, A)[0] <= 0.05


def test_what_is_believed_depends_on_the_log_alone():
    learner, other = PosteriorDistance(radius=2.0, seed=1), PosteriorDistance(radius=2.0, seed=1)
    for n, (x, y, gap, unfair) in enumerate(asked(15, 2, 0.1)):
        learner.verdict(x, y, gap, unfair)
        other.verdict(x, y, gap, unfair)
        if n % 5 == 0:
            other.bounds(x, y)  # which forms the belief in between
    assert learner.bounds([0.3, 0.1], [0.0, 0.0]) == other.bounds([0.3, 0.1], [0.0, 0.0])
    slip = learner.verdict([0.5, 0.0], [0.0, 0.0], 0.01, True)
    for x, y, gap, unfair in asked(5, 3, 0.1):
        learner.verdict(x, y, gap, unfair)
        other.verdict(x, y, gap, unfair)
    learner.withdraw(slip)
    assert learner.bounds([0.3, 0.1], [0.0, 0.0]) == other.bounds([0.3, 0.1], [0.0, 0.0])
    again = from_bytes(to_bytes(learner))
    assert to_bytes(again) == to_bytes(learner)
    assert again.bounds([0.2, 0.4], [0.0, 0.0]) == learner.bounds([0.2, 0.4], [0.0, 0.0])


def test_a_poor_auditor_does_little_harm():
    learner, draws = PosteriorDistance(radius=2.0, seed=1), np.random.default_rng(5)
    for x, y, gap, unfair in asked(80, 4, 0.0):
        for name, slips in (("ann", 0.02), ("bob", 0.1), ("cid", 0.5)):
            learner.verdict(x, y, gap, unfair != (draws.random() < slips), auditor=name)
    assert learner.rate < 0.15
    assert sum(one.verdict.auditor == "cid" for one in learner.suspects() if one.wrong > 0.5) > 20
    assert learner.caveat() is None
    assert missed(learner)[0] <= 0.05


# ------------------------------------------------------------------ the log


def kept(policy):
    """Return the answers in the log; equal treatment is no question."""
    return [(v.gap, v.unfair) for v in policy.metric.verdicts if v.gap > 1e-9]


def test_the_log_keeps_every_answer_also_those_that_teach_nothing():
    policy = LipschitzUCB(2, on_contradiction="robust", seed=1)
    oracle, draws, given, wrong = MahalanobisOracle(TURNED), np.random.default_rng(1), [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(40):
            people = draws.uniform(-0.6, 0.6, (4, 2))
            decision = policy.ask(people)
            p, pairs = decision.probabilities, set(oracle(people, decision.probabilities))
            for i in range(4):
                for j in range(i + 1, 4):
                    if abs(p[i] - p[j]) > 1e-9:
                        if n > 10 and draws.random() < 0.1:
                            pairs ^= {(i, j)}
                            wrong += 1
                        given.append((abs(p[i] - p[j]), (i, j) in pairs))
            policy.tell(decision, 0.5 if decision.index >= 0 else None, pairs)
            if n == 10:
                assert policy.metric.guarantee == "certified"
                assert kept(policy) == given
                assert len(policy.metric.log.learned) < len(given)
                assert kept(from_bytes(to_bytes(policy))) == given
    assert isinstance(policy.metric, PosteriorDistance)
    assert kept(policy) == given
    assert [v.id for v in policy.metric.verdicts] == list(range(1, len(policy.metric.verdicts) + 1))
    assert policy.metric.rate > wrong / len(given)
    suspects = {one.id for one in policy.suspects() if one.wrong > 0.5}
    assert len(suspects) < 0.25 * len(given)


# ------------------------------------------------------------------ what no metric fits


def biased(x, y, gap, unfair):
    """Return "unfair" wherever the first feature of both is large."""
    return unfair or (x[0] > 0.0 and y[0] > 0.0)


def test_an_auditor_who_is_biased_in_a_region_is_noticed_and_the_region_named():
    learner = told(PosteriorDistance(radius=2.0, seed=1), 250, 1, 0.05, biased)
    with pytest.warns(UserWarning, match="the answers fit no metric .* no distance is known"):
        low, guess, high = learner.bounds([0.3, 0.1], [0.0, 0.0])
    assert (low, high) == (0.0, 1.0)
    assert 0.0 < guess < 1.0
    assert learner.guarantee == "not known"
    assert learner.misfit.feature == 0
    assert learner.misfit.inside > 0.3 > learner.misfit.outside
    assert "where age is above its median for both" in learner.caveat(["age", "income"])
    assert "where feature 0 is above its median for both" in learner.caveat()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert missed(learner)[0] == 0.0
        again = from_bytes(to_bytes(learner))
        assert again.caveat() == learner.caveat()
    assert learner.bounds([0.3, 0.1], [0.3, 0.1]) == (0.0, 0.0, 0.0)


def test_an_auditor_who_is_lenient_is_noticed():
    draws = np.random.default_rng(2)
    learner = told(
        PosteriorDistance(radius=2.0, seed=1), 400, 1, 0.02, lambda x, y, gap, unfair: unfair and draws.random() < 0.6
    )
    with pytest.warns(UserWarning, match="where the difference is unfair .* of the answers seem wrong"):
        learner.bounds([0.3, 0.1], [0.0, 0.0])
    assert learner.bounds([0.3, 0.1], [0.0, 0.0])[::2] == (0.0, 1.0)


def test_errors_at_random_raise_no_alarm():
    for seed in range(4):
        learner = told(PosteriorDistance(radius=2.0, seed=seed), 150, seed, 0.35)
        assert learner.misfit.e < ALARM


def test_with_a_most_liars_who_agree_are_allowed_for():
    draws = np.random.default_rng(4)

    def liar(x, y, gap, unfair):
        true = np.linalg.norm(TURNED @ (x - y))
        return gap > 0.8 * true if draws.random() < 0.08 else unfair

    learner = told(PosteriorDistance(radius=2.0, at_most=0.2, seed=1), 200, 5, 0.0, liar)
    assert learner.caveat() is None
    share, width = missed(learner)
    assert share <= 0.05
    assert width < 0.5
    few = told(PosteriorDistance(radius=2.0, at_most=0.05, seed=1), 100, 5, 0.4)
    with pytest.warns(UserWarning, match="no metric was found under which at most 5% of the answers are wrong"):
        assert few.bounds([0.3, 0.1], [0.0, 0.0])[::2] == (0.0, 1.0)
    with pytest.raises(ArgumentError, match="at_most: expected"):
        PosteriorDistance(at_most=0.5)


def test_the_caution_stands_wherever_intervals_are_read():
    policy = LipschitzUCB(2, metric=PosteriorDistance(radius=2.0, seed=1), silence="nothing", seed=1)
    told(policy.metric, 250, 1, 0.05, biased)
    with pytest.warns(UserWarning, match="fit no metric"):
        low, _, high = policy.distances([[0.3, 0.1], [0.0, 0.0]])
    assert (low[0, 1], high[0, 1]) == (0.0, 1.0)
    decision = policy.ask([[0.3, 0.1], [0.0, 0.0]])
    caution = "distances are unknown: the answers fit no metric"
    assert caution in decision.reason
    assert caution in policy._card().text()
    assert caution in policy._card().html()
    assert policy.undecided(decision) == {(0, 1)}


def test_a_queue_names_the_region_by_its_feature():
    draws = np.random.default_rng(1)
    ages, incomes = draws.uniform(20, 80, 30), draws.uniform(0, 9, 30)
    features = np.column_stack([ages, incomes])
    table = pd.DataFrame(features, columns=["age", "income"])
    queue = PairQueue(table, draws.integers(0, 2, 30), individuals=3, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for gap, unfair in ((0.1, True), (0.5, False)):
            queue.policy.judge([0.5, 0.0], [0.0, 0.0], gap, unfair)
        told(queue.policy.metric, 250, 1, 0.05, biased)
        assert "age is above its" in queue.caveat
        with pytest.raises(ExhaustedError, match="No form of distance fits the answers: "):
            queue.ask()
        assert queue.caveat in str(queue._card().facts["caveat"])
