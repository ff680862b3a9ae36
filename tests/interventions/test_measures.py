import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError
from evenhand.experiments.interventions.constraints import LOOSE
from evenhand.experiments.interventions.instances import instance
from evenhand.interventions import CSR, CausalModel, OneShot, Problem, SimulatedTrial
from evenhand.interventions.measures import EvidenceDraws, replay, simulated_searches
from evenhand.rng import generator
from tests.interventions.examples import mediated

PROBLEM = next(SimulatedTrial._examples()).problem


def test_the_same_seed_gives_the_same_frame():
    searches = {
        "csr": CSR(PROBLEM, tolerance=0.1, budget=500, pooled=False),
        "shot": OneShot(PROBLEM, tolerance=0.1, budget=500),
    }
    one, two = (simulated_searches(searches, replications=9, seed=4) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert not one.equals(simulated_searches(searches, replications=9, seed=5))
    assert one["search"].tolist() == ["csr"] * 9 + ["shot"] * 9


def test_a_search_that_was_used_before_replays_alike():
    search, draws = CSR(PROBLEM, tolerance=0.1, budget=500), EvidenceDraws(PROBLEM.cells)
    first = replay(search, draws, generator(1))
    replay(search, draws, generator(2))
    assert replay(search, draws, generator(1)) == first


PROBLEMS = {
    "two": lambda: PROBLEM,
    "three": lambda: mediated(3, groups=3),
    "hard": lambda: instance(LOOSE._replace(candidates=8, fair=5), seed=1),
}
"""The last has weights with heavy tails, on which normal intervals of clipped sums cover 85 %."""


@pytest.mark.parametrize(("name", "pooled"), [("two", False), ("three", True), ("hard", False)])
def test_intervals_cover_at_their_level(name, pooled):
    problem = PROBLEMS[name]()
    search, draws = CSR(problem, tolerance=0.1, budget=3000, pooled=pooled, delta=None), EvidenceDraws(problem.cells)
    runs, inside, total = 150, 0, 0
    for number in range(runs):
        replay(search, draws, generator(11, number))
        table = search.recommend(confidence=0.95).table
        inside += int(((table["outcome_low"] <= problem.outcomes) & (problem.outcomes <= table["outcome_high"])).sum())
        for a, b in [pair for pair in problem.pairs if f"gap[{pair[0]}, {pair[1]}]" in table]:
            low, high = table[f"gap_low[{a}, {b}]"], table[f"gap_high[{a}, {b}]"]
            inside += int(((low <= problem.gaps[a, b]) & (problem.gaps[a, b] <= high)).sum())
        total += len(problem.candidates) * (1 + len(problem.pairs) // 2)
    # numbers of one run may be dependent: `runs` independent ones, four standard errors
    assert abs(inside / total - 0.95) < 4 * np.sqrt(0.95 * 0.05 / runs)


def test_more_trials_err_less_often_and_the_pooled_form_less_than_the_papers():
    def errors(budget, pooled):
        search = CSR(PROBLEM, tolerance=0.1, budget=budget, pooled=pooled, delta=None)
        return 1 - simulated_searches({"csr": search}, replications=200, seed=1)["correct"].mean()

    few, many, pooled = errors(500, False), errors(40_000, False), errors(500, True)
    # three binomial standard errors of a difference of 200 runs each are at most 0.15
    assert many < few - 0.15
    assert pooled < few - 0.15


def test_what_cannot_be_simulated_is_refused():
    with pytest.raises(ArgumentError, match="replications"):
        simulated_searches({}, replications=0)
    model = PROBLEM.model
    partial = CausalModel.from_tables(
        model.states, {**model.parents}, {node: model.tables[node] for node in ("sex", "weight", "dose")}
    )
    tables = list(PROBLEM.tables)
    log = model.sample(200, seed=1)
    logged = Problem(partial, intervene="dose", sensitive="sex", outcome="cured", candidates=tables, log=log)
    with pytest.raises(ArgumentError, match="expected a problem over a complete model"):
        simulated_searches({"csr": CSR(logged, tolerance=0.1, budget=100)})
    with pytest.raises(ArgumentError, match="complete model"):
        SimulatedTrial(logged)
