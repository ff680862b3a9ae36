"""A person audits at the terminal."""

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli import app
from tests.cli.sessions import Session

RUN = CliRunner()


@pytest.fixture
def people(tmp_path):
    file = tmp_path / "people.csv"
    frame = pd.DataFrame({"age": [30, 40, 50, 35, 61], "income": [1.0, 2.0, 4.0, 3.0, 0.5], "repaid": [0, 1, 1, 0, 1]})
    frame["owed"] = 1 - frame.repaid
    frame.to_csv(file, index=False)
    return [str(file), "--features", "age, income", "--reward", "repaid", "--seed", "3"]


@pytest.mark.compiled
def test_verdicts_are_taken_kept_and_taken_up_again(people, tmp_path):
    state = tmp_path / "policy.eh"
    first = RUN.invoke(
        app, ["audit-pairs", *people, "--rounds", "6", "--state", str(state)], input="a\nu\nwhat\n\n" + "a\n" * 40
    )
    assert first.exit_code == 0, first.output
    assert "[u]nfair" in first.output
    assert "Please answer" in first.output
    assert "probability" in first.output
    assert "repaid" not in first.output.replace("--reward repaid", "")
    policy = eh.load(state)
    given = len(policy.metric.verdicts)
    assert given > 2
    assert {v.unfair for v in policy.metric.verdicts} == {True, False}
    second = RUN.invoke(app, ["audit-pairs", *people, "--rounds", "20", "--state", str(state)], input="q\n")
    assert second.exit_code == 0, second.output
    assert "0 verdicts given" in second.output
    assert eh.load(state).round > 6


def test_unsure_teaches_nothing(people):
    done = RUN.invoke(app, ["audit-pairs", *people, "--rounds", "4"], input="\n" * 40)
    assert done.exit_code == 0, done.output
    assert "0 verdicts given, 0 in the log" in done.output


def test_a_foreign_state_is_refused(people, tmp_path):
    state = tmp_path / "other.eh"
    eh.save(eh.quotas.FairUCB([0.2, 0.2]), state)
    refused = RUN.invoke(app, ["audit-pairs", *people, "--state", str(state)])
    assert refused.exit_code != 0
    assert "--state: wanted a LipschitzUCB for 2 features" in str(refused.exception)


STATE = ("centre", "factor", "radius", "counts", "doublings", "thin", "tally", "stream")


def audit(people, answers, *more):
    """Return what a session said, given these answers."""
    return RUN.invoke(app, ["audit-pairs", *people, *map(str, more)], input="".join(f"{one}\n" for one in answers))


def test_quitting_in_mid_round_keeps_the_answers(people, tmp_path):
    state = tmp_path / "policy.eh"
    done = audit(people, ["a", "q"], "--state", state)
    assert done.exit_code == 0, done.output
    assert "1 verdict given, 1 in the log" in done.output
    (verdict,) = eh.load(state).metric.verdicts
    assert not verdict.unfair


def test_an_interrupt_in_mid_round_keeps_the_answers(people, tmp_path):
    state = tmp_path / "policy.eh"
    done = audit(people, ["u", "a"], "--state", state)
    assert done.exit_code == 130
    assert "2 verdicts given" in done.output
    policy = eh.load(state)
    assert [v.unfair for v in policy.metric.verdicts] == [True, False]
    assert policy.open_tickets == []


def test_every_answer_is_on_disk_before_the_next_question(people, tmp_path, monkeypatch):
    state, seen = tmp_path / "policy.eh", []

    def prompt(*text, **options):
        seen.append(len(eh.load(state).metric.verdicts))
        if len(seen) == 4:
            raise MemoryError("as if the machine had stopped")
        return "a"

    monkeypatch.setattr("typer.prompt", prompt)
    stopped = audit(people, [], "--state", state)
    assert isinstance(stopped.exception, MemoryError)
    assert seen == [0, 1, 2, 3]
    monkeypatch.undo()
    again = audit(people, ["l", "q"], "--state", state)
    assert again.exit_code == 0, again.output
    assert "0 verdicts given, 3 in the log" in again.output
    assert again.output.count("acceptable │") == 3


