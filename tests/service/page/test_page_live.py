"""The page while things happen: decisions, a pause, a server that goes and comes back, and the service itself."""

from __future__ import annotations

import re
from threading import Event
from types import SimpleNamespace
from urllib.parse import urlsplit

from selenium.webdriver.common.keys import Keys

from evenhand.service.routes import studies
from tests.service.page.visitor import Visitor
from tests.service.test_run import bearer, keys_in, post, started


def test_the_list_of_decisions_stands_still_under_the_hands_of_its_reader(visitor, played):
    visitor.watch("ads")
    visitor.driver.execute_script("document.querySelector('#decisions tbody a').focus()")
    played.ask()
    visitor.sees("Show newer decisions", "#decisions")
    assert visitor.all("#decisions tbody th")[0].text == "1,234"
    visitor.driver.execute_script("document.querySelector('#decisions .held button').focus()")
    visitor.press(Keys.ENTER)
    visitor.sees("1,235", "#decisions tbody th")
    assert visitor.focused() == "decisions: h2 Decisions"


def test_a_pause_holds_everything_until_it_ends(visitor, played):
    visitor.watch("ads")
    visitor.all("#pause")[0].click()
    assert visitor.text("#state") == "Paused"
    played.ask()
    asked = "performance.getEntriesByType('resource').length"
    before = visitor.driver.execute_script(f"return {asked}")
    visitor.driver.set_script_timeout(10)
    visitor.driver.execute_async_script("setTimeout(arguments[0], 2500)")
    assert visitor.driver.execute_script(f"return {asked}") == before
    visitor.all("#pause")[0].click()
    visitor.sees("1,235 decisions", "#headline")


def test_numbers_that_are_not_of_now_are_not_called_live(visitor, played, monkeypatch):
    held, free, honest = Event(), Event(), studies.unless_seen
    visitor.watch("ads")
    monkeypatch.setattr(studies, "unless_seen", lambda *given: (held.set(), free.wait(30), honest(*given))[-1])
    visitor.driver.execute_script("const now = performance.now(); performance.now = () => now + 6000")
    assert held.wait(10)
    visitor.sees("Waiting for an answer since", "#state")
    asked = visitor.text("#state").removeprefix("Waiting for an answer since ")
    assert re.fullmatch(r"· numbers as of \d\d:\d\d:\d\d", visitor.text("#as-of"))
    visitor.all("#pause")[0].click()
    played.ask()
    free.set()
    visitor.sees("1,235 decisions", "#headline")
    visitor.sees(f"Paused as of {asked}", "#status")
    visitor.all("#pause")[0].click()
    visitor.sees("Live", "#state")


def test_a_stranger_watches_the_service_which_is_killed_and_started_again(chromium, tmp_path):
    policy = {"policy": "quotas/fair-ucb", "shares": {"a": 0.2, "<b>": 0.3}, "seed": 1}
    with started(tmp_path) as (_, lines, url):
        decide, report = (bearer(keys_in(lines)[role]) for role in ("decide", "report"))
        key = re.search(r"#key=(\S+)", "\n".join(lines)).group(1)
        visitor = Visitor(chromium, SimpleNamespace(url=url, keys={"read": key}))
        visitor.complaints()
        assert post(f"{url}/studies", json={"name": "ads", "policy": policy}, headers=decide).status_code == 201
        visitor.visit(f"key={key}&study=ads")
        visitor.sees("No decisions yet", "#headline")
        asked = post(f"{url}/studies/ads/ask", json={"count": 40}, headers=decide).json()["decisions"]
        told = [{"ticket": decision["ticket"], "reward": 1.0} for decision in asked[:37]]
        assert post(f"{url}/studies/ads/tell", json={"batch": told}, headers=report).status_code == 200
        visitor.sees("40 decisions; the promise was kept at every round; 3 tickets open.", "#headline")
        visitor.until("document.querySelector('#chart-shares canvas') !== null")
        visitor.all("#decisions tbody a")[0].click()
        visitor.sees("was chosen", "dialog[open]")
        visitor.press(Keys.ESCAPE)
        assert {row.text.split()[0] for row in visitor.all("#arms tbody tr")} == {"a", "<b>"}
        assert visitor.complaints() == []
    visitor.sees("Connection lost since", "#state")
    with started(tmp_path, port=urlsplit(url).port):
        visitor.sees("Live", "#state")
        visitor.sees("40 decisions", "#headline")
        post(f"{url}/studies/ads/ask", json={}, headers=decide)
        visitor.sees("41 decisions", "#headline")
        chromium.get("about:blank")
