"""Two studies side by side, at an address that can be sent."""

from __future__ import annotations

import pytest

from tests.service.page.fake import READ, Played
from tests.service.page.test_page_arms import choose, names
from tests.service.page.test_page_charts import click


@pytest.fixture
def comparing(visitor, fake):
    """A visitor who compares "ads" and "shop"."""
    fake.studies["shop"] = Played("shop", {"a": 0.25, "d": 0.2}, 700)
    visitor.visit(f"key={READ}&study=ads&with=shop")
    visitor.sees("In figures")
    visitor.until("document.querySelectorAll('.beside canvas').length === 6")
    return visitor


def test_the_page_of_a_study_leads_to_a_comparison(visitor, fake):
    fake.studies["shop"] = Played("shop", {"a": 0.25, "d": 0.2}, 700)
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
    assert arms[1][2] == "–"
    assert arms[3][1] == "–"
    assert arms[0][3:5] == ["20.0%", "25.0%"]
    assert comparing.complaints() == []


def test_many_arms_are_found_and_folded_here_too(visitor, fake):
    fake.studies["many"] = Played("many", {f"arm {i}": 0.01 for i in range(40)}, 300)
    visitor.visit(f"key={READ}&study=ads&with=many")
    visitor.sees("Show all 40", "#compare-arms")
    assert len(names(visitor, "#compare-arms tbody")) == 3 + 10
    visitor.all("#compare-arms input[type=search]")[0].send_keys("arm 3")
    assert names(visitor, "#compare-arms tbody") == ["arm 3", *(f"arm {i}" for i in range(30, 40))]


def test_both_share_their_axes_and_the_looks_of_their_arms(comparing):
    ticks = (
        "const {chartOf} = await import('./page/hosts.js');"
        "const charts = ['first', 'second'].map((side) =>"
        " chartOf(document.querySelector(`#${side}-${arguments[0]} .plot`)));"
        "return charts.map(({uplot}) => ['x', 'y'].map((axis) => [uplot.scales[axis].min, uplot.scales[axis].max]))"
    )
    for kind in ("shares", "shortfall", "reward"):
        script = f"return (async (...given) => {{ {ticks.replace('arguments', 'given')} }})(arguments[0])"
        first, second = comparing.driver.execute_script(script, kind)
        assert first == second
        assert first[0] == [1, 1234]
    legends = [
        {
            row.text.split()[0]: row.find_element("tag name", "svg").get_attribute("outerHTML")
            for row in comparing.all(f"#{side}-shares .legend [data-line]")
        }
        for side in ("first", "second")
    ]
    assert [sorted(one) for one in legends] == [["a", "b", "c"], ["a", "d"]]
    assert legends[0]["a"] == legends[1]["a"]
    assert legends[1]["d"] not in legends[0].values()


def test_both_are_zoomed_together(comparing, fake):
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


@pytest.mark.usefixtures("phone")
def test_a_phone_compares_one_below_the_other(comparing):
    assert comparing.driver.execute_script("return document.documentElement.scrollWidth") == 360
    tops = "['first', 'second'].map((side) => document.querySelector(`#${side}-shares`).getBoundingClientRect().top)"
    first, second = comparing.driver.execute_script(f"return {tops}")
    assert second > first + 200


def test_a_study_is_shown_without_waiting_for_the_names_of_all(visitor, fake):
    fake.unlisted = True
    visitor.watch("ads")
    assert not visitor.all("#compare")
    asked = fake.asked.count("/studies")
    fake.studies["ads"].decide()
    visitor.sees("1,235 decisions", "#headline")
    assert fake.asked.count("/studies") == asked
    assert visitor.text("#state") == "Live"


def test_a_study_that_is_gone_is_named(visitor):
    visitor.visit(f"key={READ}&study=ads&with=gone")
    visitor.sees("no study 'gone' is in the store")
