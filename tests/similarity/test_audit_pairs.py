"""A person audits at the terminal, and from a file."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli import app
from evenhand.similarity import PairQueue

RUN = CliRunner()


@pytest.fixture
def people(tmp_path, monkeypatch):
    file = tmp_path / "people.csv"
    frame = pd.DataFrame({"age": [30, 40, 50, 35, 61], "income": [1.0, 2.0, 4.0, 3.0, 0.5], "repaid": [0, 1, 1, 0, 1]})
    frame["owed"] = 1 - frame.repaid
    frame.to_csv(file, index=False)
    monkeypatch.chdir(tmp_path)
    return [str(file), "--features", "age, income", "--reward", "repaid", "--seed", "3"]


def answers(file="pairs.evenhand"):
    """Return what a state holds: the answers in their order."""
    return eh.load(file).answers


@pytest.mark.compiled
def test_answers_are_taken_kept_and_gone_on_with(people):
    first = session(people, ["a", "u", "what", "", *["a"] * 5, "q"])
    for words in (
        "[u]nfair",
        "Please answer",
        "u if that is unfair",
        "about 34 to 56 answers, checks among them. pairs.evenhand has 0;",
    ):
        assert words in first
    assert "repaid" not in first
    assert "evenhand choose TABLE --state pairs.evenhand" in first
    given = answers()
    assert len(given) == 7
    assert set(given.answer) == {"unfair", "acceptable"}
    assert "pairs.evenhand has 7;" in session(people, ["q"])
    assert answers().equals(given)


def test_unsure_teaches_nothing_and_a_session_ends_after_so_many_questions(people):
    done = session(people, [""] * 4, "--questions", 4)
    assert "0 answers are saved in pairs.evenhand" in done
    assert "question 4" in done


def test_a_session_ends_where_no_answer_teaches_anything(people):
    frame = pd.read_csv(people[0])
    frame.assign(age=30, income=1.0).to_csv(people[0], index=False)
    assert "No further answer about these people would teach anything." in session(people, [])


def test_a_foreign_state_is_refused(people):
    queue = PairQueue([[1], [2]], [0, 1], individuals=2)
    for other in (eh.quotas.FairUCB([0.2, 0.2]), eh.similarity.LipschitzUCB(2), queue):
        eh.save(other, "other.eh")
        refused = audit(people, [], "--state", "other.eh")
        assert "--state: expected a file that audit-pairs began" in str(refused.exception)


def audit(people, answers, *more):
    """Return what a session said, given these answers."""
    return RUN.invoke(app, ["audit-pairs", *people, *map(str, more)], input="".join(f"{one}\n" for one in answers))


def session(people, answers, *more):
    """Return what a session said that ended well."""
    done = audit(people, answers, *more)
    assert done.exit_code == 0, done.output
    return done.output


def test_quitting_and_interrupting_keep_the_answers(people, tmp_path):
    for given, code, name in ((["a", "q"], 0, "one.eh"), (["a"], 130, "other.eh")):
        done = audit(people, given, "--state", name)
        assert done.exit_code == code, done.output
        assert "1 answer is saved in" in done.output
        assert answers(name).answer.tolist() == ["acceptable"]
        assert eh.load(name).open_tickets == []


def test_every_answer_is_on_disk_before_the_next_question(people, monkeypatch):
    seen = []

    def prompt(*text, **options):
        seen.append(len(answers()))
        if len(seen) == 4:
            raise MemoryError("as if the machine had stopped")
        return "a"

    monkeypatch.setattr("typer.prompt", prompt)
    stopped = audit(people, [])
    assert isinstance(stopped.exception, MemoryError)
    assert seen == [0, 1, 2, 3]
    monkeypatch.undo()
    again = session(people, ["l", "q"], "--state", Path(people[0]).with_name("pairs.evenhand"))
    assert again.count("acceptable │") == 3


def without(people, option):
    place = people.index(option)
    return [*people[:place], *people[place + 2 :]]


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--features", "income,age", "--features: expected 'age,income' as in .*, got 'income,age'"),
        ("--reward", "owed", "--reward: expected 'repaid' as in .*, got 'owed'"),
        ("--errors", "0", "--errors: expected 0.1 as in .*, got 0.0"),
        ("--auditors", "3", "--auditors: expected 2 as in .*, got 3"),
    ],
)
def test_a_state_goes_on_with_the_settings_that_it_was_begun_with_alone(people, tmp_path, option, value, says):
    state = tmp_path / "pairs.eh"
    session(people, ["q"], "--errors", "0.1", "--auditors", "2", "--state", state)
    before = state.read_bytes()
    given = without(people, option) if option in people else people
    refused = audit(given, ["q"], option, value, "--state", state)
    assert refused.exit_code != 0
    assert re.search(says + "; repeat what the state was begun with", str(refused.exception)), refused.exception
    assert state.read_bytes() == before


def test_settings_that_are_not_repeated_are_those_of_the_state(people, tmp_path):
    state = tmp_path / "policy.eh"
    session(people, ["q"], "--errors", "0.1", "--individuals", "3", "--state", state)
    session(without(people, "--seed"), ["q"], "--state", state)
    queue = eh.load(state)
    assert (queue.policy.metric.error_rate, queue.seed, queue.individuals) == (0.1, 3, 3)


@pytest.mark.parametrize("column", ["age", "repaid"])
def test_a_table_that_has_changed_is_refused_by_its_column(people, tmp_path, column):
    state = tmp_path / "policy.eh"
    session(people, ["a", "q"], "--state", state)
    frame = pd.read_csv(people[0])
    frame.loc[0, column] += 1
    frame.to_csv(people[0], index=False)
    refused = audit(people, ["q"], "--state", state)
    assert f"column '{column}': its values differ from those with which" in str(refused.exception)


def test_an_earlier_answer_is_withdrawn_by_its_number_and_asked_about_again(people):
    done = session(people, ["w", "u", "a", "withdraw 1", "l", "w 1", "w x", *[""] * 6, "q"])
    assert "There is no answer to withdraw." in done
    asked = re.findall(r"row \d+ ┃ row \d+", done)
    assert asked[0] in asked[3:]
    assert "Answer 1 is withdrawn." in done
    assert done.count("No answer of yours has this number") == 2
    assert answers().number.tolist() == [2]


def test_an_answer_that_contradicts_another_auditors_is_said_at_once(people):
    asked = audit(people, ["u", "q"], "--auditors", 2, "--auditor", "ann")
    done = audit(people, ["a", "q"], "--auditor", "bob")
    assert re.findall(r"row (\d+)", asked.output)[:2] == re.findall(r"row (\d+)", done.output)[:2]
    assert "This answer contradicts the answers before it in every form of distance" in done.output


def test_too_few_people_are_counted(people):
    pd.read_csv(people[0]).head(3).to_csv("few.csv", index=False)
    few = ["few.csv", *people[1:]]
    refused = audit(few, ["q"])
    assert "few.csv: expected at least 4 people, got 3; pass --individuals 3" in str(refused.exception)
    session(few, ["q"], "--individuals", 3)


def test_answers_that_are_probably_wrong_are_named_at_the_end(people, judged):
    session(people, [], "--read", judged("1,2,unfair"), "--gap", 0.1)
    read = session(people, [], "--read", judged(*["1,2,acceptable"] * 6), "--gap", 0.4)
    assert "Answer 2 (1 and 2 acceptable, row 1 of " in read
    done = session(people, ["q"])
    _, suspect = re.split("One way to explain it is that these are wrong; withdraw those that are", done)
    assert re.findall(r"│ +(\d+) │ age 30.*│ +0.1 │ (unfair|acceptable) +│", suspect) == [("1", "unfair")]


def test_where_no_form_fits_the_answers_that_are_named_may_be_withdrawn_instead_of_more_questions(people, judged):
    rows = [f"{one},{other},{word}" for one, other in ("12", "13", "24", "35") for word in ("unfair", "acceptable")]
    body = json.loads(audit(people, [], "--read", judged(*rows), "--gap", 0.2, "--json").stdout)
    assert body["answers"] == 8
    assert all("contradicts the answers before it" in note for note in body["notes"])
    named, listed = audit(people, ["q"]).output.split("; withdraw those that are")
    (numbers,) = set(re.findall(r"it is that these are wrong: ([\d, ]+\d)", " ".join(named.split())))
    assert re.findall(r"│ +(\d+) │", listed) == numbers.split(", ")
    assert eh.load("pairs.evenhand").doubted == list(map(int, numbers.split(", ")))
    said = " ".join(audit(people, ["u", "l", *(f"w {number}" for number in (2, 4, 6, 8)), "q"]).output.split())
    assert "More answers would not help." in said
    assert "Please answer u, a, w" in said
    assert said.index("is withdrawn") < said.index("question ")
    assert answers().answer.tolist().count("unfair") == 4


def test_a_person_is_cautioned_where_answers_contradict_each_other(people, judged):
    for answer, gap in (("unfair", 0.1), ("acceptable", 0.4)):
        read = audit(people, [], "--read", judged(*[f"1,2,{answer}"] * 2), "--gap", gap, "--auditor", "ann")
    assert "distances are now estimated, not certified. To withdraw a wrong one, call" in " ".join(read.output.split())
    done = audit(people, ["a", "w 1", "w", "q"], "--auditor", "bob")
    assert "Caution: distances are unknown: up to" in " ".join(done.output.split())
    assert "No answer of yours has this number" in done.output
    assert "Answer 5 is withdrawn." in done.output
    assert answers().auditor.tolist() == ["ann"] * 4
    assert "auditor: expected a name" in str(audit(people, ["q"], "--auditor", " ").exception)


# ---------------------------------------------------------------------- answers in a file


@pytest.fixture
def judged(tmp_path):
    def write(*rows):
        (tmp_path / "judged.csv").write_text("\n".join(["one,other,answer", *rows]) + "\n")
        return "judged.csv"

    return write


def test_answers_without_a_gap_are_read_with_the_one_that_is_assumed(people, judged):
    done = session(people, [], "--read", judged("1,2,unfair", "5,1,acceptable"), "--gap", 0.2, "--auditor", "ann")
    assert "2 answers read, 2 kept in pairs.evenhand." in done
    kept = answers()
    assert kept[["one", "other", "gap", "answer", "auditor"]].to_numpy().tolist() == [
        [0, 1, 0.2, "unfair", "ann"],
        [0, 4, 0.2, "acceptable", "ann"],
    ]
    queue = eh.load("pairs.evenhand")
    assert queue.policy.metric.bounds(queue._rows[0], queue._rows[1])[2] == pytest.approx(0.2)


def test_answers_of_several_people_are_read_with_their_names_from_columns_that_are_named(people):
    Path("judged.csv").write_text("one,other,answer,auditor\n1,2,unfair,ann\n1,5,acceptable,bob\n")
    assert "2 answers read" in session(people, [], "--read", "judged.csv", "--gap", 0.2)
    assert answers()["auditor"].tolist() == ["ann", "bob"]
    Path("judged.csv").write_text("one,other\n1,2\n")
    refused = str(audit(people, [], "--read", "judged.csv", "--gap", 0.2).exception)
    assert "judged.csv: column: expected one of one,other, got 'answer'" in refused


def test_a_store_is_no_file_of_answers_and_a_name_that_comes_twice_has_one_link(people):
    made = audit(people, [], "--store", "s.evenhand", "--auditor", "ann,ann")
    assert made.output.count("ann: http") == 1, made.output
    refused = str(audit(people, [], "--state", "s.evenhand").exception)
    assert (
        "--state: expected a file that audit-pairs began, got 's.evenhand'; a store is answered in a browser" in refused
    )


@pytest.mark.parametrize(
    ("row", "more", "says"),
    [
        ("1,2,unfair", [], "--gap: expected a number together with --read, got nothing; 0.2 asks whether"),
        ("1,2,fair", ["--gap", 0.2], "judged.csv: column 'answer', row 2: expected unfair or acceptable, got 'fair'"),
        ("0,2,unfair", ["--gap", 0.2], "column 'one', row 2: expected a row of the people, from 1 to 5, got '0'"),
        ("3,3,acceptable", ["--gap", 0.2], "row 2: other: expected another person than one, got the same"),
    ],
)
def test_an_answer_in_a_file_that_cannot_be_is_refused_and_none_is_taken(people, judged, row, more, says):
    refused = audit(people, [], "--read", judged("1,2,unfair", row), *more)
    assert refused.exit_code != 0
    assert re.search(says, str(refused.exception)), refused.exception
    assert not Path("pairs.evenhand").exists()
