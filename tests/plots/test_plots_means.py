"""Means that a table has are drawn as it has them, each with the band of its interval."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from evenhand.experiments.sampling.trials import over_trials, worst_risks
from evenhand.plots.means import plot_means
from evenhand.plots.style import figure

LABELS = {"of": "trials", "title": "t", "across": "x", "up": "y"}


def test_lines_are_drawn_in_the_order_of_x_with_their_ends():
    ends = {"mean": [0.1, 0.3, 0.2], "low": [0.0, 0.2, 0.1], "high": [0.5, 0.6, 0.7]}
    table = pd.DataFrame({"search": ["a", "a", "b"], "budget": [200, 100, 100], "trials": 9, **ends})
    axes = plot_means(table, "budget", "search", **LABELS, ax=figure()[1])
    lines = {line.get_label(): (line.get_xdata().tolist(), line.get_ydata().tolist()) for line in axes.lines}
    assert lines == {"a": ([100, 200], [0.3, 0.1]), "b": ([100], [0.2])}
    assert {tuple(corner) for corner in axes.collections[0].get_paths()[0].vertices} == {
        *((100, 0.2), (200, 0.0), (200, 0.5), (100, 0.6))
    }
    assert axes.get_xlabel() == "x (mean of 9 trials, band: 95 % interval)"
    one = plot_means(table.assign(trials=1), "budget", "search", **LABELS, ax=figure()[1])
    assert (one.get_xlabel(), len(one.collections)) == ("x", 0)


def test_intervals_over_trials_are_student_s():
    values = np.random.default_rng(1).normal(size=7)
    frame = pd.DataFrame({"scheme": "one", "round": 3, "risk": values})
    (row,) = over_trials(frame, "risk").to_dict("records")
    low, high = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((values.mean(), low, high))
    assert (row["trials"], row["level"]) == (7, 0.95)


def test_risks_against_a_scheme_are_differences_in_the_same_trial():
    rows = [
        {"scheme": scheme, "trial": trial, "round": 1, "group": group, "test_risk": trial + extra}
        for trial in (0, 1)
        for scheme, extra in (("one", 0.25), ("base", 0.125))
        for group in ("u", "v")
    ]
    found = over_trials(worst_risks(pd.DataFrame(rows), against="base"), "test_risk")
    assert dict(zip(found["scheme"], found["mean"], strict=True)) == {"one": 0.125, "base": 0.0}
