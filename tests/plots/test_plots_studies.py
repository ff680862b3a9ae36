"""Pictures of studies: every arm that is told apart is named beside its line, no name over another."""

import numpy as np
import pandas as pd
import pytest

from evenhand.plots.axes import GAP
from evenhand.plots.groups import plot_bias
from evenhand.plots.studies import MOST, SHOWN, plot_course, plot_owed
from evenhand.plots.style import HEIGHT, figure

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
    assert len(found) == arms
    assert all("promised" in text for text in found)
    heights = sorted(found.values())
    assert np.diff(heights).min() * axes.get_figure().get_figheight() >= GAP * HEIGHT - 1e-12
    assert heights[-1] <= 1.0 + 1e-12


@pytest.mark.parametrize("bound", [0, 2, 9, 70])
def test_of_many_arms_those_that_are_promised_something_are_named_and_of_the_others_how_many_there_are(bound):
    shares = np.linspace(0.1, 1.0, 80) / 44
    promised = np.where(np.arange(80) < bound, 0.01, 0.0)
    axes = plot_course(ROUNDS, np.tile(shares, (40, 1)), range(80), promised)
    largest = {*range(80 - max(SHOWN - bound, SHOWN // 2), 80)}
    furthest = {*np.argsort(-np.abs(shares - promised)[:bound], kind="stable")[:MOST].tolist()}
    named = furthest if bound > MOST else furthest | largest
    assert {int(text.split()[0]) for text in names(axes)} == named
    which = "those with a promise, then the largest shares" if bound else "the largest shares"
    which = "furthest from their promise" if bound > MOST else which
    assert f"named: {which}; and {80 - len(named)} others, in grey" in " ".join(axes.get_title(loc="left").split())
    owed = np.outer(ROUNDS, -shares)
    title = plot_owed(ROUNDS, owed, range(80), 1.0).get_title(loc="left")
    assert "named: furthest behind in the last stretch; and 20 others, in grey" in " ".join(title.split())
    assert "named" not in plot_owed(ROUNDS, owed[:, :12], range(12), 1.0).get_title(loc="left")


def test_an_arm_that_is_promised_something_and_has_no_share_yet_is_named():
    shares = np.full((40, 2), [0.5, np.nan])
    found = names(plot_course(ROUNDS, shares, ["a", "new"], [0.2, 0.1]))
    assert set(found) == {"a has 0.5, promised 0.2", "new has no share yet, promised 0.1"}


def test_labels_are_one_line_and_no_formulas():
    shares = np.full((40, 2), 0.5)
    axes = plot_course(ROUNDS, shares, ["two\n lines", r"$\frac$"], ax=figure()[1])
    assert set(names(axes)) == {"two lines 0.5", r"\$\frac\$ 0.5"}
    axes.figure.canvas.draw()


def test_each_group_is_once_in_the_legend_of_its_bias():
    unknown = [("a", "x", 0.1, 0.0, 0.2), ("a", "y", 0.0, -np.inf, np.inf), ("b\nc", "x", 0.0, -np.inf, np.inf)]
    table = pd.DataFrame(unknown, columns=["group", "feature", "bias", "low", "high"]).assign(reference="r")
    legend = [text.get_text() for text in plot_bias(table).get_legend().get_texts()]
    assert sorted(legend) == ["a", "b c", "no interval"]
    assert "lines:" in plot_bias(table).get_xlabel()
    assert plot_bias(table[1:]).get_xlabel() == "reward per unit of the feature"


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
