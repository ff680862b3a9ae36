"""Whom to choose: by the records, once the gap is taken out, at the ends of its interval; and what that costs."""

import html
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, TableError
from tests.audit.test_similar import staff
from tests.cli.shell import call, cells, refused

COMMAND = ("choose", "staff.csv", "--group", "sex", "--reward", "salary", "--features", "years,rank", "--places")
USED = {"group": "sex", "reward": "salary", "features": ["years", "rank"]}


def choose(frame, places=15, **settings):
    return eh.groups.choose(frame, **USED | {"places": places} | settings)


def regressions(frame):
    """The least squares of both sides, with columns of its own."""
    x = np.column_stack([np.ones(len(frame)), frame["years"], frame["rank"] == "Assoc", frame["rank"] == "Prof"]) * 1.0
    women = (frame["sex"] == "F").to_numpy()
    return x, women, [np.linalg.pinv(x[side]) @ frame["salary"].to_numpy()[side] for side in (women, ~women)]


def test_who_is_chosen_and_what_it_costs_is_that_of_the_definition():
    frame = staff(8, gap=-9000.0)
    found = choose(frame, 40)
    x, women, (own, others) = regressions(frame)
    salary = frame["salary"].to_numpy()
    (gap,) = eh.audit.parity(frame, group="sex", value="salary", given=["years", "rank"]).similar
    sets = {"by_record": set(np.argsort(-salary)[:40])}
    for name, more in (
        ("after_correction", 0.0),
        ("at_gap_low", gap.gap - gap.low),
        ("at_gap_high", gap.gap - gap.high),
    ):
        corrected = salary + women * (x @ (others - own) + more)
        sets[name] = set(np.argsort(-corrected)[:40])
    assert {name: set(np.flatnonzero(found.people[name])) for name in sets} == sets
    assert found.people["corrected"][women].mean() - salary[women].mean() == pytest.approx(-gap.gap)
    assert found.people["corrected"][~women].tolist() == salary[~women].tolist()
    assert set(found.enter) == sets["after_correction"] - sets["by_record"] != set()
    assert set(found.leave) == sets["by_record"] - sets["after_correction"]
    means = {name: salary[sorted(rows)].mean() for name, rows in sets.items()}
    assert found.cost == pytest.approx(means["by_record"] - means["after_correction"])
    assert found.cost_low <= means["by_record"] - means["at_gap_high"] <= means["by_record"] - means["at_gap_low"]
    assert means["by_record"] - means["at_gap_low"] <= found.cost_high + 1e-9
    said = str(found)
    assert f"Enter: rows {', '.join(str(row + 1) for row in sorted(found.enter))}." in said
    assert f"falls by {found.cost:,.0f} ({found.cost_low:,.0f} to {found.cost_high:,.0f} over" in said
    assert gap.sentences("salary", 0.95) in said
    new = [len(sets[name] - sets["by_record"]) for name in ("at_gap_low", "at_gap_high")]
    low, high = (f"{abs(end):,.0f}" for end in (gap.low, gap.high))
    assert f"interval: if its records are {low} lower, {new[0]} enter; if {high} lower, {new[1]}." in said
    assert gap.high < 0
    assert not any("may be chance" in note for note in found.notes)


def test_where_nothing_changes_it_says_so():
    frame = staff(8, gap=-2000.0)
    frame.loc[frame["sex"] == "F", "salary"] -= 60000
    top = pd.DataFrame({"sex": "M", "years": 3.0, "rank": "Prof", "salary": 1e7 + np.arange(3)})
    found = choose(pd.concat([frame, top], ignore_index=True), places=3)
    assert (found.enter, found.leave, found.cost, found.cost_high) == ([], [], 0, 0)
    assert "Nothing changes, and it costs nothing, wherever in its interval the gap is." in str(found)


def test_a_gap_that_may_be_chance_is_noted_beside_the_list():
    found = choose(staff(8, gap=0.0), places=15)
    assert found.gap.low < 0 < found.gap.high
    assert any(note.startswith("The interval of the gap holds 0: the gap may be chance") for note in found.notes)
    assert f"if its records are {-found.gap.low:,.0f} lower, " in str(found)


def test_applicants_are_ranked_by_the_regressions_and_then_by_that_of_all_others():
    frame = staff(9, gap=-9000.0)
    later = staff(10).drop(columns="salary")
    found = choose(frame, applicants=later, places=10)
    _, _, (own, others) = regressions(frame)
    x, women, _ = regressions(later.assign(salary=0.0))
    assert found.people["record"].to_numpy() == pytest.approx(np.where(women, x @ own, x @ others))
    assert found.people["corrected"].to_numpy() == pytest.approx(x @ others)
    assert "Of the 10 people with the largest predicted salary, " in str(found)
    assert found.people[list(later)].equals(later)


def test_people_who_share_the_last_place_are_noted():
    frame = staff(8).assign(salary=lambda f: (f["salary"] > 65000) * 1.0)
    found = choose(frame, places=5)
    assert (found.cost, found.cost_high, len(found.enter) > 0) == (0, 0, True)
    assert f" {found.enter[0] + 1}" in str(found).partition("Enter: row")[2], (
        "it costs nothing, but who is chosen changes"
    )
    note = next(note for note in found.notes if "by the records" in note)
    assert note.startswith(f"{int(frame['salary'].sum())} people are level at the last place by the records. ")
    assert note.endswith("Of these 5 have a place: those who come first in the table.")
    (one,) = [note for note in choose(frame, places=1).notes if "by the records" in note]
    assert one.endswith("Of these 1 has a place: the one who comes first in the table.")


