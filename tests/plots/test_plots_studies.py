"""Pictures of studies: every arm that is told apart is named beside its line, no name over another."""

import numpy as np
import pandas as pd
import pytest

from evenhand.plots.axes import GAP
from evenhand.plots.groups import plot_bias
from evenhand.plots.studies import SHOWN, plot_course, plot_owed
from evenhand.plots.style import figure

ROUNDS = np.arange(1, 41)


def names(axes):
    """The texts beside the lines, with their heights in the picture."""
    return {text.get_text(): text.xyann[1] for text in axes.texts if text.xyann[0] > 1.0}


@pytest.mark.parametrize("arms", [2, 6, 34])
def test_shares_are_drawn_against_what_is_promised(arms):
    shares = np.full((40, arms), 1.0 / arms)
    promised = np.full(arms, 0.5 / arms)
    axes = plot_course(ROUNDS, shares, [f"arm {i}" for i in range(arms)], promised)
    *lines, limit = axes.lines
    assert len(lines) == arms
    np.testing.assert_allclose(lines[-1].get_ydata(), 1.0 / arms)
    np.testing.assert_allclose(limit.get_ydata(), 0.5 / arms)
    found = names(axes)
    assert len(found) == min(arms, SHOWN)
    assert all("promised" in text for text in found)
    heights = sorted(found.values())
    assert np.diff(heights).min() >= GAP - 1e-12
    assert heights[-1] <= 1.0 + 1e-12


@pytest.mark.parametrize("promised", [None, np.linspace(0.0, 0.02, 34)], ids=["shares", "promises"])
def test_of_many_arms_the_picture_says_how_many_are_named_and_which(promised):
    shares = np.linspace(0.1, 1.0, 34) / 18.7
    axes = plot_course(ROUNDS, np.tile(shares, (40, 1)), range(34), promised)
    which = "with the largest shares" if promised is None else "furthest from their promise"
    assert f"named: the 6 of 34 {which}" in axes.get_title(loc="left")
    distance = shares - (0.0 if promised is None else promised)
    assert {int(text.split()[0]) for text in names(axes)} == set(np.argsort(-np.abs(distance))[:SHOWN].tolist())
    owed = np.outer(ROUNDS, -shares)
    assert "the 6 of 34 furthest behind in the last stretch" in plot_owed(ROUNDS, owed, range(34), 1.0).get_title(
        loc="left"
    )
    assert "named" not in plot_owed(ROUNDS, owed[:, :6], range(6), 1.0).get_title(loc="left")


def test_labels_are_one_line_and_no_formulas():
    shares = np.full((40, 2), 0.5)
    drawn, axes = figure()
    plot_course(ROUNDS, shares, ["two\n lines", r"$\frac$"], ax=axes)
    assert set(names(axes)) == {"two lines 0.5", r"\$\frac\$ 0.5"}
    drawn.canvas.draw()


def test_each_group_is_once_in_the_legend_of_its_bias():
    unknown = [("a", "x", 0.1, 0.0, 0.2), ("a", "y", 0.0, -np.inf, np.inf), ("b\nc", "x", 0.0, -np.inf, np.inf)]
    table = pd.DataFrame(unknown, columns=["group", "feature", "bias", "low", "high"]).assign(reference="r")
    legend = [text.get_text() for text in plot_bias(table).get_legend().get_texts()]
    assert sorted(legend) == ["a", "b c", "no interval"]


def test_who_is_behind_is_drawn_up_to_where_the_promise_breaks():
    owed = np.column_stack([np.linspace(0.0, 0.8, 40), -50.0 * ROUNDS])
    axes = plot_owed(ROUNDS, owed, ["short", "far ahead and with a long name"], 1.0)
    assert any("the promise is broken" in text.get_text() for text in axes.texts)
    low, high = axes.get_ylim()
    assert -3.0 <= low < 0.8 < 1.0 < high
    assert set(names(axes)) == {"short +0.8", "far ahead and with … -2e+03"}
    assert len(plot_owed(ROUNDS, owed, ["a", "b"], None).texts) == 2


def test_promises_that_change_are_steps_and_changes_are_marked():
    shares, promised = np.full((40, 3), 0.3), np.full((40, 3), np.nan)
    promised[:10, 0], promised[10:, 0], promised[:20, 1] = 0.2, 0.25, 0.1
    shares[20:, 1] = np.nan  # retired
    axes = plot_course(ROUNDS, shares, ["kept", "gone", "free"], promised, changes=[11, 21])
    drawn = [line.get_ydata() for line in axes.lines if line.get_color() == "black"]
    for column in (promised[:, 0], promised[:, 1]):
        assert any(np.array_equal(line, column, equal_nan=True) for line in drawn)
    assert [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"][-2:] == [11, 21]
    assert set(names(axes)) == {"kept has 0.3, promised 0.25", "gone had 0.3, promised 0.1", "free 0.3"}
    assert "since each promise began" in axes.get_ylabel()
    owed = plot_owed(ROUNDS, np.where(np.isnan(promised), np.nan, -0.5), ["kept", "gone", "free"], 1.0, changes=[11])
    assert set(names(owed)) == {"kept -0.5", "gone -0.5 at its end"}
