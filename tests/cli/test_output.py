"""What commands print and write."""

from __future__ import annotations

from evenhand.cli.output import picture
from evenhand.plots.style import figure


def test_signs_that_the_fonts_lack_are_empty_boxes_in_a_picture_and_no_warning(tmp_path):
    drawn, axes = figure()
    axes.set_title("日本 🙂")
    assert picture(drawn, tmp_path, "signs").read_bytes().startswith(b"\x89PNG")
