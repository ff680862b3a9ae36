"""Asking and telling over HTTP: one by one, in batches, from many at once, and after a restart."""

from __future__ import annotations

import evenhand as eh
from evenhand.studies import Study
from tests.cli.test_studies_talk import SPEC
from tests.descriptions.test_policies import SEARCH
from tests.service.conftest import POLICY


def test_the_service_decides_as_the_policy_would(served):
    policy = eh.quotas.FairUCB({"a": 0.2, "b": 0.3}, seed=1)
    for i in range(30):
        decision, answer = policy.ask(), served.ask().json()
        ticket = answer.pop("ticket")
        assert ticket.startswith(f"ads.{i + 1}.")
        assert answer.items() <= decision.to_dict().items()
        assert set(decision.to_dict()) - set(answer) == {"arms", "indexes", "propensity"}
        policy.tell(decision, float(i % 2))
        assert served.tell({"ticket": ticket, "reward": i % 2}).json() == {"ticket": ticket, "status": "told"}


def test_a_key_means_the_same_decisions_over_http_and_in_the_library(served):
    named = {"Idempotency-Key": "night"}
    one = served.ask(headers=named).json()
    many = served.ask(json={"count": 3}, headers=named).json()["decisions"]
    batch = served.ask(json={"batch": [{}, {}]}, headers=named).json()["decisions"]
    rows = [{"count": 2}, {"count": 3}, {"key": "mine"}]
    by_row, again = (served.ask(json={"batch": rows}, headers=named).json()["decisions"] for _ in range(2))
    study = Study.open(served.store, "ads")
    assert [row["id"] for row in many] == [1, 2, 3]
    assert (one, batch) == (many[0], many[:2])
    assert [row["id"] for row in by_row] == [1, 2, 3, 4, 5, 6]
    assert again == by_row
    assert [decision.id for decision in study.ask(key="night", count=6)] == [1, 2, 3, 4, 5, 7]
    assert served.ask(headers={"Idempotency-Key": "night#1"}).json()["id"] == 8
    keys = [served.read(f"/studies/ads/decisions/{ticket}")["key"] for ticket in (1, 2, 6, 8)]
    assert keys == ["night", "night#1", "mine", "night#1"]
    refused = served.ask(json={"batch": [{"count": 2, "key": "mine"}]})
    assert (refused.status_code, refused.json()["error"]["name"]) == (422, "ArgumentError")


def test_each_of_a_batch_is_shown_its_own_contexts(served):
    served.create("seen", {"policy": "groups/linear-thompson", "groups": {"a": "F", "b": "M"}, "seed": 1})
    shown = [[[float(i), 1.0], [1.0, 2.0]] for i in range(3)]
    rows = [{"contexts": one} for one in shown]
    answer = served.ask("seen", json={"batch": [*rows[:2], {"contexts": [[1.0]]}, rows[2]]}).json()["decisions"]
    assert answer[2]["error"]["name"] == "ContextError"
    given = [served.read(f"/studies/seen/decisions/{i}")["given"]["contexts"] for i in (1, 2, 3)]
    assert given == shown


def test_contexts_by_name_that_do_not_fit_are_refused(served):
    served.create("bar", SPEC)
    for contexts, name, words in (
        ([{"weather": "rain", "hour": 1}, {"hour": 1}], "ContextError", "row 2: expected the columns"),
        ([{"weather": "rain", "hour": 1}, [0, 1, 0.5]], "ContextError", "rows of numbers, or of objects"),
        ({"wether": "rain", "hour": 1}, "TableError", "is the column 'wether' meant?"),
        ({"weather": "rain", "hour": 1}, "ContextError", "one row per arm, got 'one row for all arms'"),
        ([{"weather": "rain", "hour": 1}], "ContextError", "rows of numbers, one for each arm, got 'one row'"),
    ):
        answer = served.ask("bar", json={"contexts": contexts})
        assert (answer.status_code, answer.json()["error"]["name"]) == (422, name)
        assert words in answer.json()["error"]["message"]


