"""What the page says, in a real Chromium: keys, studies, numbers in words, and labels that are never markup."""

from __future__ import annotations

import hashlib
import re

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from evenhand.service.routes import studies
from evenhand.service.routes.system import FOLDER as PAGE
from evenhand.studies.keys import add_key, revoke_key

ATTACK = "<img src=x onerror=alert(1)>"
BIAS = {"group": "women", "reference": "men", "feature": "intercept", "bias": -0.41, "low": -0.6, "high": -0.22}


@pytest.mark.parametrize("folder", sorted((PAGE / "vendor").iterdir()), ids=lambda folder: folder.name)
def test_files_of_others_are_as_published(folder):
    said = dict(re.findall(r"\| `(\S+)` \| `([0-9a-f]{64})` \|", (folder / "README.md").read_text()))
    files = [file for file in folder.iterdir() if file.name != "README.md"]
    assert {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files} == said


@pytest.mark.parametrize("file", sorted(PAGE.glob("*.js")), ids=lambda file: file.name)
def test_data_never_becomes_markup(file):
    risky = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    assert not re.search(risky, file.read_text())


def test_a_key_is_asked_for_and_kept(visitor):
    """The address of a decision waits for it."""
    visitor.visit("study=ads&decision=7")
    visitor.sees("A key to watch with")
    visitor.all("#key")[0].send_keys(visitor.key, Keys.ENTER)
    visitor.sees("Decision 7", "dialog[open]")
    visitor.visit("")
    visitor.sees("ads")
    visitor.all("#forget")[0].click()
    visitor.sees("A key to watch with")
    assert visitor.driver.execute_script("return localStorage.length") == 0


def test_a_key_that_may_not_read_is_refused_in_words(visitor, played):
    for key, words in (
        ("nobody's", "The key is unknown or revoked."),
        (played.keys["report"], "This key may report; reading needs a key with the role read."),
    ):
        visitor.visit(f"key={key}")
        visitor.sees(words, "[role=alert]")
        assert visitor.all("#key")


def test_a_key_that_is_good_no_longer_is_asked_for_again(visitor, played):
    visitor.watch("ads")
    another = add_key(played.store, "read")
    revoke_key(played.store, visitor.key)
    visitor.sees("It was good until now", "[role=alert]")
    visitor.all("#key")[0].send_keys(another, Keys.ENTER)
    visitor.sees("1,234 decisions")


def test_the_list_tells_how_each_study_stands_and_leads_there_and_back(visitor, monkeypatch):
    honest, broken = studies.outline, {"new": {"promise": "broken"}}
    monkeypatch.setattr(studies, "outline", lambda study, known: honest(study, known) | broken.get(study.name, {}))
    visitor.visit(f"key={visitor.key}")
    visitor.sees("new")
    rows = {row.find_element(By.TAG_NAME, "th").text: row.text for row in visitor.all("tbody tr")}
    assert rows.keys() == {"ads", "new"}
    assert "1,234" in rows["ads"]
    assert "✓ kept" in rows["ads"]
    assert "▲ broken" in rows["new"]
    assert visitor.text(".headline") == "2 studies; 1 promise is broken."
    visitor.all("tbody th a")[0].click()
    visitor.sees("1,234 decisions")
    assert visitor.driver.current_url.endswith("#study=ads")
    assert visitor.focused().endswith("h1 ads")
    visitor.driver.back()
    visitor.sees("Studies", "h1")


def test_a_study_in_numbers_and_words(visitor, played):
    state = played.state()
    visitor.watch("ads")
    assert visitor.driver.current_url.endswith("/#study=ads"), "the key is used and taken out"
    headline = f"1,234 decisions; the promise was kept at every round; {state['open']} tickets open."
    assert visitor.text("#headline") == headline
    row = {row.find_element(By.TAG_NAME, "th").text: row.text for row in visitor.all("#arms tbody tr")}["b"]
    pulls = state["arms"][1]["decisions"]
    assert str(pulls) in row
    assert f"{pulls / 1234:.1%}" in row
    assert "30.0%" in row
    assert [cell.text for cell in visitor.all("#decisions tbody th")][:2] == ["1,234", "1,233"]
    owed = {one["arm"] for one in played.every_decision("reason=owed+its+share")}
    assert len(visitor.all("#owed svg.strip")) == len(owed)


def test_a_broken_promise_bias_and_groups_are_told_in_words(visitor, said):
    promise = {"kept": False, "when": "at every round", "tolerance": 0.0}
    said["ads"] = {
        "promise": promise | {"worst_shortfall": 2.31, "worst_arm": "c", "worst_round": 812},
        "bias": [BIAS],
        "groups": [{"label": "women", "share": 0.44}],
    }
    visitor.watch("ads")
    assert "the promise was broken (worst at round 812: c was 2.31 behind)" in visitor.text("#headline")
    assert re.search(r"women\s+men\s+intercept\s+−0.41\s+−0.60\s+−0.22\s+below zero", visitor.text("#bias tbody"))
    assert "44.0%" in visitor.text("#groups")


def test_groups_are_called_groups_where_samples_are_drawn(visitor, said):
    said["ads"] = {"feedback": "rows", "promise": None}
    visitor.watch("ads")
    assert "1,234 decisions; this policy promises no shares" in visitor.text("#headline")
    assert visitor.text("#arms h2") == "3 groups"
    assert "every group" in visitor.text("#decisions form")


def test_an_unknown_study_is_named(visitor):
    visitor.visit(f"key={visitor.key}&study=gone")
    visitor.sees("no study is named 'gone'")


def test_labels_are_text_whatever_they_contain(visitor, played):
    played.play("attacked", {ATTACK: 0.95, "b": 0}, 60)
    visitor.watch("attacked")
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


def test_a_decision_that_was_never_taken_is_named(visitor):
    visitor.visit(f"key={visitor.key}&study=ads&decision=99999")
    visitor.sees("99999", "dialog[open]")


def test_a_decision_tells_its_reason_and_probabilities(visitor, played):
    played.play("drawn", {"a": 0.2, "b": 0.3, "c": 0.1}, 20, lottery=0.5)
    drawn = played.read("/studies/drawn/decisions/20")
    chance = f"{drawn['probabilities'][drawn['index']]:.1%}"
    visitor.visit(f"key={visitor.key}&study=drawn&decision=20")
    visitor.sees(f"{drawn['arm']} was chosen, drawn with probability {chance}: {drawn['reason']}.", "dialog")
    assert len(visitor.all("dialog svg.bar-of")) == 3
    played.create("seen", {"policy": "groups/linear-thompson", "groups": {"a": "F", "b": "M"}, "seed": 1})
    played.ask("seen", json={"contexts": [[0.5, 1.25]] * 2})
    visitor.visit(f"key={visitor.key}&study=seen&decision=1")
    visitor.sees("What was known", "dialog")
    visitor.sees("1.25", "dialog")
