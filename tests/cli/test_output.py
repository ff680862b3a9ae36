"""What commands print and write."""

from __future__ import annotations

import pytest

import evenhand as eh
from evenhand.cli.output import picture, visible
from evenhand.plots.style import figure
from tests.cli.shell import answer


def test_signs_that_the_fonts_lack_are_empty_boxes_in_a_picture_and_no_warning(tmp_path):
    drawn, axes = figure()
    axes.set_title("日本 🙂")
    assert picture(drawn, tmp_path, "signs").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("\x9b31mred", r"\x9b31mred"),
        ("a\rb\tc\x7f", r"a\rb\tc\x7f"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("two\nlines", "two\nlines"),
        ("Łódź 日本 🙂 1\u202f000\u00a0€", "Łódź 日本 🙂 1\u202f000\u00a0€"),
    ],
)
def test_a_terminal_obeys_nothing_that_others_wrote(text, shown):
    assert visible(text) == shown


def test_a_label_cannot_clear_the_screen(tmp_path):
    """Labels come from whoever creates the study, also over HTTP."""
    arms = {"\x1b[2Jplain": 0.2, "b": 0.3}
    eh.Study.create(tmp_path / "ads.evenhand", eh.quotas.FairUCB(arms, seed=1), name="ads").ask()
    for command in ("show", "ask", "verify"):
        said = answer(command, tmp_path / "ads.evenhand")
        assert "\x1b[2J" not in said
    assert r"\x1b[2Jplain" in answer("show", tmp_path / "ads.evenhand")
