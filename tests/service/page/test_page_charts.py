"""The charts: clock time beside rounds, zoom by every hand, pictures to keep."""

from __future__ import annotations

import re

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.service.page.fake import Played
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


def test_a_round_has_its_clock_time_and_its_zone(watching):
    told = watching.driver.execute_script(
        "const at = document.querySelector('#chart-shares .moment time');return [at.textContent, at.title, at.dateTime]"
    )
    assert told[0] == "2 Mar 2026, 00:23:58"
    assert "Pacific/Auckland" in told[1]
    assert told[2].startswith("2026-03-01T11:23:58")
    assert "last decision" in watching.text(".head .meta")


def test_the_axis_goes_from_rounds_to_clock_time_and_back(watching, fake):
    click(watching, "axis", name="time")
    watching.all("#chart-shares summary")[0].click()
    watching.sees("Time", "#chart-shares thead")
    row = watching.all("#chart-shares tbody tr")[0].text
    shares = " ".join(f"{n / 1234:.1%}" for n in fake.studies["ads"].pulls.values())
    assert row == f"1,234 2 Mar 2026, 00:23:58 {shares}"
    pressed = "[...document.querySelectorAll('#shares [aria-pressed=true]')].map((one) => one.dataset.name).join()"
    assert watching.driver.execute_script(f"return {pressed}") == "time"
    click(watching, "axis", name="rounds")
    watching.until("!document.querySelector('#chart-shares thead').innerText.includes('Time')")
    assert watching.driver.execute_script(f"return {pressed}") == "rounds"


def test_dragging_zooms_and_a_double_click_shows_everything_again(watching, fake):
    over = watching.all("#chart-shares .u-over")[0]
    wide = over.size["width"]
    ActionChains(watching.driver).move_to_element(over).move_by_offset(-wide // 4, 0).click_and_hold().move_by_offset(
        wide // 4, 0
    ).release().perform()
    watching.sees("every round is drawn", READOUT)
    first, last = rounds(watching)
    assert (first, last) == (pytest.approx(1234 / 4, abs=12), pytest.approx(1234 / 2, abs=12))
    assert re.search(r"; 1 Mar 2026, 22:3\d:\d\d to 23:1\d:\d\d;", watching.text(READOUT))
    asked = [path for path in fake.asked if "first=" in path]
    assert asked == [f"/studies/ads/series?first={first - 1}&last={last + 1}&points=800"]
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


def test_a_zoom_says_when_more_detail_cannot_be_read(visitor, fake):
    fake.studies["long"] = Played("long", {"a": 0.2, "b": 0.3}, 3000)
    visitor.watch("long")
    visitor.sees("Drag along a chart", READOUT)
    fake.closed = True
    click(visitor, "closer")
    visitor.sees(
        "more detail could not be read (4 series of some rounds are running already); drawn from what", READOUT
    )
    fake.closed = False
    click(visitor, "whole")
    click(visitor, "closer")
    visitor.sees("about every 2 rounds a point is drawn", READOUT)


def test_a_chart_is_kept_as_a_picture(visitor, tmp_path):
    visitor.watch("ads")
    visitor.until("document.querySelector('#chart-shares canvas') !== null")
    for kind, begins in (("png", b"\x89PNG"), ("svg", b"<svg ")):
        (tmp_path / kind).mkdir()
        with downloaded(visitor, tmp_path / kind) as file:
            click(visitor, "picture", "#chart-shares", kind=kind)
        assert file.name == f"ads-shares.{kind}"
        assert file.content.startswith(begins)
    text = file.content.decode()
    assert "Shares over the rounds" in text
    assert text.count("<path") > 3
    assert all(f">{label} " in text for label in "abc")
    assert all(f">{words}</text>" in text for words in ("1,200", "30%"))
    assert not re.search(r"NaN|undefined|object", text)
    assert visitor.complaints() == []
