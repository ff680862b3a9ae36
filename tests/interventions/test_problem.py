import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import ArgumentError, TableError
from evenhand.interventions import CSR, CausalModel, Problem, TrialNeeds
from tests.fuzzing import many
from tests.interventions.examples import PROBLEMS, SVY, fitted_below, mediated, straight
from tests.reference import interventions as twin


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_outcomes_gaps_and_divergences_agree_with_enumeration(problem):
    groups = dict(zip(problem.groups, twin.as_values(problem), strict=True))
    for k in range(len(problem.candidates)):
        assert problem.outcomes[k] == pytest.approx(problem.low + problem.scale * twin.mean_outcome(problem, k))
        for (a, b), gaps in problem.gaps.items():
            # S is a root: given S = b nothing is learned of the noise, so Y had S been a is that of the cut graph
            mine, other = (twin.mean_outcome(problem, k, groups[s]) for s in (a, b))
            assert gaps[k] == pytest.approx(problem.scale * (mine - other), abs=1e-12)
        for j in range(len(problem.candidates)):
            assert problem.outcome_divergence[k, j] == pytest.approx(twin.outcome_divergence(problem, k, j))
            for a, b in list(problem.pairs)[:2]:
                expected = twin.gap_divergence(problem, k, j, groups[a], groups[b])
                assert problem.gap_divergence[a, b][k, j] == pytest.approx(expected)


def test_children_of_s_that_do_not_reach_the_outcome_are_left_out():
    problem = PROBLEMS["V below S"]
    assert problem.structure.children == ("X",)
    assert set(problem.nodes) == {"V", "X", "Z", "Y"}


def test_best_is_the_highest_outcome_among_the_fair():
    problem = PROBLEMS["V beside S"]
    worst = np.abs(problem.gaps["s0", "s1"])
    assert problem.best(2 * worst.max()) == problem.candidates[int(problem.outcomes.argmax())]
    assert problem.best(worst.min() / 2) is None
    assert problem.best(np.nextafter(worst.min(), 1)) == problem.candidates[int(worst.argmin())]


@pytest.mark.parametrize("rounding", [-1, 1])
def test_of_outcomes_that_are_equal_up_to_rounding_the_first_is_best(rounding, monkeypatch):
    problem = mediated(1)
    outcomes = np.full(len(problem.candidates), 0.5)
    outcomes[1:] += rounding * 2.0**-53
    monkeypatch.setattr(Problem, "outcomes", outcomes)
    assert problem.best(math.inf) == problem.candidates[0]


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@given(data=st.data())
@settings(max_examples=many(15))
def test_the_allocation_program_has_the_value_that_scipy_finds(problem, data):
    size = len(problem.candidates)
    remaining = data.draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(any))
    budget = data.draw(st.floats(0.01, 1.2))
    costs = problem.read_costs(None)
    numbers = permutations(range(len(problem.groups)), 2)
    d = dict(zip(numbers, problem.gap_divergence.values(), strict=True))
    expected = twin.allocation_value(problem.outcome_divergence, d, costs, budget, np.array(remaining))
    among = [label for label, kept in zip(problem.candidates, remaining, strict=True) if kept]
    value, shares = problem.allocate(None, budget, among=among)
    assert value == pytest.approx(expected, abs=1e-9)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= 0).all()
    assert (shares.sum(0) * costs).sum() <= budget + 1e-9


def test_a_plan_depends_on_what_remains_alone_not_on_what_was_solved_before():
    sets = [np.array(bits) for bits in ([1, 1, 1], [1, 0, 1], [0, 1, 0], [0, 1, 1])]
    plans = []
    for order in (sets, sets[::-1]):
        problem = mediated(1)
        program = problem.program(problem.read_costs(None), 0.1, TrialNeeds())
        plans.append({remaining.tobytes(): program.solve(remaining.astype(bool)).shares for remaining in order})
    assert all((plans[0][key] == plans[1][key]).all() for key in plans[0])


def test_exponents_beyond_the_range_of_floats_give_finite_divergences():
    rare = [[1e-4, 1 - 1e-4], [1e-4, 1 - 1e-4]]
    problem = straight([rare, [[0.9, 0.1], [0.1, 0.9]]], now=rare)
    assert problem.outcome_divergence[1, 0] == pytest.approx(9000 + np.log(0.5 * 0.9), rel=1e-6)
    assert np.isfinite(problem.gap_divergence[0, 1]).all()


def test_a_zero_where_another_value_of_s_has_mass_is_an_infinite_divergence_and_no_error():
    model = CausalModel.from_tables(
        {"S": [0, 1], "X": [0, 1], "V": [0, 1], "Y": [0, 1]},
        {"S": [], "X": ["S"], "V": ["X"], "Y": ["V", "X"]},
        {
            "S": [0.5, 0.5],
            "X": [[1.0, 0.0], [0.5, 0.5]],
            "V": [[0.5, 0.5], [0.5, 0.5]],
            "Y": [[[0.5, 0.5], [0.1, 0.9]], [[0.2, 0.8], [0.6, 0.4]]],
        },
    )
    tables = [[[0.5, 0.5], [0.5, 0.5]], [[0.2, 0.8], [0.7, 0.3]]]
    problem = Problem(model, **SVY, candidates=tables)
    assert np.isinf(problem.gap_divergence[1, 0]).all()
    assert np.isfinite(problem.gap_divergence[0, 1]).all()
    value, shares = problem.allocate(None, 0.5)
    assert value == pytest.approx(0.0, abs=1e-12)
    assert np.isfinite(shares).all()


