"""The page in a real Chromium: what it says, that it reads by keyboard and on a phone, that it lives and recovers."""

from __future__ import annotations

import hashlib
import re
import shutil

import pytest

from tests.naming import named
from tests.service.fake import PAGE, READ, REPORT, Fake, Played, served

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)
SHARES = {"a": 0.2, "b": 0.3, "c": 0.1}
ATTACK = "<img src=x onerror=alert(1)>"
BIAS = {"group": "women", "reference": "men", "feature": "intercept", "bias": -0.41, "low": -0.6, "high": -0.22}
ALERT = {"id": 1, "monitor": 1, "metric": "tells overdue", "since": "2026-03-01T12:00:00+00:00", "value": 12.0}

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


@pytest.fixture(scope="module")
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

    def watch(self, study: str) -> None:
        self.visit(f"key={READ}&study={study}")
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


def test_files_of_others_are_as_published():
    said = dict(re.findall(r"\| `(\S+)` \| `([0-9a-f]{64})` \|", (PAGE / "vendor/uplot-1.6.32/README.md").read_text()))
    found = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in (PAGE / "vendor/uplot-1.6.32").iterdir()
        if file.name != "README.md"
    }
    assert found == said


def test_every_file_that_the_page_names_is_there_and_its_own():
    named_in_html = re.findall(r'(?:src|href)="([^"#]+)"', (PAGE / "index.html").read_text())
    imported = [name for file in PAGE.glob("*.js") for name in re.findall(r'from "\./(.+?)"', file.read_text())]
    assert imported
    assert all(name.startswith("page/") for name in named_in_html)
    assert all((PAGE / name.removeprefix("page/")).is_file() for name in [*named_in_html, *imported])


@pytest.mark.parametrize("file", sorted(PAGE.glob("*.js")), ids=lambda file: file.name)
def test_data_never_becomes_markup(file):
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", file.read_text()
    )


def test_a_key_is_asked_for_and_kept(visitor):
    visitor.visit("")
    visitor.sees("A key to watch with")
    field = visitor.all("#key")[0]
    field.send_keys(READ, Keys.ENTER)
    visitor.sees("ads")
    visitor.visit("")
    visitor.sees("ads")
    visitor.all("#forget")[0].click()
    visitor.sees("A key to watch with")
    assert visitor.driver.execute_script("return localStorage.length") == 0


def test_a_key_in_the_address_is_used_and_taken_out(visitor):
    visitor.visit(f"key={READ}&study=ads")
    visitor.sees("1,234 decisions")
    assert visitor.driver.current_url.endswith("/#study=ads")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("nobody's", "The key is unknown, or was revoked."),
        (REPORT, "This key may report; reading needs a key with the role read."),
    ],
    ids=named,
)
def test_a_key_that_may_not_read_is_refused_in_words(visitor, key, words):
    visitor.visit(f"key={key}")
    visitor.sees(words, "[role=alert]")
    assert visitor.all("#key")


def test_a_key_that_is_good_no_longer_is_asked_for_again(visitor, fake):
    visitor.watch("ads")
    fake.keys = {"another"}
    visitor.sees("It was good until now", "[role=alert]")
    visitor.all("#key")[0].send_keys("another", Keys.ENTER)
    visitor.sees("1,234 decisions")


def test_the_list_tells_how_each_study_stands(visitor, fake):
    fake.studies["new"].more = {
        "promise": {"kept": False, "when": "at every round", "tolerance": 0.0},
        "alerts": [ALERT | {"threshold": 10.0, "cleared": None}],
    }
    visitor.visit(f"key={READ}")
    visitor.sees("new")
    rows = {row.find_element(By.TAG_NAME, "th").text: row.text for row in visitor.all("tbody tr")}
    assert rows.keys() == {"ads", "new"}
    assert "1,234" in rows["ads"]
    assert "✓ kept" in rows["ads"]
    assert "▲ broken" in rows["new"]
    assert "▲ 1" in rows["new"]


