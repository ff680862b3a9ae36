"""Changes of a promise that are due later: made before the first decision after, replayed, replaced, withdrawn."""

from datetime import UTC, datetime, timedelta

import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, EvenhandError, SharesError
from evenhand.studies import Change, Study
from evenhand.studies.log.durations import in_utc
from evenhand.studies.statistics.state import summarize
from tests.cli.shell import answer, refused

HOUR = 3_600_000_000
NOON = "2027-01-15T12:00+01:00"
"""Three hours after the time of the clock."""


def ads(place):
    return Study.create(place, eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.5, "b": 0.1}, seed=1), name="ads")


def kinds(study):
    return [event.kind for event in study.log.events()]


def changed(study):
    """The shares of each change that was made."""
    return [event.given["shares"] for event in study.log.events() if event.kind == "change"]


def test_a_planned_change_comes_right_before_the_first_decision_after(shared, clock):
    study = ads(shared)
    assert study.change({"a": 0.1, "b": "1/2"}, begins=NOON) == {}
    study.ask(count=10)
    clock.pass_by(3 * HOUR - 1)
    study.ask(key="one")
    assert "change" not in kinds(study)
    planned = summarize(study)["promise"]["planned"]
    assert [str(one["begins"]) for one in planned] == ["2027-01-15 11:00:00+00:00"]
    assert planned[0]["promises"] == ["a at least 1/10 of the rounds", "b at least 1/2 of the rounds"]
    clock.pass_by(1)
    study.tell(1, 1.0)
    assert "change" not in kinds(study)  # nothing was decided
    study.ask(count=2)
    assert kinds(study)[-4:] == ["change", "set", "ask", "ask"]
    found, promise = study.verify(), summarize(Study.open(study.store, "ads"))["promise"]
    assert (found.ok, found.promise_kept, found.replayed) == (True, True, study.log.sequence)
    assert [(one["kind"], one["round"]) for one in promise["history"]] == [(None, 1), ("change", 12)]
    assert "planned" not in promise


def test_plans_follow_each_other_are_replaced_and_withdrawn(clock):
    study = ads(":memory:")
    for share, begins in ((0.2, "2h"), (0.3, timedelta(hours=1)), (0.4, datetime.fromisoformat("2027-01-15T10:00Z"))):
        study.change({"a": share, "b": 0.1}, begins=begins)
    study.change({"a": 0.6, "b": 0.1}, begins="2h")
    study.change(None, begins="1h")
    clock.pass_by(3 * HOUR)
    study.ask()
    assert [shares["a"] for shares in changed(study)] == [0.6]
    assert study.verify().ok


def test_a_plan_that_no_longer_fits_is_refused_when_it_is_due_said_and_keeps_no_later_one_out(clock):
    study = ads(":memory:")
    study.add("c")
    study.change({"a": 0.5, "b": 0.1, "c": 0.2}, begins="1h")
    study.retire("c")
    study.change({"a": 0.3, "b": 0.1}, begins="2h")
    planned = summarize(study)["promise"]["planned"][0]
    assert planned["promises"][0].startswith("as things stand it would be refused: ")
    clock.pass_by(HOUR)
    study.ask()
    promise = summarize(study)["promise"]
    (refusal,) = promise["refused"]
    assert refusal["begins"] == datetime(2027, 1, 15, 9, tzinfo=UTC)
    assert "c" in refusal["why"]
    assert len(promise["planned"]) == 1
    assert study.verify().ok
    assert Study.open(study.store, "ads").ask().id == 2


def test_a_plan_that_is_due_comes_before_a_change_that_is_made_later(clock):
    study = ads(":memory:")
    study.change({"a": 0.2, "b": 0.1}, begins="1h")
    clock.pass_by(2 * HOUR)
    study.change({"a": 0.9, "b": 0.1})
    study.ask()
    assert [shares["a"] for shares in changed(study)] == [0.2, 0.9]
    assert study.verify().ok


