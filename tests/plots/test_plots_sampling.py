"""The picture of one collection: groups without a known risk, many groups, and names that matplotlib would misread."""

import numpy as np
import pandas as pd
import pytest

from evenhand.plots.sampling import plot_collection
from evenhand.plots.style import figure


def history(groups, unknown=()):
    rounds = [(t, z, group) for t in (1, 2, 3) for z, group in enumerate(groups)]
    risks = [np.nan if group in unknown else 0.01 * z + 0.1 / t for t, z, group in rounds]
    frame = pd.DataFrame(rounds, columns=["round", "place", "group"])
    return frame.assign(share=1 / len(groups), risk=risks)


def drawn(frame, tmp_path):
    picture, axes = figure(9.5, 3.6, columns=2)
    plot_collection(frame, ax=axes)
    picture.savefig(tmp_path / "picture.png")
    return [[text.get_text() for text in one.get_legend().get_texts()] for one in axes]


def test_a_group_without_a_known_risk_is_drawn_and_said(tmp_path):
    left, right = drawn(history(["a", "b", "c"], unknown=["b"]), tmp_path)
    assert left == ["a", "b", "c"]
    assert right == ["a", "b (unknown)", "c"]


@pytest.mark.parametrize("count", [6, 7, 30])
def test_of_many_groups_the_worst_off_are_shown(count, tmp_path):
    left, right = drawn(history([f"g{i:02}" for i in range(count)]), tmp_path)
    worst = [f"g{i:02}" for i in range(count - 6, count)]
    others = [] if count == 6 else [f"{count - 6} other group{'s' * (count > 7)}"]
    assert (left, right) == (worst + others, worst)


def test_names_are_shown_as_they_are(tmp_path):
    names = ["$x^$ {", "_hidden", "two\nlines", "long " * 30 + "a", "long " * 30 + "b", "under $50"]
    left, _ = drawn(history(names), tmp_path)
    assert left[:3] == [r"\$x^\$ {", " _hidden", "two lines"]
    assert len(left) == 6
