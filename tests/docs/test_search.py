"""A reader finds answers in the site by its own search, in a real browser, from the folder alone."""

import shutil
import subprocess
import sys

import pytest

from tests.docs.test_pages import DOCS
from tests.service.page.conftest import chromium

__all__ = ["chromium"]

QUESTIONS = {
    "minimum share per arm": ["concepts/promise", "quotas"],
    "items sell out": ["promises"],
    "add an arm": ["promises", "studies"],
    "what does the promise cost": ["tutorials/first-decision"],
    "reward arrives late": ["conversation"],
    "PostgreSQL": ["studies"],
    "several processes": ["workers"],
    "TypeScript client": ["clients"],
    "decimal comma": ["command-line"],
    "evaluate a policy from logs": ["evaluation"],
    "propensity": ["lottery", "evaluation"],
    "how many labels do I need": ["labels"],
    "unobserved confounder": ["causal-models"],
    "biased reward": ["groups", "tutorials/biased-feedback"],
}
"""What readers type, and the pages that answer it; one of them must be among the first three results."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site, whose notebooks have not run; a warning fails the build."""
    root = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, root / "docs", ignore=shutil.ignore_patterns("generated"))
    shutil.copy(DOCS.parent / "CONTRIBUTING.md", root)
    pages = root / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "nb_execution_mode=off"]
    command += ["-D", "suppress_warnings=myst-nb.lexer"]  # the language of cells is known once they run
    built = subprocess.run([*command, "-d", root / "doctrees", root / "docs", pages], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-3000:]
    return pages


def results(browser, site, words):
    """Return the pages of the first three results."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{site.as_uri()}/search.html?q={words.replace(' ', '+')}")
    finished = "return document.querySelector('#search-results .search-summary')?.innerText"
    WebDriverWait(browser, 20).until(lambda _: "Search finished" in (browser.execute_script(finished) or ""))
    WebDriverWait(browser, 20).until(lambda _: browser.find_elements(By.CSS_SELECTOR, "#search-results li a"))
    links = browser.find_elements(By.CSS_SELECTOR, "#search-results li a")[:3]
    return [link.get_attribute("href").split("/html/")[1].partition(".html")[0] for link in links]


@pytest.mark.slow
@pytest.mark.timeout(300)  # the whole site is built first
def test_the_search_answers_what_readers_ask(chromium, site):
    found = {words: results(chromium, site, words) for words in QUESTIONS}
    unanswered = {words: pages for words, pages in found.items() if not {*pages} & {*QUESTIONS[words]}}
    assert unanswered == {}


@pytest.mark.slow
def test_pages_need_no_network(site):
    """Neither scripts nor styles, fonts or pictures come from elsewhere."""
    import re

    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"'](https?:[^\"']+)", page.read_text())
        assert loaded == [], page.name
