from itertools import permutations

import numpy as np
import pytest

from evenhand.interventions.cells import Evidence
from evenhand.interventions.measures import EvidenceDraws
from evenhand.interventions.trial_tables import drawn, evidence_of
from tests.interventions.examples import PROBLEMS
from tests.reference import interventions as twin


def samples_of(problem, frame):
    """The twin's form of a data frame of trials: (candidate, forced, assignment) one by one."""
    s, model = problem.structure, problem.model
    rows = []
    for row in frame.to_dict("records"):
        at = {node: model.states[node].index(row[node]) for node in (*s.sensitive, *problem.nodes)}
        forced = row[f"do({s.sensitive[0]})"] is not None
        rows += [(problem.candidates.index(row["candidate"]), forced, at)] * int(row["count"])
    return rows


@pytest.mark.parametrize("level", [1, 9])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_estimates_agree_with_sums_over_samples(problem, level):
    random = np.random.default_rng(level)
    plan = random.integers(0, 3, (1 + len(problem.groups), len(problem.candidates)))
    plan[1, :] = 0
    frame = drawn(problem, plan, random)
    samples, evidence, groups = samples_of(problem, frame), evidence_of(problem, frame), twin.as_values(problem)
    clipped, mixture = (estimate(evidence, level) for estimate in (problem.clipped, problem.mixture))
    for k in range(len(problem.candidates)):
        expected = twin.clipped_outcome(problem, samples, k, level)
        assert clipped.outcome_known[k] == (expected is not None)
        assert clipped.outcomes[k] == pytest.approx(expected or 0.0)
        prior = problem.cells.prior
        means = [twin.mixture_mean(problem, samples, k, group) for group in groups]
        assert mixture.outcomes[k] == pytest.approx(float(np.dot(prior, means)))
        for i, (a, b) in enumerate(permutations(range(len(groups)), 2)):
            expected = twin.clipped_gap(problem, samples, k, groups[a], groups[b], level)
            assert clipped.gap_known[i, k] == (expected is not None)
            assert clipped.gaps[i, k] == pytest.approx(expected or 0.0)
            assert mixture.gaps[i, k] == pytest.approx(means[a] - means[b])


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_in_expectation_unclipped_estimates_are_exact(problem):
    cells, random = problem.cells, np.random.default_rng(0)
    trials = random.uniform(1, 5, (2, *cells.density.shape[:2]))
    trials[0] = random.uniform(1, 5, len(problem.candidates))[:, None] * cells.prior
    law = cells.density[..., None] * cells.base
    evidence = cells.evidence(trials[..., None, None] * law / law.sum((2, 3), keepdims=True))
    exact = (problem.outcomes - problem.low) / problem.scale
    gaps = np.array(list(problem.gaps.values())) / problem.scale
    for estimate in (problem.clipped, problem.mixture):
        found = estimate(evidence, 10**6)
        np.testing.assert_allclose(found.outcomes, exact)
        np.testing.assert_allclose(found.gaps, gaps, atol=1e-12)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_standard_errors_are_the_spread_of_the_estimates(problem):
    random, draws = np.random.default_rng(8), EvidenceDraws(problem.cells)
    plan = np.full((1 + len(problem.groups), len(problem.candidates)), 60)
    told = [draws(plan, random) for _ in range(600)]
    runs = [problem.mixture(evidence) for evidence in told]
    errors = [problem.mixture.errors(evidence) for evidence in told]
    for number, values in enumerate(("outcomes", "gaps")):
        spread = np.std([getattr(run, values) for run in runs], axis=0)
        mean = np.sqrt(np.mean([one[number] ** 2 for one in errors], axis=0))
        # the spread over 600 runs has a relative error of 3 %; five of those, over some hundred numbers
        np.testing.assert_allclose(mean, spread, rtol=0.15)


def test_nothing_is_concluded_from_nothing_and_no_number_is_missing():
    problem = PROBLEMS["three values"]
    for estimate in (problem.clipped, problem.mixture):
        found = estimate(problem.cells.nothing(), 3)
        assert not found.outcome_known.any()
        assert not found.gap_known.any()
        assert all(np.isfinite(part).all() for part in found)


def test_evidence_counts_the_rows_of_a_frame():
    problem = PROBLEMS["two attributes"]
    frame = drawn(problem, np.full((5, 4), 7), np.random.default_rng(1))
    whole = evidence_of(problem, frame)
    longer = frame.loc[frame.index.repeat(frame["count"])].drop(columns="count")
    single = evidence_of(problem, longer)
    for one, other in zip(whole, single, strict=True):
        np.testing.assert_allclose(one, other)
    halves = evidence_of(problem, frame.iloc[:10]) + evidence_of(problem, frame.iloc[10:])
    np.testing.assert_allclose(halves.first, whole.first)
    assert whole.trials[1].tolist() == [[7.0] * 4] * 4
    assert isinstance(halves, Evidence)


def test_trials_of_whole_frames_and_of_statistics_have_the_same_law():
    problem = PROBLEMS["V below S"]
    plan = np.array([[3000, 0, 0], [0, 2000, 0], [0, 0, 0]])
    a = evidence_of(problem, drawn(problem, plan, np.random.default_rng(1)))
    b = EvidenceDraws(problem.cells)(plan, np.random.default_rng(2))
    assert a.trials.sum() == b.trials.sum() == 5000
    total = a.first + b.first
    used = total > 0
    chi = ((a.first - b.first)[used] ** 2 / total[used]).sum()
    # outcomes lie in [0, 1], so each term is at most that of a count; cells used bound the degrees of freedom
    assert chi < used.sum() + 5 * np.sqrt(2 * used.sum())
