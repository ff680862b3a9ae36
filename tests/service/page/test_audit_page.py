"""An auditor's day in a browser: two people side by side, a key for each answer, several auditors at once."""

from __future__ import annotations

import numpy as np
import pytest
from selenium.webdriver.common.by import By

from evenhand.studies import Store, Study
from tests.cli.shell import answer


@pytest.fixture
def auditor(person, tmp_path):
    table, place = tmp_path / "people.csv", tmp_path / "audit.evenhand"
    draws = np.random.default_rng(3)
    rows = [f"{draws.integers(20, 70)},{draws.integers(1, 9)},{draws.integers(2)}" for _ in range(20)]
    table.write_text("\n".join(["age,income,repaid", *rows]) + "\n")
    told = ("--features", "age,income", "--reward", "repaid", "--store", place, "--auditors", "2", "--seed", "1")
    assert "/audit#study=audit&key=" in answer("audit-pairs", table, *told)
    return person(Store.at(place), "audit")


def test_two_auditors_are_told_what_to_do_answer_and_withdraw(auditor):
    auditor.begin("audit", "ann")
    first = auditor.item()
    auditor.sees("age")
    auditor.sees("income")
    auditor.sees("percentage points. Is that unfair?")
    auditor.sees("You see two people at a time whose chances of being chosen differ, whichever is higher.")
    assert auditor.press("u") != first
    auditor.press("a")
    auditor.sees("2 answered")
    auditor.press("w")
    auditor.sees("1 answered")
    auditor.press("n")
    auditor.begin("audit", "bob")
    assert auditor.item() == first
    auditor.driver.find_element(By.CSS_SELECTOR, "button[data-label=acceptable]").click()
    auditor.sees("1 answered")
    auditor.sees("measured, not certified")
    with Study.open(auditor.served.store.url, "audit") as study:
        answers = study.policy.answers
        assert answers[["auditor", "answer"]].to_numpy().tolist() == [["ann", "unfair"], ["bob", "acceptable"]]
        assert study.verify().ok


def test_the_page_shows_how_many_answers_it_takes_and_ends_with_thanks(auditor):
    driver = auditor.driver
    auditor.begin("audit", more="&about=34+to+56")
    auditor.press("a")
    auditor.sees("1 answered of about 34 to 56 since")
    driver.execute_script(
        """
        const error = { name: "ExhaustedError", message: "nothing is left to ask for" };
        const refused = { ok: false, json: async () => ({ error }) };
        const late = () => new Promise((done) => setTimeout(() => done(refused), 3000));
        window.fetch = async (url) => (url.endsWith("/ask") ? late() : { ok: true, json: async () => null });
        document.querySelector('button[data-label="not sure"]').click();
        """
    )
    auditor.sees("One moment")
    auditor.sees("Thank you. That was the last question.")
    auditor.sees("nothing is left to ask for")
    assert not driver.find_elements(By.TAG_NAME, "form")


def test_a_refusal_is_said_and_the_question_stays(auditor):
    auditor.begin("audit", "ann")
    question = auditor.item()
    auditor.driver.find_element(By.TAG_NAME, "body").send_keys("w")
    auditor.sees("an earlier answer of yours")
    assert auditor.item() == question
    auditor.press("a")
    auditor.sees("1 answered")
