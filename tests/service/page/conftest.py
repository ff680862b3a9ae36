"""A real Chromium, the service with studies that were played before, and somebody who looks at its page."""

from __future__ import annotations

import shutil
from itertools import count
from unittest.mock import patch

import pytest

from evenhand.learners import UCB1
from evenhand.quotas import DeadlineLearn
from evenhand.service.routes import studies
from evenhand.studies import Ask, Forget, Store, Study, Tell
from tests.service.conftest import Served

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)
FAST = """
const {setTimeout: later, setInterval: often} = window;
window.setTimeout = (turn, wait, ...rest) => later(turn, wait / 5, ...rest);
window.setInterval = (turn, wait, ...rest) => often(turn, wait / 5, ...rest);
"""
"""Lets the page's timers run five times as fast."""
BEGAN = 1_772_355_600_000_000
"""2026-03-01 09:00 UTC, in microseconds."""


class Played(Served):
    """A service whose studies are played by a clock of their own."""

    def play(self, name, shares, rounds=0, **settings):
        """Begin a study; every 41st of its tickets stays open, and every 97th is forgotten."""
        clock, told = count(BEGAN, 3_500_000), []
        study = Study.create(self.store, DeadlineLearn(UCB1(), shares, seed=1, **settings), name=name)
        with patch("evenhand.studies.log.transaction.now", lambda: next(clock)):
            for first in range(0, rounds, 20):
                asked = study.run([*told, *[Ask()] * min(20, rounds - first)])[len(told) :]
                told = [closed(one) for one in asked if one.id % 41]
            study.run(told)

    def state(self, name="ads"):
        return self.read(f"/studies/{name}")


def closed(decision):
    if decision.id % 97 == 0:
        return Forget(ticket=decision.id)
    return Tell(ticket=decision.id, given={"reward": decision.id * 7919 % 100 / 100 / (1 + decision.index)})


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium and chromedriver are not installed (Debian: apt install chromium chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": FAST})
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def saved():
    """A store with the studies "ads" and "new"."""
    served = Played(Store.at(":memory:", create=True))
    served.play("ads", {"a": 0.2, "b": 0.3, "c": 0.1}, 1234)
    served.play("new", {"x": 0.5, "y": 0.2})
    served.stop()
    with served.store.reading() as connection:
        return connection.connection.driver_connection.serialize()


@pytest.fixture
def played(saved):
    store = Store.at(":memory:", create=True)
    connection = store._engine.raw_connection()
    connection.driver_connection.deserialize(saved)
    connection.close()
    served = Played(store)
    yield served
    served.stop()


@pytest.fixture
def said(monkeypatch):
    """What the states of studies say beside, or instead of, what is so, by name."""
    more, honest = {}, studies.summarize
    monkeypatch.setattr(studies, "summarize", lambda study, known: honest(study, known) | more.get(study.name, {}))
    return more


@pytest.fixture
def visitor(chromium, played):
    from tests.service.page.visitor import Visitor

    someone = Visitor(chromium, played)
    chromium.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": played.url, "storageTypes": "local_storage"})
    someone.complaints()
    yield someone
    chromium.get("about:blank")


@pytest.fixture
def person(chromium):
    """Return somebody with a key for a store, at one of the pages made for people who are asked."""
    from tests.service.page.visitor import Person

    running = []

    def sit_down(store, page):
        running.append(Served(store))
        return Person(chromium, running[0], page)

    yield sit_down
    chromium.get("about:blank")
    running[0].stop()


@pytest.fixture
def phone(chromium):
    """A screen of 360 px, for one test."""
    size = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
