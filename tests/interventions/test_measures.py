import pandas as pd
import pytest

from evenhand.errors import ArgumentError
from evenhand.interventions import CSR, OneShot, SimulatedTrial
from evenhand.interventions.measures import EvidenceDraws, replay, simulated_searches
from evenhand.rng import generator
from tests.interventions.examples import logged

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


def test_what_cannot_be_simulated_is_refused():
    with pytest.raises(ArgumentError, match="replications"):
        simulated_searches({}, replications=0)
    with pytest.raises(ArgumentError, match="expected a problem over a complete model"):
        simulated_searches({"csr": CSR(logged()[0], tolerance=0.1, budget=100)})
