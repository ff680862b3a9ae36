"""Everything that is refused over HTTP: its status, its name, and that it changes nothing."""

from __future__ import annotations

import json

import pytest

from evenhand.errors import ArgumentError, ReplayError, StoreError, Wording, expected
from evenhand.service.errors import refusal_of
from evenhand.studies import Store
from tests.service.conftest import Served

JSON = {"Content-Type": "application/json"}
SAID = {"name", "message", "repeatable"}
PARTS = {"argument", "expected", "got", "hint"}


@pytest.fixture(scope="module")
def one():
    served = Served(Store.at(":memory:", create=True))
    served.create()
    served.create("other")
    served.create("seen", {"policy": "groups/linear-thompson", "groups": {"a": "F", "b": "M"}, "seed": 1})
    served.create("alike", {"policy": "similarity/lipschitz-ucb", "dimension": 1, "seed": 1})
    served.told = served.ask().json()["ticket"]
    served.tell({"ticket": served.told, "reward": 1.0})
    served.forgotten = served.ask().json()["ticket"]
    served.send("report", "POST", "/studies/ads/forget", json={"ticket": served.forgotten})
    served.open = served.ask().json()["ticket"]
    served.forged = served.open[:-1] + ("0" if served.open[-1] != "0" else "1")
    served.future = served.app.state.sessions.open("ads").study.sign(1000)
    served.foreign = served.ask("other").json()["ticket"]
    yield served
    served.stop()


def refused(served, role, path, **given):
    """Send what is to be refused; return status and name, and see that nothing has changed."""
    before = [study["decisions"] for study in served.read("/studies")["studies"]], served.read("/studies/ads")
    answer = served.send(role, "POST", path, **given)
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) in (SAID, SAID | {"argument", "expected", "got", "hint"})
    assert answer.headers["content-type"] == "application/json"
    assert ([study["decisions"] for study in served.read("/studies")["studies"]], served.read("/studies/ads")) == before
    return answer.status_code, body["error"]["name"], body["error"]["message"]


TICKETS = {
    ("tell", "forged"): (409, "ForeignTicketError", "was not signed"),
    ("tell", "future"): (404, "UnknownTicketError", "ticket 1000 was never handed out"),
    ("tell", "forgotten"): (409, "ClosedTicketError", "was forgotten before"),
    ("tell", "told"): (409, "ContradictionError", "was told before"),
    ("forget", "told"): (409, "ClosedTicketError", "was told before"),
    ("forget", "foreign"): (409, "ForeignTicketError", "belongs to the study 'other'"),
}


@pytest.mark.parametrize(("route", "ticket"), TICKETS)
def test_a_ticket_that_is_not_open_is_refused_by_name(one, route, ticket):
    status, name, said = TICKETS[route, ticket]
    body = {"ticket": getattr(one, ticket)} | ({"reward": 0.0} if route == "tell" else {})
    found = refused(one, "report", f"/studies/ads/{route}", json=body)
    assert found[:2] == (status, name)
    assert said in found[2]


TOLD = {
    "number": ({"ticket": 3}, "TicketError", "numbers can be guessed"),
    "no ticket": ({"ticket": None}, "TicketError", "expected a signed ticket"),
    "no reward": ({"reward": None}, "ArgumentError", "reward: expected"),
    "too large": ({"reward": 2.0}, "RewardError", "scale rewards"),
    "object": ({"reward": {"$float": "nan"}}, "ArgumentError", "reward: expected numbers"),
    "deep": ({"reward": [[[[1.0]]]]}, "ArgumentError", "lists of them"),
    "unknown name": ({"prize": 1.0}, "ArgumentError", "got 'prize'"),
    "not taken": ({"violations": []}, "ArgumentError", "violations"),
    "many pairs": ({"violations": [[0, 1]] * 20_001}, "ArgumentError", "violations: pairs: expected at most 20,000"),
    "batch and more": ({"batch": []}, "ArgumentError", "batch alone"),
}


@pytest.mark.parametrize("case", TOLD)
def test_a_report_that_cannot_be_is_refused_by_name(one, case):
    more, name, said = TOLD[case]
    found = refused(one, "report", "/studies/ads/tell", json={"ticket": one.open, "reward": 1.0} | more)
    assert found[:2] == (422, name)
    assert said in found[2]