def test_a_sticky_key_has_its_decision_whatever_rows_are_lost_and_a_new_one_is_refused(served):
    served.create("bar", SPEC)
    first = served.ask("bar", json={"contexts": [[0, 1, 0.5]] * 2}, headers={"Idempotency-Key": "ann"}).json()
    for contexts in ([[0, 1, 0.5]], [{"weather": "rain", "hour": 1}, {"hour": 1}], [[0.0] * 3] * 40_000):
        body = {"contexts": contexts, "sticky": True}
        assert served.ask("bar", json=body, headers={"Idempotency-Key": "ann"}).json() == first
        refused = served.ask("bar", json=body, headers={"Idempotency-Key": "bob"})
        assert (refused.status_code, "contexts" in refused.json()["error"]["message"]) == (422, True)
    rows = [{"contexts": [[0, 1, 0.5]], "sticky": True, "key": key} for key in ("ann", "bob")]
    one, two = served.ask("bar", json={"batch": rows}).json()["decisions"]
    assert one == first
    assert two["error"]["message"] == "contexts: expected 2 rows of numbers, one for each arm, got 'one row'"
    assert served.read("/studies/bar")["decisions"] == 1


def test_forgetting_is_said_once_and_again(served):
    ticket = served.ask().json()["ticket"]
    answers = [served.send("report", "POST", "/studies/ads/forget", json={"ticket": ticket}).json() for _ in range(2)]
    assert answers == [{"ticket": ticket, "status": "forgotten"}, {"ticket": ticket, "status": "already forgotten"}]


def test_tickets_expire_as_was_said_at_creation(served, monkeypatch):
    clock = [1_800_000_000_000_000]
    monkeypatch.setattr("evenhand.studies.log.transaction.now", lambda: clock[0])
    body = {"name": "brief", "policy": POLICY, "expire_after": "1m", "expire_reward": 0}
    assert served.send("decide", "POST", "/studies", json=body).status_code == 201
    late = served.ask(name="brief").json()["ticket"]
    clock[0] += 60_000_000
    answer = served.tell({"ticket": late, "reward": 1.0}, name="brief")
    assert answer.status_code == 409
    assert "ticket 1 expired at 2027-01-15 08:01:00 UTC, 1 minute after" in answer.json()["error"]["message"]
    (decision,) = served.read("/studies/brief/decisions")["decisions"]
    assert (decision["status"], decision["reward"]) == ("expired", 0)
    state = served.read("/studies/brief")
    assert (state["open"], state["forgotten"], state["told"]) == (0, 0, 1)


def test_samplers_and_searches_are_asked_and_told_too(served):
    served.create("draws", {"policy": "sampling/uniform", "groups": ["F", "M"], "seed": 1})
    draw = served.ask("draws").json()
    assert (draw["group"], draw["count"]) == ("F", 2)
    report = {"ticket": draw["ticket"], "X": [[0.0], [1.0]], "y": [0, 1]}
    assert served.tell(report, "draws").json()["status"] == "told"
    served.create("search", {"policy": "interventions/csr", **SEARCH})
    allocation = served.ask("search").json()
    assert allocation["phase"] == 1
    assert set(allocation["frame"]) >= {"candidate", "count"}


GROUPED = {"policy": "groups/linear-thompson", "groups": {"a": ["F", "young"], "b": ["M", "young"]}, "seed": 1}


def test_groups_of_a_round_are_taken_as_in_python(served):
    served.create("jobs", GROUPED)
    shown, mine = [[1.0], [2.0]], eh.groups.LinearThompson({"a": ("F", "young"), "b": ("M", "young")}, seed=1)
    for groups in ({"a": ["M", "young"]}, ["M & young", "F & young"]):
        asked = served.ask("jobs", json={"contexts": shown, "groups": groups}).json()
        assert asked["arm"] == mine.ask(shown, groups=groups).arm
        assert served.read(f"/studies/jobs/decisions/{asked['id']}")["given"]["groups"] == groups
    refused = served.ask("jobs", json={"contexts": shown, "groups": {"a": "other"}})
    assert (refused.status_code, refused.json()["error"]["name"]) == (422, "UnknownArmError")
    assert served.read("/studies/jobs/audit")["ok"]


def test_what_is_null_is_absent(served):
    assert served.send("decide", "POST", "/studies/ads/ask").json()["id"] == 1, "a body too"
    assert served.ask(json={"count": None, "contexts": None}).json()["id"] == 2
    ticket = served.ask(json={"count": None}).json()["ticket"]
    told = {"ticket": ticket, "reward": 1.0, "samples": None, "violations": None}
    assert served.tell(told).json()["status"] == "told"
