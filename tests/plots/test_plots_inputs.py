"""A picture of something else is refused by name, and nothing is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError

HISTORIES = ("plot_cost", "plot_group_share", "plot_regret", "plot_shares", "plot_shortfall")
WANTED = dict.fromkeys(HISTORIES, "history: expected what eh.simulate returns, got") | {
    "plot_audit": "finding: expected what eh.audit.promise returns, got",
    "plot_bias": "table: expected what the policy's bias() returns, got",
    "plot_candidates": "recommendation: expected what recommend() or best() returns, got",
    "plot_collection": "frame: expected what eh.sampling.collect returns, got",
    "plot_effects": "found: expected what eh.effects returns, got",
    "plot_evaluation": "found: expected what eh.evaluate returns, got",
    "plot_gaps": "recommendation: expected what recommend() or best() returns, got",
    "plot_outcomes": "recommendation: expected what recommend() or best() returns, got",
    "plot_overlap": "found: expected what eh.evaluate returns for one policy, got",
    "plot_parity": "finding: expected what eh.audit.parity or eh.audit.rates returns, got",
    "plot_sensitivity": "sensitivity: expected what problem.sensitivity() returns, got",
}


@pytest.mark.parametrize("name", sorted(WANTED))
def test_something_else_is_refused(name):
    assert set(WANTED) == set(eh.plots.__all__)
    more = {"tolerance": 0.1} if name in ("plot_candidates", "plot_gaps") else {}
    for given in (None, 3, [], pd.DataFrame({"a": [1]}), np.eye(2), eh.learners.UCB1()):
        with pytest.raises(ArgumentError) as refused:
            getattr(eh.plots, name)(given, **more)
        assert str(refused.value).startswith(WANTED[name])
    assert not plt.get_fignums()


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_without_the_dimension_of_policies_says_how_to_pick(name, history):
    words = r"history: expected the dimension 'policy', .* history\.sel\(policy=\['a'\]\)"
    with pytest.raises(ArgumentError, match=words):
        getattr(eh.plots, name)(history.sel(policy="fair"))
    with pytest.raises(ArgumentError, match="history: expected the dimension 'replication'"):
        getattr(eh.plots, name)(history.mean("replication"))


def test_a_history_that_lacks_a_variable_is_refused(history):
    with pytest.raises(ArgumentError, match="history: expected a simulation that records 'group_share', got"):
        eh.plots.plot_group_share(history)
    problem = next(eh.interventions.SimulatedTrial._examples()).problem
    with pytest.raises(ArgumentError, match="tolerance: expected a number > 0"):
        eh.plots.plot_gaps(eh.interventions.CSR(problem, tolerance=0.1, budget=100).recommend(), tolerance="x")