def without(people, option):
    place = people.index(option)
    return [*people[:place], *people[place + 2 :]]


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--features", "income,age", "--features: wanted 'age,income' as in .*, got 'income,age'"),
        ("--features", "age", "--features: wanted 'age,income' as in .*, got 'age'"),
        ("--features", "age,height", "--features: wanted 'age,income' as in .*, got 'age,height'"),
        ("--reward", "owed", "--reward: wanted 'repaid' as in .*, got 'owed'"),
        ("--errors", "0.2", "--errors: wanted 0.1 as in .*, got 0.2"),
        ("--errors", "0", "--errors: wanted 0.1 as in .*, got 0.0"),
        ("--individuals", "3", "--individuals: wanted 4 as in .*, got 3"),
        ("--seed", "4", "--seed: wanted 3 as in .*, got 4"),
    ],
)
def test_a_state_goes_on_with_the_settings_that_it_was_begun_with_alone(people, tmp_path, option, value, says):
    state = tmp_path / "policy.eh"
    assert audit(people, ["a", "q"], "--errors", "0.1", "--state", state).exit_code == 0
    before = state.read_bytes()
    given = without(people, option) if option in people else people
    refused = audit(given, ["q"], option, value, "--state", state)
    assert refused.exit_code != 0
    assert re.search(says + "; repeat what the state was begun with", str(refused.exception)), refused.exception
    assert state.read_bytes() == before


def test_settings_that_are_not_repeated_are_those_of_the_state(people, tmp_path):
    state = tmp_path / "policy.eh"
    first = audit(people, ["q"], "--errors", "0.1", "--individuals", "3", "--state", state)
    assert first.exit_code == 0, first.output
    again = audit(without(people, "--seed"), ["a", "q"], "--state", state)
    assert again.exit_code == 0, again.output
    policy = eh.load(state)
    assert policy.metric.error_rate == 0.1
    assert policy.notes["audit-pairs"]["seed"] == 3
    header = again.output.splitlines()[2]
    assert re.findall(r"\d+", header) == ["0", "1", "2"]


@pytest.mark.parametrize("column", ["age", "repaid"])
def test_a_table_that_has_changed_is_refused_by_its_column(people, tmp_path, column):
    state = tmp_path / "policy.eh"
    assert audit(people, ["a", "q"], "--state", state).exit_code == 0
    frame = pd.read_csv(people[0])
    frame.loc[0, column] += 1
    frame.to_csv(people[0], index=False)
    refused = audit(people, ["q"], "--state", state)
    assert f"column '{column}': holds other values than when" in str(refused.exception)


def test_a_state_of_another_kind_is_refused(people, tmp_path):
    state = tmp_path / "policy.eh"
    for other in (
        eh.similarity.LipschitzUCB(2, seed=1),
        eh.similarity.LipschitzUCB(2, silence="nothing", select="many"),
    ):
        eh.save(other, state)
        refused = audit(people, ["q"], "--state", state)
        assert "--state: wanted a policy that audit-pairs began" in str(refused.exception)
    eh.save(eh.similarity.LipschitzUCB(3, silence="nothing"), state)
    assert "a LipschitzUCB for 2 features" in str(audit(people, ["q"], "--state", state).exception)


def test_a_state_from_before_settings_were_kept_goes_on(people, tmp_path):
    state = tmp_path / "policy.eh"
    learner = eh.similarity.MomentDistance(error_rate=0.1)
    begun = eh.similarity.LipschitzUCB(2, metric=learner, silence="nothing", seed=3)
    begun.metric.verdict([0.5, 0.1], [0.1, 0.3], 0.2, unfair=False)
    begun.ask([[0.5, 0.1], [0.1, 0.3]])
    eh.save(begun, state)
    assert "--errors: wanted 0.1" in str(audit(people, ["q"], "--errors", "0", "--state", state).exception)
    done = audit(people, ["l", "a", "q"], "--state", state)
    assert done.exit_code == 0, done.output
    assert "not in this table" in done.output
    assert "1 verdict given, 2 in the log" in done.output
    assert eh.load(state).notes["audit-pairs"]["errors"] == 0.1


