"""The page under all hands and eyes: keyboard, phone, many arms, faint screens."""

from __future__ import annotations

import re

import pytest
from selenium.webdriver.common.keys import Keys

from tests.naming import named
from tests.service.page.test_page import BIAS

LINES_TOO_FAINT = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = (text) => {
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = parse(text).map((v) => linear(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (node) => {
  for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor;
    if ((parse(colour)[3] ?? 1) === 1) return colour;
  }
  return "rgb(255, 255, 255)";
};
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const faint = [];
let seen = 0;
while (texts.nextNode()) {
  const node = texts.currentNode.parentElement;
  if (!texts.currentNode.data.trim() || !node.checkVisibility() || node.matches(":disabled, option")) continue;
  const [a, b] = [light(getComputedStyle(node).color), light(ground(node))].sort((x, y) => y - x);
  seen += 1;
  if ((a + 0.05) / (b + 0.05) < 4.5) faint.push([texts.currentNode.data, (a + 0.05) / (b + 0.05)]);
}
return [seen, faint];
"""


def test_the_keyboard_reaches_everything_in_the_order_of_reading(visitor):
    visitor.watch("ads")
    visitor.driver.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    walk = []
    while len(walk) < 80 and (not walk or not walk[-1].startswith("decisions: a")):
        visitor.driver.switch_to.active_element.send_keys(Keys.TAB)
        walk.append(visitor.focused())
    assert walk[:5] == [
        "-: skip Skip to the content",
        "bar: brand evenhand",
        "bar: button Pause",
        "bar: button Forget key",
        "crumbs: a Studies",
    ]
    parts = list(dict.fromkeys(place.partition(":")[0] for place in walk[5:]))
    assert parts == ["parts", "record", "shares", "arms", "reward", "owed", "open", "decisions"]
    assert [place for place in walk if "plot" in place] == ["shares: plot", "shares: plot", "reward: plot"]


def test_enter_opens_a_decision_and_escape_closes_it(visitor):
    visitor.watch("ads")
    visitor.driver.execute_script("document.querySelectorAll('#decisions tbody a')[1].focus()")
    visitor.press(Keys.ENTER)
    visitor.sees("Decision 1,233", "dialog[open]")
    assert visitor.focused().endswith("h2 Decision 1,233")
    visitor.sees("The whole record", "dialog")
    visitor.press(Keys.ESCAPE)
    visitor.until("location.hash === '#study=ads'")  # the page hears of it after the browser has closed the dialog
    assert not visitor.driver.execute_script("return document.querySelector('dialog').open")
    assert visitor.focused().endswith("a 1,233")


def test_arrow_keys_read_a_chart_aloud(visitor, played):
    visitor.watch("ads")
    visitor.until("document.querySelector('#chart-shares canvas') !== null")
    visitor.driver.execute_script("document.querySelector('#chart-shares .plot').focus()")
    said = "#chart-shares [aria-live=polite]"
    visitor.press(Keys.HOME)
    first = visitor.driver.execute_script(f"return document.querySelector('{said}').textContent")
    assert re.fullmatch(r"Round 1: a \d+\.\d%, b \d+\.\d%, c \d+\.\d%", first)
    visitor.press(Keys.ARROW_RIGHT)
    second = visitor.driver.execute_script(f"return document.querySelector('{said}').textContent")
    assert second != first
    place = visitor.text("#chart-shares .legend .round")
    assert re.fullmatch(r"round [2-9]", place)
    played.ask()
    visitor.sees("1,235 decisions", "#headline")
    assert visitor.text("#chart-shares .legend .round") == place, "new data moved the reader along"
    visitor.press(Keys.ESCAPE)
    assert visitor.text("#chart-shares .legend .round") == "round 1,235"


def test_who_is_promised_something_is_drawn_and_then_the_largest(visitor, played):
    played.play("some", {f"arm {i}": 0.05 * (i < 8) for i in range(50)}, 500)
    visitor.watch("some")
    arms = played.state("some")["arms"]
    largest = sorted(arms, key=lambda arm: -arm["decisions"])
    drawn = list(dict.fromkeys(arm["label"] for arm in (*arms[:8], *largest)))[:11]
    assert {name.text for name in visitor.all("#chart-shares .legend .name")} == set(drawn)


def test_decisions_are_filtered_and_turned_page_by_page(visitor, played):
    visitor.watch("ads")
    for name, value in [("arm", "b"), ("reason", "owed its share")]:
        visitor.all(f"select[name={name}] option[value='{value}']")[0].click()
    fitting = [f"{one['id']:,}" for one in played.every_decision("arm=b&reason=owed+its+share")]
    shown = "[...document.querySelectorAll('#decisions tbody th')].map((cell) => cell.innerText).join(' ')"
    visitor.until(f"{shown} === {' '.join(fitting[:25])!r}")
    next(button for button in visitor.all("#decisions .pager button") if button.text == "Older").click()
    visitor.until(f"{shown} === {' '.join(fitting[25:50])!r}")
    next(button for button in visitor.all("#decisions .pager button") if button.text == "Newest").click()
    visitor.until(f"{shown} === {' '.join(fitting[:25])!r}")


@pytest.mark.usefixtures("phone")
@pytest.mark.parametrize("fragment", ["studies", "study=long", "study=ads&decision=1234"], ids=named)
def test_a_phone_scrolls_only_down(visitor, played, said, fragment):
    played.play("long", {"an arm whose name was written out in full by somebody": 0.2, "b" * 80: 0.3}, 300)
    said["long"] = {"bias": [BIAS], "groups": [{"label": "w" * 60, "share": 0.44}]}
    visitor.visit(f"key={visitor.key}&{fragment}")
    visitor.sees("Live", "#state")
    visitor.until("document.querySelector('main table') !== null")
    assert visitor.driver.execute_script("return document.documentElement.scrollWidth") == 360
    rights = (
        "[...document.querySelectorAll('main section, main h1, dialog')].map((n) => n.getBoundingClientRect().right)"
    )
    assert max(visitor.driver.execute_script(f"return {rights}")) <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_its_ground(visitor, said, scheme):
    said["ads"] = {"bias": [BIAS]}
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    visitor.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    visitor.watch("ads")
    seen, faint = visitor.driver.execute_script(LINES_TOO_FAINT)
    visitor.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert seen > 100
    assert faint == []
