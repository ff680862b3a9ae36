"""What readers see: it is what the log says."""

from __future__ import annotations

import asyncio
import io

import numpy as np
import pandas as pd
import pytest

from evenhand.service.routes.studies import StateOut
from evenhand.studies.proofs.verify import check_receipt

OWED = "owed its share"


@pytest.fixture
def lively(served):
    """A study with 40 decisions: every fourth open, the fifth forgotten."""
    decisions = served.ask(json={"count": 40}).json()["decisions"]
    rows = [{"ticket": one["ticket"], "reward": one["index"]} for one in decisions if one["id"] % 4 and one["id"] != 5]
    served.tell({"batch": rows})
    served.send("report", "POST", "/studies/ads/forget", json={"ticket": decisions[4]["ticket"]})
    served.decisions = decisions
    return served


def test_the_state_is_what_was_decided_and_told(lively):
    state = lively.read("/studies/ads")
    assert (state["decisions"], state["told"], state["forgotten"], state["open"]) == (40, 29, 1, 10)
    arms = pd.Series([one["arm"] for one in lively.decisions]).value_counts()
    for row in state["arms"]:
        assert row["decisions"] == arms[row["label"]]
        assert row["share"] == pytest.approx(arms[row["label"]] / 40)
        assert row["owed"] == pytest.approx(row["promised"] * 40 - arms[row["label"]])
        owed = [one["round"] for one in lively.decisions if one["arm"] == row["label"] and one["reason"] == OWED]
        assert row["last_owed_round"] == (owed[-1] if owed else None)
    assert [row["reward"] for row in state["arms"]] == [0.0, 1.0]
    assert 0 < state["promise"].pop("worst_shortfall") < 1
    assert 1 <= state["promise"].pop("worst_round") <= 40
    kept = {"when": "at every round", "kept": True, "tolerance": 0.0, "broken_from": 1.0}
    assert state["promise"] == kept | {"worst_arm": "b", "rounds_in_violation": 0}


def test_the_outline_of_all_studies(lively):
    lively.create("other", {"policy": "sampling/optimistic", "groups": ["u", "v"]})
    names = ("name", "policy", "decisions", "open", "promise")
    outline = [[one[name] for name in names] for one in lively.read("/studies")["studies"]]
    assert outline == [["ads", "quotas/fair-ucb", 40, 10, "kept"], ["other", "sampling/optimistic", 0, 0, None]]
    assert [lively.read(f"/studies/{name}")["feedback"] for name in ("ads", "other")] == ["reward", "rows"]


def test_learned_bias_and_groups_are_in_the_state(served):
    served.create("jobs", {"policy": "groups/group-fair-top-interval", "groups": {"a": "F", "b": "M"}, "seed": 1})
    assert served.read("/studies/jobs")["bias"] is None
    for i in range(8):
        ticket = served.ask("jobs", json={"contexts": [[1.0, i], [1.0, i + 1.0]]}).json()["ticket"]
        served.tell({"ticket": ticket, "reward": float(i)}, "jobs")
    state = served.read("/studies/jobs")
    StateOut.model_validate(state)
    assert {row["group"] for row in state["bias"]} <= {"F", "M"}
    assert len(state["bias"]) >= 2
    assert [row["group"] for row in state["arms"]] == ["F", "M"]
    assert sum(row["share"] for row in state["groups"]) == pytest.approx(1)


def test_the_course_of_a_study(lively):
    series = lively.read("/studies/ads/series")
    assert series["round"] == list(range(1, 41))
    chosen = np.array([[one["arm"] == label for one in lively.decisions] for label in series["labels"]])
    counts = chosen.cumsum(axis=1)
    np.testing.assert_allclose(series["shares"], counts / np.arange(1, 41))
    np.testing.assert_allclose(series["shortfall"], np.outer([0.2, 0.3], np.arange(1, 41)) - counts, atol=1e-12)
    assert series["forced"] == np.cumsum([one["reason"] == OWED for one in lively.decisions]).tolist()
    listed = lively.read("/studies/ads/decisions?limit=500&order=oldest")["decisions"]
    assert series["at"] == [one["at"] for one in listed]
    fewer = lively.read("/studies/ads/series?points=5")
    assert (len(fewer["round"]), fewer["round"][-1]) == (5, 40)