GOOD = [[[0.5, 0.5], [0.5, 0.5]], [[0.2, 0.8], [0.7, 0.3]]]


def test_values_are_the_numbers_of_an_outcome_of_words():
    problem = straight(GOOD, states=["ill", "well"], values={"ill": 10, "well": 30})
    assert problem.outcomes[0] == pytest.approx(10 + 20 * 0.45)


def test_partial_models_and_empty_logs_are_refused_by_what_is_missing():
    full = mediated(5)
    model, tables = full.model, full.model.tables
    asked = SVY | {"candidates": list(full.tables)}
    log = model.sample(50, seed=1)

    def partial(*known, parents=("S", "X", "V", "Y")):
        above = {node: model.parents[node] for node in parents}
        return CausalModel.from_tables(model.states, above, {node: tables[node] for node in known})

    for known, trials, words in (
        (partial("X", parents=("S", "X", "Y")), log, r"parents\['V'\]"),
        (partial("V"), log, r"children of \['S'\].*'X'"),
        (partial("X"), log.head(0), "at least one trial"),
        (partial("X", parents=("X", "V", "Y")), log, r"'S'.*no parents"),
    ):
        with pytest.raises(ArgumentError, match=words):
            Problem(known, **asked, log=trials)
    alike = CausalModel.fit(log.assign(Y=0), [(p, n) for n, above in model.parents.items() for p in above])
    with pytest.raises(ArgumentError, match="two values, got 'Y'; it is always 0"):
        Problem(alike, **asked)


def test_what_the_model_calls_impossible_is_refused_when_it_is_told():
    search = CSR(straight(GOOD, outcome=[[1.0, 0.0], [0.2, 0.8]]), tolerance=0.1, budget=100)
    seen = pd.DataFrame({"candidate": [0, 0], "S": [0, 1], "V": [1, 0], "Y": [1, 1]})
    with pytest.raises(TableError, match=r"row 2: .*probability 0"):
        search.tell(search.ask(), seen)
    search.tell(1, seen.head(1))
    assert search.phase == 1


def test_trials_of_a_candidate_whose_table_is_unknown_are_planned_for_itself_alone():
    """They cost nothing here, and what may be spent buys one trial of the others in a hundred: t is .01 at most."""
    problem, costs, everybody = fitted_below(), np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4, bool)
    together, apart = (problem.program(costs, 0.01, TrialNeeds(pooled=True, tested=tested)) for tested in (False, True))
    assert apart.solve(everybody).value <= 0.01 < together.solve(everybody).value


def direct(share, fitted):
    """S -> Y beside V -> Y, as a table of patients may have it; the first candidate is the rule in use."""
    model = CausalModel.from_tables(
        {"S": ["f", "m"], "V": [0, 1], "Y": [0, 1]},
        {"S": [], "V": [], "Y": ["V", "S"]},
        {"S": [share, 1 - share], "V": [0.7, 0.3], "Y": [[[0.6, 0.4], [0.5, 0.5]], [[0.3, 0.7], [0.2, 0.8]]]},
    )
    model = CausalModel.fit(model.sample(500, seed=1), "S -> Y, V -> Y") if fitted else model
    return Problem(model, **SVY, candidates=[None, [0.2, 0.8], [0.5, 0.5]])


def test_where_trials_of_the_rule_in_use_speak_of_it_alone_every_candidate_is_tried():
    plan = CSR(direct(0.5, fitted=True), tolerance=0.1, budget=6000).ask().plan
    assert (plan.sum(0) >= plan.sum() / 8).all()
    costs = {0: 0, 1: 30, 2: 10}
    plan = CSR(direct(0.5, fitted=False), tolerance=0.1, budget=6000, costs=costs).ask().plan
    assert 0 < plan.sum(0) @ list(costs.values()) <= plan.sum() * 40 / 3


@pytest.mark.parametrize("fitted", [False, True])
def test_trials_show_the_mean_of_every_group_for_tests_compare_these(fitted):
    """Trials under do(S = f) say nothing of m where S reaches Y past V; natural ones say little of a rare value of
    S."""
    problem = direct(0.05, fitted)
    plan = CSR(problem, tolerance=0.1, budget=6000).ask().plan
    expected = plan[0].sum() * problem.cells.prior + plan[1:].sum(1)
    assert expected.min() > plan.sum() / 4
    stingy = CSR(direct(0.5, fitted), tolerance=0.1, budget=6000, mean_cost=0.01).ask().plan
    assert stingy[0].sum() > 0.9 * stingy.sum()