def test_a_study_is_chosen_and_left_by_the_back_button(visitor):
    visitor.visit(f"key={READ}")
    visitor.sees("ads")
    visitor.all("tbody th a")[0].click()
    visitor.sees("1,234 decisions")
    assert visitor.driver.current_url.endswith("#study=ads")
    assert visitor.focused().endswith("h1 ads")
    visitor.driver.back()
    visitor.sees("Studies", "h1")


def test_a_study_in_numbers_and_words(visitor, fake):
    study = fake.studies["ads"]
    visitor.watch("ads")
    open_now = study.state()["open"]
    assert visitor.text("#headline") == (
        f"1,234 decisions; the promise was kept at every round; {open_now} tickets open; no alerts."
    )
    row = {row.find_element(By.TAG_NAME, "th").text: row.text for row in visitor.all("#arms tbody tr")}["b"]
    assert f"{study.pulls['b']:,}" in row
    assert f"{study.pulls['b'] / 1234:.1%}" in row
    assert "30.0%" in row
    assert [cell.text for cell in visitor.all("#decisions tbody th")][:2] == ["1,234", "1,233"]
    assert len(visitor.all("#owed svg.strip")) == len(
        {entry["arm"] for entry in study.log if entry["reason"] == "owed its share"}
    )


def test_a_broken_promise_bias_groups_and_alerts_are_told_in_words(visitor, fake):
    promise = {"kept": False, "when": "at every round", "tolerance": 0.0}
    fake.studies["ads"].more = {
        "promise": promise | {"worst_shortfall": 2.31, "worst_arm": "c", "worst_round": 812},
        "bias": [BIAS],
        "groups": [{"label": "women", "share": 0.44}],
        "alerts": [ALERT | {"threshold": 10.0, "cleared": None}],
        "monitors": [{"id": 1, "metric": "tells overdue", "subject": None, "threshold": 10.0, "window": 3600}],
    }
    visitor.watch("ads")
    assert "the promise was broken (worst at round 812: c was 2.31 behind)" in visitor.text("#headline")
    assert "1 alert." in visitor.text("#headline")
    assert re.search(r"women\s+men\s+intercept\s+−0.41\s+−0.60\s+−0.22\s+below zero", visitor.text("#bias tbody"))
    assert "44.0%" in visitor.text("#groups")
    assert "▲ raised" in visitor.text("#alerts")


def test_a_study_without_decisions_says_what_to_type(visitor):
    visitor.visit(f"key={READ}&study=new")
    visitor.sees("evenhand ask new.evenhand")
    visitor.sees("/studies/new/ask")


def test_an_unknown_study_is_named(visitor):
    visitor.visit(f"key={READ}&study=gone")
    visitor.sees("no study 'gone' is in the store")


def test_labels_are_text_whatever_they_contain(visitor, fake):
    fake.studies[ATTACK] = Played(ATTACK, {ATTACK: 0.4, "b": 0.2}, 60)
    visitor.visit(f"key={READ}")
    visitor.sees(ATTACK)
    visitor.all("tbody th a")[2].click()
    visitor.sees(ATTACK, "#arms")
    visitor.all("#shares summary")[-1].click()
    visitor.sees(ATTACK, "#shares table")
    visitor.all("#decisions tbody a")[0].click()
    visitor.sees(ATTACK, "dialog")
    assert not visitor.all("img:not([src='page/icon.svg'])")


def test_nothing_is_refused_by_a_strict_policy_and_no_other_site_is_asked(visitor):
    visitor.watch("ads")
    visitor.until("document.querySelector('#chart-shares canvas') !== null")
    visitor.all("#decisions tbody a")[0].click()
    visitor.sees("was chosen", "dialog")
    assert visitor.complaints() == []
    asked = visitor.driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert len(asked) > 10
    assert all(address.startswith(visitor.address) for address in asked)
    visitor.driver.execute_script("document.body.setAttribute('style', 'color: red')")
    assert "Content Security Policy" in " ".join(visitor.complaints()), "the policy is not in force here"


