"""`evenhand choose`: chances and a draw from the answers of an audit."""

import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.choose import _page
from evenhand.errors import ArgumentError, EvenhandError, StateFileError
from evenhand.studies import Study
from tests.cli.shell import answer, as_json, refused

PEOPLE = pd.DataFrame({"age": [30, 40, 50, 35, 61], "income": [1.0, 2.0, 4.0, 3.0, 0.5], "repaid": [0, 1, 1, 0, 1]})
AUDIT = ["audit-pairs", "people.csv", "--features", "age,income", "--reward", "repaid"]
STATE = ["--state", "pairs.evenhand"]
USUAL = ["choose", "people.csv", *STATE, "--places", 2, "--reward", "repaid"]
WRITTEN = "--out: expected a file that ends in .csv or .html, got 'who.xlsx'"


@pytest.fixture
def audited():
    PEOPLE.to_csv("people.csv", index=False)
    answer(*AUDIT, stdin="a\na\nq\n")


def test_chances_are_said_written_and_drawn_by(audited):
    done = answer(*USUAL, "--out", "chances.csv", "--seed", 4)
    assert "2 places for 5 people: draws by these chances have repaid 0." in done
    assert "the best 2 would have 1, a draw by lot 0.6." in done
    assert "as far apart as 2 answers allow" in done
    assert "row " in done
    written = pd.read_csv("chances.csv")
    mean = written.repaid[written.chosen == "yes"].mean()
    drawn = f"Drawn with --seed 4: 2 of 5 people, whose mean repaid is {mean:g}."
    assert f"Written: chances.csv. {drawn}" in done
    assert written[list(PEOPLE)].equals(PEOPLE)
    assert written.chance.sum() == pytest.approx(2)
    assert (written.chosen == "yes").sum() == 2
    body = as_json(*USUAL)
    assert "seed" not in body, "nobody was drawn"
    assert body["unknown"][0].keys() == {"one", "other", "low", "high"}
    assert body["notes"]


def test_a_page_shows_the_chances_the_draw_and_close_people_who_differ_most(audited):
    answer(*USUAL, "--out", "who.html", "--seed", 4)
    text = Path("who.html").read_text()
    assert text.count("data:image/png;base64,") == 1
    answer(*USUAL, "--out", "who.csv", "--seed", 4)
    written = pd.read_csv("who.csv")
    rows = written.index[written.chosen == "yes"] + 1
    assert f"Drawn with --seed 4: rows {rows[0]}, {rows[1]}." in text
    assert np.ptp(written.chance) == 0
    assert "All people have the same chance." in text
    assert "--out who.html --seed 4" in text


def test_of_close_people_those_whose_chances_differ_most_are_named_once():
    age, chances = np.arange(60.0), np.where(np.arange(60) == 7, 0.9, 0.1 + 0.001 * np.arange(60))
    text = _page({"age": age}, age[:, None], SimpleNamespace(chances=chances, notes=("a note",)), ["said"], "again")
    rows = re.findall(r"<t[hd][^>]*>(row \d+: age [\d.]+)</t", text)
    assert rows[:2] == ["row 8: age 7", "row 5: age 4"]  # of the six closest, itself among them, the one with least
    assert rows[::2].count("row 8: age 7") == 1
    assert f">{100 * (chances[7] - chances[4]):.1f}<" in text


def test_rewards_are_predicted_unless_a_column_is_named(audited):
    """Whoever chooses does not know yet who repays, although the table of the audit does."""
    PEOPLE.assign(merit=[5, 4, 3, 2, 1]).to_csv("new.csv", index=False)
    usual = ["choose", "new.csv", "--state", "pairs.evenhand", "--places", 1, "--against", "income"]
    done = answer(*usual)
    assert "draws by these chances have predicted repaid" in done
    X = np.column_stack([np.ones(5), PEOPLE[["age", "income"]]])
    predicted = X @ np.linalg.lstsq(X, PEOPLE["repaid"], rcond=None)[0]
    assert f"a draw by lot {predicted.mean():.3g}." in done
    assert as_json(*usual)["against"] == pytest.approx(predicted[2])
    named = answer(*usual, "--reward", "merit", "--out", "out.csv", "--seed", 1)
    assert "draws by these chances have merit" in named
    assert "a draw by lot 3." in named
    assert "The 1 with the highest income would have 3." in named
    assert "Written: out.csv. Drawn with --seed 1: 1 of 5 people, whose mean merit is " in named


def test_the_answers_of_a_browser_are_taken_from_the_store_of_the_study_that_is_named(audited):
    chosen = ["choose", "people.csv", "--state", "audit.evenhand", "--places", 1]
    answer(*AUDIT, "--store", "audit.evenhand", "--study", "second")
    with Study.open("audit.evenhand", "second") as study:
        study.tell(study.ask().id, "acceptable")
    assert "as far apart as 1 answer allows" in answer(*chosen)
    assert "compared on one scale: (age - 43.2) / " in answer("show", "audit.evenhand")
    with pytest.raises(StateFileError, match="it does not begin like a state file"):
        eh.load("audit.evenhand")  # the file ends like an archive, with the queue as it was at the beginning
    answer(*AUDIT, "--store", "audit.evenhand", "--study", "first")
    assert "as far apart as 1 answer allows" in answer(*chosen, "--study", "second")
    assert "as far apart as 0 answers allow" in answer(*chosen, "--study", "first")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*STATE, "--study", "audit"], "--study: expected nothing together with a file"),
        ([*STATE, "--reward", "merit"], "merit"),
        ([*STATE, "--places", 9], "--places: expected a whole number >= 1 and <= 5"),
        (["--state", "none.evenhand"], "none.evenhand: cannot be read"),
        *(([*how, "--out", "who.xlsx"], WRITTEN) for how in (STATE, ["--group", "age", "--reward", "repaid"])),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(audited, words, says):
    refused(EvenhandError, says, "choose", "people.csv", "--places", 2, *words)


def test_a_table_that_has_chances_already_is_not_written_over(audited):
    PEOPLE.assign(chance=0.1).to_csv("again.csv", index=False)
    words = "--out: expected a TABLE without the columns chance and chosen, got 'chance'"
    refused(ArgumentError, words, "choose", "again.csv", *STATE, "--places", 2, "--out", "out.csv")


def test_each_auditor_gets_a_link_with_a_key_of_its_own(audited):
    said = answer(*AUDIT, "--store", "audit.evenhand", "--auditor", "ann,bob")
    assert "evenhand serve --store audit.evenhand" in said
    assert "Behind a proxy, put its address in place of http://127.0.0.1:8000; the page is /audit there." in said
    links = [line for line in said.splitlines() if "/audit#" in line]
    keys = set()
    for who, line in zip(("ann", "bob"), links, strict=True):
        assert line.startswith(f"{who}: http://127.0.0.1:8000/audit#")
        asked = parse_qs(line.partition("#")[2])
        assert (asked["study"], asked["annotator"], asked["about"]) == (["audit"], [who], ["34 to 56"])
        keys.add(asked["key"][0])
    assert len(keys) == 2
    listed = as_json("keys", "audit.evenhand")
    assert [one["note"] for one in listed] == ["audits audit, ann", "audits audit, bob"]
    assert all("audit" in str(one["studies"]) for one in listed)