def test_some_rounds_are_read_as_densely_as_is_asked_for(served, monkeypatch):
    monkeypatch.setattr("evenhand.studies.statistics.statistics.MOMENTS", 10)
    for one in served.ask(json={"count": 300}).json()["decisions"]:
        served.tell({"ticket": one["ticket"], "reward": one["index"]})
    whole, some = served.read("/studies/ads/series"), served.read("/studies/ads/series?first=101&last=160")
    assert len(whole["round"]) < 30
    assert some["round"] == list(range(101, 161))
    exact = served.read("/studies/ads/series?first=1&points=1000")
    assert exact["round"] == list(range(1, 301))
    for name in ("at", "reward_mean", "reward_recent", "forced"):
        assert some[name] == exact[name][100:160]
    for name in ("shares", "shortfall"):
        assert some[name] == [row[100:160] for row in exact[name]]
        assert [row[-1] for row in whole[name]] == [row[-1] for row in exact[name]]
    assert served.read("/studies/ads/series?first=150&last=250&points=3")["round"] == [150, 200, 250]
    assert served.read("/studies/ads/series?first=299&last=10000")["round"] == [299, 300]
    assert served.read("/studies/ads/series?first=301")["round"] == []
    refused = served.send("read", "GET", "/studies/ads/series?first=9&last=3")
    assert refused.status_code == 422
    assert refused.json()["error"]["message"] == "last: expected a round >= first, which is 9, got 3"


def test_a_fifth_reading_of_some_rounds_is_refused_while_four_run(served):
    served.app.state.closeups._places = asyncio.Semaphore(0)
    answer = served.send("read", "GET", "/studies/ads/series?first=1")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "4 series of some rounds are running already" in answer.json()["error"]["message"]
    assert served.read("/studies/ads/series")["round"] == [], "the whole course is read all the same"


def test_the_course_ends_with_all_reports_so_far(served):
    decisions = served.ask(json={"count": 4}).json()["decisions"]
    assert served.read("/studies/ads/series")["reward_recent"] == [None] * 4
    for one, reward in zip(decisions, (1.0, 0.0, 0.25), strict=False):
        served.tell({"ticket": one["ticket"], "reward": reward})
        series, state = served.read("/studies/ads/series"), served.read("/studies/ads")
        assert series["round"][-1] == 4
        assert series["reward_mean"] == [None, None, None, state["reward"]["mean"]]
        assert series["reward_recent"] == [None, None, None, state["reward"]["recent"]]
    assert series["reward_mean"][-1] == pytest.approx(1.25 / 3)


def test_an_empty_study_has_an_empty_course(served):
    series = served.read("/studies/ads/series")
    assert (series["round"], series["shares"]) == ([], [[], []])
    assert served.read("/studies/ads/forced") == {"forced": []}
    assert served.read("/studies/ads/decisions") == {"decisions": [], "next": None}


def test_a_receipt_is_given_by_key_or_ticket_and_checked_without_the_service(served):
    asked = served.ask(json={}, headers={"Idempotency-Key": "order-17"}).json()
    receipt = served.read("/studies/ads/receipt?key=order-17")
    assert receipt == served.read(f"/studies/ads/receipt?ticket={asked['ticket']}")
    assert (receipt["entry"], receipt["arms"]) == (1, [asked["arm"]])
    assert check_receipt(receipt, receipt["checkpoint"])
    earlier = served.read("/studies/ads/receipt?key=order-17&entries=1")
    assert earlier == receipt | {"checkpoint": None}
    refused = served.send("read", "GET", "/studies/ads/receipt")
    assert (refused.status_code, refused.json()["error"]["argument"]) == (422, "key, ticket")


def test_decisions_come_newest_first_page_by_page(lively):
    seen = lively.every_decision("limit=7")
    assert [one["id"] for one in seen] == list(range(40, 0, -1))
    assert [one["status"] for one in seen[-5:]] == ["forgotten", "open", "told", "told", "told"]
    assert [one["reward"] for one in seen[-5:]][:2] == [None, None]


