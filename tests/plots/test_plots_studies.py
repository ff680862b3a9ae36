"""Pictures of studies: every arm that is told apart is named beside its line, no name over another."""

import numpy as np
import pytest

from evenhand.plots.studies import GAP, SHOWN, plot_course, plot_owed

ROUNDS = np.arange(1, 41)


def names(axes):
    """The texts beside the lines, with their heights in the picture."""
    return {text.get_text(): text.xyann[1] for text in axes.texts if text.xyann[0] > 1.0}


@pytest.mark.parametrize("arms", [2, 6, 34])
def test_shares_are_drawn_against_what_is_promised(arms):
    counts = np.outer(ROUNDS, np.full(arms, 1.0 / arms))
    promised = np.full(arms, 0.5 / arms)
    axes = plot_course(ROUNDS, counts, [f"arm {i}" for i in range(arms)], promised)
    lines = [line for line in axes.lines if len(line.get_xdata()) == len(ROUNDS)]
    assert len(lines) == arms
    np.testing.assert_allclose(lines[-1].get_ydata(), 1.0 / arms)
    assert [line.get_ydata()[0] for line in axes.lines if len(line.get_xdata()) == 2] == [0.5 / arms]
    found = names(axes)
    assert len(found) == min(arms, SHOWN)
    assert all("promised" in text for text in found)
    heights = sorted(found.values())
    assert np.diff(heights).min() >= GAP - 1e-12
    assert heights[-1] <= 1.0 + 1e-12


def test_lines_that_end_at_the_top_are_named_below_it():
    counts = np.outer(ROUNDS, [0.5, 0.5])
    heights = sorted(names(plot_course(ROUNDS, counts, ["a", "b"])).values())
    assert heights[1] <= 1.0 + 1e-12
    assert heights[1] - heights[0] >= GAP - 1e-12


def test_who_is_behind_is_drawn_up_to_where_the_promise_breaks():
    owed = np.column_stack([np.linspace(0.0, 0.8, 40), -50.0 * ROUNDS])
    axes = plot_owed(ROUNDS, owed, ["short", "far ahead and with a long name"], 1.0)
    assert any("the promise is broken" in text.get_text() for text in axes.texts)
    low, high = axes.get_ylim()
    assert -3.0 <= low < 0.8 < 1.0 < high
    assert set(names(axes)) == {"short +0.8", "far ahead and with … -2e+03"}
    assert len(plot_owed(ROUNDS, owed, ["a", "b"], None).texts) == 2
