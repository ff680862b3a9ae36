"""What makes a picture readable: limits, scales, ticks, legends that cover nothing, names that do not collide."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import evenhand as eh
from evenhand import plots
from evenhand.plots.axes import name_ends
from evenhand.plots.style import figure, log_counts


@pytest.fixture(autouse=True)
def _no_figures():
    yield
    plt.close("all")


def totals(*runs, variable="violations"):
    """A history with one policy a row of runs (replication, round)."""
    values = np.asarray(runs, dtype=float)
    names = [f"policy {i}" for i in range(len(values))]
    rounds = np.arange(1, values.shape[-1] + 1)
    return xr.Dataset({variable: (("policy", "replication", "round"), values)}, {"policy": names, "round": rounds})


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


def test_names_stand_where_lines_end_on_any_scale():
    for scale, end in (("linear", 50.5), ("log", 10.0)):
        axes = figure()[1]
        axes.set(ylim=(1, 100), yscale=scale)
        name_ends(axes, {"line": "line"}, {"line": end}, {"line": {"color": "black"}})
        assert axes.texts[0].xy[1] == pytest.approx(0.5)
        assert axes.texts[0].xyann[0] > 1.0


@pytest.mark.parametrize("rows", [3, 4, 7, 40])
def test_rows_of_an_audit_are_whole_numbers(rows):
    finding = eh.audit.promise(pd.DataFrame({"arm": ["a", "b"] * rows}).iloc[:rows], arm="arm", shares=0.3)
    drawn, axes = figure()
    plots.plot_audit(finding, ax=axes)
    drawn.canvas.draw()
    assert all(tick == int(tick) for tick in axes.get_xticks())


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_a_legend_stands_beside_the_axes_where_the_layout_makes_room(layout):
    drawn, (left, right) = plt.subplots(1, 2, layout=layout, figsize=(10, 4))
    plots.plot_shares(many_arms(3), ax=left)
    drawn.canvas.draw()
    legend, frame = left.get_legend().get_window_extent(), left.get_window_extent()
    assert (legend.x0 >= frame.x1) == (layout is not None)
    assert legend.x1 <= right.get_window_extent().x0


def test_panels_with_the_same_names_share_one_legend_below():
    drawn, panels = plt.subplots(1, 3, layout="constrained", figsize=(9, 3))
    for panel in panels:
        plots.plot_shares(many_arms(3), ax=panel)
    drawn.canvas.draw()
    assert [panel.get_legend() for panel in panels] == [None, None, None]
    (legend,) = drawn.legends
    assert sorted(text.get_text() for text in legend.get_texts()) == ["p0", "p1", "p2", "promised"]
    assert legend.get_window_extent().y1 <= min(panel.get_tightbbox().y0 for panel in panels)
    assert min(panel.get_window_extent().width for panel in panels) > 200, "the legend takes no room beside"


def test_titles_are_as_wide_as_their_panel():
    drawn, panels = plt.subplots(1, 3, layout="constrained", figsize=(9, 3))
    for panel in panels:
        plots.plot_shares(many_arms(3), title="a title that is far too long for a panel of three inches", ax=panel)
    drawn.canvas.draw()
    boxes = [panel._left_title.get_window_extent() for panel in panels]
    assert all(one.x1 <= other.x0 for one, other in pairwise(boxes))


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
    history = totals([up_and_down], [np.full(rounds, 90.0)], variable="shortfall")
    history = history.assign_coords(tolerance=("policy", [0.0, np.inf]))
    axes = plots.plot_shortfall(history, variable="shortfall", ax=figure()[1])
    line = axes.get_lines()[0]
    assert line.get_xdata().tolist() == [8 * (i + 1) for i in range(50)]
    assert set(line.get_ydata()) == {0.5}
    assert -1.0 < axes.get_ylim()[0] <= 0.0


@pytest.mark.parametrize("most", [350, 4000])
def test_ticks_of_a_logarithmic_count_do_not_collide(most):
    drawn, axes = figure(4.0, 3.0)
    axes.plot([25, most], [1, 2])
    log_counts(axes)
    drawn.canvas.draw()
    low, high = axes.get_xlim()
    ticks = [
        tick.label1
        for which in (False, True)
        for tick in (axes.xaxis.get_minor_ticks() if which else axes.xaxis.get_major_ticks())
        if low <= tick.get_loc() <= high and tick.label1.get_text()
    ]
    assert "100" in [label.get_text() for label in ticks]
    boxes = sorted((label.get_window_extent() for label in ticks), key=lambda box: box.x0)
    assert all(one.x1 <= other.x0 for one, other in pairwise(boxes))
