"""Somebody who looks at the page with a real Chromium; test modules name this one in `pytest_plugins`."""

from __future__ import annotations

import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.service.fake import READ, Fake, Played, served

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)
SHARES = {"a": 0.2, "b": 0.3, "c": 0.1}


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium and chromedriver are not installed (Debian: apt install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


class Visitor:
    """Somebody who looks at the page."""

    def __init__(self, driver, address: str) -> None:
        self.driver, self.address = driver, address

    def visit(self, fragment: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}/#{fragment}")

    def watch(self, study: str, key: str = READ) -> None:
        self.visit(f"key={key}&study={study}")
        self.sees("Decisions", "#decisions")
        self.sees("Live", "#state")

    def all(self, selector: str) -> list:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str = "main") -> str:
        return self.driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def sees(self, text: str, selector: str = "main") -> None:
        WebDriverWait(self.driver, 10, 0.05).until(
            lambda _: text in self.text(selector), f"{text!r} in {selector}: {self.text(selector)!r}"
        )

    def until(self, script: str) -> None:
        WebDriverWait(self.driver, 10, 0.05).until(lambda driver: driver.execute_script(f"return {script}"), script)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def focused(self) -> str:
        """Where the focus is: a way to say it that a reader of the test understands."""
        return self.driver.execute_script(
            "const at = document.activeElement; const from = at.closest('section, nav, header, dialog');"
            "const name = at.className || at.tagName.toLowerCase();"
            "return `${from?.id || from?.className || '-'}: ${name} ${(at.innerText ?? '').split('\\n')[0]}`.trim()"
        )

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.fixture
def fake():
    return Fake(Played("ads", SHARES, 1234), Played("new", {"x": 0.5, "y": 0.2}))


@pytest.fixture
def visitor(chromium, fake):
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
