"""The charts: clock time beside rounds, zoom by every hand, pictures to keep."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.service.page.files import downloaded

READOUT = "#shares .readout"


@pytest.fixture
def watching(visitor):
    """A visitor in front of the charts of 1,234 decisions, in the time zone of Auckland."""
    visitor.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Pacific/Auckland"})
    visitor.watch("ads")
    visitor.until("document.querySelector('#chart-shares canvas') !== null")
    yield visitor
    visitor.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def click(visitor, action, selector="#shares", **data):
    more = "".join(f"[data-{name}={value}]" for name, value in data.items())
    visitor.driver.execute_script(f"document.querySelector('{selector} [data-action={action}]{more}').click()")


def rounds(visitor):
    """The first and last round in view, as the readout says."""
    found = re.match(r"Rounds ([\d,]+) to ([\d,]+) of 1,234;", visitor.text(READOUT))
    return found and tuple(int(text.replace(",", "")) for text in found.groups())


def in_auckland(played, round):
    """When a round was decided, as a clock in Auckland said."""
    at = datetime.fromisoformat(played.read(f"/studies/ads/decisions/{round}")["at"])
    return at.astimezone(ZoneInfo("Pacific/Auckland"))


def test_a_round_has_its_clock_time_and_its_zone(watching, played):
    told = watching.driver.execute_script(
        "const at = document.querySelector('#chart-shares .moment time');return [at.textContent, at.title, at.dateTime]"
    )
    at = in_auckland(played, 1234)
    assert told[0] == f"{at.day} {at:%b %Y, %H:%M:%S}" != "2 Mar 2026, 00:00:00"
    assert "Pacific/Auckland" in told[1]
    assert datetime.fromisoformat(told[2]) == at
    assert "last decision" in watching.text(".head .meta")


def test_the_axis_goes_from_rounds_to_clock_time_and_back(watching, played):
    click(watching, "axis", name="time")
    watching.all("#chart-shares summary")[0].click()
    watching.sees("Time", "#chart-shares thead")
    row = watching.all("#chart-shares tbody tr")[0].text
    shares = " ".join(f"{arm['share']:.1%}" for arm in played.state()["arms"])
    assert row == f"1,234 2 Mar 2026, {in_auckland(played, 1234):%H:%M:%S} {shares}"
    pressed = "[...document.querySelectorAll('#shares [aria-pressed=true]')].map((one) => one.dataset.name).join()"
    assert watching.driver.execute_script(f"return {pressed}") == "time"
    click(watching, "axis", name="rounds")
    watching.until("!document.querySelector('#chart-shares thead').innerText.includes('Time')")
    assert watching.driver.execute_script(f"return {pressed}") == "rounds"


def test_dragging_zooms_and_a_double_click_shows_everything_again(watching, played):
    over = watching.all("#chart-shares .u-over")[0]
    wide = over.size["width"]
    ActionChains(watching.driver).move_to_element(over).move_by_offset(-wide // 4, 0).click_and_hold().move_by_offset(
        wide // 4, 0
    ).release().perform()
    watching.sees("every round is drawn", READOUT)
    first, last = rounds(watching)
    assert (first, last) == (pytest.approx(1234 / 4, abs=12), pytest.approx(1234 / 2, abs=12))
    times = " to ".join(f"{in_auckland(played, round):%H:%M:%S}" for round in (first, last))
    assert f"; 1 Mar 2026, {times};" in watching.text(READOUT)
    asked = watching.driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    closer = f"{watching.address}/studies/ads/series?first={first - 1}&last={last + 1}&points=800"
    assert [address for address in asked if "first=" in address] == [closer]
    shown = watching.text("#chart-reward .legend .round")
    assert shown == f"round {last:,}", "the other charts zoom along"
    ActionChains(watching.driver).move_to_element(watching.all("#chart-shares .u-over")[0]).double_click().perform()
    watching.sees("Drag along a chart to zoom in.", READOUT)
    watching.sees("round 1,234", "#chart-reward .legend")


def test_the_keyboard_zooms(watching):
    watching.driver.execute_script("document.querySelector('#chart-shares .plot').focus()")
    watching.press(Keys.END, "+")
    assert rounds(watching) == (pytest.approx(618, abs=2), 1234)
    watching.press("-")
    watching.sees("Drag along a chart", READOUT)
    watching.press(Keys.HOME)
    watching.press(*[Keys.SHIFT + Keys.PAGE_UP] * 3, Keys.ENTER)
    assert rounds(watching)[0] == 1
    assert 60 < rounds(watching)[1] < 120
    watching.press("0")
    watching.sees("Drag along a chart", READOUT)
    assert watching.focused() == "shares: plot"


def test_a_zoom_says_when_more_detail_cannot_be_read(visitor, played):
    played.play("long", {"a": 0.2, "b": 0.3}, 3000)
    visitor.watch("long")
    visitor.sees("Drag along a chart", READOUT)
    lane = played.app.state.closeups
    free, lane._places = lane._places, asyncio.Semaphore(0)
    click(visitor, "closer")
    visitor.sees("more detail could not be read (4 series of some rounds are running already", READOUT)
    visitor.sees("; drawn from what", READOUT)
    lane._places = free
    click(visitor, "whole")
    click(visitor, "closer")
    visitor.sees("about every 2 rounds a point is drawn", READOUT)


def test_a_chart_is_kept_as_a_picture(visitor, tmp_path):
    visitor.watch("ads")
    visitor.until("document.querySelector('#chart-shares canvas') !== null")
    for kind, begins in (("png", b"\x89PNG"), ("svg", b"<svg ")):
        (tmp_path / kind).mkdir()
        save = partial(click, visitor, "picture", "#chart-shares", kind=kind)
        name, content = downloaded(visitor, tmp_path / kind, save)
        assert name == f"ads-shares.{kind}"
        assert content.startswith(begins)
    text = content.decode()
    assert "Shares over the rounds" in text
    assert text.count("<path") > 3
    assert all(f">{label} " in text for label in "abc")
    assert all(f">{words}</text>" in text for words in ("1,200", "30%"))
    assert not re.search(r"NaN|undefined|object", text)
    assert visitor.complaints() == []