@pytest.mark.parametrize(
    ("shares", "begins", "refusal", "words"),
    [
        ({"a": 0.9, "b": 0.9}, "1h", SharesError, "they sum to 1.8"),
        ({"z": 0.1}, "1h", SharesError, "z"),
        ({"a": 0.1}, "2027-01-15T08:00Z", ArgumentError, "begins: expected a time in the future, got '2027-01"),
        ({"a": 0.1, "b": 0.1}, "Monday", ArgumentError, "begins: expected a date such as 2030-12-31, a time such as"),
        (None, "1h", ArgumentError, "begins: expected a time for which a change is planned: none, got '2027"),
        ({"a": 0.1}, "9999-12-31T23:59-05:00", ArgumentError, "begins: expected a time from 1970 to 9998, got '9999"),
    ],
)
def test_what_cannot_be_planned_is_refused_at_once(clock, shares, begins, refusal, words):
    study = ads(":memory:")
    with pytest.raises(refusal, match=words):
        study.change(shares, begins=begins)
    assert kinds(study) == []


def test_only_the_promise_as_a_whole_is_planned_and_read_when_it_is_made(clock):
    for kind, begins, words in (
        ("ask", None, "kind: expected one of 'add', 'retire', 'change', got 'ask'"),
        ("add", "1h", "begins: expected None for add"),
        ("change", "text", r"begins: expected a date such as 2030-12-31, .*, got 'text'"),
    ):
        with pytest.raises(ArgumentError, match=words):
            Change(kind=kind, given={}, begins=begins)
    assert Change(kind="change", given={}, begins=NOON).due == 1_800_010_800_000_000


def test_neither_a_repeated_key_nor_a_refused_operation_makes_a_change_that_is_due(clock):
    study = ads(":memory:")
    first = study.ask(key="one")
    study.change({"a": 0.1, "b": 0.2}, begins="1h")
    clock.pass_by(2 * HOUR)
    before = kinds(study)
    assert study.ask(key="one") == first
    assert study.ask(key="one", sticky=True, available=["a"]) == first
    for wrong in (
        *(lambda: study.ask(available=["z"]), lambda: study.ask(key="one", available=["a"])),
        *(lambda: study.change({"a": 2}), lambda: study.retire("z")),
    ):
        with pytest.raises(EvenhandError):
            wrong()
    assert kinds(study) == before
    # what is refused under the promise that is in force may be right under the one that is due, and otherwise
    study.add("c", 0.6)
    assert kinds(study) == [*before, "change", "set", "add"]
    assert study.verify().ok


@pytest.mark.parametrize("given", [None, {"a": 0.4, "b": 0.1}])
def test_a_plan_that_is_due_is_withdrawn_and_replaced_under_its_time_until_it_is_made(clock, given):
    study = ads(":memory:")
    clock.pass_by(123_456)
    study.change({"a": 0.2, "b": 0.1}, begins="1h")
    (begins,) = study.log.planned
    assert begins == datetime(2027, 1, 15, 9, 0, 0, 123_456, tzinfo=UTC)
    with pytest.raises(ArgumentError, match=r"planned: 2027-01-15T09:00:00.123456\+00:00, got '2027-01-15T10"):
        study.change(None, begins="2h")
    clock.pass_by(2 * HOUR)
    study.change(given, begins=in_utc(begins))
    study.ask()
    assert changed(study) == [given] * bool(given)
    with pytest.raises(ArgumentError, match="begins: expected a time in the future"):
        study.change({"a": 0.2, "b": 0.1}, begins=begins)


def test_the_last_moment_that_can_be_planned_is_shown_as_it_is():
    study = ads(":memory:")
    study.change({"a": 0.2, "b": 0.1}, begins="9998-12-31T23:59:59.999999")
    assert study.log.planned == [datetime(9998, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)]
    assert summarize(study)["promise"]["planned"][0]["begins"] == study.log.planned[0]


def test_the_shell_plans_shows_and_withdraws(tmp_path):
    store = str(tmp_path / "ads.evenhand")
    ads(store).close()
    changed = ("change", store, "--shares", "a=0.1,b=0.2", "--from")
    said = answer(*changed, "2999-12-01T00:00")
    assert said == "planned: the promise changes right before the first decision after 2999-12-01 00:00 UTC\n"
    shown = "From the first decision after 2999-12-01 00:00 UTC: a at least 1/10 of the rounds; b at"
    assert shown in answer("show", store)
    said = answer("change", store, "--from", "2999-12-01")
    assert said == "withdrawn: the change planned for 2999-12-01 00:00 UTC\n"
    refused(
        ArgumentError, "--from: expected a time in the future, got '2020-12-01T00:00:00+00:00'", *changed, "2020-12-01"
    )
