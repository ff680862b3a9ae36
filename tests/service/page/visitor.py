"""Somebody who looks at the page, and says what they wait for."""

from __future__ import annotations

from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.service.conftest import Served

PATIENCE = 60
"""Seconds after which something will not be seen any more: a busy machine may take ten."""


class Visitor:
    """Somebody who looks at the page."""

    def __init__(self, driver, served: Served) -> None:
        self.driver, self.address, self.key = driver, served.url, served.keys["read"]

    def visit(self, fragment: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}/#{fragment}")

    def watch(self, study: str) -> None:
        self.visit(f"key={self.key}&study={study}")
        self.sees("Decisions", "#decisions")
        self.sees("Live", "#state")

    def all(self, selector: str) -> list:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str = "main") -> str:
        return self.driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def sees(self, text: str, selector: str = "main") -> None:
        try:
            WebDriverWait(self.driver, PATIENCE, 0.05).until(lambda _: text in self.text(selector))
        except TimeoutException:
            raise AssertionError(f"{text!r} is not in {selector}: {self.text(selector)!r}") from None

    def until(self, script: str) -> None:
        WebDriverWait(self.driver, PATIENCE, 0.05).until(
            lambda driver: driver.execute_script(f"return {script}"), script
        )

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


class Person:
    """Somebody who labels or audits at the page made for it, by keys."""

    def __init__(self, driver, served: Served, page: str) -> None:
        self.driver, self.served, self.key, self.page = driver, served, served.keys["both"], page

    def begin(self, study: str, name: str = "ann", more: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get(f"{self.served.url}/{self.page}#key={self.key}&study={study}&annotator={name}{more}")

    def shown(self) -> list[str]:
        """The ticket and the item that are shown, "end" where there is none any more, or nothing yet."""
        return self.driver.execute_script(
            "const item = document.querySelector('#item')?.dataset;"
            "return document.querySelector('#end') ? ['end', 'end'] : item ? [item.ticket ?? '', item.item] : []"
        )

    def item(self) -> str:
        WebDriverWait(self.driver, 20, 0.05).until(lambda _: self.shown())
        return self.shown()[1]

    def press(self, key: str) -> str:
        self.item()
        before = self.shown()
        self.driver.find_element(By.TAG_NAME, "body").send_keys(key)
        WebDriverWait(self.driver, 20, 0.05).until(lambda _: self.shown() not in ([], before))
        return self.item()

    def sees(self, text: str) -> None:
        WebDriverWait(self.driver, 20, 0.05).until(
            lambda d: text in d.find_element(By.TAG_NAME, "body").text, f"no {text!r} on the page"
        )