def test_the_tickets_that_wait_longest_come_first_where_that_is_asked_for(lively):
    seen = lively.every_decision("open=true&order=oldest&limit=4", "after")
    assert [one["id"] for one in seen] == list(range(4, 41, 4))
    assert [one["at"] for one in seen] == sorted(one["at"] for one in seen)
    between = lively.read("/studies/ads/decisions?after=7&before=10")["decisions"]
    assert [one["id"] for one in between] == [9, 8]


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("arm=a", lambda one: one["arm"] == "a"),
        ("arm=nobody", lambda one: False),
        (f"reason={OWED}", lambda one: one["reason"] == OWED),
        ("open=true", lambda one: one["id"] % 4 == 0),
        ("open=false&arm=b", lambda one: one["id"] % 4 and one["arm"] == "b"),
        ("before=10&arm=b", lambda one: one["id"] < 10 and one["arm"] == "b"),
    ],
)
def test_decisions_are_chosen(lively, query, fits):
    found = lively.read(f"/studies/ads/decisions?limit=100&{query}")["decisions"]
    assert [one["id"] for one in found] == [one["id"] for one in reversed(lively.decisions) if fits(one)]


def test_all_of_one_decision(lively):
    record = lively.read("/studies/ads/decisions/1")
    assert record["status"] == "told"
    assert record["told"] == {"reward": record["reward"]}
    assert record["decision"]["reason"] == record["reason"] == lively.decisions[0]["reason"]
    assert record["actor"] == lively.keys["decide"].split("_")[2]
    assert record["age_seconds"] >= 0


def test_which_decisions_were_forced(lively):
    expected = [(one["id"], one["arm"], one["round"]) for one in reversed(lively.decisions) if one["reason"] == OWED]
    forced = lively.read("/studies/ads/forced?limit=3")["forced"]
    assert [(one["id"], one["arm"], one["round"]) for one in forced] == expected[:3]


def test_the_audit_is_a_verification_done_once_while_nothing_changes(lively, monkeypatch):
    audit = lively.read("/studies/ads/audit")
    assert (audit["ok"], audit["promise_kept"], audit["decisions"]) == (True, True, 40)
    study = lively.app.state.sessions.open("ads").reader
    calls = []
    verify = study.verify
    monkeypatch.setattr(study, "verify", lambda: calls.append(1) or verify())
    assert lively.read("/studies/ads/audit") == audit
    lively.ask()
    assert lively.read("/studies/ads/audit")["decisions"] == 41
    assert len(calls) == 1


@pytest.mark.parametrize("format", ["csv", "parquet", "json"])
@pytest.mark.parametrize("form", ["log", "bandit"])
def test_the_history_is_a_table_in_every_format(lively, format, form):
    answer = lively.send("read", "GET", f"/studies/ads/history?format={format}&form={form}")
    table = getattr(pd, f"read_{format}")(io.BytesIO(answer.content))
    kept = [one for one in lively.decisions if form == "log" or (one["id"] % 4 and one["id"] != 5)]
    assert table["ticket"].tolist() == [one["id"] for one in kept]
    assert table["arm"].tolist() == [one["arm"] for one in kept]
    assert f'filename="ads-{form}.{format}"' in answer.headers["Content-Disposition"]
    assert answer.headers.get("Left-Out") == {"log": None, "bandit": "10 open, 1 forgotten"}[form]


@pytest.mark.parametrize("path", ["/studies/ads", "/studies/ads/series"])
def test_a_reader_who_has_seen_it_is_told_so(lively, path):
    first = lively.send("read", "GET", path)
    again = lively.send("read", "GET", path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    lively.ask()
    later = lively.send("read", "GET", path, headers={"If-None-Match": first.headers["ETag"]})
    assert later.status_code == 200
    assert later.headers["ETag"] != first.headers["ETag"]


def test_a_poll_reads_only_what_is_new(lively, monkeypatch):
    lively.read("/studies/ads/decisions")
    lively.ask()
    log, read = lively.app.state.sessions.open("ads").reader.log, []
    entries = log.entries
    monkeypatch.setattr(log, "entries", lambda after=0: (read.append(one.sequence) or one for one in entries(after)))
    assert lively.read("/studies/ads/decisions?limit=1")["decisions"][0]["id"] == 41
    assert read == [log.sequence]
