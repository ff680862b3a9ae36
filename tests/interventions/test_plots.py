import numpy as np
import pytest

from evenhand.interventions import CSR, SimulatedTrial
from evenhand.interventions.measures import EvidenceDraws, replay
from evenhand.plots.interventions import plot_candidates, plot_gaps, plot_outcomes
from evenhand.rng import generator
from tests.interventions.examples import WORLD, mediated


@pytest.fixture(scope="module")
def recommendation():
    search = CSR(WORLD.problem, tolerance=0.1, budget=40_000)
    replay(search, EvidenceDraws(WORLD.problem.cells), generator(1))
    return search.recommend()


def marks(axes):
    """The drawn positions, label and values."""
    return [(box.get_label(), np.asarray(box.lines[0].get_xdata(), float)) for box in axes.containers]


def test_outcomes_stand_where_the_table_says_and_the_named_one_is_marked(recommendation):
    axes = plot_outcomes(recommendation)
    drawn = dict(marks(axes))
    for verdict in ("certified", "dropped"):
        rows = recommendation.table["verdict"] == verdict
        np.testing.assert_allclose(drawn[verdict], recommendation.table.loc[rows, "outcome"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["now", "even *", "rich"]


def test_one_row_a_pair_of_values_and_nothing_for_what_is_unknown():
    search, world = CSR(mediated(3, groups=3), tolerance=0.5, budget=500), SimulatedTrial(mediated(3, groups=3))
    assert sum(len(at) for _, at in marks(plot_gaps(search.recommend(), tolerance=0.5))) == 0
    world.reset(1)
    allocation = search.ask()
    search.tell(allocation, *world.respond(allocation))
    assert sum(len(at) for _, at in marks(plot_gaps(search.recommend(), tolerance=0.5))) == 9
    assert len(plot_candidates(search.recommend(), tolerance=0.5).axes) == 2