ASKS = {
    "contexts for none": ("ads", {"contexts": [[1.0], [2.0]]}, "ContextError"),
    "groups of a number": ("seen", {"contexts": [[1.0], [2.0]], "groups": 3}, "ArgumentError"),
    "no contexts": ("seen", {}, "ContextError"),
    "ragged": ("seen", {"contexts": [[1.0], [1.0, 2.0]]}, "ContextError"),
    "objects": ("seen", {"contexts": {"$table": {}}}, "ContextError"),
    "list as body": ("ads", [], "ArgumentError"),
    "count of nothing": ("ads", {"count": 0}, "ArgumentError"),
    "count of truth": ("ads", {"count": True}, "ArgumentError"),
    "group of truth": ("seen", {"contexts": [[1.0], [2.0]], "groups": [True, "F"]}, "UnknownArmError"),
    "unknown": ("ads", {"number": 3}, "ArgumentError"),
    "batch and count": ("ads", {"batch": [{}], "count": 3}, "ArgumentError"),
    "batch of lists": ("ads", {"batch": [[]]}, "ArgumentError"),
    "unknown in a batch": ("ads", {"batch": [{"number": 3}]}, "ArgumentError"),
    "all of a batch": ("seen", {"count": 3}, "ContextError"),
    "individuals": ("alike", {"contexts": [[0.1]] * 201}, "ArgumentError"),
}


@pytest.mark.parametrize("case", ASKS)
def test_an_ask_that_cannot_be_is_refused_by_name(one, case):
    study, body, name = ASKS[case]
    assert refused(one, "decide", f"/studies/{study}/ask", json=body)[:2] == (422, name)


FAIR = {"name": "new", "policy": {"policy": "quotas/fair-ucb", "shares": {"a": 0.2, "b": 0.3}}}
CREATES = {
    "name": ({"name": "a/b", "policy": {"policy": "quotas/fair-ucb", "shares": {"a": 0.2, "b": 0.3}}}, "ArgumentError"),
    "policy": ({"name": "new", "policy": {"policy": "quotas/unfair"}}, "RegistryError"),
    "shares": ({"name": "new", "policy": {"policy": "quotas/fair-ucb", "shares": {"a": 0.9, "b": 0.9}}}, "SharesError"),
    "too many": ({"name": "new", "policy": {"policy": "learners/ucb1", "arms": 10**9}}, "ArgumentError"),
    "expiry": (FAIR | {"expire_after": "soon"}, "ArgumentError"),
}


@pytest.mark.parametrize("case", CREATES)
def test_a_study_that_cannot_be_is_refused_by_name(one, case):
    body, name = CREATES[case]
    assert refused(one, "decide", "/studies", json=body)[:2] == (422, name)
    assert [study["name"] for study in one.read("/studies")["studies"]] == ["ads", "other", "seen", "alike"]


def test_a_name_that_is_taken_is_a_conflict(one):
    body = {"name": "ads", "policy": {"policy": "quotas/fair-ucb", "shares": {"a": 0.2, "b": 0.3}}}
    status, name, message = refused(one, "decide", "/studies", json=body)
    assert (status, name) == (409, "ConflictError")
    assert message == "study 'ads' already exists; choose another name"


def test_what_is_refused_does_not_say_where_the_store_is_or_what_else_is_there(one):
    _, _, message = refused(one, "decide", "/studies/none/ask", json={})
    assert message == "no study is named 'none'; GET /studies lists all studies"


@pytest.mark.parametrize("path", ["/studies/none/ask", "/studies/a%00b/ask", "/studies/%F0%28/ask"])
def test_an_unknown_study_is_refused_by_name(one, path):
    assert refused(one, "decide", path, json={})[:2] == (404, "UnknownStudyError")


@pytest.mark.parametrize(
    "path",
    ["", "/series", "/decisions", "/decisions/1", "/forced", "/receipt?key=k", "/history", "/audit"],
    ids=lambda path: path or "state",
)
def test_an_unknown_study_has_nothing_to_read(one, path):
    answer = one.send("read", "GET", f"/studies/none{path}")
    assert (answer.status_code, answer.json()["error"]["name"]) == (404, "UnknownStudyError")


@pytest.mark.parametrize("content", [b"{", b"\xff", b"{'a': 1}", b'{"ticket": NaN}', b"", b"[" * 100_000])
def test_what_is_not_json_is_refused(one, content):
    assert refused(one, "report", "/studies/ads/tell", content=content, headers=JSON)[:2] == (400, "BadRequestError")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
def test_another_content_type_is_refused(one, kind):
    found = refused(one, "decide", "/studies/ads/ask", content=b"{}", headers={"Content-Type": kind})
    assert found[:2] == (415, "ContentTypeError")
    assert "application/json" in found[2]


@pytest.mark.parametrize("key", ["", "x" * 101, "a\tb", "\u00fc".encode()])
def test_an_idempotency_key_that_is_none_is_refused(one, key):
    found = refused(one, "decide", "/studies/ads/ask", json={}, headers={"Idempotency-Key": key})
    assert found[:2] == (422, "ArgumentError")


