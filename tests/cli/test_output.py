"""What commands print and write."""

from __future__ import annotations

from pathlib import Path

import pytest

import evenhand as eh
from evenhand.cli.output import saved, visible
from evenhand.plots.style import figure
from tests.cli.shell import answer, exit_code


def test_signs_that_the_fonts_lack_are_empty_boxes_in_a_picture_and_no_warning():
    drawn, axes = figure()
    axes.set_title("日本 🙂")
    assert saved(drawn).startswith(b"\x89PNG")


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


def test_a_label_cannot_clear_the_screen():
    """Labels come from whoever creates the study, also over HTTP."""
    arms = {"\x1b[2Jplain": 0.2, "b": 0.3}
    eh.Study.create("ads.evenhand", eh.quotas.FairUCB(arms, seed=1), name="ads").ask()
    for command in ("show", "ask", "verify"):
        assert "\x1b[2J" not in answer(command, "ads.evenhand")
    assert r"\x1b[2Jplain" in answer("show", "ads.evenhand")


@pytest.mark.parametrize(
    ("words", "width"),
    [
        ("audit log.csv --shares 0.4", "0"),
        ("show ads", "00"),
        ("audit --help", " 0"),
        ("audit no.csv --shares 0.4", ""),
    ],
)
def test_a_terminal_of_no_width_is_one_of_80_signs(words, width, monkeypatch, capsys):
    Path("log.csv").write_text("arm,reward\n" + "a,1\n" * 30 + "b,0\na,0\n" * 15)
    eh.Study.create("ads", eh.quotas.FairUCB({"a": 0.2, "b": 0.3}, seed=1)).close()
    said = []
    for columns in (width, "80"):
        monkeypatch.setenv("COLUMNS", columns)
        said.append((exit_code(monkeypatch, *words.split()), "".join(capsys.readouterr())))
    assert said[0] == said[1]
    assert said[0][1].strip()