def test_decisions_appear_while_the_page_is_watched(visitor, fake):
    visitor.watch("ads")
    for _ in range(6):
        fake.studies["ads"].decide()
    visitor.sees("1,240 decisions", "#headline")
    visitor.sees("1,240", "#decisions tbody th")
    visitor.sees("round 1,240", "#chart-shares .legend")


def test_the_list_of_decisions_stands_still_under_the_hands_of_its_reader(visitor, fake):
    visitor.watch("ads")
    visitor.driver.execute_script("document.querySelector('#decisions tbody a').focus()")
    fake.studies["ads"].decide()
    visitor.sees("Show newer decisions", "#decisions")
    assert visitor.all("#decisions tbody th")[0].text == "1,234"
    visitor.all("#decisions .held button")[0].click()
    visitor.sees("1,235", "#decisions tbody th")


def test_a_pause_holds_everything_until_it_ends(visitor, fake):
    visitor.watch("ads")
    visitor.all("#pause")[0].click()
    assert visitor.text("#state") == "Paused"
    fake.studies["ads"].decide()
    asked = "performance.getEntriesByType('resource').length"
    before = visitor.driver.execute_script(f"return {asked}")
    visitor.driver.set_script_timeout(10)
    visitor.driver.execute_async_script("setTimeout(arguments[0], 2500)")
    assert visitor.driver.execute_script(f"return {asked}") == before
    visitor.all("#pause")[0].click()
    visitor.sees("1,235 decisions", "#headline")