@pytest.mark.parametrize("name", ["Authorization", "Idempotency-Key"])
def test_a_header_that_can_be_there_once_is_refused_twice(one, name):
    key = f"Bearer {one.keys['decide']}"
    headers = [("Authorization", key), ("Idempotency-Key", "a"), (name, key if name == "Authorization" else "b")]
    before = one.read("/studies/ads")
    answer = one.http.post("/studies/ads/ask", json={}, headers=headers)
    assert (answer.status_code, answer.json()["error"]["name"]) == (400, "BadRequestError")
    assert answer.json()["error"]["message"] == f"expected the header {name} once, got it 2 times"
    assert one.read("/studies/ads") == before


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/decisions/0", 422),
        ("/decisions/x", 422),
        ("/decisions/99999", 404),
        ("/decisions/" + "9" * 30, 422),
        ("/decisions?limit=0", 422),
        ("/decisions?before=x", 422),
        ("/series?points=1", 422),
        ("/forced?limit=1001", 422),
        ("/receipt?key=none", 404),
        ("/receipt?ticket=ads.1.0123456789abcdef", 409),
        ("/history?format=xls", 422),
    ],
)
def test_what_cannot_be_read_is_refused(one, path, status):
    answer = one.send("read", "GET", "/studies/ads" + path)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == (SAID | PARTS if status == 422 else SAID)


def test_a_field_that_a_row_of_a_batch_does_not_take_is_refused_with_those_it_takes(one):
    said = one.ask(json={"batch": [{}, {"available": ["a"], "bogus": 1}]}).json()["error"]
    assert (said["argument"], said["expected"].split(", ")[0], said["got"]) == ("batch[1]", "contexts", "bogus")


def test_a_store_that_is_gone_is_503(one, monkeypatch):
    def gone(*_):
        raise StoreError("postgresql://somebody@db.example/ads: the store did not do it: connection refused")

    monkeypatch.setattr(one.app.state.sessions.open("ads").study, "run", gone)
    answer = one.ask()
    assert (answer.status_code, answer.json()["error"]["name"]) == (503, "StoreError")
    assert answer.headers["Retry-After"] == "1"
    monkeypatch.setattr(one.store, "names", gone)
    health = one.http.get("/readyz")
    assert health.status_code == 503
    assert answer.json()["error"]["repeatable"] is True
    for refusal in (answer, health):
        assert refusal.json()["error"]["message"] == "the store cannot be reached; try again"
    logged = [line["why"] for line in one.lines() if line["event"] == "store"]
    assert len(logged) == 2
    assert all("connection refused" in why for why in logged)


def test_a_defect_shows_nothing_of_itself_but_is_logged(one, monkeypatch):
    def broken(*_):
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr(one.app.state.sessions.open("ads").study, "run", broken)
    answer = one.ask()
    assert (answer.status_code, answer.json()["error"]["name"]) == (500, "DefectError")
    assert "42" not in answer.text
    (logged,) = [line for line in one.lines() if line["event"] == "defect"]
    assert logged["id"] == answer.headers["X-Request-Id"]
    assert "the secret is 42" in logged["exception"]


def test_every_answer_forbids_what_browsers_might_do_with_it(one):
    for answer in (one.http.get("/readyz"), one.http.get("/docs"), one.ask(), one.http.get("/nothing")):
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_a_log_that_does_not_replay_says_so():
    assert (refusal_of(ReplayError("entry 3")).status, refusal_of(ReplayError("entry 3")).message) == (500, "entry 3")


@pytest.mark.parametrize(
    ("got", "sent"),
    [
        *((7.0, 7.0), ({"a": [1, None]}, {"a": [1, None]}), (2**60, str(2**60)), (float("nan"), None)),
        *(((1, "b"), [1, "b"]), ([1] * 80, f"{[1] * 80}"[:77] + "..."), (ReplayError("x"), "ReplayError('x')")),
        ([float("inf")], [None]),
        pytest.param(10**5000, "a int too long to print", id="huge"),
    ],
)
def test_what_a_refusal_says_of_an_argument_stands_beside_its_message(got, sent):
    error = ArgumentError(expected("reward", Wording("a number for each of ", ["a", "b"]), got, "send one"))
    body = json.loads(refusal_of(error).response().body)["error"]
    assert body == {
        "name": "ArgumentError",
        "message": str(error),
        "repeatable": False,
        "argument": "reward",
        "expected": "a number for each of ['a', 'b']",
        "got": sent,
        "hint": "send one",
    }
    assert json.loads(refusal_of(ArgumentError("no")).response().body)["error"] == {
        "name": "ArgumentError",
        "message": "no",
        "repeatable": False,
    }


def test_a_password_is_masked_in_every_part_of_a_refusal():
    address = "postgresql://me:hunter2@host/db"
    parts = vars(ArgumentError(expected(address, Wording(address, [address]), {address: [address]}, address)).refusal)
    assert "hunter2" not in str([parts[name] for name in ("name", "expected", "got", "hint")])
