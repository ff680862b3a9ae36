"""Sixty arms: those in danger first, found by name, sorted, and drawn so that each can be told apart."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.service.page.test_page_charts import click

ARMS = 60


@pytest.fixture
def sixty(visitor, played):
    """A visitor in front of a study of sixty arms."""
    played.play("many", {f"arm {i}": 0.002 * (1 + i % 7) for i in range(ARMS)}, 500)
    visitor.watch("many")
    visitor.arms = played.state("many")["arms"]
    return visitor


def names(visitor, selector="#arms tbody"):
    """The arms of the rows that are shown."""
    rows = visitor.driver.execute_script(
        "return [...document.querySelectorAll(`${arguments[0]} tr`)].filter((row) => row.checkVisibility())"
        ".map((row) => row.querySelector('th').innerText)",
        selector,
    )
    return list(rows)


def choose(visitor, selector, value):
    visitor.driver.execute_script(
        "const at = document.querySelector(arguments[0]); at.value = arguments[1];"
        "at.dispatchEvent(new Event('change', {bubbles: true}))",
        selector,
        value,
    )


def test_those_in_danger_are_shown_until_all_are_asked_for(sixty):
    furthest = sorted(sixty.arms, key=lambda arm: -arm["owed"])[:10]
    assert set(names(sixty)) == {arm["label"] for arm in furthest}
    assert "Shown: the 10 furthest behind." in sixty.text("#arms")
    click(sixty, "all", "#arms")
    assert len(names(sixty)) == ARMS
    assert "Shown: all 60." in sixty.text("#arms")
    click(sixty, "all", "#arms")
    assert len(names(sixty)) == 10
    assert len(names(sixty, "#owed tbody")) <= 12


def test_arms_are_found_by_name(sixty):
    field = sixty.all("#arms input[type=search]")[0]
    field.send_keys("ARM 5")
    assert names(sixty) == ["arm 5", *(f"arm {i}" for i in range(50, 60))]
    sixty.sees("Shown: 11 found.", "#arms")
    field.send_keys(Keys.BACKSPACE * 5)
    assert len(names(sixty)) == 10


def test_arms_are_sorted_by_what_is_owed_had_or_lacking(sixty):
    click(sixty, "all", "#arms")
    for column, field in (("Promised", "promised"), ("Share", "share"), ("Behind now", "owed")):
        choose(sixty, "#arms select", column)
        of = {arm["label"]: arm[field] for arm in sixty.arms}
        values = [of[name] for name in names(sixty)]
        assert values == sorted(values, reverse=True)
        assert sixty.all("#arms th[aria-sort=descending]")[0].text.startswith(column)


def test_all_sixty_are_drawn_and_each_can_be_set_apart(sixty):
    arms = sixty.arms
    behind = sorted(arms, key=lambda arm: -arm["owed"])
    assert {name.text for name in sixty.all("#chart-shares .legend .name")} == {arm["label"] for arm in behind[:24]}
    sixty.all(".chooser summary")[0].click()
    sixty.all(".chooser input[type=search]")[0].send_keys("arm 1")
    shown = "[...document.querySelectorAll('.chooser fieldset label')].filter((one) => one.checkVisibility()).length"
    assert sixty.driver.execute_script(f"return {shown}") == 11
    click(sixty, "everyLine")
    assert len(sixty.all("#chart-shares .legend svg")) == ARMS
    looks = "[...document.querySelectorAll('#chart-shares .legend svg')].map((one) => one.outerHTML)"
    assert sixty.driver.execute_script(f"return new Set({looks}).size") == ARMS
    legend, plot = sixty.driver.execute_script(
        "return ['.legend', '.plot'].map((name) =>"
        " document.querySelector(`#chart-shares ${name}`).getBoundingClientRect().height)"
    )
    assert legend < plot, "the legend scrolls by itself"
    sixty.driver.execute_script(
        "document.querySelector('#chart-shares [data-line=\"7\"]')"
        ".dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    assert sixty.all("#chart-shares .legend .focused .name")[0].text == "arm 7"
    click(sixty, "furthest")
    assert len(sixty.all("#chart-shares .legend svg")) == 24
    assert sixty.complaints() == []