@pytest.mark.parametrize("errors", ["0", "0.1"])
@pytest.mark.parametrize("slip", ["u", "a"])
def test_a_withdrawn_answer_is_as_if_it_had_never_been_given(people, tmp_path, errors, slip):
    one, other = tmp_path / "one.eh", tmp_path / "other.eh"
    rest = ["", "u", "", "a", "", "", "a", "", "a", "q"]
    done = audit(people, ["a", slip, "w", *rest], "--errors", errors, "--state", one)
    assert done.exit_code == 0, done.output
    assert "Answer 2 is withdrawn." in done.output
    assert audit(people, ["a", *rest], "--errors", errors, "--state", other).exit_code == 0
    mine, theirs = eh.load(one), eh.load(other)
    told = [[(v.gap, v.unfair) for v in policy.metric.verdicts] for policy in (mine, theirs)]
    assert told[0] == told[1]
    assert len(told[0]) > 2
    for name in STATE:
        assert np.array_equal(getattr(mine.metric.state, name), getattr(theirs.metric.state, name)), name


def test_an_earlier_answer_is_withdrawn_by_its_number_and_asked_about_again(people):
    done = audit(people, ["w", "u", "a", "withdraw 1", "l", "a", "w 1", "w x", "q"])
    assert done.exit_code == 0, done.output
    assert "There is no answer to withdraw." in done.output
    asked = re.findall(r"(\d and \d) differ", done.output)
    assert asked[0] == asked[1] == asked[4]
    assert asked[2] not in asked[:2]
    assert "Answer 1 is withdrawn." in done.output
    assert done.output.count("No answer has this number") == 2
    assert "2 verdicts given, 2 in the log" in done.output


def test_answers_that_cannot_hold_together_are_named_and_the_wrong_one_can_be_withdrawn(people):
    given = [*without(people, "--seed"), "--seed", "2"]
    done = audit(given, ["u", "u", "a", "w 1", "a", "a", "q"])
    assert done.exit_code == 0, done.output
    (_, refused) = done.output.split("This answer was not taken: it cannot hold together with these.")
    named = re.findall(r"│ +(\d+) │ (unfair|acceptable) +│ 0\.333 │ age 61, income 0.5", refused)
    assert named == [("1", "unfair")]
    asked = re.findall(r"(\d and \d) differ", done.output)
    assert asked[4] == asked[0]
    assert asked[2] == asked[3] == asked[5]
    assert "Answer 1 is withdrawn." in refused
    assert "contradict" not in refused
    careless = audit(given, ["u", "u", "a", "q"])
    assert "These answers contradict others that you gave; withdraw what is wrong." in careless.output


def test_two_people_at_two_terminals_lose_no_answer(people, tmp_path):
    """The second one to read the state begins a round of their own; the first is refused by name at the next answer."""
    state = tmp_path / "policy.eh"
    ann = Session("audit-pairs", *people, "--state", state)
    ann.until("[q]uit: ")
    bob = Session("audit-pairs", *people, "--state", state)
    bob.until("[q]uit: ")
    ann.say("a")
    code, errors = ann.end()
    assert code == 2
    assert "policy.eh: it has changed since it was read, so another session has saved to it" in errors
    bob.say("u")
    bob.until("[q]uit: ")
    bob.say("q")
    assert bob.end() == (0, "")
    assert [verdict.unfair for verdict in eh.load(state).metric.verdicts] == [True]


def test_two_people_who_begin_at_once_lose_no_answer(people, tmp_path, monkeypatch):
    state, ask = tmp_path / "policy.eh", eh.similarity.LipschitzUCB.ask

    def asked_later(policy, *given, **named):
        monkeypatch.setattr(eh.similarity.LipschitzUCB, "ask", ask)
        audit(people, ["u", "q"], "--state", state)
        return ask(policy, *given, **named)

    monkeypatch.setattr(eh.similarity.LipschitzUCB, "ask", asked_later)
    refused = audit(people, ["a", "q"], "--state", state)
    assert "policy.eh: it was not there at the start, so another session has saved to it" in str(refused.exception)
    assert [verdict.unfair for verdict in eh.load(state).metric.verdicts] == [True]
