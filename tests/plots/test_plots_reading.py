"""What makes a picture readable: limits, scales, ticks, legends that cover nothing, names that do not collide."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import evenhand as eh
from evenhand import plots
from evenhand.plots.style import figure


def many_arms(arms, policies=3, rounds=120):
    """A history of policies that play every arm alike."""
    pulls = np.full((policies, 1, 1, arms), rounds / arms)
    return xr.Dataset(
        {"pulls": (("policy", "replication", "round", "arm"), pulls)},
        {
            "policy": [f"p{i}" for i in range(policies)],
            "round": [rounds],
            "arm": [f"article {i}" for i in range(arms)],
            "share": (("policy", "arm"), np.full((policies, arms), 0.5 / arms)),
        },
    )


@pytest.mark.parametrize("rows", [3, 4, 7, 40])
def test_rows_of_an_audit_are_whole_numbers(rows):
    finding = eh.audit.promise(pd.DataFrame({"arm": ["a", "b"] * rows}).iloc[:rows], arm="arm", shares=0.3)
    axes = plots.plot_audit(finding, ax=figure()[1])
    axes.figure.canvas.draw()
    assert all(tick == int(tick) for tick in axes.get_xticks())


@pytest.mark.parametrize("arms", [34, 200])
def test_many_arms_are_told_apart(arms):
    drawn, axes = figure(width=9.0)
    plots.plot_shares(many_arms(arms), ax=axes)
    assert not axes.patches, "thin bars are drawn as dots"
    assert [len(line.get_xdata()) for line in axes.lines] == [arms] * 3
    drawn.canvas.draw()
    labels = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert len(labels) == (34 if arms == 34 else 50)
    assert all(one.x1 <= other.x0 + 1 for one, other in pairwise(labels))
    assert [segment[0][1] for segment in axes.collections[0].get_segments()] == [0.5 / arms] * arms
    few = figure()[1]
    plots.plot_shares(many_arms(6), ax=few)
    assert len(few.patches) == 18


def test_a_shortfall_that_goes_up_and_down_is_drawn_by_its_largest_values():
    rounds = 400
    up_and_down = np.where(np.arange(rounds) % 2, 0.5, -300.0)
    values = np.stack([up_and_down, np.full(rounds, 90.0)])[:, None]
    history = xr.Dataset(
        {"shortfall": (("policy", "replication", "round"), values)},
        {"policy": ["a", "b"], "round": range(1, rounds + 1), "tolerance": ("policy", [0.0, np.inf])},
    )
    axes = plots.plot_shortfall(history, variable="shortfall", ax=figure()[1])
    line = axes.get_lines()[0]
    assert line.get_xdata().tolist() == [8 * (i + 1) for i in range(50)]
    assert set(line.get_ydata()) == {0.5}
    assert -1.0 < axes.get_ylim()[0] <= 0.0