SEVERAL = r"the name of the group whose records are corrected, as there are several: \['F', 'M', 'X'\], got 'none'"


@pytest.mark.parametrize(
    ("changed", "settings", "error", "words"),
    [
        ({}, {"places": 500}, ArgumentError, "places: expected a whole number >= 1 and <= 120, got 500"),
        ({}, {"sensitive": "X"}, ArgumentError, "sensitive: expected one of"),
        ({"sex": list("FMX") * 40}, {}, ArgumentError, f"sensitive: expected {SEVERAL}"),
        ({"sex": "M"}, {}, TableError, "group: expected a column with at least two groups"),
        ({"record": 1}, {}, TableError, "frame: expected a table without the columns that are added"),
        ({"salary": 1}, {}, TableError, "reward: expected a column of values that differ, got '1 in every row'"),
        ({}, {"group": "gender"}, TableError, "group: expected one of the columns .*, got 'gender'"),
        ({}, {"group": "salary"}, TableError, "group: expected columns that have no other use, got 'salary'"),
        ({}, {"features": ["sex"]}, TableError, "features: expected columns that have no other use"),
    ],
    ids=range(9),
)
def test_what_cannot_be_chosen_from_is_refused(changed, settings, error, words):
    with pytest.raises(error, match=words):
        choose(staff(5).assign(**changed), **settings)


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (staff(1).assign(sex="X"), ", row 1: expected one of"),
        (
            staff(1).drop(columns="rank"),
            r": expected the columns \['sex', 'years', 'rank'\], got .*; 'rank' is missing",
        ),
        (
            staff(1).assign(rank="Dean"),
            r", column 'rank', row 1: .* categories \['Assoc', 'Asst', 'Prof'\], got 'Dean'",
        ),
        (staff(1).assign(record=1), ": expected a table without"),
    ],
    ids=range(4),
)
def test_applicants_who_cannot_be_ranked_are_refused(later, words):
    with pytest.raises(TableError, match=f"applicants{words}"):
        choose(staff(5), applicants=later)


def test_of_three_groups_one_is_corrected_towards_all_others():
    frame = staff(5, 300).assign(sex=lambda f: np.where(f.index % 3 == 0, "X", f["sex"]))
    found = choose(frame, sensitive="X")
    assert (found.group, found.gap.reference) == ("X", "all others")
    others = (frame["sex"] != "X").to_numpy()
    assert found.people["corrected"][others].tolist() == frame["salary"][others].tolist()


def test_the_command_says_lists_and_writes_whom_to_choose(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    staff(8, gap=-9000.0).to_csv("staff.csv", index=False)
    words = (*COMMAND, 15)
    found = choose(pd.read_csv("staff.csv"))
    done = call(*words, "--out", "chosen.csv")
    assert " ".join(str(found).split()) in " ".join(done.output.split())
    assert "Written: chosen.csv" in done.output
    written = pd.read_csv("chosen.csv")
    assert written["after_correction"].tolist() == found.people["after_correction"].tolist()
    low, high = (f"if {abs(end):,.0f} lower" for end in (found.gap.low, found.gap.high))
    assert "Written: chosen.html" in call(*words, "--out", "chosen.html").output
    page = html.unescape(Path("chosen.html").read_text())
    assert all(said in page for said in (found.finding(), low, high, "evenhand choose staff.csv"))
    body = json.loads(call(*words, "--json").output)
    assert (body["enter"], body["cost"]) == (found.enter, pytest.approx(found.cost))
    staff(3).drop(columns="salary").to_csv("later.csv", index=False)
    assert "largest predicted salary" in " ".join(call(*words, "--applicants", "later.csv").output.split())
    words_of_state = "--state: expected the answers of audit-pairs, or --group instead"
    refused(ArgumentError, words_of_state, *words[:2], "--places", 2)
    pd.read_csv("later.csv").drop(columns="rank").to_csv("short.csv", index=False)
    refused(TableError, "--applicants: expected the columns sex,years,rank, got", *words, "--applicants", "short.csv")
    found.people.to_csv("chosen.csv", index=False)
    refused(TableError, "TABLE: expected a table without the columns that", words[0], "chosen.csv", *words[2:])


def test_those_who_enter_or_leave_are_listed_first_and_how_many_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    staff(8, 400, gap=-5000.0).to_csv("staff.csv", index=False)
    found = choose(pd.read_csv("staff.csv"), 150)
    places = found.people[["by_record", "after_correction", "at_gap_low", "at_gap_high"]]
    stay = int(places.all(axis=1).sum())
    moved = set(places.index[places.any(axis=1) & ~places.all(axis=1)])
    said = call(*COMMAND, 150).output
    listed = [int(row[0]) - 1 for row in cells(said)]
    assert len(moved) < len(listed) == 60 < stay
    assert set(listed[: len(moved)]) == moved >= {*found.enter, *found.leave} > set()
    assert f"and {len(moved) + stay - 60} more, whom --out FILE writes; {stay} people have a place in every" in said


def test_a_cost_that_is_rounding_is_none():
    """Those who enter have the records of those who leave, which are added in another order."""
    frame = staff(8, 400, gap=0.0).assign(salary=lambda f: (f["salary"] / 1e4).round(0) + 0.1)
    found = choose(frame, places=115)
    people = found.people
    assert found.enter
    assert people["salary"][people["by_record"]].mean() != people["salary"][people["after_correction"]].mean()
    assert (found.cost, found.cost_low, found.cost_high) == (0.0, 0.0, 0.0)
    assert "falls by 0 (0 to 0 over the interval of the gap)" in str(found)
