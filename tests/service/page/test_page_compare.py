"""Two studies side by side, at an address that can be sent."""

from __future__ import annotations

import pytest

from evenhand.errors import StoreError
from tests.service.page.test_page_arms import choose
from tests.service.page.test_page_charts import click


@pytest.fixture
def comparing(visitor, played):
    """A visitor who compares "ads" and "shop"."""
    played.play("shop", {"a": 0.25, "d": 0.2}, 700)
    visitor.visit(f"key={visitor.key}&study=ads&with=shop")
    visitor.sees("In figures")
    visitor.until("document.querySelectorAll('.beside canvas').length === 6")
    return visitor


def test_the_page_of_a_study_leads_to_a_comparison(visitor, played):
    played.play("shop", {"a": 0.25, "d": 0.2}, 700)
    visitor.watch("ads")
    visitor.sees("shop", "#compare")
    visitor.driver.execute_script("document.querySelector('#compare a[href$=\"with=shop\"]').click()")
    visitor.sees("ads and shop", "h1")
    assert visitor.focused().endswith("h1 ads and shop")
    visitor.driver.back()
    visitor.sees("1,234 decisions", "#headline")


def test_two_studies_in_figures(comparing):
    rows = {row.text.rpartition("\n")[0] or row.text: row.text for row in comparing.all("#compare-figures tbody tr")}
    assert any(text.startswith("Decisions 1,234 700") for text in rows.values())
    arms = [row.text.split() for row in comparing.all("#compare-arms tbody tr")]
    assert [row[0] for row in arms] == ["a", "b", "c", "d"]
    assert (arms[1][2], arms[3][1], arms[0][3:5]) == ("–", "–", ["20.0%", "25.0%"])
    assert comparing.complaints() == []


def test_both_are_zoomed_together(comparing):
    click(comparing, "closer", ".head")
    comparing.sees("Rounds 309 to 926", ".readout")
    comparing.sees("every round is drawn", ".readout")
    assert comparing.text("#first-shares .legend .round").startswith("round 92")
    assert comparing.text("#second-shares .legend .round") == "round 700"


def test_another_study_and_the_other_side_are_a_step_away(comparing):
    comparing.until("document.querySelector('.head option[value=new]') !== null")
    choose(comparing, ".head select", "new")
    comparing.sees("ads and new", "h1")
    comparing.sees("new\n\nNo decisions yet.", "#compare-shares")
    assert comparing.driver.current_url.endswith("#study=ads&with=new")
    comparing.sees("Swap sides", ".head")
    next(link for link in comparing.all(".head a") if link.text == "Swap sides").click()
    comparing.sees("new and ads", "h1")


def test_a_study_is_shown_without_waiting_for_the_names_of_all(visitor, played, monkeypatch):
    asked = []

    def names():
        asked.append(1)
        raise StoreError("gone")

    monkeypatch.setattr(played.store, "names", names)
    visitor.watch("ads")
    assert not visitor.all("#compare")
    before = len(asked)
    played.ask()
    visitor.sees("1,235 decisions", "#headline")
    assert len(asked) == before
    assert visitor.text("#state") == "Live"
