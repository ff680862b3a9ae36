"""A real Chromium, a small server for it to look at, and somebody who looks."""

from __future__ import annotations

import shutil

import pytest

from tests.service.page.fake import SHARES, Fake, Played, served

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


@pytest.fixture
def fake():
    return Fake(Played("ads", SHARES, 1234), Played("new", {"x": 0.5, "y": 0.2}))


@pytest.fixture
def visitor(chromium, fake):
    from tests.service.page.visitor import Visitor

    with served(fake) as address:
        someone = Visitor(chromium, address)
        chromium.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": address, "storageTypes": "local_storage"})
        someone.complaints()
        yield someone
        chromium.get("about:blank")


@pytest.fixture
def phone(chromium):
    """A screen of 360 px, for one test."""
    size = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
