"""What a promise costs: the paired difference of two policies in one history, with its interval, and its words."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from evenhand.simulation.measures import Cost, cost_of


def history(**columns):
    """The last of 10 rounds for the policies "free" and "kept", a row each, over replications."""
    data = {name: (("policy", "replication", "round"), np.array(rows)[..., None]) for name, rows in columns.items()}
    return xr.Dataset(data, coords={"policy": ["free", "kept"], "round": [10]})


def test_the_cost_is_the_mean_difference_of_regrets_with_the_interval_of_pairs():
    free, kept = [1.0, 2.0, 4.0], [2.0, 2.5, 6.0]
    found = cost_of(
        history(regret=[free, kept], reward=[[5.0] * 3, [1.0] * 3], violations=[[0, 2, 1], [0] * 3]), "kept", "free"
    )
    low, high = stats.ttest_rel(kept, free).confidence_interval(0.95)
    assert found[:4] == pytest.approx(((1 + 0.5 + 2) / 30, low / 10, high / 10, 0.5))
    assert (found.broken, found.replications) == (2, 3)


def test_where_the_world_knows_no_regret_the_cost_is_of_the_rewards():
    found = cost_of(history(reward=[[5.0, 6.0], [4.0, 4.0]], violations=[[np.nan] * 2, [0.0] * 2]), "kept", "free")
    assert (found.cost, found.broken) == (0.15, None)


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (
            Cost(0.1, -0.05, 0.15, 0.0, None, 2),
            "The promise is not shown to cost x anything: 0.10 per round of its expected reward (95 % interval -0.05 "
            "per round to 0.15 per round), over 2 replications.",
        ),
        (
            Cost(0.1, np.nan, np.nan, 0.5, 1, 1),
            "The promise is not shown to cost x anything: 20.00 % of its expected reward, 0.1 per round, over 1 "
            "replication. Without it the promise would have been broken in 1 of 1 replication.",
        ),
    ],
)
def test_the_answer_comes_first_with_what_it_is_sure_of(cost, words):
    assert cost.sentences("x") == words
    assert cost.sentences("x", "fair+x") == words.replace("The promise", "The promise of fair+x", 1)
