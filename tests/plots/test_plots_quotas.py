"""Pictures: each draws on a real small history, labels its axes, and reads without colour."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.colors import to_rgb
from scipy.stats import ttest_1samp

import evenhand as eh
from evenhand import plots
from evenhand.errors import ArgumentError
from evenhand.plots.style import MOST, SHADES, bars, figure, looks


def test_lines_are_the_means_over_replications(history):
    axes = plots.plot_regret(history, ax=figure()[1])
    for line, name in zip(axes.get_lines(), history.policy.values, strict=True):
        assert line.get_label() == name
        np.testing.assert_allclose(line.get_ydata(), history.regret.sel(policy=name).mean("replication"))
        np.testing.assert_array_equal(line.get_xdata(), history["round"])
    last = history.regret.sel(policy="free").isel(round=-1)
    low, high = ttest_1samp(last, 0).confidence_interval(0.95)
    heights = [y for x, y in axes.collections[1].get_paths()[0].vertices if x == 400]
    np.testing.assert_allclose([min(heights), max(heights)], [low, high])


def test_the_mean_shortfall_is_drawn_where_it_is_asked_for(history):
    axes = plots.plot_shortfall(history, over="mean", ax=figure()[1])
    mean = history.worst_shortfall.sel(policy="fair").mean("replication")
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), mean)
    assert "mean of 3 replications" in axes.get_xlabel()
    assert "whole" not in axes.get_ylabel()


def test_a_policy_without_a_value_is_named_so(history):
    nothing = history.assign(r_regret=history.r_regret.where(history.policy != "free"))
    axes = plots.plot_regret(nothing, variable="r_regret", ax=figure()[1])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["fair", "free: no value", "thompson"]


def test_a_facet_has_a_panel_for_each_value_and_one_legend(history):
    grid = xr.concat([history, 2 * history], pd.Index([0, 10], name="alpha"))
    first = plots.plot_regret(grid, facet="alpha", title="two settings")
    drawn = first.figure
    drawn.canvas.draw()
    assert [axes.get_title(loc="left") for axes in drawn.axes] == ["alpha 0", "alpha 10"]
    assert drawn.get_suptitle() == "two settings"
    assert len({axes.get_ylim() for axes in drawn.axes}) == 1
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["fair", "free", "thompson"]
    assert legend.get_window_extent().y1 <= min(axes.get_tightbbox().y0 for axes in drawn.axes)
    by_arm = plots.plot_regret(history, variable="pulls", facet="arm").figure
    assert [axes.get_title(loc="left") for axes in by_arm.axes] == ["a", "b", "c"]
    np.testing.assert_allclose(
        by_arm.axes[1].get_lines()[0].get_ydata(), history.pulls.sel(policy="fair", arm="b").mean("replication")
    )
    each = plots.plot_shares(history, facet="policy").figure
    assert [axes.get_title(loc="left") for axes in each.axes] == ["fair", "free", "thompson"]
    assert [text.get_text() for text in each.legends[0].get_texts()] == ["promised"]
    own = figure(columns=3)[1]
    assert plots.plot_shortfall(history, facet="policy", legend=False, ax=own) is own[0]
    assert not own[0].get_figure().legends


def test_more_policies_than_are_told_apart_are_refused_with_the_facet(history):
    many = xr.concat([history.isel(policy=[0]).assign_coords(policy=[f"p{i}"]) for i in range(13)], "policy")
    words = r"at most 12 policies in one picture, got 13; draw a panel .*facet='policy'"
    with pytest.raises(ArgumentError, match=words):
        plots.plot_regret(many, ax=figure()[1])
    assert len(plots.plot_regret(many, facet="policy").figure.axes) == 13


def test_title_and_legend_are_the_callers(history):
    for plot in (plots.plot_regret, plots.plot_shares, plots.plot_shortfall):
        axes = plot(history, title="mine", legend=False, ax=figure()[1])
        assert (axes.get_title(loc="left"), axes.get_legend()) == ("mine", None)
    assert plots.plot_cost(history, title="mine", ax=figure()[1]).get_title(loc="left") == "mine"


def test_the_shortfall_shown_is_the_largest_of_any_replication_and_the_limit_is_drawn(history):
    axes = plots.plot_shortfall(history, ax=figure()[1])
    lines = {line.get_label(): line for line in axes.get_lines()}
    worst = history.worst_shortfall.sel(policy="fair").max("replication")
    np.testing.assert_allclose(lines["fair"].get_ydata(), np.floor(worst))
    assert [list(line.get_ydata()) for line in axes.get_lines()].count([1.0, 1.0]) == 1
    assert any("from this line on the promise is broken" in text.get_text() for text in axes.texts)


def test_bars_are_the_shares_and_the_lines_what_is_owed(history):
    axes = plots.plot_shares(history, ax=figure()[1])
    heights = sorted(bar.get_height() for bar in axes.patches)
    last = history.isel(round=-1)
    np.testing.assert_allclose(heights, np.sort((last.pulls / 400).mean("replication").values.ravel()))
    owed = [segment[0][1] for segment in axes.collections[0].get_segments()]
    assert owed == [0.2, 0.3, 0.25]


def test_caps_are_lines_too_and_an_arm_that_is_owed_nothing_has_none(history):
    caps = np.array([[0.5, np.nan, np.nan], [np.nan] * 3, [np.nan] * 3])
    capped = history.assign_coords(share=history.share * [1, 0, 1], cap=(("policy", "arm"), caps))
    axes = plots.plot_shares(capped, ax=figure()[1])
    promised, most = ([one[0].tolist() for one in lines.get_segments() if len(one)] for lines in axes.collections)
    assert promised == [[-0.45, 0.2], [1.55, 0.25]]
    assert most == [[-0.45, 0.5]]
    assert [text.get_text() for text in axes.get_legend().get_texts()][:2] == ["promised", "at most"]


def test_the_cost_is_the_regret_a_round_against_the_reference(history):
    _, axes = figure()
    plots.plot_cost(history, ax=axes, against="free")
    regret = history.regret.isel(round=-1).mean("replication")
    expected = [(float(regret.sel(policy=n)) - float(regret.sel(policy="free"))) / 400 for n in history.policy.values]
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], expected, atol=1e-12)
    sides = [label.get_horizontalalignment() for label in axes.texts]
    assert sides == ["left" if cost >= 0 else "right" for cost in expected]  # beyond the bar, not on its hatch
    assert "right" in sides
    assert axes.get_title(loc="left") == "Cost of the promise, against free"


def test_lines_and_bars_can_be_told_apart_without_colour(history):
    """Up to six differ in dash and in marker, up to twelve in the marker and its filling; bars in hatch and filling."""
    drawn = list(looks([str(i) for i in range(MOST)]).values())
    assert len({str(look["linestyle"]) for look in drawn[:6]}) == len({look["marker"] for look in drawn[:6]}) == 6
    assert len({(look["marker"], look["markerfacecolor"] == "white") for look in drawn}) == MOST == 12
    assert len({look["color"] for look in drawn[:6]}) == len(SHADES) == 6
    axes = figure()[1]
    bars(axes, {str(i): [1.0] for i in range(MOST)}, {})
    assert len({(bar.get_hatch() or "", bar.get_facecolor() == (1, 1, 1, 1)) for bar in axes.patches}) == MOST


def test_lines_are_dark_enough_for_print():
    for shade in SHADES:
        red, green, blue = to_rgb(shade)
        assert 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.55


SLATES = [["a", "b"], ["a", "c"]] * 6
LOG = pd.DataFrame({"arm": list("aaababaaaaaa"), "place": ["x", "y"] * 6, "slate": SLATES})
AUDITS = {
    "sets": ({"shares": {("b", "c"): 0.5, "a": 0}}, {"share of b, c"}),
    "windows": ({"windows": {"b": 4}}, {"window of b"}),
    "segments": ({"shares": 0.5, "segment": "place"}, {"share of b in x", "share of b in y"}),
    "slates": ({"arm": "slate", "shares": {"a": 0.5, "b": 0.2, "c": 0.8}}, {"share of c"}),
}


@pytest.mark.parametrize("name", AUDITS)
def test_the_picture_of_an_audit_names_every_promise_that_was_broken(name, tmp_path):
    arguments, said = AUDITS[name]
    finding = eh.audit.promise(LOG, **({"arm": "arm"} | arguments))
    axes = plots.plot_audit(finding, ax=figure()[1])
    (listed,) = axes.texts
    heading, *marked = listed.get_text().split("\n")
    assert (heading, {words.partition(": ")[2] for words in marked}) == ("first broken in round", said)
    axes.figure.savefig(tmp_path / "audit.png")
    assert not finding.kept
    assert "broken" in axes.get_title(loc="left")


def lines_of(axes):
    return {line.get_label().partition(" (")[0]: line for line in axes.get_lines()}


def test_caps_have_a_line_and_their_own_limit():
    finding = eh.audit.promise(LOG, arm="arm", shares={"a": 0, "b": 0.2}, caps={"a": 0.5}, cap_tolerance=2)
    lines = lines_of(plots.plot_audit(finding, ax=figure()[1]))
    played = np.cumsum(LOG["arm"] == "a")
    np.testing.assert_allclose(lines["ahead of a cap"].get_ydata(), played - 0.5 * np.arange(1, 13))
    assert lines["from 3 on a cap is broken"].get_ydata()[0] == 3
    assert lines["from 1 on a share is broken"].get_ydata()[0] == 1


def test_what_promises_nothing_has_no_line():
    lines = lines_of(plots.plot_audit(eh.audit.promise(LOG, arm="arm", windows={"b": 4}), ax=figure()[1]))
    assert not any("behind" in name or "ahead" in name for name in lines)


def test_an_audit_is_drawn_with_its_verdict_and_the_rounds_in_which_the_promise_was_broken_are_shaded():
    log = pd.DataFrame({"arm": list("aabaabbbba")})
    finding = eh.audit.promise(log, arm="arm", shares={"a": 0, "b": 0.5})
    where = "in 2 stretches, first after round 2, last after round 6"
    axes = plots.plot_audit(finding, ax=figure()[1])
    title = " ".join(axes.get_title(loc="left").split())
    assert title == finding.verdict == f"The promise was broken in 4 of 10 rounds, {where}"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round", "plays behind or ahead")
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), finding.timeline["shortfall"])
    (shade,) = axes.collections
    (path,) = shade.get_paths()
    inside = [path.contains_point((round - 0.5, 0.5)) for round in range(1, 11)]
    assert inside == [False, True, False, True, True, True, False, False, False, False]


def test_an_audit_of_short_segments_says_that_nothing_was_tested():
    log = pd.DataFrame({"arm": list("ab"), "person": ["x", "y"]})
    finding = eh.audit.promise(log, arm="arm", shares={"a": 0.5, "b": 0}, segment="person")
    assert finding.verdict.startswith("The promise was not put to the test")