def test_a_hidden_tab_asks_for_nothing(visitor, fake):
    visitor.watch("ads")
    hide = (
        "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    visitor.driver.execute_script(hide % "true")
    visitor.sees("Paused while hidden", "#state")
    fake.studies["ads"].decide()
    visitor.driver.execute_script(hide % "false")
    visitor.sees("1,235 decisions", "#headline")


def test_a_lost_connection_is_told_and_found_again(chromium, fake):
    with served(fake) as address:
        visitor = Visitor(chromium, address)
        visitor.watch("ads")
    visitor.sees("Connection lost since", "#state")
    assert "1,234 decisions" in visitor.text("#headline")
    fake.studies["ads"].decide()
    with served(fake, port=int(address.rpartition(":")[2])):
        visitor.sees("Live", "#state")
        visitor.sees("1,235 decisions", "#headline")
        chromium.get("about:blank")


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
    assert parts == ["parts", "shares", "reward", "arms", "owed", "open", "decisions"]
    assert [place for place in walk if "plot" in place] == ["shares: plot", "shares: plot", "reward: plot"]


def test_the_skip_link_leads_past_the_bar(visitor):
    visitor.watch("ads")
    visitor.driver.execute_script("document.querySelector('.skip').focus()")
    visitor.press(Keys.ENTER, Keys.TAB)
    assert visitor.focused() == "crumbs: a Studies"


def test_enter_opens_a_decision_and_escape_closes_it(visitor):
    visitor.watch("ads")
    visitor.driver.execute_script("document.querySelectorAll('#decisions tbody a')[1].focus()")
    visitor.press(Keys.ENTER)
    visitor.sees("Decision 1,233", "dialog[open]")
    assert visitor.focused().endswith("h2 Decision 1,233")
    visitor.sees("What was known", "dialog")
    visitor.press(Keys.ESCAPE)
    visitor.until("!document.querySelector('dialog').open")
    assert visitor.focused().endswith("a 1,233")
    assert visitor.driver.current_url.endswith("#study=ads")


def test_a_decision_tells_its_reason_and_probabilities(visitor, fake):
    drawn = next(entry for entry in reversed(fake.studies["ads"].log) if entry["probabilities"])
    visitor.visit(f"key={READ}&study=ads&decision={drawn['id']}")
    visitor.sees(f"{drawn['arm']} was chosen, drawn with probability 70.0%: highest upper confidence bound.", "dialog")
    assert len(visitor.all("dialog svg.bar-of")) == len(SHARES)


def test_arrow_keys_read_a_chart_aloud(visitor):
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
    assert "round 1" not in visitor.text("#chart-shares .legend").split("\n")[0].replace("round 1,", "")


def test_a_chart_is_a_table_as_well(visitor, fake):
    visitor.watch("ads")
    visitor.all("#chart-shares summary")[0].click()
    visitor.sees("1,234", "#chart-shares table")
    newest = visitor.all("#chart-shares tbody tr")[0].text.split()
    assert newest == ["1,234", *(f"{n / 1234:.1%}" for n in fake.studies["ads"].pulls.values())]


def test_fifty_arms_stay_legible(visitor, fake):
    fake.studies["many"] = many = Played("many", {f"arm {i}": 0.01 for i in range(50)}, 500)
    visitor.watch("many")
    assert len(visitor.all("#arms tbody tr")) == 50
    assert len(visitor.all("#chart-shares .legend svg")) == 6
    furthest = sorted(many.state()["arms"], key=lambda arm: -arm["owed"])[:6]
    assert {name.text for name in visitor.all("#chart-shares .legend .name")} == {arm["label"] for arm in furthest}
    visitor.all(".chooser summary")[0].click()
    unchosen = visitor.all(".chooser input:not(:checked)")[0]
    unchosen.click()
    assert len(visitor.all("#chart-shares .legend svg")) == 7


def test_arms_sort_by_any_number(visitor, fake):
    visitor.watch("ads")
    button = next(button for button in visitor.all("#arms thead button") if button.text == "Share")
    button.click()
    shares = [row.find_elements(By.CSS_SELECTOR, "td")[1].text for row in visitor.all("#arms tbody tr")]
    assert shares == sorted(shares, key=lambda text: -float(text.rstrip("%")))
    assert visitor.all("#arms th[aria-sort=descending]")[0].text.startswith("Share")


def test_decisions_are_filtered_and_turned_page_by_page(visitor, fake):
    visitor.watch("ads")
    for name, value in [("arm", "b"), ("reason", "owed its share")]:
        visitor.all(f"select[name={name}] option[value='{value}']")[0].click()
    fitting = [
        f"{e['id']:,}" for e in reversed(fake.studies["ads"].log) if e["arm"] == "b" and e["reason"] == "owed its share"
    ]
    shown = "[...document.querySelectorAll('#decisions tbody th')].map((cell) => cell.innerText).join(' ')"
    visitor.until(f"{shown} === {' '.join(fitting[:25])!r}")
    next(button for button in visitor.all("#decisions .pager button") if button.text == "Older").click()
    visitor.until(f"{shown} === {' '.join(fitting[25:50])!r}")
    next(button for button in visitor.all("#decisions .pager button") if button.text == "Newest").click()
    visitor.until(f"{shown} === {' '.join(fitting[:25])!r}")


@pytest.mark.usefixtures("phone")
@pytest.mark.parametrize("fragment", ["studies", "study=ads", "study=long", "study=ads&decision=1234"], ids=named)
def test_a_phone_scrolls_only_down(visitor, fake, fragment):
    fake.studies["long"] = Played(
        "long", {"an arm whose name was written out in full by somebody": 0.2, "b" * 80: 0.3}, 300
    )
    fake.studies["long"].more = {"bias": [BIAS], "groups": [{"label": "w" * 60, "share": 0.44}]}
    visitor.visit(f"key={READ}&{fragment}")
    visitor.sees("Live", "#state")
    visitor.until("document.querySelector('main table') !== null")
    assert visitor.driver.execute_script("return document.documentElement.scrollWidth") == 360
    rights = (
        "[...document.querySelectorAll('main section, main h1, dialog')].map((n) => n.getBoundingClientRect().right)"
    )
    assert max(visitor.driver.execute_script(f"return {rights}")) <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_its_ground(visitor, fake, scheme):
    fake.studies["ads"].more = {"bias": [BIAS], "alerts": [ALERT | {"threshold": 10.0, "cleared": None}]}
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    visitor.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    visitor.watch("ads")
    seen, faint = visitor.driver.execute_script(LINES_TOO_FAINT)
    visitor.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert seen > 100
    assert faint == []
